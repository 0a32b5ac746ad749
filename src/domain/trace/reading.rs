//! How a record is read: a reply is kept as its text. It may be JSON that no value of a program can
//! hold, such as half of a character, a number beyond all floats or a list in a thousand lists.

use std::{fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{
        DeserializeSeed, Error, IntoDeserializer, MapAccess, Visitor, value::MapAccessDeserializer,
    },
};
use serde_json::value::RawValue;

use super::Record;

/// The field that is kept as its text.
const REPLY: &str = "reply";

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Record;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record of a trace")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Record, A::Error> {
        let mut reply = None;
        let others = Others {
            fields,
            reply: &mut reply,
            of: PhantomData,
        };
        let mut record = Record::of_fields(MapAccessDeserializer::new(others))?;
        if let (Record::Step(line), Some(reply)) = (&mut record, reply) {
            line.reply = reply;
        }
        Ok(record)
    }
}

/// All fields but the reply. To find the type of a record, serde reads them into memory as values,
/// and that loses what a text is.
struct Others<'a, 'de, A> {
    fields: A,
    reply: &'a mut Option<Option<Box<RawValue>>>,
    of: PhantomData<&'de ()>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Others<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        while let Some(name) = self.fields.next_key::<String>()? {
            if name != REPLY {
                return seed.deserialize(name.into_deserializer()).map(Some);
            }
            if self.reply.replace(self.fields.next_value()?).is_some() {
                return Err(A::Error::duplicate_field(REPLY));
            }
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.fields.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::{
        jsonl::{Secrecy, parse},
        trace::Record,
    };

    fn line(reply: &str) -> String {
        format!(
            r#"{{"type":"step","step":0,"turn":0,"call":0,"decision":{{"thought":null,"tool_call":null,"answer":"1"}},"judgments":[],"observation":null,{reply}"finish":"stop","ts":1.5}}"#
        )
    }

    fn reply_of(line: &str) -> Option<String> {
        let read: Record = serde_json::from_str(line).unwrap();
        let by_place: Record = parse(line, Secrecy::Public).unwrap();
        let [read, by_place] = [read, by_place].map(|record| match record {
            Record::Step(line) => {
                assert_eq!((line.ts, line.finish.as_deref()), (1.5, Some("stop")));
                line.reply.map(|reply| reply.get().to_owned())
            }
            record => panic!("{record:?}"),
        });
        assert_eq!(read, by_place);
        read
    }

    #[test]
    fn a_reply_is_kept_as_it_came() {
        let deep = "[".repeat(5000) + &"]".repeat(5000);
        for reply in [
            r#"{"a": "\ud83d"}"#,
            r#"{"\ud83d":1,"a":1,"a":2}"#,
            r#"[1e999, 1.00]"#,
            r#""text""#,
            &deep,
        ] {
            let got = reply_of(&line(&format!("\"reply\":{reply},")));
            assert_eq!(got.as_deref(), Some(reply));
        }
        assert_eq!(reply_of(&line("")), None);
        assert_eq!(reply_of(&line("\"reply\":null,")), None);
    }

    #[test]
    fn what_is_no_record_is_refused() {
        let twice = line("\"reply\":{},\"reply\":{},");
        for (text, want) in [
            (twice.as_str(), "duplicate field `reply`"),
            (&line("\"reply\":{\"a\":},"), "expected value"),
            (r#"{"type":"step","ts":1}"#, "missing field `step`"),
            (r#"{"step":1}"#, "missing field `type`"),
            ("[]", "expected a record of a trace"),
        ] {
            let error = serde_json::from_str::<Record>(text).unwrap_err();
            assert!(error.to_string().contains(want), "{error}");
        }
    }
}
