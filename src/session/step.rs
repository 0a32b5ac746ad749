//! The ReAct loop as a pure machine: think, verify, act, observe and score.
//!
//! [`Machine::step`] takes what happened and returns what is to be done. It runs nothing, waits for
//! nothing and knows no clock, so a session that is interrupted anywhere is continued by feeding
//! what is durable through it again.

use std::sync::Arc;

use super::budget::Budget;
use crate::{
    domain::{
        Action, Call, DecidedCall, Decision, Judgment, Limit, Limits, Observation, Outcome, Status, StepFacts,
        trace::Step,
    },
    model::{Conversation, ModelError, ModelErrorKind, Normalised},
    tool::ToolSet,
    verify::{Context, Item, Verifiers},
};

/// Failed turns in a row that end a session.
pub const FALLBACK_AFTER: u32 = 3;

/// What is fixed for a session before it begins.
#[derive(Clone)]
pub struct Spec {
    /// What it may spend.
    pub limits: Limits,
    /// What it may call.
    pub tools: ToolSet,
    /// What judges its steps.
    pub verifiers: Verifiers,
}

/// Something that happened to a session.
#[derive(Debug)]
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
    /// The endpoint served no reply.
    Failed(ModelError),
    /// The calls of [`Effect::Run`] came back, in its order.
    Observed {
        /// What they brought.
        observations: Vec<Observation>,
        /// Working seconds since the session began.
        work_s: f64,
    },
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
    last_call: Option<(String, String)>,
    repeats: u32,
    acting: Option<Acting>,
    facts: Vec<StepFacts>,
}

/// A turn whose calls are running.
struct Acting {
    reply: Normalised,
    pending: Vec<Pending>,
}

