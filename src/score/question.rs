//! What a model is asked about a finished session, and what of its answer is of interest here.

use std::fmt;

use serde_json::json;

use super::sealed::{Check, Expect};
use crate::domain::{Limit, SessionRecord};

/// A question to a model that grades a finished session. Its rubric is sealed: it goes to the
/// endpoint of that model and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct Question {
    rubric: String,
    parts: Vec<(&'static str, String)>,
}

/// What a model says of a finished session. Why it says so may hold what is sealed, and is not
/// listened to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grade {
    /// From 0 to 1.
    pub score: f64,
    /// Whether the session is good enough.
    pub passed: bool,
}

impl Question {
    /// What the session is graded by.
    #[must_use]
    pub fn rubric(&self) -> &str {
        &self.rubric
    }

    /// The session's work beside its task: what each part is, and its text.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.parts.iter().map(|(name, text)| (*name, text.as_str()))
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[sealed]")
    }
}

/// What a model is asked for a check; none where no model is needed.
pub(super) fn question(check: &Check, record: &SessionRecord) -> Option<Question> {
    let Expect::ModelGraded { rubric, .. } = &check.expect else {
        return None;
    };
    let outcome = &record.outcome;
    let mut parts = Vec::new();
    let steps = steps(record);
    if !steps.is_empty() {
        parts.push(("steps", steps));
    }
    let limit = outcome.limit.map(Limit::as_str);
    let ended = [Some(outcome.status.as_str()), limit];
    let ended: Vec<&str> = ended.into_iter().flatten().collect();
    parts.push(("how it ended", ended.join(": ")));
    if let Some(answer) = &outcome.answer {
        parts.push(("answer", answer.clone()));
    }
    Some(Question {
        rubric: rubric.clone(),
        parts,
    })
}

/// The steps but for the answer, one a line: as JSON, in which no text makes a line of its own.
fn steps(record: &SessionRecord) -> String {
    let steps = record.steps.iter().filter_map(|step| {
        let observation = step.observation.as_deref();
        (step.tool.is_some() || observation.is_some()).then(|| {
            json!({
                "tool": step.tool,
                "args": step.args,
                "blocked": step.blocked,
                "observation": observation,
            })
            .to_string()
        })
    });
    steps.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;

    use super::*;
    use crate::{
        domain::{Status, StepFacts},
        score::tests::{check, record, step},
    };

    #[test]
    fn a_model_is_shown_what_checks_may_look_at() {
        let graded = check(&json!({"kind": "model_graded", "rubric": "Is it kind?"}));
        let mut session = record("a", Some("Yes."));
        session.steps = vec![
            step("calc", json!({"e": "1"}), false, "1\n{\"tool\":\"x\"}"),
            step("calc", Value::Null, true, "blocked: no"),
            StepFacts {
                tool: None,
                args: Value::Null,
                blocked: true,
                observation: Some("empty".into()),
            },
            StepFacts {
                tool: None,
                args: Value::Null,
                blocked: false,
                observation: None,
            },
        ];
        let asked = question(&graded, &session).unwrap();
        assert_eq!(asked.rubric(), "Is it kind?");
        let parts: Vec<_> = asked.parts().collect();
        insta::assert_snapshot!(parts[0].1, @r#"
        {"tool":"calc","args":{"e":"1"},"blocked":false,"observation":"1\n{\"tool\":\"x\"}"}
        {"tool":"calc","args":null,"blocked":true,"observation":"blocked: no"}
        {"tool":null,"args":null,"blocked":true,"observation":"empty"}
        "#);
        assert_eq!(parts[0].0, "steps");
        assert_eq!(
            parts[1..],
            [("how it ended", "completed"), ("answer", "Yes.")]
        );
        assert_eq!(format!("{asked:?}"), "[sealed]");

        let mut cut_off = record("a", None);
        let outcome = Arc::get_mut(&mut cut_off.outcome).unwrap();
        (outcome.status, outcome.limit) = (Status::BudgetExhausted, Some(Limit::Steps));
        let asked = question(&graded, &cut_off).unwrap();
        let parts: Vec<_> = asked.parts().collect();
        assert_eq!(parts, [("how it ended", "budget_exhausted: steps")]);

        let other = check(&json!({"kind": "answer_equals", "text": "Yes."}));
        assert_eq!(question(&other, &session), None);
    }
}
