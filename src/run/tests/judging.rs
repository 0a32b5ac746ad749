//! Sessions whose steps a model judges.

use tokio::sync::Semaphore;

use super::{judge::*, *};
use crate::{
    domain::{Judgment, Purpose},
    model::{ModelErrorKind, Retry, Stop},
    session::StepJudge,
};

const RUBRIC: &str = "Is it to the point?";

fn step_judge(model: Arc<TestJudge>) -> Option<Arc<StepJudge>> {
    Some(Arc::new(StepJudge {
        judge: Judge::new(model, "model j", &Map::new()),
        rubric: RUBRIC.to_owned(),
    }))
}

/// One turn with two calls of `t`, then the answer; each turn takes tokens and money.
fn model() -> Arc<TestModel> {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 2, "cost": 0.125});
    let mut script = [calls("t", 2), answer("done")];
    script.iter_mut().for_each(|m| m["usage"] = usage.clone());
    TestModel::ready(script)
}

/// A run whose steps this judge judges.
fn farm(model: Arc<TestModel>, judge: Arc<TestJudge>) -> Farm {
    let mut farm =
        Farm::new(&["a"], 2, model).with_tool(&["a"], quick("t", || Observation::ok("1")));
    farm.variants[0].judge = step_judge(judge);
    farm
}

impl Over {
    /// What the judge said of the steps of attempt 0.
    fn judgments(&self, case: &str, seed: u64) -> Vec<Option<Judgment>> {
        let steps = self.reader.steps(self.id(case, seed), 0).unwrap();
        let by_judge =
            |judgments: Vec<Judgment>| judgments.into_iter().find(|j| j.verifier == "judge");
        steps
            .into_iter()
            .map(|s| by_judge(s.body.judgments))
            .collect()
    }