/// One step on its way: judged before the act, not yet after.
struct Pending {
    call: u32,
    decision: Decision,
    judgments: Vec<Judgment>,
    repeats: u32,
    observation: Option<Observation>,
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
            last_call: None,
            repeats: 0,
            acting: None,
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
            Event::Begin => self.go_on(Vec::new()),
            Event::Replied { reply, cost_usd, work_s } => {
                self.budget.spend(reply.usage, cost_usd);
                self.budget.worked(work_s);
                self.replied(reply)
            }
            Event::Observed { observations, work_s } => {
                self.budget.worked(work_s);
                self.observed(observations)
            }
            Event::Failed(e) if e.kind == ModelErrorKind::Context => {
                vec![self.end(Status::BudgetExhausted, Some(Limit::Context), None)]
            }
            Event::Failed(e) => vec![self.end(Status::ModelError, None, Some(e.to_string()))],
            Event::TimeUp => vec![self.end(Status::BudgetExhausted, Some(Limit::Seconds), None)],
        }
    }

    /// Think is over: verify each action; run what passes, keep the rest.
    fn replied(&mut self, reply: Normalised) -> Vec<Effect> {
        let pending = match &reply.action {
            Action::Calls(calls) => {
                let calls: Vec<&Call> = calls.iter().take(self.budget.steps_left()).collect();
                calls.iter().enumerate().map(|(i, call)| self.judge_call(i, call, &reply)).collect()
            }
            Action::Answer(text) => {
                let decision = Decision { answer: Some(text.clone()), ..thinking(&reply) };
                vec![self.judge_before(Item::Answer(text), 0, decision, None)]
            }
            Action::Malformed { code, reason } => {
                let item = Item::Malformed { code: *code, reason };
                let observation = Some(Observation::error(reason.clone()));
                vec![self.judge_before(item, 0, thinking(&reply), observation)]
            }
        };
        let to_run = to_run(&reply.action, &pending);
        self.acting = Some(Acting { reply, pending });
        if to_run.is_empty() {
            let mut effects = vec![Effect::KeepTurn];
            effects.extend(self.observed(Vec::new()));
            effects
        } else {
            vec![Effect::KeepTurn, Effect::Run(to_run)]
        }
    }

    /// Act is over: score each step, then end or think again.
    fn observed(&mut self, observations: Vec<Observation>) -> Vec<Effect> {
        let Some(Acting { reply, mut pending }) = self.acting.take() else {
            return Vec::new();
        };
        let open = pending.iter_mut().filter(|p| p.observation.is_none());
        for (pending, observation) in open.zip(observations) {
            pending.observation = Some(observation);
        }
        let steps: Vec<Step> = pending.into_iter().map(|p| self.judge_after(&reply, p)).collect();
        self.failed_turns = if steps.iter().all(Step::is_failed) { self.failed_turns + 1 } else { 0 };
        self.turn += 1;
        if let Action::Answer(answer) = reply.action {
            let end = self.end(Status::Completed, None, None);
            let Effect::End(outcome) = end else { return vec![end] };
            return vec![Effect::KeepSteps(steps), Effect::End(Outcome { answer: Some(answer), ..outcome })];
        }
        let observations: Vec<Observation> = steps.iter().filter_map(|s| s.observation.clone()).collect();
        self.conversation.push_turn(&reply, &observations);
        self.go_on(vec![Effect::KeepSteps(steps)])
    }

    fn go_on(&mut self, mut effects: Vec<Effect>) -> Vec<Effect> {
        effects.push(if let Some(limit) = self.budget.exhausted() {
            self.end(Status::BudgetExhausted, Some(limit), None)
        } else if self.failed_turns >= FALLBACK_AFTER {
            self.end(Status::FallbackStop, None, None)
        } else {
            Effect::Ask
        });
        effects
    }

    fn end(&self, status: Status, limit: Option<Limit>, error: Option<String>) -> Effect {
        Effect::End(Outcome {
            status,
            limit,
            answer: None,
            steps_used: self.budget.steps,
            blocked: self.facts.iter().filter(|f| f.blocked).count() as u32,
            mean_score: (self.score_count > 0).then(|| self.score_sum / f64::from(self.score_count)),
            tokens_in: self.budget.tokens_in,
            tokens_out: self.budget.tokens_out,
            cost_usd: self.budget.cost_usd,
            error,
        })
    }

    fn judge_call(&mut self, index: usize, call: &Call, reply: &Normalised) -> Pending {
        let (args, args_raw) = match &call.args {
            Ok(args) => (args.clone(), None),
            Err(bad) => (serde_json::Value::Null, Some(bad.text.clone())),
        };
        let this = (call.tool.clone(), args_raw.clone().unwrap_or_else(|| args.to_string()));
        self.repeats = if self.last_call.as_ref() == Some(&this) { self.repeats + 1 } else { 1 };
        self.last_call = Some(this);
        let tool_call = Some(DecidedCall { tool: call.tool.clone(), args, args_raw });
        let decision = Decision { tool_call, ..thinking(reply) };
        self.judge_before(Item::Call(call), index, decision, None)
    }

    fn judge_before(
        &self,
        item: Item<'_>,
        index: usize,
        decision: Decision,
        observation: Option<Observation>,
    ) -> Pending {
        let judgments = self.spec.verifiers.pre_act(&Context {
            item,
            step: self.budget.steps + index as u32,
            max_steps: self.budget.max_steps(),
            tools: &self.spec.tools,
            repeats: self.repeats,
            observation: None,
        });
        let block = judgments.iter().find(|j| !j.passed);
        let blocked = block.map(|j| Observation::error(format!("blocked by {}: {}", j.verifier, j.reason)));
        Pending { call: index as u32, decision, repeats: self.repeats, observation: observation.or(blocked), judgments }
    }

    fn judge_after(&mut self, reply: &Normalised, pending: Pending) -> Step {
        let Pending { call, decision, mut judgments, repeats, observation } = pending;
        let item = match &reply.action {
            Action::Answer(text) => Item::Answer(text),
            Action::Malformed { code, reason } => Item::Malformed { code: *code, reason },
            Action::Calls(calls) => Item::Call(&calls[call as usize]),
        };
        judgments.extend(self.spec.verifiers.post_act(&Context {
            item,
            step: self.budget.steps,
            max_steps: self.budget.max_steps(),
            tools: &self.spec.tools,
            repeats,
            observation: observation.as_ref(),
        }));
        for judgment in &judgments {
            self.score_sum += judgment.score;
            self.score_count += 1;
        }
        let step = Step { step: self.budget.steps, turn: self.turn, call, decision, judgments, observation };
        self.budget.steps += 1;
        self.facts.push(StepFacts {
            tool: step.decision.tool_call.as_ref().map(|c| c.tool.clone()),
            args: step.decision.tool_call.as_ref().map_or(serde_json::Value::Null, |c| c.args.clone()),
            blocked: step.is_blocked(),
            observation: step.observation.as_ref().map(|o| o.content.clone()),
        });
        step
    }
}

fn thinking(reply: &Normalised) -> Decision {
    Decision { thought: reply.thought.clone(), tool_call: None, answer: None }
}

/// The calls that no judgment blocks.
fn to_run(action: &Action, pending: &[Pending]) -> Vec<Call> {
    let Action::Calls(calls) = action else { return Vec::new() };
    let open = calls.iter().zip(pending).filter(|(_, p)| p.observation.is_none());
    open.map(|(call, _)| call.clone()).collect()
}
