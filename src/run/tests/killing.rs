//! Single sessions that are ended for good.

use tokio::sync::Semaphore;

use super::*;

/// Two cases; seed 0 of `a` hangs in its second turn, until it is let go.
fn held(seen: &Arc<Semaphore>, go: &Arc<Semaphore>) -> Arc<TestModel> {
    let (seen, go) = (seen.clone(), go.clone());
    TestModel::new([calls("t", 1), answer("done")], move |ask| {
        let (seen, go) = (seen.clone(), go.clone());
        Box::pin(async move {
            if ask.case == "a" && ask.turn == 1 && ask.seed == 0 {
                seen.add_permits(1);
                drop(go.acquire().await.unwrap());
            }
        })
    })
}

fn farm(model: Arc<TestModel>) -> Farm {
    let mut farm = Farm::new(&["a", "b"], 3, model)
        .with_tool(&["a", "b"], quick("t", || Observation::ok("1")));
    farm.concurrency = 1;
    farm
}

/// The ledger of a plan in which some were killed.
fn with_killed(passed: u64, killed: u64) -> Ledger {
    Ledger {
        planned: passed + killed,
        passed,
        killed,
        ..Ledger::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_ends_one_session_in_flight_and_one_that_has_not_begun() {
    let (seen, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let model = held(&seen, &go);
    let at_work = farm(model.clone()).start().await;
    drop(soon(seen.acquire()).await.unwrap());
    assert_eq!(at_work.kill("v/b/2").await, Kill::TakenOn);
    assert_eq!(at_work.kill("v/a/0").await, Kill::TakenOn);
    let unknown = "v/a/3".parse().unwrap();
    let unknown = at_work.run().kill(&unknown).await.unwrap_err();
    assert!(unknown.message.contains("v/a/3"), "{unknown}");
    let over = at_work.over().await;
    let want = with_killed(4, 2);
    assert_eq!(over.ledger(), want);
    assert_eq!(over.outcome("a", 0).status, Status::Killed);
    assert_eq!(over.durable("a", 0, 0), (1, 1), "what was durable stays");
    assert_eq!(over.outcome("a", 0).steps_used, 1);
    assert_eq!(over.outcome("b", 2).status, Status::Killed);
    assert_eq!(model.asks("b", 2), [] as [u32; 0], "it never began");

    let over = farm(model.clone()).after(over, RESUME).run().await;
    assert_eq!(over.ledger(), want, "a kill is final");
    assert_eq!(model.asks("a", 0), [1, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_has_ended_stays_as_it_is() {
    let (seen, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let mut farm = farm(held(&seen, &go));
    farm.concurrency = 2;
    let at_work = farm.start().await;
    drop(soon(seen.acquire()).await.unwrap());
    // All others go by on the second credit.
    at_work.until(|tally| tally.ledger.passed == 5).await;
    for key in ["v/b/0", "v/b/2"] {
        assert_eq!(at_work.kill(key).await, Kill::TooLate);
    }
    go.add_permits(1);
    let over = at_work.over().await;
    assert_eq!(over.ledger(), ledger(6, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_holds_for_sessions_of_an_earlier_process() {
    let seen = Arc::new(Semaphore::new(0));
    let hanging = {
        let seen = seen.clone();
        TestModel::new([calls("t", 1), answer("done")], move |ask| {
            let seen = seen.clone();
            Box::pin(async move {
                assert!((&*ask.case, ask.seed) != ("b", 1), "panics on purpose");
                if ask.turn == 1 {
                    seen.add_permits(1);
                    std::future::pending::<()>().await;
                }
            })
        })
    };
    let mut first = farm(hanging);
    first.concurrency = 6;
    let at_work = first.start().await;
    drop(soon(seen.acquire_many(5)).await.unwrap());
    at_work.until(|tally| tally.ledger.errored == 1).await;
    at_work.run().interrupt_token().cancel();
    let over = at_work.over().await;
    assert_eq!(over.ledger(), ledger(0, 1, 5));
    let lost = over.session("b", 1).unwrap().attempt;

    // The one credit is held by the first session: the others have not been gone on with.
    let (seen, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let at_work = farm(held(&seen, &go)).after(over, RESUME).start().await;
    drop(soon(seen.acquire()).await.unwrap());
    for key in ["v/b/1", "v/b/2"] {
        assert_eq!(at_work.kill(key).await, Kill::TakenOn);
    }
    go.add_permits(1);
    let over = at_work.over().await;
    assert_eq!(over.ledger(), with_killed(4, 2));
    assert_eq!(over.session("b", 1).unwrap().attempt, lost + 1);
    assert_eq!(over.durable("b", 2, 0), (1, 1));
    assert_eq!(over.outcome("b", 2).steps_used, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_after_the_end_is_too_late() {
    let model = TestModel::ready([answer("done")]);
    let farm = Farm::new(&["a"], 1, model);
    farm.shutdown.wind_down.cancel();
    let at_work = farm.start().await;
    let ended = soon(at_work.run().wait()).await.unwrap();
    assert_eq!(ended.wind_down, Some(WindDown::Asked));
    assert_eq!(at_work.kill("v/a/0").await, Kill::TooLate);
    assert!(at_work.run().wait().await.is_err(), "it is waited for once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_dropped_is_interrupted() {
    let (seen, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let mut at_work = farm(held(&seen, &go)).start().await;
    drop(soon(seen.acquire()).await.unwrap());
    drop(at_work.run.take());
    at_work.until(|tally| tally.in_flight == 0).await;
}
