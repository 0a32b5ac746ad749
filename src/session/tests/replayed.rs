//! Any session, cut off anywhere, goes on as if nothing had happened.

use proptest::prelude::*;

use super::*;
use crate::{
    domain::Entry,
    model::wire::{Place, render},
};

const RNG_SEED: u64 = 14_962_108_942_768_929_043;

/// A call that is right, fails, is wrong, or names no tool.
fn call() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => "[a-c]".prop_map(|e| json!({"tool": "calculator", "args": {"expression": e}})),
        1 => Just(json!({"tool": "calculator", "args": {"expression": "fail"}})),
        1 => Just(json!({"tool": "file_read", "args": {"path": "{{observation}}"}})),
        1 => Just(json!({"tool": "calculator", "args": {"expresion": 1}})),
        1 => Just(json!({"tool": "calculator", "args": "1"})),
        1 => Just(json!({"tool": "bad name", "args": {}})),
    ]
}

/// A provider's reply that is failed, repaired, costs something, or is no reply at all.
fn raw() -> impl Strategy<Value = Value> {
    let body = |message: Value, finish: &str| {
        let usage = json!({"prompt_tokens": 7, "completion_tokens": 2, "cost": 0.125});
        let choice = json!({"finish_reason": finish, "message": message});
        json!({"raw": {"usage": usage, "choices": [choice]}})
    };
    let called = |arguments: &str| {
        let function = json!({"name": "calculator", "arguments": arguments});
        json!({"content": "t", "tool_calls": [{"id": "same", "function": function}]})
    };
    let context = json!({"message": "too long", "code": "context_length_exceeded"});
    prop::sample::select(vec![
        body(json!({"content": null}), "stop"),
        body(json!({"content": "x"}), "tool_calls"),
        body(json!({"content": null, "reasoning_content": "x"}), "length"),
        body(json!({"content": null}), "content_filter"),
        body(called("{\"expression\": \"1\"}"), "tool_calls"),
        body(called("{\"expression\": "), "length"),
        body(called("{'expression'}"), "tool_calls"),
        body(json!({"content": "a", "refusal": "no"}), "stop"),
        json!({"raw": {"error": {"code": "content_filter", "message": "no"}}}),
        json!({"raw": {"error": context}}),
        json!({"raw": {"choices": []}}),
    ])
}

fn entry() -> impl Strategy<Value = Value> {
    let one = prop_oneof![
        5 => call().prop_map(|call| json!({"thought": "t", "tool_call": call})),
        3 => prop::collection::vec(call(), 1..5).prop_map(|calls| json!({"tool_calls": calls})),
        3 => raw(),
        1 => Just(json!({"thought": "t", "answer": "it is {{observation}}"})),
    ];
    one.prop_recursive(2, 6, 3, |inner| {
        prop::collection::vec(inner, 1..4).prop_map(|any_of| json!({"any_of": any_of}))
    })
}

#[derive(Debug)]
struct Plan {
    script: Vec<Entry>,
    limits: Limits,
    tool_mode: ToolMode,
    is_judged: bool,
}

fn plan() -> impl Strategy<Value = Plan> {
    let limits =
        (0u32..12, prop::option::weighted(0.2, 1u64..60)).prop_map(|(steps, tokens)| Limits {
            max_steps: steps,
            max_tokens: tokens,
            ..Limits::default()
        });
    let tool_mode = prop::sample::select(vec![ToolMode::Native, ToolMode::Json]);
    let script = prop::collection::vec(entry(), 1..10);
    (script, limits, tool_mode, any::<bool>()).prop_map(|(script, limits, tool_mode, is_judged)| {
        Plan {
            script: serde_json::from_value(Value::from(script)).unwrap(),
            limits,
            tool_mode,
            is_judged,
        }
    })
}

impl Plan {
    fn machine(&self) -> Machine {
        let spec = Spec {
            limits: self.limits.clone(),
            verifiers: Verifiers::new(["schema", "budget", "repeat"]).unwrap(),
            ..spec(0)
        };
        let spec = if self.is_judged { judged(spec) } else { spec };
        machine(&spec, self.tool_mode)
    }

