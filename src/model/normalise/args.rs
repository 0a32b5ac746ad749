//! The arguments of a call.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value, value::RawValue};

use super::{Repair, body, repaired};
use crate::domain::{BadArgs, Code};

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
    (read_text(&text, cut, repairs), text.len())
}

/// Arguments that came inside a larger JSON value, and the length of their text.
pub(super) fn of_value(
    value: Option<Value>,
    repairs: &mut Vec<Repair>,
) -> (Result<Value, BadArgs>, usize) {
    let value = value.unwrap_or_default();
    let len = match &value {
        Value::String(text) => text.len(),
        value => value.to_string().len(),
    };
    let args = match value {
        Value::Null => absent("", false, repairs),
        value => Ok(decoded_once_more(value, repairs)),
    };
    (args, len)
}

fn read_text(text: &str, cut: bool, repairs: &mut Vec<Repair>) -> Result<Value, BadArgs> {
    if text.trim_ascii().is_empty() {
        return absent(text, cut, repairs);
    }
    match strict(text) {
        Ok(Value::Null) => absent(text, cut, repairs),
        Ok(value) => Ok(decoded_once_more(value, repairs)),
        Err(_) if cut => Err(cut_off(text)),
        Err(e) => Err(BadArgs {
            code: Code::NotJson,
            reason: format!(
                "The arguments are not valid JSON: {e}. Call the tool again with one JSON object \
                 that matches its schema and nothing around it."
            ),
            text: text.to_owned(),
        }),
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

/// One JSON value and nothing else, without a key that appears twice in an object.
pub(super) fn strict(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).map(|Strict(value)| value)
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, b: bool) -> Result<Value, E> {
        Ok(b.into())
    }

    fn visit_i64<E>(self, n: i64) -> Result<Value, E> {
        Ok(n.into())
    }

    fn visit_u64<E>(self, n: u64) -> Result<Value, E> {
        Ok(n.into())
    }

    fn visit_f64<E>(self, n: f64) -> Result<Value, E> {
        Ok(Number::from_f64(n).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(value)) = seq.next_element()? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("key {key:?} appears twice")));
            }
            object.insert(key, map.next_value::<Strict>()?.0);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strict_is_serde_json_without_double_keys() {
        for text in [
            r#"{"b":[1,-2,3.5,1e3,true,null],"a":{"x":"\u00e4\n"}}"#,
            r#""text""#,
            "18446744073709551615",
            "12345678901234567890123",
        ] {
            let plain: Value = serde_json::from_str(text).unwrap();
            assert_eq!(strict(text).unwrap(), plain);
            assert_eq!(strict(text).unwrap().to_string(), plain.to_string());
        }
        for bad in [
            r#"{"a":1,"a":1}"#,
            r#"[{"x":{"a":1,"a":2}}]"#,
            "{} {}",
            "NaN",
            "\u{feff}{}",
            "{'a':1}",
            "1e999",
            &"[".repeat(100_000),
        ] {
            assert!(strict(bad).is_err(), "{bad:.20}");
        }
    }

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