    /// The turns of attempt 0 that are judged, and what that cost.
    fn judged(&self, case: &str, seed: u64) -> Vec<(u32, Option<f64>)> {
        let rows = self.reader.judged(self.id(case, seed), 0).unwrap();
        rows.iter().map(|row| (row.turn, row.cost_usd)).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_step_is_judged_for_money_that_is_not_the_sessions() {
    let judge = TestJudge::ready(|q| grade(if q.of.turn == 0 { 0.75 } else { 0.25 }));
    let over = farm(model(), judge.clone()).run().await;
    assert_eq!(over.ledger(), ledger(2, 0, 0));
    let said = |j: Option<Judgment>| j.map(|j| (j.score, j.passed, j.reason));
    let said: Vec<_> = over.judgments("a", 1).into_iter().map(said).collect();
    let first = Some((0.75, true, "worth 0.75".to_owned()));
    let last = Some((0.25, false, "worth 0.25".to_owned()));
    assert_eq!(said, [first.clone(), first, last]);
    assert_eq!(over.judged("a", 1), [(0, Some(0.5)), (1, Some(0.25))]);

    let outcome = over.outcome("a", 1);
    assert_eq!((outcome.tokens_in, outcome.tokens_out), (Some(14), Some(4)));
    assert_eq!(outcome.cost_usd, Some(0.25), "that of the model alone");
    assert_eq!(over.tally.cost_usd, 0.5);
    let [budget, judged] = [1.0 + 0.875 + 0.75, 0.75 + 0.75 + 0.25];
    assert_eq!(outcome.mean_score, Some((3.0 + budget + judged) / 9.0));

    let asked = judge.asked();
    assert_eq!(asked.len(), 6);
    assert!(
        asked
            .iter()
            .all(|q| q.of.purpose == Purpose::Judge && q.of.attempt == 0)
    );
    let of_call = asked.iter().find(|q| q.of.turn == 0).unwrap();
    for part in [RUBRIC, "Do it.", "t {}", "\n1\n"] {
        assert!(of_call.text.contains(part), "{}", of_call.text);
    }
    let of_answer = asked.iter().find(|q| q.of.turn == 1).unwrap();
    assert!(
        of_answer.text.contains("begin answer\ndone\n"),
        "{}",
        of_answer.text
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_without_their_judgments_are_judged_when_it_goes_on() {
    for hangs_at in [0, 1] {
        let seen = Arc::new(Semaphore::new(0));
        let is_on = Arc::new(Mutex::new(true));
        let judge = {
            let (seen, is_on) = (seen.clone(), is_on.clone());
            TestJudge::new(move |q| {
                let hangs = q.of.turn == hangs_at && *is_on.lock().unwrap();
                let seen = seen.clone();
                Box::pin(async move {
                    if hangs {
                        seen.add_permits(1);
                        std::future::pending::<()>().await;
                    }
                    grade(0.5)
                })
            })
        };
        let model = model();
        let at_work = farm(model.clone(), judge.clone()).start().await;
        // Both calls of a turn are judged at the same time, and both sessions.
        let hanging = if hangs_at == 0 { 4 } else { 2 };
        drop(soon(seen.acquire_many(hanging)).await.unwrap());
        at_work.run().interrupt_token().cancel();
        let over = at_work.over().await;
        assert_eq!(over.ledger(), ledger(0, 0, 2));
        let durable = [(1, 2), (2, 3)][hangs_at as usize];
        assert_eq!(over.durable("a", 0, 0), durable, "the steps are there");
        assert_eq!(over.judged("a", 0).len(), hangs_at as usize);

        *is_on.lock().unwrap() = false;
        let over = farm(model.clone(), judge.clone())
            .after(over, RESUME)
            .run()
            .await;
        assert_eq!(over.ledger(), ledger(2, 0, 0));
        assert_eq!(model.asks("a", 0), [1, 1], "the model is not asked again");
        let again = if hangs_at == 0 { 2 } else { 1 };
        assert_eq!(
            judge.asks("a", 0),
            3 + again,
            "nor the judge, for what it had said"
        );
        assert!(over.judgments("a", 0).iter().all(Option::is_some));
        assert_eq!(over.judged("a", 0), [(0, Some(0.5)), (1, Some(0.25))]);
        assert_eq!(over.totals().lost_attempts, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_that_gives_no_grade_is_an_error_and_no_failure() {
    let judge = TestJudge::ready(|_| Ok("It is good.".to_owned()));
    let model = model();
    let over = farm(model.clone(), judge.clone()).run().await;
    assert_eq!(over.ledger(), ledger(0, 2, 0));
    let outcome = over.outcome("a", 0);
    assert_eq!(outcome.status, Status::ModelError);
    assert_eq!(
        outcome.error.as_deref(),
        Some(
            "judge: no_reply: model j: none of 3 replies is a grade; the last one is not one JSON object"
        )
    );
    assert_eq!(outcome.steps_used, 2);
    assert_eq!(model.asks("a", 0), [1]);
    let mut seeds: Vec<u64> = judge.asked().iter().map(|q| q.rng_seed).collect();
    assert_eq!(seeds.len(), 12, "three tries for each of four calls");
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 6, "each with its own seed");
    assert_eq!(over.totals().restarts, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_that_is_down_for_a_while_breaks_the_session_and_it_goes_on() {
    let down = |times: usize| {
        let left = AtomicUsize::new(times);
        TestJudge::ready(move |q| {
            let is_down = q.of.turn == 1
                && left
                    .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1))
                    .is_ok();
            match is_down {
                true => error(ModelErrorKind::Provider, Retry::Later),
                false => grade(1.0),
            }
        })
    };
    let judge = down(1);
    let model_1 = model();
    let over = farm(model_1.clone(), judge.clone()).run().await;
    assert_eq!(over.ledger(), ledger(2, 0, 0));
    let totals = over.totals();
    assert_eq!((totals.restarts, totals.lost_attempts), (1, 0));
    let asks = [0, 1].map(|seed| (model_1.asks("a", seed), judge.asks("a", seed)));
    assert!(asks.iter().all(|(model, _)| *model == [1, 1]), "{asks:?}");
    assert_eq!(asks[0].1 + asks[1].1, 7, "one answer is judged again");

    let over = farm(model(), down(usize::MAX)).run().await;
    assert_eq!(over.ledger(), ledger(0, 2, 0));
    let outcome = over.outcome("a", 0);
    assert_eq!(outcome.status, Status::ModelError);
    assert_eq!(
        outcome.error.as_deref(),
        Some("judge: provider: it said so")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_that_is_not_asked_any_more_parks_the_variants_that_it_judges() {
    for stop in [Stop::Endpoint, Stop::Model, Stop::Run] {
        let stopped = TestJudge::ready(move |_| error(ModelErrorKind::Stopped(stop), Retry::No));
        let fine = TestJudge::ready(|_| grade(1.0));
        let mut farm = farm(model(), stopped);
        // All variants share an endpoint and an account; `w` has the judge of `v`.
        for (name, judge) in [
            ("w", farm.variants[0].judge.clone()),
            ("x", step_judge(fine)),
        ] {
            let mut other = variant(name, model());
            "v".clone_into(&mut other.endpoint);
            "v".clone_into(&mut other.account);
            other.judge = judge;
            farm.variants.push(other);
        }
        farm.concurrency = 1;
        let over = farm.run().await;
        let ended = over.ended.as_ref().unwrap();
        assert_eq!(ended.parked, ["judge: it said so"], "{stop:?}");
        let (passed, wind_down) = match stop {
            Stop::Run => (0, Some(WindDown::Money)),
            _ => (2, None),
        };
        assert_eq!(over.wind_down(), wind_down);
        assert_eq!(over.ledger(), ledger(passed, 0, 6 - passed), "{stop:?}");
    }
}