    /// What the scripted model replies, from its body.
    fn reply(&self, conversation: &Conversation) -> Result<Normalised, ModelError> {
        let turn = conversation.assistant_count();
        let entry = self.script.get(turn as usize).or(self.script.last());
        let place = Place {
            rng_seed: RNG_SEED,
            turn,
            observation: conversation.last_observation(),
            tool_mode: self.tool_mode,
        };
        let body = render(entry.unwrap(), &place);
        let options = Options {
            tool_mode: self.tool_mode,
            text_calls: false,
        };
        Reply::parse(body.into(), options, Duration::ZERO).map(|reply| reply.content)
    }
}

/// A durable turn, to be copied.
#[derive(Clone)]
struct Turn {
    reply: Normalised,
    work_s: f64,
    steps: Vec<Step>,
    judged: Option<Judged>,
}

impl Turn {
    fn stored(&self) -> StoredTurn {
        StoredTurn {
            reply: self.reply.clone(),
            cost_usd: cost(&self.reply),
            replied_s: self.work_s,
            acted_s: self.work_s,
            steps: self.whole().iter().map(kept).collect(),
            judged: self.judged.clone(),
        }
    }

    /// Its steps with what a model said of them, as the store has them.
    fn whole(&self) -> Vec<Step> {
        let mut steps = self.steps.clone();
        let judged = self.judged.iter().flat_map(|judged| &judged.of_steps);
        for (step, judgments) in steps.iter_mut().zip(judged) {
            step.judgments.extend(judgments.clone());
        }
        steps
    }
}

/// A step as it comes out of the store.
fn kept(step: &Step) -> Step {
    serde_json::from_str(&serde_json::to_string(step).unwrap()).unwrap()
}

fn cost(reply: &Normalised) -> Option<f64> {
    Some(reply.usage.and_then(|u| u.cost_usd).unwrap_or(0.0))
}

/// What is durable at some moment, what is due then, and the request as it stands.
struct Cut {
    history: Vec<Turn>,
    due: String,
    digest: String,
}

struct Lived {
    cuts: Vec<Cut>,
    history: Vec<Turn>,
    digests: Vec<String>,
    /// Questions to the judge.
    asked_judge: usize,
    outcome: Outcome,
}

/// Performs what is due until the end, and notes every cut on the way.
fn live(plan: &Plan, machine: &mut Machine, due: Vec<Effect>, history: Vec<Turn>) -> Lived {
    let mut lived = Lived {
        cuts: Vec::new(),
        history,
        digests: Vec::new(),
        asked_judge: 0,
        outcome: Outcome::so_far(crate::domain::Status::Interrupted, [], &[], None, None),
    };
    let mut due = std::collections::VecDeque::from(due);
    let (mut asked, mut unkept) = (None, None);
    while let Some(effect) = due.pop_front() {
        let digest = machine.conversation().digest();
        let work_s = f64::from(machine.turn());
        let event = match effect {
            Effect::Ask => {
                lived.digests.push(digest);
                match plan.reply(machine.conversation()) {
                    Ok(reply) => {
                        asked = Some(reply.clone());
                        let cost_usd = cost(&reply);
                        Event::Replied {
                            reply,
                            cost_usd,
                            work_s,
                        }
                    }
                    Err(error) => Event::Failed(error),
                }
            }
            Effect::KeepTurn => {
                let reply = asked.take().expect("a reply to keep");
                let work_s = lived.history.len() as f64;
                lived.history.push(Turn {
                    reply,
                    work_s,
                    steps: Vec::new(),
                    judged: None,
                });
                lived.cut(&due, digest);
                continue;
            }
            Effect::KeepSteps(steps) => {
                lived
                    .history
                    .last_mut()
                    .expect("a turn of these steps")
                    .steps = steps;
                lived.cut(&due, digest);
                continue;
            }
            Effect::Judge(steps) => {
                lived.asked_judge += 1;
                let judged = said(&steps, work_s);
                unkept = Some(judged.clone());
                Event::Judged(judged)
            }
            Effect::KeepJudgments => {
                lived.history.last_mut().expect("a turn").judged = unkept.take();
                lived.cut(&due, digest);
                continue;
            }
            Effect::Run(calls) => Event::Observed {
                observations: calls.iter().map(echo).collect(),
                work_s,
            },
            Effect::End(outcome) => {
                assert!(due.is_empty(), "an end is the last effect");
                lived.outcome = outcome;
                return lived;
            }
        };
        assert!(due.is_empty(), "nothing follows what is answered");
        due = machine.step(event).into();
    }
    panic!("a session without an end")
}

