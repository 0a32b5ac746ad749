//! What the models that judge would be asked.

use super::{
    Bounds, Cost, Known, Plan,
    calls::{CALLS, Calls, OBSERVATION_TOKENS, REPLY_TOKENS, TOKEN_BYTES},
    counts, seeds, sessions,
};
use crate::{
    domain::forecast::{JudgeForecast, Judges, Takes},
    model::judge,
};

/// Bytes that stand around one text under judgment.
const FENCE: f64 = 100.0;
/// Texts under judgment in one request, at most.
const PARTS: f64 = 5.0;

/// What is known of a model that judges.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownJudge {
    /// What it judges.
    pub work: Work,
    /// Its name in the config.
    pub model: String,
    /// What its tokens cost.
    pub cost: Cost,
    /// The most tokens of one of its replies.
    pub output_limit: Option<u64>,
    /// Bytes of a request, but for rubric and work.
    pub bytes: usize,
}

/// What is judged, and by rubrics of how many bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// Each step, by the same rubric.
    Steps(usize),
    /// Each session: the rubrics of each case, as the cases of the plan stand.
    Sessions(Vec<Vec<usize>>),
}

impl KnownJudge {
    /// What it would take; `known` is of the variants that it judges.
    pub(super) fn forecast(&self, plan: &Plan, known: &[Known], bounds: Bounds) -> JudgeForecast {
        let reply = self.output_limit.map(|tokens| tokens as f64);
        let agents = known.iter().enumerate();
        let asked = agents.flat_map(|(at, agent)| self.asked(plan, at, agent, bounds));
        let (likely, most): (Vec<Calls>, Vec<Calls>) = asked.unzip();
        let likely = likely.into_iter().sum::<Calls>().times(seeds(plan));
        // A reply that is no grade is asked for again.
        let tries = f64::from(judge::TRIES);
        let most = most.into_iter().sum::<Calls>().times(seeds(plan) * tries);
        // What agents say goes to the judge.
        let is_limited = known.iter().all(|known| known.output_limit.is_some());
        let limit = reply.filter(|_| is_limited);
        let guessed = match self.cost {
            Cost::Free | Cost::Unknown => None,
            Cost::Priced(price, _) => Some(likely.usd(price)),
        };
        JudgeForecast {
            judges: match self.work {
                Work::Steps(_) => Judges::Steps,
                Work::Sessions(_) => Judges::Sessions,
            },
            model: self.model.clone(),
            takes: Takes {
                calls: counts(Some(likely.calls), Some(most.calls)),
                tokens_in: counts(Some(likely.tokens_in()), limit.and(Some(most.bytes_in))),
                tokens_out: counts(Some(likely.tokens_out), reply.and(Some(most.tokens_out))),
                cost_usd: self
                    .cost
                    .span(guessed, limit.and(Some(self.cost.at_most(most)))),
            },
        }
    }
}

impl KnownJudge {
    /// What it is asked of one session of each case under a variant: what is likely, and at most.
    fn asked(
        &self,
        plan: &Plan,
        variant: usize,
        agent: &Known,
        bounds: Bounds,
    ) -> Vec<(Calls, Calls)> {
        let most_reply = self.output_limit.map_or(0.0, |tokens| tokens as f64);
        let likely_reply = match self.output_limit {
            Some(_) => most_reply.min(REPLY_TOKENS),
            None => REPLY_TOKENS,
        };
        let step = (REPLY_TOKENS + OBSERVATION_TOKENS) * TOKEN_BYTES;
        let most_said = agent.output_limit.map_or(0.0, |tokens| tokens as f64);
        let most_step = most_said * TOKEN_BYTES + bounds.observation_bytes as f64;
        // So many calls about so many steps each.
        let both = |rubric: usize, task: f64, [likely, most]: [(f64, f64); 2]| {
            let around = self.bytes as f64 + PARTS * FENCE + task + rubric as f64;
            let (calls, steps) = likely;
            let likely = Calls::alike(calls, around + steps * step, likely_reply);
            let (calls, steps) = most;
            let most = Calls::alike(calls, around + steps * most_step, most_reply);
            (likely, most)
        };
        let mut asked = Vec::new();
        for (case, (_, steps, _)) in sessions(plan, variant).enumerate() {
            let task = plan.cases[case].case.task.len() as f64;
            let likely = CALLS.min(steps);
            match &self.work {
                Work::Steps(rubric) => {
                    asked.push(both(*rubric, task, [(likely, 1.0), (steps, 1.0)]));
                }
                Work::Sessions(rubrics) => {
                    let of_case = rubrics.get(case).into_iter().flatten();
                    asked.extend(
                        of_case.map(|rubric| both(*rubric, task, [(1.0, likely), (1.0, steps)])),
                    );
                }
            }
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Price, run::tests::plan_of};

    const AGENT: Known = Known {
        cost: Cost::Free,
        output_limit: Some(100),
        pilot: None,
    };

    const BOUNDS: Bounds = Bounds {
        max_cost_usd: None,
        observation_bytes: 65_536,
    };

    fn judge(work: Work) -> KnownJudge {
        let price = Price {
            input: 1.0,
            cached: None,
            output: 10.0,
        };
        KnownJudge {
            work,
            model: "judge".to_owned(),
            cost: Cost::Priced(price, None),
            output_limit: Some(50),
            bytes: 400,
        }
    }

    #[test]
    fn steps() {
        let plan = plan_of(2, 3, 4);
        let of = judge(Work::Steps(94)).forecast(&plan, &[AGENT, AGENT], BOUNDS);
        assert_eq!(of.judges, Judges::Steps);
        let Takes {
            calls,
            tokens_in,
            tokens_out,
            cost_usd,
        } = of.takes;
        let sessions = 2 * 3 * 4;
        assert_eq!(calls.likely, Some(sessions * 3));
        let steps = u64::from(
            plan.spec(crate::domain::SessionId(plan.grid.span().start))
                .limits
                .max_steps,
        );
        assert_eq!(calls.most, Some(sessions * steps * 3));
        // Around each step: 400 + 500 + 94 bytes, and the six of "a task".
        assert_eq!(tokens_in.likely, Some(sessions * 3 * (1000 + 800) / 4));
        assert_eq!(
            tokens_in.most,
            calls.most.map(|n| n * (1000 + 400 + 65_536))
        );
        assert_eq!(tokens_out.likely, Some(sessions * 3 * 50));
        let usd = tokens_in.most.unwrap() as f64 + 10.0 * tokens_out.most.unwrap() as f64;
        assert!((cost_usd.most.unwrap() - usd / 1e6).abs() < 1e-9);

        let unlimited = Known {
            output_limit: None,
            ..AGENT
        };
        let of = judge(Work::Steps(94)).forecast(&plan, &[AGENT, unlimited], BOUNDS);
        assert_eq!(
            (of.takes.tokens_in.most, of.takes.cost_usd.most),
            (None, None)
        );
        assert!(of.takes.cost_usd.likely.is_some());
    }

    #[test]
    fn sessions_with_checks_that_a_model_grades() {
        let plan = plan_of(1, 3, 4);
        let rubrics = vec![vec![10, 20], vec![], vec![30]];
        let of = judge(Work::Sessions(rubrics)).forecast(&plan, &[AGENT], BOUNDS);
        assert_eq!(of.judges, Judges::Sessions);
        assert_eq!(of.takes.calls.likely, Some(3 * 4));
        assert_eq!(of.takes.calls.most, Some(3 * 4 * 3));
        let bytes = 3 * (906 + 3 * 800) + 60;
        assert_eq!(of.takes.tokens_in.likely, Some(4 * bytes / 4));
    }
}
