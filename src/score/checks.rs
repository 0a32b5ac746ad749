//! Whether a check holds: pure, and the only place that compares an agent's work with what is
//! sealed.

use serde_json::Value;

use super::{
    numbers,
    question::Grade,
    sealed::{Bounds, Called, Check, Expect},
};
use crate::domain::{ScoreError, SessionRecord};

/// Whether `check`, the `index`-th of its case, holds for a finished session; `grade` is what the
/// model says, where one has to be asked.
///
/// `not` inverts the whole check: a session without an answer fails `answer_contains`, and holds
/// its `not`.
///
/// # Errors
/// When it asks for the cost, and the cost is unknown; when no model has said anything.
pub(super) fn judge(
    index: usize,
    check: &Check,
    record: &SessionRecord,
    grade: Option<Grade>,
) -> Result<bool, ScoreError> {
    let outcome = &record.outcome;
    let answered = |holds: &dyn Fn(&str) -> bool| outcome.answer.as_deref().is_some_and(holds);
    let holds = match &check.expect {
        // Blanks around a text are no part of it.
        Expect::AnswerEquals { text } => answered(&|answer| answer.trim() == text.trim()),
        Expect::AnswerContains { text } => answered(&|answer| answer.contains(text)),
        Expect::AnswerRegex { pattern } => answered(&|answer| pattern.is_match(answer)),
        Expect::AnswerNumber { equals, tolerance } => answered(&|answer| {
            numbers::last(answer).is_some_and(|number| is_within(number, *equals, *tolerance))
        }),
        Expect::AnswerJson { schema } => answered(&|answer| {
            serde_json::from_str(answer).is_ok_and(|answer: Value| schema.is_valid(&answer))
        }),
        Expect::Status { is } => outcome.status == *is,
        Expect::Steps(bounds) => is_between(outcome.steps_used, bounds),
        Expect::BlockedSteps(bounds) => is_between(outcome.blocked, bounds),
        Expect::ToolCalled(called) => is_called(called, record),
        Expect::ToolNotCalled { tool } => calls(tool, record).next().is_none(),
        Expect::ObservationContains { text } => record
            .steps
            .iter()
            .filter_map(|step| step.observation.as_deref())
            .any(|observation| observation.contains(text)),
        Expect::CostUsd { max } => {
            let cost = outcome.cost_usd.ok_or(ScoreError::CostUnknown(index))?;
            cost <= *max
        }
        Expect::ModelGraded { min_score, .. } => {
            let grade =
                grade.ok_or_else(|| ScoreError::Judge(index, "no model was asked".to_owned()))?;
            min_score.map_or(grade.passed, |enough| grade.score >= enough)
        }
    };
    Ok(holds != check.not)
}

/// A billionth of the tolerance is for binary fractions: 0.4 is within 0.1 of 0.3.
fn is_within(number: f64, equals: f64, tolerance: f64) -> bool {
    (number - equals).abs() <= tolerance * (1.0 + 1e-9)
}

fn is_between(count: u32, bounds: &Bounds) -> bool {
    bounds.min.is_none_or(|min| count >= min) && bounds.max.is_none_or(|max| count <= max)
}

/// The arguments of the calls of a tool that were not blocked.
fn calls<'a>(tool: &'a str, record: &'a SessionRecord) -> impl Iterator<Item = &'a Value> {
    record
        .steps
        .iter()
        .filter(move |step| !step.blocked && step.tool.as_deref() == Some(tool))
        .map(|step| &step.args)
}

fn is_called(called: &Called, record: &SessionRecord) -> bool {
    let count = calls(&called.tool, record)
        .filter(|args| {
            called.args.iter().all(|(name, wanted)| {
                args.get(name)
                    .is_some_and(|given| is_part_of(wanted, given))
            })
        })
        .count();
    match called.times {
        Some(times) => u32::try_from(count) == Ok(times),
        None => count > 0,
    }
}

