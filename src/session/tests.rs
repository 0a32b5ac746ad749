//! The machine as a whole: replies in, effects out, with no model, no tool and no clock.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json, value::to_raw_value};

use super::{
    Judged, StepJudge, StoredTurn,
    judge::{is_judged, judgment},
    replay::replay,
    spec::Spec,
    step::{Effect, Event, Machine},
};
use crate::{
    domain::{Action, Call, Limits, Observation, Outcome, ToolMode, trace::Step},
    model::{
        Conversation, Graded, Judge, ModelError, Normalised, Options, Reply, Scripted, Scripts,
        Shape,
    },
    tool::{BuiltinOptions, builtin},
    verify::{DEFAULT, Verifiers},
};

mod history;
mod judging;
mod limits;
mod replayed;
mod rules;

const NATIVE: Options = Options {
    tool_mode: ToolMode::Native,
    text_calls: false,
};

/// The calculator, `file_read`, the default verifiers and a budget of `max_steps`.
fn spec(max_steps: u32) -> Spec {
    let registry = builtin(&BuiltinOptions::default()).unwrap();
    Spec {
        limits: Limits {
            max_steps,
            ..Limits::default()
        },
        tools: registry.select(["calculator", "file_read"]).unwrap(),
        verifiers: Verifiers::new(DEFAULT).unwrap(),
        judge: None,
    }
}

/// A judge of every step that is not blocked. The machine asks for judgments, never the model.
fn judged(spec: Spec) -> Spec {
    let scripts = Scripts::new([], []).unwrap();
    let model = Arc::new(Scripted::new("judge", scripts, NATIVE, None));
    let judge = Some(Arc::new(StepJudge {
        judge: Judge::new(model, "model j", &Map::new()),
        rubric: "Is it right?".to_owned(),
    }));
    Spec { judge, ..spec }
}

/// What the judge says of the steps of a turn: less of each, and no praise for errors.
fn said(steps: &[Step], work_s: f64) -> Judged {
    let of = |step: &Step| {
        let graded = Graded {
            score: 1.0 / f64::from(step.step + 2),
            passed: !step.is_failed(),
            reason: format!("step {}", step.step),
            cost_usd: None,
        };
        is_judged(step)
            .then(|| judgment(graded))
            .into_iter()
            .collect()
    };
    Judged {
        of_steps: steps.iter().map(of).collect(),
        work_s,
    }
}

fn machine(spec: &Spec, tool_mode: ToolMode) -> Machine {
    let shape = Shape::new(&spec.tools.wire(), tool_mode, &Map::new(), false);
    let conversation = Conversation::opening(shape, "Be brief.").about("What is 17 * 23?");
    Machine::new(Arc::new(spec.clone()), conversation)
}

/// A reply as its body is read.
fn read(body: &Value, options: Options) -> Result<Normalised, ModelError> {
    let body = to_raw_value(body).unwrap();
    Reply::parse(body.into(), options, Duration::ZERO).map(|reply| reply.content)
}

fn reply(message: Value, finish: &str) -> Normalised {
    let body = json!({"choices": [{"finish_reason": finish, "message": message}]});
    read(&body, NATIVE).unwrap()
}

fn answer(text: &str) -> Normalised {
    reply(json!({"content": text}), "stop")
}

/// Calls by tool and text of arguments.
fn calls(list: &[(&str, &str)]) -> Normalised {
    let calls: Vec<Value> = list
        .iter()
        .enumerate()
        .map(|(i, (tool, arguments))| {
            json!({"id": format!("c{i}"), "type": "function",
                "function": {"name": tool, "arguments": arguments}})
        })
        .collect();
    reply(json!({"content": null, "tool_calls": calls}), "tool_calls")
}

fn calculate(expression: &str) -> Normalised {
    let args = json!({"expression": expression}).to_string();
    calls(&[("calculator", &args)])
}

/// A call that is blocked.
fn unknown() -> Normalised {
    calls(&[("nonsense", "{}")])
}

fn empty() -> Normalised {
    reply(json!({"content": null}), "stop")
}

