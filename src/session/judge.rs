//! What a model that judges steps is shown, and what becomes of its grade. Pure.

use crate::{
    domain::{Judgment, Phase, trace::Step},
    model::{Graded, Judge, Normalised, Part},
};

/// The name in traces.
const VERIFIER: &str = "judge";

/// The model that judges the steps of sessions after they ran.
pub struct StepJudge {
    /// The model.
    pub judge: Judge,
    /// What it judges by.
    pub rubric: String,
}

/// What a model said of the steps of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// One list for each step of the turn, in their order; empty where it was not asked.
    pub of_steps: Vec<Vec<Judgment>>,
    /// Working seconds since the session began.
    pub work_s: f64,
}

/// A turn whose steps are being judged by a model.
pub(super) struct Judging {
    pub reply: Normalised,
    pub steps: Vec<Step>,
}

impl Judging {
    /// The turn with what was said of its steps.
    pub fn finish(self, of_steps: Vec<Vec<Judgment>>) -> (Normalised, Vec<Step>) {
        let Self { reply, mut steps } = self;
        for (step, judgments) in steps.iter_mut().zip(of_steps) {
            step.judgments.extend(judgments);
        }
        (reply, steps)
    }
}

/// Whether a model is asked about a step: of one that was blocked nothing ran.
pub(super) fn is_judged(step: &Step) -> bool {
    !step.is_blocked()
}

/// What the model is shown of a step.
pub(super) fn parts<'a>(task: &'a str, step: &'a Step) -> Vec<Part<'a>> {
    let decision = &step.decision;
    let mut parts = vec![Part::new("task", task)];
    if let Some(thought) = &decision.thought {
        parts.push(Part::new("thought", thought));
    }
    if let Some(call) = &decision.tool_call {
        parts.push(Part::new("tool call", call.to_string()));
    }
    if let Some(observation) = &step.observation {
        let name = if observation.ok {
            "result"
        } else {
            "error in place of a result"
        };
        parts.push(Part::new(name, &*observation.content));
    }
    if let Some(answer) = &decision.answer {
        parts.push(Part::new("answer", answer));
    }
    parts
}

/// The grade as a judgment of the step.
pub(super) fn judgment(graded: Graded) -> Judgment {
    Judgment {
        verifier: VERIFIER.into(),
        phase: Phase::PostAct,
        score: graded.score,
        passed: graded.passed,
        reason: graded.reason,
        code: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(decision: serde_json::Value, observation: serde_json::Value) -> Vec<String> {
        let step = json!({"step": 0, "turn": 0, "call": 0, "decision": decision,
            "judgments": [], "observation": observation});
        let step: Step = serde_json::from_value(step).unwrap();
        let parts = parts("Add.", &step);
        let line = |part: &Part<'_>| format!("{}: {}", part.name, part.text);
        parts.iter().map(line).collect()
    }

    #[test]
    fn what_is_shown_of_a_step() {
        let call = json!({"tool": "calculator", "args": {"expression": "1 + 1"}});
        let called = json!({"thought": "A sum.", "tool_call": call, "answer": null});
        assert_eq!(
            shown(called, json!({"ok": true, "content": "2"})),
            [
                "task: Add.",
                "thought: A sum.",
                r#"tool call: calculator {"expression":"1 + 1"}"#,
                "result: 2"
            ]
        );
        let called = json!({"thought": null, "tool_call": call, "answer": null});
        assert_eq!(
            shown(called, json!({"ok": false, "content": "no"}))[2..],
            ["error in place of a result: no"]
        );
        let answered = json!({"thought": null, "tool_call": null, "answer": "2"});
        assert_eq!(shown(answered, json!(null)), ["task: Add.", "answer: 2"]);
    }
}
