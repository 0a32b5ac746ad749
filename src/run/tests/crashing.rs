//! Sessions that infrastructure breaks.

use super::*;

/// Panics the first `times` times that it is called.
fn panicking(name: &str, times: usize) -> Arc<dyn Tool> {
    let left = AtomicUsize::new(times);
    quick(name, move || {
        let panics = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        assert!(panics.is_err(), "the tool panics on purpose");
        Observation::ok("fine")
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_goes_on_from_its_durable_turns() {
    let model = TestModel::ready([calls("good", 1), calls("t", 2), answer("done")]);
    let over = Farm::new(&["a", "b"], 3, model.clone())
        .with_tool(&["a", "b"], quick("good", || Observation::ok("1")))
        .with_tool(&["a", "b"], panicking("t", 1))
        .run()
        .await;
    assert_eq!(over.ledger(), ledger(6, 0, 0));
    let totals = over.totals();
    assert_eq!((totals.restarts, totals.lost_attempts), (1, 0));
    for (case, seed) in [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("b", 2)] {
        assert_eq!(model.asks(case, seed), [1, 1, 1], "nothing is asked again");
        assert_eq!(over.durable(case, seed, 0), (3, 4));
        assert_eq!(over.outcome(case, seed).steps_used, 4);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_always_breaks_is_errored_alone() {
    let model = TestModel::ready([calls("t", 1), answer("done")]);
    let over = Farm::new(&["bad", "good"], 2, model.clone())
        .with_tool(&["bad"], panicking("t", usize::MAX))
        .run()
        .await;
    assert_eq!(over.ledger(), ledger(2, 2, 0));
    let totals = over.totals();
    assert_eq!(totals.restarts, 4, "two for each session");
    assert_eq!(
        totals.lost_attempts, 2,
        "the second crash at a place begins anew"
    );
    for seed in [0, 1] {
        assert_eq!(over.session("bad", seed).unwrap().attempt, 1);
        let outcome = over.outcome("bad", seed);
        assert_eq!(outcome.status, Status::Crashed);
        assert!(outcome.error.unwrap().contains("on purpose"));
        assert_eq!(model.asks("bad", seed), [2], "once an attempt");
        assert_eq!(model.asks("good", seed), [1, 1]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_breaks_before_its_first_turn_is_on_record() {
    let model = TestModel::new([answer("done")], |ask| {
        Box::pin(async move { assert!(ask.case != "bad", "the model panics on purpose") })
    });
    let over = Farm::new(&["bad", "good"], 1, model).run().await;
    assert_eq!(over.ledger(), ledger(1, 1, 0));
    assert_eq!(over.outcome("bad", 0).status, Status::Crashed);
    assert_eq!(over.totals().restarts, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_cannot_be_resumed_makes_its_session_begin_anew() {
    // Broken in a later turn, and in the very call of the tool.
    for (later, asks) in [(true, vec![2, 2, 1]), (false, vec![2, 1, 1])] {
        let once = Mutex::new(true);
        let fragile = tool("fragile", false, move |_| {
            let breaks = !later && std::mem::take(&mut *once.lock().unwrap());
            Box::pin(async move {
                assert!(!breaks, "the tool panics on purpose");
                Observation::ok("1")
            })
        });
        let model = TestModel::ready([calls("fragile", 1), calls("t", 1), answer("done")]);
        let over = Farm::new(&["a"], 1, model.clone())
            .with_tool(&["a"], fragile)
            .with_tool(&["a"], panicking("t", usize::from(later)))
            .run()
            .await;
        assert_eq!(over.ledger(), ledger(1, 0, 0));
        let totals = over.totals();
        assert_eq!((totals.restarts, totals.lost_attempts), (1, 1));
        assert_eq!(over.session("a", 0).unwrap().attempt, 1);
        assert_eq!(model.asks("a", 0), asks);
        assert_eq!(over.durable("a", 0, 1), (3, 3));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_hook_panics_one_session_in_one_turn() {
    let model = TestModel::ready([calls("t", 1), answer("done")]);
    let mut farm = Farm::new(&["a"], 3, model.clone()).with_tool(&["a"], panicking("t", 0));
    farm.hooks.panic_at = Some(("v/a/1".parse().unwrap(), 1));
    let over = farm.run().await;
    assert_eq!(over.ledger(), ledger(2, 1, 0));
    assert_eq!(model.asks("a", 0), [1, 1]);
    assert_eq!(model.asks("a", 1), [2], "turn 1 is never asked for");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scoring_that_panics_fails_its_session_alone() {
    let mut farm = Farm::new(&["a", "b"], 2, TestModel::ready([answer("done")]));
    farm.hooks.panic_scoring = Some("v/b/0".parse().unwrap());
    let over = farm.run().await;
    assert_eq!(over.ledger(), ledger(3, 1, 0));
    assert_eq!(over.outcome("b", 0).status, Status::Completed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_crashed_sessions_close_their_case() {
    let model = TestModel::ready([calls("t", 1), answer("done")]);
    let mut farm = Farm::new(&["bad", "good"], 6, model.clone())
        .with_tool(&["bad"], panicking("t", usize::MAX));
    farm.concurrency = 1;
    let over = farm.run().await;
    assert_eq!(over.ledger(), ledger(6, 3, 3));
    for seed in 0..6 {
        assert_eq!(over.session("bad", seed).is_some(), seed < 3);
    }
    assert_eq!(over.wind_down(), None, "the run goes on without it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_sessions_crash_winds_down() {
    let ids: Vec<String> = (0..80).map(|i| format!("c{i}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let model = TestModel::new([answer("done")], |_| {
        Box::pin(async { panic!("the model panics on purpose") })
    });
    let mut farm = Farm::new(&ids, 1, model);
    farm.concurrency = 20;
    let over = farm.run().await;
    assert_eq!(over.wind_down(), Some(WindDown::Breaker));
    let got = over.ledger();
    assert_eq!(got, ledger(0, got.errored, got.not_run));
    // It trips at the 20th; those that had begun by then are not broken off.
    assert!((20..40).contains(&got.errored), "{got:?}");
}
