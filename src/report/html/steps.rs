//! One session as the page opens it.

use serde::Serialize;

use super::escape::Said;
use crate::{
    domain::{
        DecidedCall,
        trace::{Record, RunEnd, Step, StepLine},
    },
    report::{served, session, text},
    store::Score,
};

/// A trace, without the replies as received.
#[derive(Default, Serialize)]
pub(super) struct SessionTrace {
    attempt: u32,
    rng_seed: String,
    steps: Vec<StepData>,
    end: Option<EndData>,
    /// Names of checks and whether they hold; none without a verdict.
    checks: Vec<(String, bool)>,
    /// Why scoring failed.
    unscored: Option<Said>,
}

#[derive(Serialize)]
struct StepData {
    turn: u32,
    call: u32,
    /// What answered, how long it took and what was waited for, on the first step of a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    served: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<Said>,
    /// Thought what the first call of its turn did, which is not said again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    same_thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<CallData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Said>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    refused: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repairs: Vec<Said>,
    judgments: Vec<JudgmentData>,
    /// Blocked, or with an error for its observation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    failed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    observation: Option<ObservationData>,
}

#[derive(Serialize)]
struct CallData {
    name: String,
    /// Arguments by name; a text of several lines stands as it is, other values as JSON. One with
    /// an empty name is all there is.
    args: Vec<(String, Said)>,
}

#[derive(Serialize)]
struct JudgmentData {
    verifier: String,
    passed: bool,
    /// With two decimals.
    score: String,
    reason: Said,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
}

#[derive(Serialize)]
struct ObservationData {
    /// `result`, `error` or `blocked`.
    kind: &'static str,
    content: Said,
}

#[derive(Serialize)]
struct EndData {
    /// Its status, with the limit that it ran into.
    ended: String,
    /// Steps, mean score, tokens, cost, in words.
    facts: Vec<String>,
    error: Option<Said>,
}

impl SessionTrace {
    /// Of the records of one session, and what the scorer said of it.
    pub fn new(records: &[Record], score: Option<&Score>) -> Self {
        let mut trace = Self::default();
        let mut before: Option<&Step> = None;
        for record in records {
            match record {
                Record::RunStart(start) => {
                    trace.attempt = start.attempt;
                    trace.rng_seed.clone_from(&start.rng_seed);
                }
                Record::Step(line) => {
                    trace.steps.push(StepData::new(line, before));
                    before = Some(&line.step);
                }
                Record::RunEnd(end) => trace.end = Some(EndData::new(end)),
            }
        }
        match score {
            Some(Score::Judged(checks)) => {
                trace.checks = checks
                    .iter()
                    .map(|c| (text::one_line(&c.name), c.passed))
                    .collect();
            }
            Some(Score::Failed(why)) => trace.unscored = Some(Said::new(why)),
            None => {}
        }
        trace
    }
}

impl StepData {
    fn new(line: &StepLine, before: Option<&Step>) -> Self {
        let step = &line.step;
        let decision = &step.decision;
        let thought = decision.thought.as_deref().filter(|text| !text.is_empty());
        let same_thought = thought.is_some()
            && before.is_some_and(|before| {
                before.turn == step.turn && before.decision.thought == decision.thought
            });
        let is_blocked = decision.tool_call.is_some() && step.is_blocked();
        Self {
            turn: step.turn,
            call: step.call,
            served: served::turn(line),
            thought: thought.filter(|_| !same_thought).map(Said::new),
            same_thought,
            tool: decision.tool_call.as_ref().map(CallData::new),
            answer: decision.answer.as_deref().map(Said::new),
            refused: line.refused,
            repairs: line
                .repairs
                .iter()
                .map(|repair| Said::new(repair))
                .collect(),
            judgments: step
                .judgments
                .iter()
                .map(|judgment| JudgmentData {
                    verifier: text::one_line(&judgment.verifier),
                    passed: judgment.passed,
                    score: format!("{:.2}", judgment.score),
                    reason: Said::new(&judgment.reason),
                    code: judgment.code.map(|code| code.as_str()),
                })
                .collect(),
            failed: step.is_failed(),
            observation: step.observation.as_ref().map(|seen| ObservationData {
                kind: match (is_blocked, seen.ok) {
                    (true, _) => "blocked",
                    (false, false) => "error",
                    (false, true) => "result",
                },
                content: Said::new(&seen.content),
            }),
        }
    }
}

impl CallData {
    fn new(call: &DecidedCall) -> Self {
        use serde_json::Value;
        let args = match (&call.args_raw, &call.args) {
            (Some(raw), _) => vec![(String::new(), Said::new(raw))],
            (None, Value::Object(args)) if !args.is_empty() => args
                .iter()
                .map(|(key, value)| {
                    let said = match value {
                        Value::String(said) if said.contains('\n') => said.clone(),
                        value => value.to_string(),
                    };
                    (text::one_line(key), Said::new(&said))
                })
                .collect(),
            (None, args) => vec![(String::new(), Said::new(&args.to_string()))],
        };
        Self {
            name: text::one_line(&call.tool),
            args,
        }
    }
}

impl EndData {
    fn new(end: &RunEnd) -> Self {
        Self {
            ended: text::ended(end.status, end.limit),
            facts: session::facts(end),
            error: end.error.as_deref().map(Said::new),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_answered_stands_on_the_first_step_of_its_turn() {
        let step = |more: Value| -> Value {
            let mut line = json!({
                "step": 0, "turn": 0, "call": 0, "ts": 0.0, "decision": {"answer": "42"},
                "judgments": [], "observation": null,
            });
            line.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            let line = serde_json::from_value(line).unwrap();
            serde_json::to_value(StepData::new(&line, None)).unwrap()["served"].take()
        };
        let more = json!({
            "served": {"model": "</script>", "provider": "p"}, "latency_s": 1.25,
            "waits": [{"for": "rate", "began": 1.0, "ended": 3.0}],
        });
        assert_eq!(
            step(more),
            "</script> · p · 1.250 s · waited 2.000 s for a rate"
        );
        assert_eq!(step(json!({})), Value::Null);
    }

    #[test]
    fn a_call_is_blocked_by_what_judges_before_it_runs() {
        let step = |phase: &str, ok: bool| -> Value {
            let line = serde_json::from_value(json!({
                "step": 0, "turn": 0, "call": 0, "ts": 0.0,
                "decision": {"tool_call": {"tool": "calculator", "args": {}}},
                "judgments": [{"verifier": "v", "phase": phase, "score": 0.0, "passed": false,
                    "reason": ""}],
                "observation": {"ok": ok, "content": ""},
            }));
            serde_json::to_value(StepData::new(&line.unwrap(), None)).unwrap()
        };
        for (phase, ok, kind, failed) in [
            ("pre_act", false, "blocked", json!(true)),
            ("post_act", false, "error", json!(true)),
            ("post_act", true, "result", Value::Null),
        ] {
            let step = step(phase, ok);
            assert_eq!(step["observation"]["kind"], kind, "{phase} {ok}");
            assert_eq!(step["failed"], failed, "{phase} {ok}");
        }
    }
}
