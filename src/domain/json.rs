//! JSON that others write, read strictly: what two readers may take for two things is an error.

use std::fmt;

use serde::{
    Deserializer,
    de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Number, Value};

/// One JSON value and nothing else, without a key that appears twice in an object, and nested at
/// most `depth` deep; beyond 128 no depth is read.
///
/// # Errors
/// What is wrong and where.
pub fn strict_json(text: &str, depth: usize) -> Result<Value, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let strict = Strict { depth, left: depth };
    let value = strict.deserialize(&mut json)?;
    json.end()?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Strict {
    depth: usize,
    /// How many levels may follow.
    left: usize,
}

impl Strict {
    /// What reads the values within a list or an object.
    fn within<E: Error>(self) -> Result<Self, E> {
        let left = self.left.checked_sub(1).ok_or_else(|| {
            E::custom(format_args!(
                "it is nested more than {} levels deep",
                self.depth
            ))
        })?;
        Ok(Self { left, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Value, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
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
        let within = self.within()?;
        let mut list = Vec::new();
        while let Some(value) = seq.next_element_seed(within)? {
            list.push(value);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let within = self.within()?;
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("key {key:?} appears twice")));
            }
            object.insert(key, map.next_value_seed(within)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: usize = 100;

    fn nested(depth: usize) -> String {
        "[".repeat(depth) + &"]".repeat(depth)
    }

    #[test]
    fn it_is_serde_json_without_double_keys() {
        for text in [
            r#"{"b":[1,-2,3.5,1e3,true,null],"a":{"x":"\u00e4\n"}}"#,
            r#""text""#,
            "18446744073709551615",
            "12345678901234567890123",
            &nested(DEPTH),
        ] {
            let plain: Value = serde_json::from_str(text).unwrap();
            assert_eq!(strict_json(text, DEPTH).unwrap(), plain);
            assert_eq!(
                strict_json(text, DEPTH).unwrap().to_string(),
                plain.to_string()
            );
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
            &nested(DEPTH + 1),
        ] {
            assert!(strict_json(bad, DEPTH).is_err(), "{bad:.20}");
        }
    }
}
