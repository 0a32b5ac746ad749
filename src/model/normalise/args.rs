//! The arguments of a call.

use serde_json::{Map, Value, value::RawValue};

use super::{Repair, body, repaired};
use crate::domain::{BadArgs, Code, MAX_ARGS_BYTES, MAX_ARGS_DEPTH, strict_json};

/// Arguments as the provider gives them, and the length of their text. `cut`: the output limit
/// ended the reply.
pub(super) fn read(
    raw: Option<&RawValue>,
    cut: bool,
    repairs: &mut Vec<Repair>,
) -> (Result<Value, BadArgs>, usize) {
    let Some(raw) = raw else {
        return (absent("", cut, repairs), 0);
    };
    let text = body::text_of(raw).unwrap_or_else(|| {
        if raw.get().starts_with('{') {
            repaired(repairs, Repair::ArgumentsObject);
        }
        raw.get().into()
    });
    let args = read_text(&text, cut, repairs);
    (bounded(args, &text), text.len())
}

/// Arguments that came inside a larger JSON value, and the length of their text.
pub(super) fn of_value(
    value: Option<Value>,
    repairs: &mut Vec<Repair>,
) -> (Result<Value, BadArgs>, usize) {
    let value = value.unwrap_or_default();
    let text = match &value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let args = match value {
        Value::Null => absent("", false, repairs),
        value => Ok(decoded_once_more(value, repairs)),
    };
    (bounded(args, &text), text.len())
}

/// Arguments of more than [`MAX_ARGS_BYTES`] are not taken, and the beginning of their text tells
/// enough of them: written once more, long ones may be several times as long as in the reply.
fn bounded(args: Result<Value, BadArgs>, text: &str) -> Result<Value, BadArgs> {
    if text.len() <= MAX_ARGS_BYTES {
        return args;
    }
    let beginning = text.get(..text.floor_char_boundary(MAX_ARGS_BYTES));
    let text = beginning.unwrap_or_default().to_owned();
    let (code, reason) = match args {
        Ok(_) => (
            Code::TooLarge,
            format!("The arguments are too long: at most {MAX_ARGS_BYTES} bytes are taken."),
        ),
        Err(bad) => (bad.code, bad.reason),
    };
    Err(BadArgs { code, reason, text })
}

fn read_text(text: &str, cut: bool, repairs: &mut Vec<Repair>) -> Result<Value, BadArgs> {
    if text.trim_ascii().is_empty() {
        return absent(text, cut, repairs);
    }
    match strict(text) {
        Ok(Value::Null) => absent(text, cut, repairs),
        Ok(value) => Ok(decoded_once_more(value, repairs)),
        Err(_) if cut => Err(cut_off(text)),
        Err(e) => Err(BadArgs::not_json(text, &e)),
    }
}

fn absent(text: &str, cut: bool, repairs: &mut Vec<Repair>) -> Result<Value, BadArgs> {
    if cut {
        return Err(cut_off(text));
    }
    repaired(repairs, Repair::ArgumentsEmpty);
    Ok(Value::Object(Map::new()))
}

fn cut_off(text: &str) -> BadArgs {
    BadArgs {
        code: Code::CutOff,
        reason: "The output limit cut the call off before its arguments were complete. Make a \
                 shorter call, or split the work into several."
            .into(),
        text: text.to_owned(),
    }
}

/// A string that holds an object is that object; any other is left for the schema to judge.
fn decoded_once_more(value: Value, repairs: &mut Vec<Repair>) -> Value {
    if let Value::String(text) = &value
        && let Ok(object @ Value::Object(_)) = strict(text)
    {
        repaired(repairs, Repair::DoubleEncoded);
        return object;
    }
    value
}

/// The one JSON value of a text.
pub(super) fn strict(text: &str) -> Result<Value, serde_json::Error> {
    strict_json(text, MAX_ARGS_DEPTH)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments() {
        let object = || json!({"a":1});
        let table = [
            (r#""{\"a\":1}""#, false, Ok(object()), vec![]),
            (
                r#"{"a":1}"#,
                false,
                Ok(object()),
                vec![Repair::ArgumentsObject],
            ),
            (
                r#""\"{\\\"a\\\":1}\"""#,
                false,
                Ok(object()),
                vec![Repair::DoubleEncoded],
            ),
            (r#""\"plain\"""#, false, Ok(json!("plain")), vec![]),
            (r#""""#, false, Ok(json!({})), vec![Repair::ArgumentsEmpty]),
            (
                r#""null""#,
                false,
                Ok(json!({})),
                vec![Repair::ArgumentsEmpty],
            ),
            (r#""""#, true, Err(Code::CutOff), vec![]),
            (r#""{\"a\":""#, true, Err(Code::CutOff), vec![]),
            (r#""{\"a\":""#, false, Err(Code::NotJson), vec![]),
            (r#""{\"a\":1}""#, true, Ok(object()), vec![]),
            (
                r#"{"a":1,"a":2}"#,
                false,
                Err(Code::NotJson),
                vec![Repair::ArgumentsObject],
            ),
        ];
        for (text, cut, want, done) in table {
            let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
            let mut repairs = vec![];
            let (args, _) = read(Some(&raw), cut, &mut repairs);
            assert_eq!(args.map_err(|bad| bad.code), want, "{text}");
            assert_eq!(repairs, done, "{text}");
        }
    }

    #[test]
    fn long_arguments_are_not_taken_and_their_beginning_is_kept() {
        let long = "é".repeat(MAX_ARGS_BYTES / 2);
        for (args, whole) in [
            (format!(r#"{{"a":"{long}"}}"#), true),
            (format!(r#"{{"a":"{long}"#), false),
            (format!("[{}1]", "1e15,".repeat(MAX_ARGS_BYTES / 5)), true),
        ] {
            let raw: Box<RawValue> =
                RawValue::from_string(Value::from(&*args).to_string()).unwrap();
            let (read, len) = read(Some(&raw), false, &mut vec![]);
            let bad = read.unwrap_err();
            let want = if whole { Code::TooLarge } else { Code::NotJson };
            assert_eq!((bad.code, len), (want, args.len()));
            assert!(args.starts_with(&bad.text), "{:.9}", bad.text);
            assert!(bad.text.len() <= MAX_ARGS_BYTES && bad.text.len() > MAX_ARGS_BYTES - 2);
            if let Ok(value) = strict(&args) {
                let (read, len) = of_value(Some(value), &mut vec![]);
                let bad = read.unwrap_err();
                assert!(len > MAX_ARGS_BYTES && bad.text.len() <= MAX_ARGS_BYTES);
            }
        }
        let edge = format!(r#"{{"a":"{}"}}"#, "1".repeat(MAX_ARGS_BYTES - 8));
        let raw = RawValue::from_string(edge).unwrap();
        let (args, len) = read(Some(&raw), false, &mut vec![]);
        assert!(args.is_ok() && len == MAX_ARGS_BYTES);
    }

    #[test]
    fn bad_arguments_keep_their_text_and_say_what_to_do() {
        let raw: Box<RawValue> = serde_json::from_str(r#""{\"a\":1,\"a\":2}""#).unwrap();
        let (args, len) = read(Some(&raw), false, &mut vec![]);
        let bad = args.unwrap_err();
        assert_eq!(bad.text, r#"{"a":1,"a":2}"#);
        assert_eq!(len, bad.text.len());
        assert!(
            bad.reason.contains(r#"key "a" appears twice"#),
            "{}",
            bad.reason
        );
        assert!(bad.reason.contains("Call the tool again"));
    }
}
