//! The grade in a judge's reply.

use serde_json::Value;

use super::{Graded, PASS};
use crate::{
    domain::{Action, is_unseen, shortened},
    model::{Normalised, normalise::object_in},
};

/// The longest reason, in characters.
const MAX_REASON: usize = 500;

/// Reads a reply, whatever the tool mode that it was read in: a grade is an object without a call and
/// without an answer, which in json mode is a failed reply with its text. The cost is left to the
/// caller.
///
/// # Errors
/// What is wrong with it, in fixed words: what judges say may hold what is sealed.
pub(super) fn read(reply: &Normalised) -> Result<Graded, &'static str> {
    if reply.refused {
        return Err("is a refusal");
    }
    let text = match &reply.action {
        Action::Answer(text) => Some(text),
        Action::Malformed { .. } => reply.text.as_ref(),
        Action::Calls(_) => return Err("calls a tool"),
    };
    let text = text.ok_or("holds no text")?;
    let grade = object_in(text).ok_or("is not one JSON object")?;
    let score = grade
        .get("score")
        .and_then(Value::as_f64)
        .filter(|score| (0.0..=1.0).contains(score))
        .ok_or("has no `score` from 0 to 1")?
        // A zero may have a sign.
        .abs();
    let passed = match grade.get("passed") {
        None | Some(Value::Null) => score >= PASS,
        Some(Value::Bool(passed)) => *passed,
        Some(_) => return Err("has a `passed` that is neither true nor false"),
    };
    let reason = grade.get("reason").and_then(Value::as_str);
    Ok(Graded {
        score,
        passed,
        reason: on_one_line(reason.unwrap_or_default()),
        cost_usd: None,
    })
}

/// The words of a text with single blanks between them, as far as there is room.
fn on_one_line(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .filter(|c| !is_unseen(*c))
        .collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.is_empty() {
        return "no reason given".to_owned();
    }
    let line = words.join(" ");
    if line.chars().count() <= MAX_REASON {
        return line;
    }
    shortened(&line, MAX_REASON - 1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        domain::ToolMode,
        model::{Options, normalise::normalise},
    };

    fn message(message: &Value, tool_mode: ToolMode) -> Result<Graded, &'static str> {
        let body = json!({"choices": [{"message": message}]}).to_string();
        let options = Options {
            tool_mode,
            text_calls: false,
        };
        read(&normalise(200, &body, options).unwrap())
    }

    /// The grade in a text; the same in both tool modes.
    fn text(text: &str) -> Result<(f64, bool, String), &'static str> {
        let [native, json] =
            [ToolMode::Native, ToolMode::Json].map(|mode| message(&json!({"content": text}), mode));
        assert_eq!(native, json, "{text}");
        native.map(|graded| (graded.score, graded.passed, graded.reason))
    }

    #[test]
    fn grades() {
        let none = "no reason given";
        let table = [
            (
                r#"{"reason":"so","score":0.75,"passed":false}"#,
                (0.75, false, "so"),
            ),
            (r#"{"score":0.5}"#, (0.5, true, none)),
            (r#"{"score":0.499}"#, (0.499, false, none)),
            (
                r#"{"score":1,"passed":null,"reason":null}"#,
                (1.0, true, none),
            ),
            (r#"{"score":-0.0,"reason":" "}"#, (0.0, false, none)),
            (
                r#"{"score":0,"passed":true,"reason":["a"]}"#,
                (0.0, true, none),
            ),
            (r#"{"score":1,"other":{"score":0}}"#, (1.0, true, none)),
            ("```json\n{\"score\": 1}\n```", (1.0, true, none)),
            ("I think so: {\"score\": 1}. Yes.", (1.0, true, none)),
            (
                "<think>{\"score\": 0}</think>{\"score\": 1}",
                (1.0, true, none),
            ),
            (
                r#"{"score":1,"reason":" a\nb\t c\u0000\u202e "}"#,
                (1.0, true, "a b c"),
            ),
        ];
        for (reply, (score, passed, reason)) in table {
            assert_eq!(
                text(reply),
                Ok((score, passed, reason.to_owned())),
                "{reply}"
            );
        }
    }

    #[test]
    fn what_is_no_grade() {
        let (object, score) = ("is not one JSON object", "has no `score` from 0 to 1");
        let passed = "has a `passed` that is neither true nor false";
        let table = [
            ("It is good.", object),
            ("1", object),
            ("[1]", object),
            (r#"{"score":1"#, object),
            (r#"{"score":0} {"score":1}"#, object),
            (r#"{"score":0,"score":1}"#, object),
            ("{}", score),
            (r#"{"score":null}"#, score),
            (r#"{"score":"1"}"#, score),
            (r#"{"score":true}"#, score),
            (r#"{"score":1.001}"#, score),
            (r#"{"score":-0.001}"#, score),
            (r#"{"score":7}"#, score),
            (r#"{"grade":{"score":1}}"#, score),
            (r#"{"score":1,"passed":"yes"}"#, passed),
            (r#"{"score":1,"passed":1}"#, passed),
        ];
        for (reply, want) in table {
            assert_eq!(text(reply), Err(want), "{reply}");
        }
    }

    #[test]
    fn replies_that_are_no_text() {
        let call = json!([{"function": {"name": "score", "arguments": "{\"score\":1}"}}]);
        let table = [
            (
                json!({"content": null, "refusal": "{\"score\":1}"}),
                "is a refusal",
            ),
            (json!({"content": null}), "holds no text"),
            (
                json!({"content": "{\"score\":1}", "tool_calls": call}),
                "calls a tool",
            ),
        ];
        for (reply, want) in table {
            for mode in [ToolMode::Native, ToolMode::Json] {
                assert_eq!(message(&reply, mode), Err(want), "{reply}");
            }
        }
    }

    #[test]
    fn long_reasons_are_cut() {
        let reason = |letters: usize| {
            let reply = json!({"score": 1, "reason": "ä".repeat(letters)}).to_string();
            text(&reply).unwrap().2
        };
        assert_eq!(reason(MAX_REASON), "ä".repeat(MAX_REASON));
        let cut = reason(MAX_REASON + 1);
        assert_eq!(cut.chars().count(), MAX_REASON);
        assert!(cut.ends_with("ä…"), "{cut}");
    }
}
