//! What those who look on see of sessions in flight.

use tokio::sync::Semaphore;

use super::*;
use crate::{
    domain::Activity,
    model::{ModelErrorKind, Retry, Stop},
    store::Look,
};

/// Looks until what sessions are at is as it must become.
async fn until(reader: &Reader, is_so: impl Fn(&Look) -> bool) -> Look {
    let seen = async {
        loop {
            match reader.look().unwrap() {
                Some(look) if is_so(&look) => return look,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    soon(seen).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_seen_what_each_session_is_at_while_it_is_in_flight() {
    let (asked, called) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    // `a` thinks until it is let go, `b` works with its tool.
    let let_go = asked.clone();
    let model = TestModel::new([calls("wait", 1), answer("done")], move |ask| {
        let let_go = let_go.clone();
        Box::pin(async move {
            if ask.case == "a" {
                let_go.acquire().await.unwrap().forget();
            }
        })
    });
    let let_go = called.clone();
    let wait = tool("wait", true, move |_| {
        let let_go = let_go.clone();
        Box::pin(async move {
            let_go.acquire().await.unwrap().forget();
            Observation::ok("")
        })
    });
    let farm = Farm::new(&["a", "b"], 1, model).with_tool(&["a", "b"], wait);
    let run = farm.start().await;
    let reader = Reader::open(&run.folder.path().join("farm.db")).unwrap();
    let look = until(&reader, |look| look.list.len() == 2).await;
    let grid = run.grid.clone();
    let of = |look: &Look, key: &str| {
        let id = grid.find(&key.parse().unwrap()).unwrap();
        let doing = look.list.iter().find(|doing| doing.session == id);
        doing.map(|doing| doing.activity)
    };
    assert_eq!(look.at, 1.0, "the clock of the run");
    assert_eq!(of(&look, "v/a/0"), Some(Activity::Thinking));
    assert_eq!(of(&look, "v/b/0"), Some(Activity::Tool));

    called.add_permits(1);
    let look = until(&reader, |look| look.list.len() == 1).await;
    assert_eq!(of(&look, "v/a/0"), Some(Activity::Thinking));
    assert_eq!(of(&look, "v/b/0"), None, "it is no longer in flight");
    called.add_permits(1);
    asked.add_permits(2);
    let over = run.over().await;
    assert_eq!(over.ledger(), ledger(2, 0, 0));
    let list = over.reader.look().unwrap().map(|look| look.list);
    assert_eq!(list, Some(Vec::new()), "nothing is left of it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_over_at_once_is_never_looked_at() {
    let farm = Farm::new(&["a"], 3, TestModel::ready([answer("done")]));
    let over = farm.run().await;
    assert_eq!(over.ledger(), ledger(3, 0, 0));
    assert_eq!(over.reader.look().unwrap(), None);
}

/// Makes no further call.
struct NoMore(Stop);

impl Model for NoMore {
    fn complete<'a>(&'a self, _: &'a Request<'a>) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            Err(ModelError {
                kind: ModelErrorKind::Stopped(self.0),
                message: "quota is gone".to_owned(),
                retry: Retry::No,
            })
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_makes_no_further_call_is_on_record_with_its_reason() {
    for (stop, what, not_run) in [
        (Stop::Endpoint, "endpoint https://here", 4..=4),
        (Stop::Model, "model cheap", 2..=2),
        // Another endpoint may have been done by then.
        (Stop::Run, "the run", 4..=6),
    ] {
        let mut farm = Farm::new(&["a"], 2, TestModel::ready([answer("done")]));
        let of = |name: &str, endpoint: &str, account: &str, model: Arc<dyn Model>| Variant {
            endpoint: endpoint.to_owned(),
            account: account.to_owned(),
            ..variant(name, model)
        };
        let ready = || TestModel::ready([answer("done")]);
        farm.variants = vec![
            of("v", "https://here", "cheap", Arc::new(NoMore(stop))),
            of("w", "https://here", "dear", ready()),
            of("x", "https://there", "other", ready()),
        ];
        farm.concurrency = 1;
        let over = farm.run().await;
        let told = over.reader.parked().unwrap();
        let told: Vec<_> = told
            .iter()
            .map(|parked| (&*parked.what, &*parked.reason, parked.ts))
            .collect();
        assert_eq!(told, [(what, "quota is gone", 1.0)]);
        let ended = over.ended.as_ref().unwrap();
        assert_eq!(ended.parked, ["quota is gone"]);
        assert_eq!(ended.credits_out, 0);
        // It concerns nobody else.
        let left = over.reader.ledger(&over.grid).unwrap().not_run;
        assert!(not_run.contains(&left), "{what}: {left}");
    }
}
