//! Runs that end early, and sessions that end at a limit.

use tokio::sync::Semaphore;

use super::*;
use crate::{domain::Limit, error::ErrorKind};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn winding_down_lets_sessions_in_flight_finish() {
    let shutdown = Shutdown::default();
    let wind_down = shutdown.wind_down.clone();
    let model = TestModel::new([calls("t", 1), answer("done")], move |ask| {
        if (ask.seed, ask.turn) == (2, 1) {
            wind_down.cancel();
        }
        Box::pin(std::future::ready(()))
    });
    let seeds = 20_000;
    let mut farm = Farm::new(&["a"], seeds, model.clone())
        .with_tool(&["a"], quick("t", || Observation::ok("1")));
    farm.shutdown = shutdown;
    let over = farm.run().await;
    assert_eq!(over.wind_down(), Some(WindDown::Asked));
    let got = over.ledger();
    assert_eq!(got, ledger(got.passed, 0, got.not_run));
    assert!(got.passed >= 3 && got.not_run > 0, "{got:?}");
    for seed in 0..seeds {
        let begun = seed < got.passed;
        let asks: &[u32] = if begun { &[1, 1] } else { &[] };
        assert_eq!(model.asks("a", seed), asks, "{seed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_wound_down_before_it_begins_runs_nothing() {
    let model = TestModel::ready([answer("done")]);
    let farm = Farm::new(&["a"], 3, model.clone());
    farm.shutdown.wind_down.cancel();
    let over = farm.run().await;
    assert_eq!(over.ledger(), ledger(0, 0, 3));
    assert_eq!(over.wind_down(), Some(WindDown::Asked));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_drops_sessions_and_keeps_their_turns() {
    for first_winds_down in [true, false] {
        let held = Arc::new(Semaphore::new(0));
        let model = {
            let held = held.clone();
            TestModel::new([calls("t", 1), answer("done")], move |ask| {
                let held = held.clone();
                Box::pin(async move {
                    if ask.turn == 1 && ask.seed > 0 {
                        held.add_permits(1);
                        std::future::pending::<()>().await;
                    }
                })
            })
        };
        let mut farm = Farm::new(&["a", "b"], 4, model)
            .with_tool(&["a", "b"], quick("t", || Observation::ok("1")));
        farm.concurrency = 3;
        let shutdown = farm.shutdown.clone();
        let (over, ()) = tokio::join!(farm.run(), async {
            drop(soon(held.acquire_many(3)).await.unwrap());
            if first_winds_down {
                shutdown.wind_down.cancel();
            }
            shutdown.interrupt.cancel();
        });
        assert_eq!(over.ledger(), ledger(2, 0, 6));
        assert_eq!(over.wind_down(), Some(WindDown::Asked));
        for (case, seed) in [("a", 1), ("b", 1), ("a", 2)] {
            assert_eq!(over.session(case, seed).unwrap().outcome, None);
            assert_eq!(over.durable(case, seed, 0), (1, 1));
        }
        assert_eq!(over.session("b", 2), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_without_a_scorer_are_unscored() {
    let mut farm = Farm::new(&["a"], 3, TestModel::ready([answer("done")]));
    farm.unscored = true;
    let over = farm.run().await;
    let want = Ledger {
        planned: 3,
        unscored: 3,
        ..Ledger::default()
    };
    assert_eq!(over.ledger(), want);
    let ended = over.ended.unwrap();
    assert!(ended.measure(Vec::new()).await.unwrap().is_empty());
    ended.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_answer_fails_and_a_model_error_errs() {
    let over = Farm::new(&["a"], 2, TestModel::ready([answer("wrong")]))
        .run()
        .await;
    assert_eq!((over.ledger().failed, over.ledger().planned), (2, 2));

    // A reply that is no reply: `choices` without a message list is an error of the endpoint.
    struct Broken;
    impl Model for Broken {
        fn complete<'a>(&'a self, _: &'a Request<'a>) -> BoxFuture<'a, Result<Reply, ModelError>> {
            let body = to_raw_value(&json!({"choices": []})).unwrap();
            let reply = Reply::parse(body.into(), Options::default(), Duration::ZERO);
            Box::pin(std::future::ready(reply))
        }
    }
    let over = Farm::new(&["a"], 2, Arc::new(Broken)).run().await;
    assert_eq!(over.ledger(), ledger(0, 2, 0));
    assert_eq!(over.outcome("a", 0).status, Status::ModelError);
    assert_eq!(over.totals().restarts, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_limit_beyond_all_time_does_not_bind() {
    let mut farm = Farm::new(&["a"], 1, TestModel::ready([answer("done")]));
    farm.variants[0].limits.max_seconds = Some(1e300);
    assert_eq!(farm.run().await.ledger(), ledger(1, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn time_is_a_limit_of_models_and_tools() {
    let never = TestModel::new([answer("done")], |_| Box::pin(std::future::pending()));
    let slow = tool("slow", true, |_| Box::pin(std::future::pending()));
    let calling = TestModel::ready([calls("slow", 2)]);
    let table = [
        (Farm::new(&["a"], 1, never), (0, 0)),
        (
            Farm::new(&["a"], 1, calling).with_tool(&["a"], slow),
            (1, 2),
        ),
    ];
    for (mut farm, durable) in table {
        farm.variants[0].limits.max_seconds = Some(0.05);
        let over = farm.run().await;
        assert_eq!(over.ledger().failed, 1, "it is scored like any other");
        let outcome = over.outcome("a", 0);
        assert_eq!(outcome.status, Status::BudgetExhausted);
        assert_eq!(outcome.limit, Some(Limit::Seconds));
        assert_eq!(over.durable("a", 0, 0), durable);
        for step in over.reader.steps(over.id("a", 0), 0).unwrap() {
            let observation = step.body.observation.unwrap();
            assert!(
                observation.content.contains("max_seconds"),
                "{observation:?}"
            );
        }
        assert!(over.session("a", 0).unwrap().work_s.unwrap() >= 0.05);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_loses_its_store_ends_with_an_error() {
    for unscored in [false, true] {
        let store: Arc<Mutex<Option<Store>>> = Arc::default();
        let model = {
            let store = store.clone();
            TestModel::new([answer("done")], move |ask| {
                let store = store.clone();
                Box::pin(async move {
                    let lost = store.lock().unwrap().take_if(|_| ask.seed == 5);
                    if let Some(lost) = lost {
                        lost.join().await.unwrap();
                    }
                })
            })
        };
        let mut farm = Farm::new(&["a"], 1000, model);
        farm.unscored = unscored;
        farm.store = store;
        let over = farm.run().await;
        let error = over.ended.map(|e| e.credits_out).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Internal);
        assert_eq!(error.message, "store: the writer has ended");
        let durable = over.reader.ledger(&over.grid).unwrap();
        assert!(durable.adds_up() && durable.not_run > 0, "{durable:?}");
        assert!(!over.folder.path().join("work").exists());
    }
}
