use serde::Serialize;
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

use super::message::{JsonCall, JsonReply, ToolCall};
use crate::domain::{Entry, ScriptedCall, ToolMode, draw};

/// Stands for the last observation in the texts of a script.
const OBSERVATION: &str = "{{observation}}";

/// Bytes of observations that one reply takes in, 1 MiB; the rest is left out. So a script that
/// repeats an observation cannot ask for more memory than it seems to.
const MAX_FILLED: usize = 1 << 20;

/// Where in a session a scripted reply is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The session's number; draws use its lowest 31 bits.
    pub rng_seed: u64,
    /// Assistant messages already in the request.
    pub turn: u64,
    /// The last observation.
    pub observation: &'a str,
    /// Whether the model calls tools natively or as one JSON object.
    pub tool_mode: ToolMode,
}

/// A script's entry as the body of a provider's reply. The same entry at the same place gives
/// the same bytes.
///
/// `any_of` is drawn, and `raw` is the body itself. A thought is the content beside a call and
/// the reasoning beside an answer; in json mode it stands in the object. Several calls at once
/// are native in any mode. What `{{observation}}` puts into one reply is cut off at 1 MiB.
#[must_use]
pub fn render(entry: &Entry, place: &Place<'_>) -> Box<RawValue> {
    let entry = choose(entry, place);
    match &entry.raw {
        Some(raw) => {
            let mut body = Value::Object(raw.clone());
            Filler::new(place.observation).value(&mut body);
            to_json(&body)
        }
        None => render_reply(entry, place),
    }
}

/// The entry itself, or the one that is drawn of its `any_of`, to any depth: the one that [`render`]
/// writes.
#[must_use]
pub fn choose<'a>(mut entry: &'a Entry, place: &Place<'_>) -> &'a Entry {
    let weight = |e: &Entry| e.weight.unwrap_or(1);
    let mut depth = 0;
    while let Some(choices) = &entry.any_of {
        let total = choices.iter().map(weight).fold(0, u64::saturating_add);
        let mut left = draw(place.rng_seed, place.turn, depth, total);
        let drawn = choices.iter().find(|choice| {
            let taken = left < weight(choice);
            left = left.saturating_sub(weight(choice));
            taken
        });
        match drawn {
            Some(drawn) => entry = drawn,
            None => break,
        }
        depth += 1;
    }
    entry
}

#[derive(Serialize)]
struct Body<'a> {
    object: &'static str,
    choices: [Choice<'a>; 1],
}

#[derive(Serialize)]
struct Choice<'a> {
    index: u8,
    finish_reason: &'static str,
    message: Message<'a>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<ToolCall<'a>>,
}

const EMPTY: Message<'_> = Message {
    role: "assistant",
    reasoning_content: None,
    content: None,
    tool_calls: Vec::new(),
};

fn render_reply(entry: &Entry, place: &Place<'_>) -> Box<RawValue> {
    let mut filler = Filler::new(place.observation);
    let thought = entry.thought.as_deref().map(|text| filler.text(text));
    let answer = entry.answer.as_deref().map(|text| filler.text(text));
    let calls: Vec<(&str, Value)> = match (&entry.tool_call, &entry.tool_calls) {
        (Some(call), _) => vec![filler.call(call)],
        (None, Some(calls)) => calls.iter().map(|call| filler.call(call)).collect(),
        (None, None) => Vec::new(),
    };
    let message = match (&calls[..], place.tool_mode) {
        ([], ToolMode::Native) => Message {
            reasoning_content: thought,
            content: answer,
            ..EMPTY
        },
        ([] | [_], ToolMode::Json) => {
            let object = JsonReply {
                thought: thought.as_deref(),
                tool_call: calls.first().map(|(tool, args)| JsonCall { tool, args }),
                answer: answer.as_deref(),
                ..JsonReply::default()
            };
            Message {
                content: Some(object.to_json()),
                ..EMPTY
            }
        }
        (calls, _) => Message {
            content: thought,
            tool_calls: calls
                .iter()
                .enumerate()
                .map(|(i, (tool, args))| {
                    ToolCall::new(format!("call_{}_{i}", place.turn), tool, args)
                })
                .collect(),
            ..EMPTY
        },
    };
    let finish_reason = if message.tool_calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    to_json(&Body {
        object: "chat.completion",
        choices: [Choice {
            index: 0,
            finish_reason,
            message,
        }],
    })
}

/// Puts the last observation into the texts of one reply.
struct Filler<'a> {
    observation: &'a str,
    /// How many bytes of observations it may still put in.
    left: usize,
}

impl<'a> Filler<'a> {
    fn new(observation: &'a str) -> Self {
        Self {
            observation,
            left: MAX_FILLED,
        }
    }

    fn call<'e>(&mut self, call: &'e ScriptedCall) -> (&'e str, Value) {
        let mut args = call.args.clone();
        if args.is_null() {
            args = Value::Object(Map::new());
        }
        self.value(&mut args);
        (&call.tool, args)
    }

    fn text(&mut self, text: &str) -> String {
        let mut parts = text.split(OBSERVATION);
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = self.observation.floor_char_boundary(self.left);
            filled.push_str(self.observation.get(..end).unwrap_or_default());
            filled.push_str(part);
            self.left -= end;
        }
        filled
    }

    /// Fills every string in it; keys are left alone.
    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) if text.contains(OBSERVATION) => *text = self.text(text),
            Value::Array(list) => list.iter_mut().for_each(|v| self.value(v)),
            Value::Object(object) => object.values_mut().for_each(|v| self.value(v)),
            _ => {}
        }
    }
}