/// The text of a call's arguments, in brackets; an error if it holds `fail`.
fn echo(call: &Call) -> Observation {
    let text = format!("[{}]", call.args.as_ref().unwrap());
    if text.contains("fail") {
        Observation::error(text)
    } else {
        Observation::ok(text)
    }
}

/// What a session did until it ended.
struct Done {
    /// In their order.
    steps: Vec<Step>,
    /// How many steps stood in each question to the judge.
    asked_of: Vec<usize>,
    /// The calls that ran, by turn; turns in which nothing ran are left out.
    ran: Vec<Vec<String>>,
    outcome: Outcome,
    /// The messages after prompt and task.
    messages: Vec<Value>,
}

impl Done {
    /// The judgments of a step as `(verifier, score, passed, reason)`.
    fn judgments(&self, step: usize) -> Vec<(&str, f64, bool, &str)> {
        self.steps[step]
            .judgments
            .iter()
            .map(|j| (&*j.verifier, j.score, j.passed, &*j.reason))
            .collect()
    }

    fn observation(&self, step: usize) -> (bool, &str) {
        let observation = self.steps[step].observation.as_ref().unwrap();
        (observation.ok, &observation.content)
    }

    /// Step, turn and call of each step.
    fn numbers(&self) -> Vec<(u32, u32, u32)> {
        self.steps
            .iter()
            .map(|s| (s.step, s.turn, s.call))
            .collect()
    }
}

fn after_reply(reply: Normalised) -> Event {
    Event::Replied {
        reply,
        cost_usd: None,
        work_s: 0.0,
    }
}

/// Runs a session to its end: the replies in turn, the last one for ever; tools as [`echo`] says.
fn drive(spec: &Spec, replies: impl IntoIterator<Item = Normalised>) -> Done {
    drive_events(spec, replies.into_iter().map(after_reply))
}

/// The same with an event for each time that the machine asks.
fn drive_events(spec: &Spec, events: impl IntoIterator<Item = Event>) -> Done {
    let mut machine = machine(spec, ToolMode::Native);
    let mut events = events.into_iter();
    let mut last = None;
    let (mut steps, mut ran, mut asked, mut worked_s) = (Vec::<Step>::new(), Vec::new(), 0, 0.0);
    let (mut asked_of, mut unkept) = (Vec::new(), None::<Judged>);
    let mut todo = machine.step(Event::Begin);
    let outcome = loop {
        let mut next = None;
        for effect in std::mem::take(&mut todo) {
            assert!(next.is_none(), "nothing follows an effect that is answered");
            match effect {
                Effect::KeepTurn => asked += 1,
                Effect::KeepSteps(kept) => {
                    assert_eq!(
                        machine.turn(),
                        asked,
                        "a turn is over when its steps are kept"
                    );
                    steps.extend(kept);
                }
                Effect::KeepJudgments => {
                    let of_steps = unkept.take().expect("judgments to keep").of_steps;
                    let first = steps.len() - of_steps.len();
                    for (step, judgments) in steps[first..].iter_mut().zip(of_steps) {
                        step.judgments.extend(judgments);
                    }
                }
                other => next = Some(other),
            }
        }
        let event = match next.expect("something is always next") {
            Effect::Ask => events.next().or(last.take()).expect("a reply"),
            Effect::Run(calls) => {
                ran.push(calls.iter().map(|c| c.id.clone()).collect());
                Event::Observed {
                    observations: calls.iter().map(echo).collect(),
                    work_s: worked_s,
                }
            }
            Effect::Judge(of) => {
                asked_of.push(of.iter().filter(|step| is_judged(step)).count());
                assert!(steps.ends_with(&of), "only what is kept is judged");
                let judged = said(&of, worked_s);
                unkept = Some(judged.clone());
                Event::Judged(judged)
            }
            Effect::End(outcome) => break outcome,
            Effect::KeepTurn | Effect::KeepSteps(_) | Effect::KeepJudgments => unreachable!(),
        };
        if let Event::Replied { reply, work_s, .. } = &event {
            worked_s = *work_s;
            last = Some(after_reply(reply.clone()));
        }
        todo = machine.step(event);
    };
    let messages = machine.conversation().to_value();
    Done {
        steps,
        asked_of,
        ran,
        outcome,
        messages: messages.as_array().unwrap()[2..].to_vec(),
    }
}
