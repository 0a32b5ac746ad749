//! A line of a trace as a value, also where a reply in it is JSON that no value can hold.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value, json, value::RawValue};

/// Stands in place of what cannot be read, with its text: `{"(as written)": "1e999"}`.
const AS_WRITTEN: &str = "(as written)";
/// Levels within which what cannot be read is sought; below, a whole level is kept as its text.
const LEVELS: usize = 12;

/// A line of a trace, to be compared. What cannot be read as a value, such as half of a character
/// or a number beyond all floats, is kept as its text, and what is around it is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Line(pub Value);

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(d)?;
        Ok(Self(readable(&raw, LEVELS)))
    }
}

fn readable(raw: &RawValue, levels: usize) -> Value {
    let text = raw.get();
    if let Ok(value) = serde_json::from_str(text) {
        return value;
    }
    let Some(levels) = levels.checked_sub(1) else {
        return as_written(text);
    };
    match serde_json::from_str(text) {
        Ok(Parts::Object(fields)) => {
            let field = |(name, value): (&RawValue, &RawValue)| {
                let name = serde_json::from_str(name.get()).unwrap_or_else(|_| name.get().into());
                (name, readable(value, levels))
            };
            Value::Object(fields.into_iter().map(field).collect::<Map<_, _>>())
        }
        Ok(Parts::Array(items)) => items.into_iter().map(|raw| readable(raw, levels)).collect(),
        Err(_) => as_written(text),
    }
}

fn as_written(text: &str) -> Value {
    json!({ AS_WRITTEN: text })
}

/// What a value consists of, unread.
enum Parts<'a> {
    Object(Vec<(&'a RawValue, &'a RawValue)>),
    Array(Vec<&'a RawValue>),
}

impl<'de> Deserialize<'de> for Parts<'de> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(PartsVisitor)
    }
}

struct PartsVisitor;

impl<'de> Visitor<'de> for PartsVisitor {
    type Value = Parts<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Parts<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Parts::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Parts::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_read_is_and_the_rest_is_kept_as_written() {
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        let object = format!(r#"{{"a":1,"more":{deep}}}"#);
        let table = [
            (r#"{"a":[1,"é\n"]}"#, json!({"a": [1, "é\n"]})),
            (
                r#"{"a":1,"b":["x","\ud83d",1e999],"\udc00":{}}"#,
                json!({"a": 1, "b": ["x", as_written(r#""\ud83d""#), as_written("1e999")],
                    "\"\\udc00\"": {}}),
            ),
        ];
        for (text, want) in table {
            assert_eq!(
                serde_json::from_str::<Line>(text).unwrap(),
                Line(want),
                "{text}"
            );
        }
        let Line(read) = serde_json::from_str(&object).unwrap();
        assert_eq!(read["a"], 1);
        assert!(read["more"].to_string().contains(&"[".repeat(99_000)));
        assert!(serde_json::from_str::<Line>(r#"{"a":}"#).is_err());
    }
}
