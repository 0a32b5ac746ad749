//! What sessions waited for is on record, whatever became of it.

use super::*;
use crate::{
    domain::{Activity, Wait},
    model::{ModelErrorKind, Retry},
    session::StepJudge,
};

type Say = dyn Fn(usize) -> Result<Value, ModelError> + Send + Sync;

/// Waits for a rate each time that it is asked; what comes then depends on how often it was before.
struct Waiting {
    say: Box<Say>,
    asked: AtomicUsize,
}

impl Waiting {
    fn new(say: impl Fn(usize) -> Result<Value, ModelError> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            say: Box::new(say),
            asked: AtomicUsize::new(0),
        })
    }
}

impl Model for Waiting {
    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            drop(request.caller.watch.waits(Activity::Rate, None));
            let message = (self.say)(self.asked.fetch_add(1, Ordering::SeqCst))?;
            let body = to_raw_value(&json!({"choices": [{"message": message}]})).unwrap();
            Reply::parse(body.into(), Options::default(), Duration::ZERO)
        })
    }
}

fn fails(kind: ModelErrorKind, retry: Retry) -> Result<Value, ModelError> {
    Err(ModelError {
        kind,
        message: "it said so".to_owned(),
        retry,
    })
}

fn kinds(waits: &[Wait]) -> Vec<Activity> {
    waits.iter().map(|wait| wait.what).collect()
}

impl Over {
    /// What the only session waited for: before each turn of this attempt, and in the end.
    fn waits(&self, attempt: u32) -> (Vec<Vec<Activity>>, Vec<Activity>) {
        let turns = self.reader.turns(self.id("a", 0), attempt).unwrap();
        let of_turns = turns.iter().map(|turn| kinds(&turn.body.waits)).collect();
        let row = self.session("a", 0).unwrap();
        assert_eq!(row.attempt, attempt);
        (of_turns, kinds(&row.waits))
    }
}

const RATE: Activity = Activity::Rate;
const BACKOFF: Activity = Activity::Backoff;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_brings_no_turn_leaves_its_waits_to_the_end() {
    let model = Waiting::new(|n| match n {
        0 => Ok(calls("t", 1)),
        _ => fails(ModelErrorKind::SessionCost, Retry::No),
    });
    let farm = Farm::new(&["a"], 1, model).with_tool(&["a"], quick("t", || Observation::ok("1")));
    let over = farm.run().await;
    assert_eq!(over.outcome("a", 0).status, Status::BudgetExhausted);
    assert_eq!(over.waits(0), (vec![vec![RATE]], vec![RATE]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn so_does_a_judge_after_the_last_turn() {
    let says = json!({"score": 1, "passed": true, "reason": "it is"}).to_string();
    let judge = Waiting::new(move |_| Ok(answer(&says)));
    let mut farm = Farm::new(&["a"], 1, TestModel::ready([answer("done")]));
    farm.variants[0].judge = Some(Arc::new(StepJudge {
        judge: Judge::new(judge, "model j", &Map::new()),
        rubric: "Is it to the point?".to_owned(),
    }));
    let over = farm.run().await;
    assert_eq!(over.ledger(), ledger(1, 0, 0));
    assert_eq!(over.waits(0), (vec![vec![]], vec![RATE]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_broke_keeps_its_waits() {
    let model = Waiting::new(|n| match n {
        0 => fails(ModelErrorKind::Provider, Retry::Later),
        _ => Ok(answer("done")),
    });
    let over = Farm::new(&["a"], 1, model).run().await;
    assert_eq!(over.ledger(), ledger(1, 0, 0));
    assert_eq!(over.waits(0), (vec![vec![RATE, BACKOFF, RATE]], vec![]));

    let down = Waiting::new(|_| fails(ModelErrorKind::Provider, Retry::Later));
    let over = Farm::new(&["a"], 1, down).run().await;
    assert_eq!(over.ledger(), ledger(0, 1, 0));
    let all = vec![RATE, BACKOFF, RATE, BACKOFF, RATE];
    assert_eq!(over.waits(1), (vec![], all));
}
