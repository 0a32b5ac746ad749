//! Has a model judge the steps of a turn.

use futures_util::future::join_all;

use super::{Event, Exit, State};
use crate::{
    domain::{Activity, Purpose, trace},
    model::{Asked, Graded, ModelError},
    session::judge::{Judged, StepJudge, is_judged, judgment, parts},
    store::{At, Write},
};

impl State {
    /// Asks about all steps of a turn at the same time. It takes as long as it takes: the session's
    /// time is looked at when it is over, as it is after a tool that was in time, so that no answer
    /// is lost to a slow judge.
    pub(super) async fn judge(&mut self, steps: &[trace::Step]) -> Result<Event, Exit> {
        let turn = steps.first().map_or(0, |step| step.turn);
        tracing::debug!(key = %self.key, attempt = self.attempt, turn, "is judged");
        self.watch.is_at(Activity::Thinking);
        let graded = match self.spec.judge.clone() {
            Some(judge) => self.grades(&judge, turn, steps).await,
            None => Ok(Vec::new()),
        };
        let graded = match graded {
            Ok(graded) => graded,
            Err(error) => return self.failed(error, Purpose::Judge).await,
        };
        let cost_usd = graded.iter().flatten().map(|graded| graded.cost_usd).sum();
        let judgments = |graded: Option<Graded>| graded.map(judgment).into_iter().collect();
        let judged = Judged {
            of_steps: graded.into_iter().map(judgments).collect(),
            work_s: self.worked.seconds(),
        };
        let at = At {
            work_s: judged.work_s,
            ts: self.clock.now(),
        };
        let of = (self.id, self.attempt);
        self.judged = Some(Write::judged(of, turn, &judged.of_steps, cost_usd, at));
        Ok(Event::Judged(judged))
    }

    /// One grade a step; none where there is nothing to judge.
    async fn grades(
        &self,
        judge: &StepJudge,
        turn: u32,
        steps: &[trace::Step],
    ) -> Result<Vec<Option<Graded>>, ModelError> {
        let caller = self.caller(turn, Purpose::Judge);
        let grades = steps.iter().map(async |step| {
            if !is_judged(step) {
                return Ok(None);
            }
            let asked = Asked {
                case: &self.key.case,
                seed: self.key.seed,
                rng_seed: self.rng_seed,
                rubric: &judge.rubric,
                parts: &parts(&self.task, step),
            };
            judge.judge.ask(&asked, &caller).await.map(Some)
        });
        join_all(grades).await.into_iter().collect()
    }
}
