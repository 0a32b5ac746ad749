//! Runs that go on where another process left them.

use tokio::sync::Semaphore;

use super::*;

const KEEP: Wish = Wish {
    keep_errors: true,
    is_scored: true,
};

/// Interrupts the run as soon as `hanging` sessions hang in their turn `turn`.
async fn interrupted(mut farm: Farm, model: &Arc<Hanging>) -> Over {
    farm.concurrency = 8;
    let at_work = farm.start().await;
    drop(soon(model.seen.acquire_many(model.hanging)).await.unwrap());
    at_work.run().interrupt_token().cancel();
    at_work.over().await
}

/// What makes sessions of a model hang.
struct Hanging {
    seen: Arc<Semaphore>,
    hanging: u32,
    is_on: Arc<Mutex<bool>>,
    model: Arc<TestModel>,
}

impl Hanging {
    /// Every session hangs when it asks for this turn.
    fn at(turn: u64, hanging: u32, script: impl IntoIterator<Item = Value>) -> Arc<Self> {
        let seen = Arc::new(Semaphore::new(0));
        let is_on = Arc::new(Mutex::new(true));
        let model = {
            let (seen, is_on) = (seen.clone(), is_on.clone());
            TestModel::new(script, move |ask| {
                let hangs = ask.turn == turn && *is_on.lock().unwrap();
                let seen = seen.clone();
                Box::pin(async move {
                    if hangs {
                        seen.add_permits(1);
                        std::future::pending::<()>().await;
                    }
                })
            })
        };
        Arc::new(Self {
            seen,
            hanging,
            is_on,
            model,
        })
    }

