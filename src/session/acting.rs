//! One turn on its way through verify, act and score: steps that are judged before the act, and
//! not yet after it.

use serde_json::Value;

use super::spec::Spec;
use crate::{
    domain::{Action, BadArgs, Call, DecidedCall, Decision, Judgment, Observation, trace::Step},
    model::Normalised,
    verify::{Context, Item, blocked},
};

/// A turn whose calls are running.
pub(super) struct Acting {
    pub reply: Normalised,
    pub pending: Vec<Pending>,
}

/// A step that has been judged before the act.
pub(super) struct Pending {
    decision: Decision,
    judgments: Vec<Judgment>,
    repeats: u32,
    /// What came back; there at once when nothing is to run.
    pub observation: Option<Observation>,
}

/// How many calls in a row have had the same tool and arguments, in whatever order of their keys.
#[derive(Default)]
pub(super) struct Repeats {
    last: Option<(String, Result<Value, BadArgs>)>,
    count: u32,
}

impl Repeats {
    /// Counts `call` in.
    fn count(&mut self, call: &Call) -> u32 {
        let this = Some((call.tool.clone(), call.args.clone()));
        self.count = if self.last == this { self.count + 1 } else { 1 };
        self.last = this;
        self.count
    }
}

impl Acting {
    /// Judges each action of a reply before it runs; of calls the first `steps_left`. `step` is the
    /// number of the first.
    pub fn new(
        reply: Normalised,
        spec: &Spec,
        step: u32,
        steps_left: usize,
        repeats: &mut Repeats,
    ) -> Self {
        let mut acting = Self {
            pending: Vec::new(),
            reply,
        };
        for (at, item) in items(&acting.reply).take(steps_left).enumerate() {
            let repeats = if let Item::Call(call) = item {
                repeats.count(call)
            } else {
                0
            };
            let judgments =
                spec.verifiers
                    .pre_act(&context(spec, item, step + at as u32, repeats, None));
            let observation = match item {
                Item::Malformed { reason, .. } => Some(Observation::error(reason)),
                Item::Call(_) | Item::Answer(_) => blocked(&judgments),
            };
            let decision = decision(&acting.reply, item);
            acting.pending.push(Pending {
                decision,
                judgments,
                repeats,
                observation,
            });
        }
        acting
    }

    /// The calls that no judgment blocks.
    pub fn to_run(&self) -> Vec<Call> {
        let Action::Calls(calls) = &self.reply.action else {
            return Vec::new();
        };
        let open = calls
            .iter()
            .zip(&self.pending)
            .filter(|(_, p)| p.observation.is_none());
        open.map(|(call, _)| call.clone()).collect()
    }

    /// Takes what the calls of [`Acting::to_run`] brought, and judges each step after the act.
    pub fn finish(
        self,
        observations: Vec<Observation>,
        spec: &Spec,
        first: u32,
        turn: u32,
    ) -> (Normalised, Vec<Step>) {
        let Self { reply, mut pending } = self;
        let open = pending.iter_mut().filter(|p| p.observation.is_none());
        for (pending, observation) in open.zip(observations) {
            pending.observation = Some(observation);
        }
        let steps = items(&reply)
            .zip(pending)
            .zip(0..)
            .map(|((item, pending), call)| {
                let Pending {
                    decision,
                    mut judgments,
                    repeats,
                    observation,
                } = pending;
                let step = first + call;
                judgments.extend(spec.verifiers.post_act(&context(
                    spec,
                    item,
                    step,
                    repeats,
                    observation.as_ref(),
                )));
                Step {
                    step,
                    turn,
                    call,
                    decision,
                    judgments,
                    observation,
                }
            });
        let steps = steps.collect();
        (reply, steps)
    }
}

/// What each step of a reply is about.
fn items(reply: &Normalised) -> impl Iterator<Item = Item<'_>> {
    let (calls, other) = match &reply.action {
        Action::Calls(calls) => (calls.as_slice(), None),
        Action::Answer(text) => (&[][..], Some(Item::Answer(text))),
        Action::Malformed { code, reason } => (
            &[][..],
            Some(Item::Malformed {
                code: *code,
                reason,
            }),
        ),
    };
    calls.iter().map(Item::Call).chain(other)
}

fn context<'a>(
    spec: &'a Spec,
    item: Item<'a>,
    step: u32,
    repeats: u32,
    observation: Option<&'a Observation>,
) -> Context<'a> {
    Context {
        item,
        step,
        max_steps: spec.limits.max_steps,
        tools: &spec.tools,
        repeats,
        observation,
    }
}

fn decision(reply: &Normalised, item: Item<'_>) -> Decision {
    let thought = reply.thought.clone();
    match item {
        Item::Call(call) => {
            let (args, args_raw) = match &call.args {
                Ok(args) => (args.clone(), None),
                Err(bad) => (Value::Null, Some(bad.text.clone())),
            };
            let tool_call = Some(DecidedCall {
                tool: call.tool.clone(),
                args,
                args_raw,
            });
            Decision {
                thought,
                tool_call,
                answer: None,
            }
        }
        Item::Answer(text) => Decision {
            thought,
            tool_call: None,
            answer: Some(text.to_owned()),
        },
        Item::Malformed { .. } => Decision {
            thought,
            tool_call: None,
            answer: None,
        },
    }
}