impl Lived {
    fn cut(&mut self, due: &std::collections::VecDeque<Effect>, digest: String) {
        self.cuts.push(Cut {
            history: self.history.clone(),
            due: format!("{due:?}"),
            digest,
        });
    }

    fn steps(&self) -> Vec<Step> {
        self.history.iter().flat_map(Turn::whole).collect()
    }

    /// Judgments of all steps.
    fn scores(&self) -> Vec<f64> {
        let steps = self.steps();
        let judgments = steps.iter().flat_map(|step| &step.judgments);
        judgments.map(|judgment| judgment.score).collect()
    }
}

proptest! {
    #[test]
    fn any_session_ends_within_its_budget_and_is_numbered(plan in plan()) {
        let mut machine = plan.machine();
        let due = machine.step(Event::Begin);
        let lived = live(&plan, &mut machine, due, Vec::new());
        let (steps, outcome) = (lived.steps(), &lived.outcome);
        prop_assert!(outcome.steps_used <= plan.limits.max_steps);
        prop_assert_eq!(outcome.steps_used as usize, steps.len());
        prop_assert_eq!(lived.history.len(), machine.turn() as usize);
        prop_assert_eq!(machine.take_facts().len(), steps.len());
        prop_assert_eq!(
            outcome.blocked as usize,
            steps.iter().filter(|s| s.is_blocked()).count()
        );
        for (number, step) in (0..).zip(&steps) {
            prop_assert_eq!(step.step, number);
            prop_assert!(step.decision.answer.is_some() == step.observation.is_none());
        }
        for (number, turn) in (0..).zip(&lived.history) {
            prop_assert!(!turn.steps.is_empty());
            for (call, step) in (0..).zip(&turn.steps) {
                prop_assert_eq!((step.turn, step.call), (number, call));
            }
        }
        prop_assert_eq!(outcome.mean_score.is_some(), !steps.is_empty());
        prop_assert!(outcome.mean_score.is_none_or(|s| (0.0..=1.0).contains(&s)));
        let scores = lived.scores();
        let mean = scores.iter().sum::<f64>() / scores.len().max(1) as f64;
        prop_assert_eq!(outcome.mean_score.unwrap_or(0.0), mean, "the mean of all judgments");
        for step in &steps {
            let by_model = step.judgments.iter().filter(|j| j.verifier == "judge").count();
            prop_assert_eq!(by_model, usize::from(plan.is_judged && !step.is_blocked()));
        }
        let messages = machine.conversation().to_value();
        let assistant = messages.as_array().unwrap().iter().filter(|m| m["role"] == "assistant");
        prop_assert_eq!(assistant.count(), lived.history.len());
    }

    #[test]
    fn a_session_cut_anywhere_goes_on_to_the_same_end(plan in plan()) {
        let mut machine = plan.machine();
        let due = machine.step(Event::Begin);
        let whole = live(&plan, &mut machine, due, Vec::new());
        for cut in &whole.cuts {
            let mut machine = plan.machine();
            let due = replay(&mut machine, cut.history.iter().map(Turn::stored));
            prop_assert_eq!(format!("{due:?}"), &*cut.due);
            prop_assert_eq!(machine.conversation().digest(), &*cut.digest);
            let rest = live(&plan, &mut machine, due, cut.history.clone());
            prop_assert_eq!(&rest.outcome, &whole.outcome);
            prop_assert_eq!(rest.steps(), whole.steps());
            prop_assert!(whole.digests.ends_with(&rest.digests));
            let asked = whole.digests.len() - rest.digests.len();
            prop_assert_eq!(asked, cut.history.len(), "nothing durable is asked again");
            let judged = cut.history.iter().filter(|turn| turn.judged.is_some()).count();
            prop_assert_eq!(whole.asked_judge - rest.asked_judge, judged, "nor of the judge");
        }
    }
}

#[test]
fn nothing_durable_is_a_beginning() {
    let mut machine = machine(&spec(8), ToolMode::Native);
    assert_eq!(replay(&mut machine, []), [Effect::Ask]);
}
