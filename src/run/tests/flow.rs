//! What runs at the same time, and what does not.

use tokio::sync::{Barrier, Semaphore};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_many_sessions_as_the_cap_and_never_more() {
    let cap = 5;
    // A call returns only when the cap is reached.
    let barrier = Arc::new(Barrier::new(cap));
    let model = TestModel::new([answer("done")], move |_| {
        let barrier = barrier.clone();
        Box::pin(async move { _ = barrier.wait().await })
    });
    let mut farm = Farm::new(&["a", "b"], 20, model.clone());
    farm.concurrency = cap;
    let over = farm.run().await;
    assert_eq!(over.ledger(), ledger(40, 0, 0));
    assert_eq!(model.most(), cap);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_at_a_time_is_plan_order() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let model = {
        let order = order.clone();
        TestModel::new([answer("done")], move |ask| {
            order.lock().unwrap().push((ask.seed, ask.case));
            Box::pin(std::future::ready(()))
        })
    };
    let mut farm = Farm::new(&["b", "a"], 3, model.clone());
    farm.concurrency = 1;
    assert_eq!(farm.run().await.ledger(), ledger(6, 0, 0));
    assert_eq!(model.most(), 1);
    let want = (0..3).flat_map(|seed| ["b", "a"].map(|case| (seed, case.to_owned())));
    assert_eq!(*order.lock().unwrap(), want.collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_session_does_not_idle_the_other_slots() {
    let (seeds, others) = (20, Arc::new(Semaphore::new(0)));
    let model = TestModel::new([answer("done")], move |ask| {
        let others = others.clone();
        Box::pin(async move {
            if ask.seed == 0 {
                drop(others.acquire_many(seeds - 1).await.unwrap());
            } else {
                others.add_permits(1);
            }
        })
    });
    let mut farm = Farm::new(&["a"], u64::from(seeds), model.clone());
    farm.concurrency = 2;
    assert_eq!(farm.run().await.ledger(), ledger(20, 0, 0));
    assert_eq!(model.most(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_endpoint_does_not_hold_up_another() {
    let (seeds, fast_ones) = (10, Arc::new(Semaphore::new(0)));
    let fast = {
        let done = fast_ones.clone();
        TestModel::new([answer("done")], move |_| {
            done.add_permits(1);
            Box::pin(std::future::ready(()))
        })
    };
    let slow = TestModel::new([answer("done")], move |_| {
        let fast_ones = fast_ones.clone();
        Box::pin(async move { drop(fast_ones.acquire_many(seeds).await.unwrap()) })
    });
    let mut farm = Farm::new(&["a"], u64::from(seeds), slow.clone());
    farm.variants.push(variant("w", fast.clone()));
    farm.concurrency = 1;
    assert_eq!(farm.run().await.ledger(), ledger(20, 0, 0));
    assert_eq!((slow.most(), fast.most()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn variants_of_one_endpoint_share_its_cap() {
    let both = TestModel::ready([answer("done")]);
    let mut farm = Farm::new(&["a"], 10, both.clone());
    let mut second = variant("w", both.clone());
    "v".clone_into(&mut second.endpoint);
    farm.variants.push(second);
    farm.concurrency = 1;
    assert_eq!(farm.run().await.ledger(), ledger(20, 0, 0));
    assert_eq!(both.most(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_calls_of_one_turn_run_at_the_same_time() {
    let barrier = Arc::new(Barrier::new(3));
    let meet = tool("meet", true, move |_| {
        let barrier = barrier.clone();
        Box::pin(async move {
            barrier.wait().await;
            Observation::ok("met")
        })
    });
    let model = TestModel::ready([calls("meet", 3), answer("done")]);
    let over = Farm::new(&["a"], 1, model)
        .with_tool(&["a"], meet)
        .run()
        .await;
    assert_eq!(over.ledger(), ledger(1, 0, 0));
    assert_eq!(over.durable("a", 0, 0), (2, 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_session_has_its_own_fresh_files() {
    let from = tempfile::tempdir().unwrap();
    std::fs::write(from.path().join("fresh"), "").unwrap();
    let panics = Arc::new(AtomicUsize::new(3));
    // Uses its folder up; sometimes it breaks after that, and the session goes on with a new one.
    let spoil = {
        let panics = panics.clone();
        tool("spoil", true, move |context| {
            let panics = panics.clone();
            Box::pin(async move {
                let files = context.files.unwrap();
                files.remove_file("fresh").unwrap();
                files.write("spoilt", "").unwrap();
                let left =
                    panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
                assert!(left.is_err(), "the tool panics on purpose");
                Observation::ok("spoilt")
            })
        })
    };
    let look = tool("look", true, |context| {
        Box::pin(async move {
            let files = context.files.unwrap();
            let there = ["fresh", "spoilt"].map(|name| files.exists(name));
            Observation::ok(format!("{there:?}"))
        })
    });
    let model = TestModel::ready([
        calls("look", 1),
        calls("spoil", 1),
        calls("look", 1),
        answer("done"),
    ]);
    let mut farm = Farm::new(&["a", "b"], 10, model)
        .with_tool(&["a", "b"], look)
        .with_tool(&["a", "b"], spoil);
    for case in &mut farm.cases {
        case.files = Some(from.path().to_owned());
    }
    let over = farm.run().await;
    assert_eq!(over.ledger(), ledger(20, 0, 0));
    assert_eq!(over.totals().restarts, 3);
    for case in ["a", "b"] {
        for seed in 0..10 {
            let attempt = over.session(case, seed).unwrap().attempt;
            let steps = over.reader.steps(over.id(case, seed), attempt).unwrap();
            let seen: Vec<_> = steps
                .iter()
                .filter_map(|s| s.body.observation.as_ref())
                .map(|o| &*o.content)
                .collect();
            assert_eq!(seen, ["[true, false]", "spoilt", "[false, true]"]);
        }
    }
    assert!(from.path().join("fresh").exists());
}