/// Whether `given` says all that `wanted` says: objects may hold more, lists may not, and numbers
/// are compared by value.
fn is_part_of(wanted: &Value, given: &Value) -> bool {
    match (wanted, given) {
        (Value::Object(wanted), Value::Object(given)) => wanted.iter().all(|(name, wanted)| {
            given
                .get(name)
                .is_some_and(|given| is_part_of(wanted, given))
        }),
        (Value::Array(wanted), Value::Array(given)) => {
            wanted.len() == given.len()
                && wanted
                    .iter()
                    .zip(given)
                    .all(|(wanted, given)| is_part_of(wanted, given))
        }
        (Value::Number(wanted), Value::Number(given)) => {
            wanted == given
                || (wanted.is_f64() || given.is_f64()) && wanted.as_f64() == given.as_f64()
        }
        _ => wanted == given,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::score::tests::{check, record, step};

    /// Judges by a check without its `not` and with it; both must agree.
    fn holds(check_json: &Value, record: &SessionRecord) -> bool {
        let mut negated = check_json.clone();
        negated["not"] = json!(true);
        holds_graded(check_json, &negated, record, None)
    }

    fn holds_graded(
        check_json: &Value,
        negated: &Value,
        record: &SessionRecord,
        grade: Option<Grade>,
    ) -> bool {
        let held = judge(0, &check(check_json), record, grade).unwrap();
        let other = judge(0, &check(negated), record, grade).unwrap();
        assert_ne!(held, other, "{check_json}");
        held
    }

    #[test]
    fn what_a_model_says_or_the_score_that_is_enough() {
        let says = |score, passed| Some(Grade { score, passed });
        let plain = json!({"kind": "model_graded", "rubric": "r"});
        let from = |min_score: f64| {
            let mut check = plain.clone();
            check["min_score"] = json!(min_score);
            check
        };
        let table = [
            (plain.clone(), says(0.1, true), true),
            (plain.clone(), says(0.9, false), false),
            (from(0.7), says(0.7, false), true),
            (from(0.7), says(0.69, true), false),
            (from(0.0), says(0.0, false), true),
            (from(1.0), says(1.0, false), true),
        ];
        for (check, grade, wanted) in table {
            let mut negated = check.clone();
            negated["not"] = json!(true);
            for session in [record("a", Some("1")), record("a", None)] {
                let got = holds_graded(&check, &negated, &session, grade);
                assert_eq!(got, wanted, "{check} {grade:?}");
            }
        }
        let asked = judge(3, &check(&plain), &record("a", None), None);
        assert_eq!(
            asked,
            Err(ScoreError::Judge(3, "no model was asked".to_owned()))
        );
    }

    #[test]
    fn answers() {
        let number = |equals: f64| json!({"kind": "answer_number", "equals": equals});
        let within = |equals: f64, tolerance: f64| json!({"kind": "answer_number", "equals": equals, "tolerance": tolerance});
        let equals = |text: &str| json!({"kind": "answer_equals", "text": text});
        let contains = |text: &str| json!({"kind": "answer_contains", "text": text});
        let regex = |pattern: &str| json!({"kind": "answer_regex", "pattern": pattern});
        let schema = json!({"kind": "answer_json", "schema": {
            "type": "object", "required": ["n"], "properties": {"n": {"const": 391}}}});
        let table = [
            (equals("Paris"), "Paris", true),
            (equals("Paris"), "  Paris\n", true),
            (equals(" Paris "), "Paris", true),
            (equals("Paris"), "paris", false),
            (equals("Paris"), "Paris.", false),
            (contains("Paris"), "It is Paris.", true),
            (contains("Paris"), "It is paris.", false),
            (regex("^(?i)paris$"), "PARIS", true),
            (regex("[0-9]{3}"), "in 391 ways", true),
            (regex("^391$"), "in 391 ways", false),
            (number(391.0), "17 * 23 = 391", true),
            (number(391.0), "391 is not 392", false),
            (number(391.0), "three", false),
            (number(391.0), "391.0000000001", true),
            (number(391.0), "391.00000001", false),
            (number(-5.0), "(-5)", true),
            (number(1234.5), "$1,234.50", true),
            (within(0.3, 0.1), "0.4", true),
            (within(0.3, 0.1), "0.401", false),
            (within(391.0, 0.0), "391", true),
            (number(1e300), &"9".repeat(400), false),
            (schema.clone(), r#" {"n": 391, "m": 1} "#, true),
            (schema.clone(), r#"{"n": 392}"#, false),
            (schema.clone(), r#"n is {"n": 391}"#, false),
        ];
        for (check, answer, wanted) in table {
            let got = holds(&check, &record("a", Some(answer)));
            assert_eq!(got, wanted, "{check} of {answer:?}");
            assert!(!holds(&check, &record("a", None)), "{check} of no answer");
        }
    }

    #[test]
    fn outcomes() {
        let mut session = record("a", None);
        let outcome = std::sync::Arc::get_mut(&mut session.outcome).unwrap();
        outcome.status = crate::domain::Status::BudgetExhausted;
        outcome.steps_used = 3;
        outcome.blocked = 1;
        outcome.cost_usd = Some(0.02);
        let table = [
            (json!({"kind": "status", "is": "budget_exhausted"}), true),
            (json!({"kind": "status", "is": "completed"}), false),
            (json!({"kind": "status", "is": "fallback_stop"}), false),
            (json!({"kind": "steps", "min": 3, "max": 3}), true),
            (json!({"kind": "steps", "min": 4}), false),
            (json!({"kind": "steps", "max": 2}), false),
            (json!({"kind": "steps", "max": 4}), true),
            (json!({"kind": "blocked_steps", "min": 1}), true),
            (json!({"kind": "blocked_steps", "max": 0}), false),
            (json!({"kind": "cost_usd", "max": 0.02}), true),
            (json!({"kind": "cost_usd", "max": 0.019}), false),
        ];
        for (check, wanted) in table {
            assert_eq!(holds(&check, &session), wanted, "{check}");
        }
    }

    #[test]
    fn an_unknown_cost_is_no_verdict() {
        let cost = check(&json!({"kind": "cost_usd", "max": 1, "not": true}));
        assert_eq!(
            judge(2, &cost, &record("a", None), None),
            Err(ScoreError::CostUnknown(2))
        );
    }

    #[test]
    fn calls_and_observations() {
        let mut session = record("a", None);
        session.steps = vec![
            step(
                "calc",
                json!({"e": "1 + 1", "deep": {"a": 1, "b": [1, {"c": 2}]}}),
                false,
                "2",
            ),
            step("calc", json!({"e": "1 + 1"}), true, "blocked: no"),
            step("calc", Value::Null, false, "error: odd"),
            step("read", json!({"path": "x", "n": 2.0}), false, "text of x"),
        ];
        session.steps.push(crate::domain::StepFacts {
            tool: None,
            args: Value::Null,
            blocked: false,
            observation: None,
        });
        let called = |tool: &str| json!({"kind": "tool_called", "tool": tool});
        let times = |n: u32| json!({"kind": "tool_called", "tool": "calc", "times": n});
        let args = |args: Value| json!({"kind": "tool_called", "tool": "calc", "args": args});
        let table = [
            (called("calc"), true),
            (called("Calc"), false),
            (called("send"), false),
            (times(2), true),
            (times(1), false),
            (times(3), false),
            (args(json!({})), true),
            (args(json!({"e": "1 + 1"})), true),
            (args(json!({"e": "1 + 2"})), false),
            (args(json!({"f": null})), false),
            (args(json!({"deep": {"a": 1}})), true),
            (args(json!({"deep": {"a": 1.0}})), true),
            (args(json!({"deep": {"a": 2}})), false),
            (args(json!({"deep": {"b": [1, {}]}})), true),
            (args(json!({"deep": {"b": [1]}})), false),
            (args(json!({"deep": {"b": [{"c": 2}, 1]}})), false),
            (
                json!({"kind": "tool_called", "tool": "calc", "times": 1, "args": {"e": "1 + 1"}}),
                true,
            ),
            (
                json!({"kind": "tool_called", "tool": "read", "args": {"n": 2}}),
                true,
            ),
            (
                json!({"kind": "tool_called", "tool": "send", "times": 0}),
                true,
            ),
            (json!({"kind": "tool_not_called", "tool": "send"}), true),
            (json!({"kind": "tool_not_called", "tool": "calc"}), false),
            (
                json!({"kind": "observation_contains", "text": "text of"}),
                true,
            ),
            (
                json!({"kind": "observation_contains", "text": "blocked"}),
                true,
            ),
            (
                json!({"kind": "observation_contains", "text": "Text"}),
                false,
            ),
        ];
        for (check, wanted) in table {
            assert_eq!(holds(&check, &session), wanted, "{check}");
        }
        // Only blocked: not called.
        session.steps.drain(2..);
        session.steps.remove(0);
        assert!(holds(
            &json!({"kind": "tool_not_called", "tool": "calc"}),
            &session
        ));
    }

    #[test]
    fn large_integers_are_told_apart_in_arguments() {
        let (a, b) = (
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992_u64),
        );
        assert!(is_part_of(&a, &a) && !is_part_of(&a, &b));
    }
}
