//! The ReAct loop as a pure machine: think, verify, act, observe and score.
//!
//! [`Machine::step`] takes what happened and returns what is to be done. It runs nothing, waits for
//! nothing and knows no clock, so a session that is interrupted anywhere is continued by feeding
//! what is durable through it again.

use std::sync::Arc;

use super::{
    acting::{Acting, Repeats},
    budget::Budget,
    judge::{Judged, Judging, is_judged},
    spec::Spec,
};
use crate::{
    domain::{Action, Call, Limit, Observation, Outcome, Served, Status, StepFacts, trace::Step},
    model::{Conversation, ModelError, ModelErrorKind, Normalised},
};

/// Failed turns in a row that end a session.
pub const FALLBACK_AFTER: u32 = 3;

/// Something that happened to a session.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most events are replies, and none is kept"
)]
pub enum Event {
    /// It begins.
    Begin,
    /// The model replied.
    Replied {
        /// What it says.
        reply: Normalised,
        /// What it cost, in US dollars, where that is known.
        cost_usd: Option<f64>,
        /// Working seconds since the session began.
        work_s: f64,
    },
    /// The endpoint served no reply, or the judge no judgment.
    Failed(ModelError),
    /// The calls of [`Effect::Run`] came back, in its order.
    Observed {
        /// What they brought.
        observations: Vec<Observation>,
        /// Working seconds since the session began.
        work_s: f64,
    },
    /// What a model says of the steps of [`Effect::Judge`].
    Judged(Judged),
    /// `max_seconds` passed while the model was thinking.
    TimeUp,
}

/// Something to be done, in order.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Ask the model; answer with [`Event::Replied`], [`Event::Failed`] or [`Event::TimeUp`].
    Ask,
    /// Make the reply durable.
    KeepTurn,
    /// Run these calls at the same time, once all before is durable; answer with
    /// [`Event::Observed`].
    Run(Vec<Call>),
    /// Make these steps durable.
    KeepSteps(Vec<Step>),
    /// Have a model judge these steps of one turn, once they are durable, but for those that were
    /// blocked; answer with [`Event::Judged`] or [`Event::Failed`].
    Judge(Vec<Step>),
    /// Make its judgments durable.
    KeepJudgments,
    /// The session has ended; make it durable.
    End(Outcome),
}

/// The state of one session.
pub struct Machine {
    spec: Arc<Spec>,
    budget: Budget,
    conversation: Conversation,
    turn: u32,
    failed_turns: u32,
    score_sum: f64,
    score_count: u32,
    blocked: u32,
    repeats: Repeats,
    acting: Option<Acting>,
    judging: Option<Judging>,
    served: Vec<Served>,
    facts: Vec<StepFacts>,
}

impl Machine {
    /// A session that has not begun.
    #[must_use]
    pub fn new(spec: Arc<Spec>, conversation: Conversation) -> Self {
        let budget = Budget::new(spec.limits.clone());
        Self {
            spec,
            budget,
            conversation,
            turn: 0,
            failed_turns: 0,
            score_sum: 0.0,
            score_count: 0,
            blocked: 0,
            repeats: Repeats::default(),
            acting: None,
            judging: None,
            served: Vec::new(),
            facts: Vec::new(),
        }
    }

    /// The history as the model is to see it.
    #[must_use]
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The number of the next reply, from 0.
    #[must_use]
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// Hands the steps over, as checks see them.
    pub fn take_facts(&mut self) -> Vec<StepFacts> {
        std::mem::take(&mut self.facts)
    }

