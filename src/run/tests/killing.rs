//! Single sessions that are ended for good.

use tokio::sync::Semaphore;

use super::*;

const RESUME: Wish = Wish {
    keep_errors: false,
    is_scored: true,
};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_ends_one_session_in_flight_and_one_that_has_not_begun() {
    let (seen, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let model = held(&seen, &go);
    let at_work = farm(model.clone()).start().await;
    drop(soon(seen.acquire()).await.unwrap());
    let key = |key: &str| key.parse::<SessionKey>().unwrap();
    at_work.run.kill(&key("v/b/2")).unwrap();
    at_work.run.kill(&key("v/a/0")).unwrap();
    let unknown = at_work.run.kill(&key("v/a/3")).unwrap_err();
    assert!(unknown.message.contains("v/a/3"), "{unknown}");
    let over = at_work.over().await;
    let want = Ledger {
        planned: 6,
        passed: 4,
        killed: 2,
        ..Ledger::default()
    };
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
    while at_work.tally.lock().unwrap().ledger.passed < 5 {
        tokio::task::yield_now().await;
    }
    for key in ["v/b/0", "v/b/2"] {
        at_work.run.kill(&key.parse().unwrap()).unwrap();
    }
    go.add_permits(1);
    let over = at_work.over().await;
    assert_eq!(over.ledger(), ledger(6, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_holds_for_sessions_that_were_left_over() {
    let (seen, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let at_work = farm(held(&seen, &go)).start().await;
    drop(soon(seen.acquire()).await.unwrap());
    at_work.run.interrupt_token().cancel();
    let over = at_work.over().await;
    assert_eq!(over.ledger(), ledger(0, 0, 6));

    // Nothing runs before the kill is heard: the one credit is held by the first session.
    let mut again = farm(held(&seen, &go)).after(over, RESUME);
    again.concurrency = 1;
    let at_work = again.start().await;
    at_work.run.kill(&"v/a/0".parse().unwrap()).unwrap();
    let over = at_work.over().await;
    let want = Ledger {
        planned: 6,
        passed: 5,
        killed: 1,
        ..Ledger::default()
    };
    assert_eq!(over.ledger(), want);
}
