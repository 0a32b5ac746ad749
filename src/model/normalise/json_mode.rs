//! Replies in json mode: one JSON object `{thought, tool_call | answer}`.

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::{Normalised, Repair, acting, args, failed};
use crate::domain::{Action, Call, Code};

const SHAPE: &str = "Reply with exactly one JSON object: {\"thought\": …, \"tool_call\": \
                     {\"tool\": …, \"args\": {…}}} to call a tool, or {\"thought\": …, \
                     \"answer\": …} to finish.";

/// Reads the visible text; `cut`: the output limit ended the reply.
pub(super) fn read(text: String, cut: bool, repairs: &mut Vec<Repair>) -> Normalised {
    let (json, value) = match find(&text, repairs) {
        Ok(found) => found,
        Err(_) if cut => {
            let reason = format!("The output limit cut the JSON object off. {SHAPE}");
            return failed(Code::CutOff, reason, Some(text));
        }
        Err(e) => {
            let reason = format!("The reply is not one JSON object: {e}. {SHAPE}");
            return failed(Code::NotJson, reason, Some(text));
        }
    };
    let Value::Object(mut object) = value else {
        let reason = format!("The reply is JSON, but not an object. {SHAPE}");
        return failed(Code::Schema, reason, Some(text));
    };
    let thought = field(&mut object, "thought")
        .map(plain)
        .filter(|thought| !thought.trim().is_empty());
    match act(object, json, repairs) {
        Ok(action) => acting(action, thought),
        Err((code, wrong)) => Normalised {
            thought,
            ..failed(code, format!("{wrong} {SHAPE}"), Some(text))
        },
    }
}

/// The JSON value that the text is, or the only object in it.
pub(super) fn find<'a>(
    text: &'a str,
    repairs: &mut Vec<Repair>,
) -> Result<(&'a str, Value), serde_json::Error> {
    let error = match args::strict(text) {
        Ok(value) => return Ok((text, value)),
        Err(e) => e,
    };
    // From the first brace to the last: a second object, or a broken one, does not parse.
    let inner = text
        .find('{')
        .zip(text.rfind('}'))
        .and_then(|(first, last)| text.get(first..=last))
        .filter(|inner| inner.len() < text.trim_ascii().len());
    match inner.map(|inner| (inner, args::strict(inner))) {
        Some((inner, Ok(value))) => {
            repairs.push(Repair::JsonInText);
            Ok((inner, value))
        }
        Some((_, Err(e))) => Err(e),
        None => Err(error),
    }
}

fn act(
    mut object: Map<String, Value>,
    json: &str,
    repairs: &mut Vec<Repair>,
) -> Result<Action, (Code, String)> {
    match (
        field(&mut object, "tool_call"),
        field(&mut object, "answer"),
    ) {
        (Some(call), None) => {
            let wrong = "`tool_call` is not an object with the name of a tool in `tool`.";
            let Value::Object(mut call) = call else {
                return Err((Code::Schema, wrong.into()));
            };
            let Some(Value::String(tool)) = call.remove("tool") else {
                return Err((Code::Schema, wrong.into()));
            };
            let (args, args_len) = args::of_value(call.remove("args"), repairs);
            let id = "call_0".into();
            Ok(Action::Calls(vec![Call {
                id,
                tool,
                args,
                args_len,
            }]))
        }
        (None, Some(Value::Number(_))) => Ok(Action::Answer(number_as_written(json))),
        (None, Some(answer)) => match plain(answer) {
            blank if blank.trim().is_empty() => Err((Code::Empty, "The answer is empty.".into())),
            answer => Ok(Action::Answer(answer)),
        },
        (Some(_), Some(_)) => Err((
            Code::Schema,
            "The object has both `tool_call` and `answer`.".into(),
        )),
        (None, None) => Err((
            Code::Schema,
            "The object has neither `tool_call` nor `answer`.".into(),
        )),
    }
}

/// A field that is there and not null.
fn field(object: &mut Map<String, Value>, name: &str) -> Option<Value> {
    object.remove(name).filter(|value| !value.is_null())
}

/// A string as it is, anything else as its compact JSON text.
fn plain(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The digits of the answer as the model wrote them: a parsed number may have lost some.
fn number_as_written(json: &str) -> String {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        answer: &'a RawValue,
    }
    serde_json::from_str(json)
        .map(|Answer { answer }| answer.get().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies() {
        let long = r#"{"answer":123456789012345678901234567890}"#;
        let table = [
            (long, Ok("123456789012345678901234567890")),
            (r#"{"answer":6.0}"#, Ok("6.0")),
            (r#"{"answer":true}"#, Ok("true")),
            (r#"{"answer":[1, 2]}"#, Ok("[1,2]")),
            (r#"{"answer":"a","note":1}"#, Ok("a")),
            (r#"{"answer":" "}"#, Err(Code::Empty)),
            (r#"{"answer":null}"#, Err(Code::Schema)),
            (r#"{"tool_call":"calculator"}"#, Err(Code::Schema)),
            (r#"{"tool_call":{"args":{}}}"#, Err(Code::Schema)),
            (r#"{"answer":"1","answer":"2"}"#, Err(Code::NotJson)),
            (r#"{"x":{"answer":"6"},}"#, Err(Code::NotJson)),
            (r#"{"answer":"6""#, Err(Code::NotJson)),
            ("6", Err(Code::Schema)),
        ];
        for (text, want) in table {
            let got = match read(text.to_owned(), false, &mut vec![]).action {
                Action::Answer(answer) => Ok(answer),
                Action::Malformed { code, reason } => {
                    assert!(reason.contains("exactly one JSON object"), "{reason}");
                    Err(code)
                }
                Action::Calls(calls) => panic!("{text}: {calls:?}"),
            };
            assert_eq!(got, want.map(str::to_owned), "{text}");
        }
    }
}