    /// Takes what happened, returns what is to be done.
    pub fn step(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Begin => vec![self.next()],
            Event::Replied {
                reply,
                cost_usd,
                work_s,
            } => {
                self.budget.spend(reply.usage, cost_usd);
                self.budget.worked(work_s);
                Outcome::note(&mut self.served, &reply.served);
                self.replied(reply)
            }
            Event::Observed {
                observations,
                work_s,
            } => {
                self.budget.worked(work_s);
                self.observed(observations)
            }
            Event::Judged(Judged { of_steps, work_s }) => {
                self.budget.worked(work_s);
                let Some(judging) = self.judging.take() else {
                    return Vec::new();
                };
                let (reply, steps) = judging.finish(of_steps);
                vec![Effect::KeepJudgments, self.scored(reply, &steps)]
            }
            Event::Failed(e) => vec![self.failed(&e)],
            Event::TimeUp => vec![self.exhausted(Limit::Seconds)],
        }
    }

    /// Think is over: verify each action; run what passes, keep the rest.
    fn replied(&mut self, reply: Normalised) -> Vec<Effect> {
        let (step, left) = (self.budget.steps, self.budget.steps_left());
        let acting = Acting::new(reply, &self.spec, step, left, &mut self.repeats);
        let calls = acting.to_run();
        self.acting = Some(acting);
        let mut effects = vec![Effect::KeepTurn];
        if calls.is_empty() {
            effects.extend(self.observed(Vec::new()));
        } else {
            effects.push(Effect::Run(calls));
        }
        effects
    }

    /// Act is over: score each step, then end or think again.
    fn observed(&mut self, observations: Vec<Observation>) -> Vec<Effect> {
        let Some(acting) = self.acting.take() else {
            return Vec::new();
        };
        let (reply, steps) = acting.finish(observations, &self.spec, self.budget.steps, self.turn);
        self.turn += 1;
        if self.spec.judge.is_some() && steps.iter().any(is_judged) {
            let due = vec![
                Effect::KeepSteps(steps.clone()),
                Effect::Judge(steps.clone()),
            ];
            self.judging = Some(Judging { reply, steps });
            return due;
        }
        let next = self.scored(reply, &steps);
        vec![Effect::KeepSteps(steps), next]
    }

    /// All is said of the steps of a turn: count them, then end or think again.
    fn scored(&mut self, reply: Normalised, steps: &[Step]) -> Effect {
        steps.iter().for_each(|step| self.count(step));
        self.failed_turns = if steps.iter().all(Step::is_failed) {
            self.failed_turns + 1
        } else {
            0
        };
        let came_back = steps.iter().filter_map(|s| s.observation.as_ref());
        self.conversation.push_turn(&reply, came_back);
        match reply.action {
            Action::Answer(answer) => Effect::End(Outcome {
                answer: Some(answer),
                ..self.outcome(Status::Completed)
            }),
            Action::Calls(_) | Action::Malformed { .. } => self.next(),
        }
    }

    /// No reply: what has been done is counted. No limit of the judge is one of the session.
    fn failed(&mut self, error: &ModelError) -> Effect {
        let mut said = error.to_string();
        if let Some(judging) = self.judging.take() {
            judging.steps.iter().for_each(|step| self.count(step));
            said = format!("judge: {said}");
        } else if let Some(limit) = limit(error.kind) {
            return self.exhausted(limit);
        }
        Effect::End(Outcome {
            error: Some(said),
            ..self.outcome(Status::ModelError)
        })
    }

    /// A limit that is reached comes before the fallback stop.
    fn next(&self) -> Effect {
        if let Some(limit) = self.budget.exhausted() {
            self.exhausted(limit)
        } else if self.failed_turns >= FALLBACK_AFTER {
            Effect::End(self.outcome(Status::FallbackStop))
        } else {
            Effect::Ask
        }
    }

    fn exhausted(&self, limit: Limit) -> Effect {
        Effect::End(Outcome {
            limit: Some(limit),
            ..self.outcome(Status::BudgetExhausted)
        })
    }

    fn outcome(&self, status: Status) -> Outcome {
        Outcome {
            status,
            limit: None,
            answer: None,
            steps_used: self.budget.steps,
            blocked: self.blocked,
            mean_score: (self.score_count > 0)
                .then(|| self.score_sum / f64::from(self.score_count)),
            tokens_in: self.budget.tokens_in,
            tokens_out: self.budget.tokens_out,
            cost_usd: self.budget.cost_usd,
            error: None,
            served: self.served.clone(),
        }
    }

    fn count(&mut self, step: &Step) {
        self.budget.steps += 1;
        self.blocked += u32::from(step.is_blocked());
        for judgment in &step.judgments {
            self.score_sum += judgment.score;
            self.score_count += 1;
        }
        self.facts.push(step.into());
    }
}

/// The limit of the session that an error of its model tells of.
fn limit(error: ModelErrorKind) -> Option<Limit> {
    match error {
        ModelErrorKind::Context => Some(Limit::Context),
        ModelErrorKind::SessionCost => Some(Limit::CostUsd),
        ModelErrorKind::SessionTime => Some(Limit::Seconds),
        _ => None,
    }
}