    fn let_go(&self) -> Arc<TestModel> {
        *self.is_on.lock().unwrap() = false;
        self.model.clone()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn durable_turns_are_not_asked_again() {
    let hanging = Hanging::at(2, 4, [calls("t", 1), calls("t", 2), answer("done")]);
    let farm = |model: Arc<TestModel>| {
        Farm::new(&["a", "b"], 2, model).with_tool(&["a", "b"], quick("t", || Observation::ok("1")))
    };
    let over = interrupted(farm(hanging.model.clone()), &hanging).await;
    assert_eq!(over.ledger(), ledger(0, 0, 4));
    assert_eq!(over.durable("a", 1, 0), (2, 3));

    let over = farm(hanging.let_go()).after(over, RESUME).run().await;
    assert_eq!(over.ledger(), ledger(4, 0, 0));
    for (case, seed) in [("a", 0), ("a", 1), ("b", 0), ("b", 1)] {
        assert_eq!(hanging.model.asks(case, seed), [1, 1, 2], "{case}/{seed}");
        assert_eq!(over.durable(case, seed, 0), (3, 4));
    }
    let totals = over.totals();
    assert_eq!((totals.restarts, totals.lost_attempts), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_tool_cannot_be_resumed_begins_anew() {
    let hanging = Hanging::at(1, 1, [calls("fragile", 1), answer("done")]);
    let farm = |model: Arc<TestModel>| {
        let fragile = tool("fragile", false, |_| {
            Box::pin(std::future::ready(Observation::ok("1")))
        });
        Farm::new(&["a"], 1, model).with_tool(&["a"], fragile)
    };
    let over = interrupted(farm(hanging.model.clone()), &hanging).await;
    let over = farm(hanging.let_go()).after(over, RESUME).run().await;
    assert_eq!(over.ledger(), ledger(1, 0, 0));
    assert_eq!(over.session("a", 0).unwrap().attempt, 1);
    assert_eq!(hanging.model.asks("a", 0), [2, 2]);
    assert_eq!(over.totals().lost_attempts, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errored_sessions_begin_anew_unless_they_are_kept() {
    let broken = || {
        TestModel::new([answer("done")], |ask| {
            Box::pin(async move { assert!(ask.case != "bad", "the model panics on purpose") })
        })
    };
    let over = Farm::new(&["bad", "good"], 2, broken()).run().await;
    assert_eq!(over.ledger(), ledger(2, 2, 0));

    let model = TestModel::ready([answer("done")]);
    let farm = |model: &Arc<TestModel>| Farm::new(&["bad", "good"], 2, model.clone());
    let over = farm(&model).after(over, KEEP).run().await;
    assert_eq!(over.ledger(), ledger(2, 2, 0));
    assert_eq!(model.asks("bad", 0), [] as [u32; 0]);

    let lost = over.totals().lost_attempts;
    let over = farm(&model).after(over, RESUME).run().await;
    assert_eq!(over.ledger(), ledger(4, 0, 0));
    assert_eq!(model.asks("bad", 0), [1]);
    assert_eq!(model.asks("good", 0), [] as [u32; 0]);
    assert_eq!(over.totals().lost_attempts, lost + 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_ended_unscored_are_only_scored() {
    let model = TestModel::ready([calls("t", 1), answer("done")]);
    let farm = || {
        Farm::new(&["a", "b"], 3, model.clone())
            .with_tool(&["a", "b"], quick("t", || Observation::ok("1")))
    };
    let mut unscored = farm();
    unscored.unscored = true;
    let over = unscored.run().await;
    assert_eq!(over.ledger().unscored, 6);
    let over = farm().after(over, RESUME).run().await;
    assert_eq!(over.ledger(), ledger(6, 0, 0));
    for seed in 0..3 {
        assert_eq!(model.asks("a", seed), [1, 1]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_has_come_to_its_end_does_nothing_more() {
    let model = TestModel::ready([answer("done")]);
    let farm = || Farm::new(&["a"], 3, model.clone());
    let over = farm().run().await;
    let over = farm().after(over, RESUME).run().await;
    assert_eq!(over.ledger(), ledger(3, 0, 0));
    assert_eq!(model.asks("a", 0), [1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stop_file_and_the_deadline_wind_down() {
    let model = TestModel::ready([answer("done")]);
    let farm = || Farm::new(&["a"], 3, model.clone());
    let mut stopped = farm();
    let stop = stopped.folder.path().join("STOP");
    std::fs::write(&stop, "").unwrap();
    stopped.shutdown.stop_file = Some(stop.clone());
    let over = stopped.run().await;
    assert_eq!(over.ledger(), ledger(0, 0, 3));
    assert_eq!(over.wind_down(), Some(WindDown::StopFile));

    std::fs::remove_file(stop).unwrap();
    let mut late = farm().after(over, RESUME);
    // The clock of these tests stands at 1.
    late.shutdown.deadline = Some(1.0);
    let over = late.run().await;
    assert_eq!(over.wind_down(), Some(WindDown::Deadline));

    let mut in_time = farm().after(over, RESUME);
    in_time.shutdown.deadline = Some(1.5);
    let over = in_time.run().await;
    assert_eq!(over.ledger(), ledger(3, 0, 0));
    assert_eq!(over.wind_down(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_file_is_seen_while_sessions_run() {
    let hanging = Hanging::at(1, 1, [calls("t", 1), answer("done")]);
    let mut farm = Farm::new(&["a"], 3, hanging.model.clone())
        .with_tool(&["a"], quick("t", || Observation::ok("1")));
    let stop = farm.folder.path().join("STOP");
    farm.shutdown.stop_file = Some(stop.clone());
    farm.concurrency = 1;
    let at_work = farm.start().await;
    drop(soon(hanging.seen.acquire()).await.unwrap());
    std::fs::write(&stop, "").unwrap();
    soon(at_work.run().cancel_token().cancelled()).await;
    // It hangs for ever: only an interrupt ends it once nothing new starts.
    at_work.run().interrupt_token().cancel();
    let over = at_work.over().await;
    assert_eq!(over.wind_down(), Some(WindDown::StopFile));
    assert_eq!(over.ledger(), ledger(0, 0, 3));
}