#[expect(
    clippy::expect_used,
    reason = "strings and JSON values always serialise"
)]
fn to_json(body: &impl Serialize) -> Box<RawValue> {
    to_raw_value(body).expect("a JSON value")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(entry: &str, place: Place<'_>) -> String {
        let entry: Entry = serde_json::from_str(entry).unwrap();
        render(&entry, &place).get().to_owned()
    }

    fn place(tool_mode: ToolMode) -> Place<'static> {
        Place {
            rng_seed: 0,
            turn: 2,
            observation: "3\"91",
            tool_mode,
        }
    }

    #[test]
    fn bodies() {
        let call =
            r#"{"thought":"t","tool_call":{"tool":"x","args":{"b":1,"a":["{{observation}}"]}}}"#;
        let two = r#"{"tool_calls":[{"tool":"x"},{"tool":"y"}]}"#;
        let answer = r#"{"thought":"t","answer":"it is {{observation}}"}"#;
        let raw = r#"{"raw":{"z":1.0,"{{observation}}":{"a":["{{observation}}"]}}}"#;
        let body = |finish: &str, message: &str| {
            format!(
                r#"{{"object":"chat.completion","choices":[{{"index":0,"finish_reason":"{finish}","message":{message}}}]}}"#
            )
        };
        let table = [
            (
                call,
                ToolMode::Native,
                body(
                    "tool_calls",
                    r#"{"role":"assistant","content":"t","tool_calls":[{"function":{"arguments":"{\"b\":1,\"a\":[\"3\\\"91\"]}","name":"x"},"id":"call_2_0","type":"function"}]}"#,
                ),
            ),
            (
                two,
                ToolMode::Native,
                body(
                    "tool_calls",
                    r#"{"role":"assistant","content":null,"tool_calls":[{"function":{"arguments":"{}","name":"x"},"id":"call_2_0","type":"function"},{"function":{"arguments":"{}","name":"y"},"id":"call_2_1","type":"function"}]}"#,
                ),
            ),
            (
                answer,
                ToolMode::Native,
                body(
                    "stop",
                    r#"{"role":"assistant","reasoning_content":"t","content":"it is 3\"91"}"#,
                ),
            ),
            (
                call,
                ToolMode::Json,
                body(
                    "stop",
                    r#"{"role":"assistant","content":"{\"thought\":\"t\",\"tool_call\":{\"tool\":\"x\",\"args\":{\"b\":1,\"a\":[\"3\\\"91\"]}}}"}"#,
                ),
            ),
            (
                answer,
                ToolMode::Json,
                body(
                    "stop",
                    r#"{"role":"assistant","content":"{\"thought\":\"t\",\"answer\":\"it is 3\\\"91\"}"}"#,
                ),
            ),
            (
                raw,
                ToolMode::Native,
                r#"{"z":1.0,"{{observation}}":{"a":["3\"91"]}}"#.to_owned(),
            ),
        ];
        for (entry, mode, want) in table {
            assert_eq!(rendered(entry, place(mode)), want, "{entry}");
        }
    }

    #[test]
    fn what_observations_put_into_a_reply_is_bounded() {
        let many = OBSERVATION.repeat(2000);
        let observation = "ä".repeat(32 << 10);
        let entries = [
            serde_json::json!({"thought": many, "answer": many}),
            serde_json::json!({"tool_calls": [{"tool": "x", "args": {"a": many, "b": [many]}}]}),
            serde_json::json!({"raw": {"a": vec![many.clone(); 3]}}),
        ];
        for entry in entries {
            let place = Place {
                observation: &observation,
                ..place(ToolMode::Native)
            };
            let length = rendered(&entry.to_string(), place).len();
            assert!(
                (MAX_FILLED..MAX_FILLED + 1000).contains(&length),
                "{length}"
            );
        }
    }

    #[test]
    fn draws_follow_their_address() {
        let nested = r#"{"any_of":[{"weight":2,"answer":"a"},{"weight":3,"any_of":[{"weight":4,"answer":"b"},{"answer":"c"}]}]}"#;
        let drawn = |rng_seed, turn| {
            let entry: Entry = serde_json::from_str(nested).unwrap();
            let place = Place {
                rng_seed,
                turn,
                ..place(ToolMode::Native)
            };
            choose(&entry, &place).answer.clone().unwrap()
        };
        // Vectors of tests/golden/seeds.json, with totals of 5: draws j = 0 and 1 of reply 0.
        assert_eq!(drawn(6729874097138544485, 0), "c", "2 is past a, 4 past b");
        assert_eq!(drawn(14962108942768929043, 0), "a", "0");
        assert_eq!(drawn(14772523773894416830, 0), "b", "2, then 3");
        assert_eq!(
            drawn(6729874097138544485, 1),
            "a",
            "another reply, another draw"
        );
        let masked = 6729874097138544485 & 0x7fff_ffff;
        assert_eq!(
            drawn(masked, 0),
            "c",
            "a server that got 31 bits draws the same"
        );
    }

    #[test]
    fn an_entry_without_a_reply_renders_an_empty_one() {
        for entry in ["{}", r#"{"any_of":[]}"#] {
            let body = rendered(entry, place(ToolMode::Native));
            assert!(body.ends_with(r#""content":null}}]}"#), "{body}");
        }
    }
}
