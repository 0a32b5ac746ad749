//! What a request for a completion asks, read without copying what is not needed.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    /// The model, to be named in the reply.
    pub model: Option<String>,
    /// The first user message.
    pub task: Cow<'a, str>,
    /// The seed's lowest 31 bits.
    pub seed: Option<u32>,
    /// Assistant messages so far.
    pub turn: u64,
    /// The last message after the task that is not the model's own.
    pub observation: Cow<'a, str>,
    /// Whether a JSON object is asked for, and no tools are offered.
    pub is_json: bool,
}

#[derive(Deserialize)]
struct Body<'a> {
    model: Option<String>,
    #[serde(borrow)]
    messages: Vec<Message<'a>>,
    seed: Option<i64>,
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    response_format: Option<Format>,
    stream: Option<bool>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Format {
    r#type: String,
}

/// A string, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
}

impl<'a> Asked<'a> {
    /// Reads the body of a request.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(body: &'a [u8]) -> Result<Self, String> {
        let body: Body<'a> =
            serde_json::from_slice(body).map_err(|e| format!("the request cannot be read: {e}"))?;
        if body.stream == Some(true) {
            return Err("replies are not streamed here: leave out `stream`".to_owned());
        }
        let is_role = |role: &'static str| move |m: &&Message<'a>| m.role == role;
        let mut rest = body.messages.iter();
        let Some(task) = rest.find(is_role("user")) else {
            return Err("`messages` has no user message".to_owned());
        };
        let observation = rest.rev().find(|m| m.role != "assistant");
        let turn = body.messages.iter().filter(is_role("assistant")).count();
        let has_tools = body.tools.is_some_and(|tools| !is_empty(tools));
        let format = body.response_format.map(|format| format.r#type);
        Ok(Self {
            model: body.model,
            task: task.text(),
            seed: body.seed.map(|seed| (seed & 0x7fff_ffff) as u32),
            turn: turn as u64,
            observation: observation.map_or(Cow::Borrowed(""), Message::text),
            is_json: !has_tools && matches!(format.as_deref(), Some("json_schema" | "json_object")),
        })
    }
}

impl<'a> Message<'a> {
    /// Its content: a text, or the texts of its parts one after the other.
    fn text(&self) -> Cow<'a, str> {
        let Some(content) = self.content.map(RawValue::get) else {
            return Cow::Borrowed("");
        };
        if let Some(text) = text_of(content) {
            return text;
        }
        match serde_json::from_str::<Vec<Part>>(content) {
            Ok(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
            Err(_) => Cow::Borrowed(content),
        }
    }
}

/// The text that a JSON string is; none for any other JSON value.
pub(super) fn text_of(json: &str) -> Option<Cow<'_, str>> {
    serde_json::from_str(json).ok().map(|Text(text)| text)
}

fn is_empty(list: &RawValue) -> bool {
    let inside = list
        .get()
        .strip_prefix('[')
        .and_then(|l| l.strip_suffix(']'));
    inside.is_some_and(|inside| inside.trim_ascii().is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(role: &str, content: impl Into<Value>) -> Value {
        json!({"role": role, "content": content.into()})
    }

    #[test]
    fn what_a_session_asks() {
        let (system, task) = (message("system", "s"), message("user", "1 + 1?"));
        let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "a"}]});
        let result = json!({"role": "tool", "tool_call_id": "a", "content": "\"2\"\n"});
        let parts = json!([{"type": "text", "text": "1 + "}, {"type": "text", "text": "1?"}]);
        let table = [
            (vec![task.clone()], "1 + 1?", 0, ""),
            (vec![system.clone(), task.clone()], "1 + 1?", 0, ""),
            (
                vec![system.clone(), message("user", parts)],
                "1 + 1?",
                0,
                "",
            ),
            (
                vec![system.clone(), task.clone(), call.clone(), result.clone()],
                "1 + 1?",
                1,
                "\"2\"\n",
            ),
            (
                vec![task.clone(), call.clone(), result, message("user", "no")],
                "1 + 1?",
                1,
                "no",
            ),
            (
                vec![
                    task.clone(),
                    message("assistant", "a"),
                    message("user", "u"),
                    call,
                ],
                "1 + 1?",
                2,
                "u",
            ),
            (
                vec![message("user", 5), message("user", Value::Null)],
                "5",
                0,
                "",
            ),
        ];
        for (messages, task, turn, observation) in table {
            let body = json!({"model": "m", "messages": messages}).to_string();
            let asked = Asked::parse(body.as_bytes()).unwrap();
            assert_eq!(
                (&*asked.task, asked.turn, &*asked.observation),
                (task, turn, observation),
                "{body}"
            );
            assert_eq!(asked.model.as_deref(), Some("m"));
        }
    }

    #[test]
    fn seeds_and_modes() {
        let read = |more: Value| {
            let mut body = json!({"messages": [message("user", "t")]});
            body.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            let body = body.to_string();
            let asked = Asked::parse(body.as_bytes()).unwrap();
            (asked.seed, asked.is_json)
        };
        let tool = json!([{"type": "function"}]);
        let table = [
            (json!({}), None, false),
            (json!({"seed": null, "response_format": null}), None, false),
            (json!({"seed": 5}), Some(5), false),
            (json!({"seed": 0x7fff_ffff_i64}), Some(0x7fff_ffff), false),
            (json!({"seed": 0x8000_0001_u64}), Some(1), false),
            (
                json!({"response_format": {"type": "json_object"}}),
                None,
                true,
            ),
            (
                json!({"response_format": {"type": "json_schema", "json_schema": {}}, "tools": []}),
                None,
                true,
            ),
            (
                json!({"response_format": {"type": "json_object"}, "tools": tool}),
                None,
                false,
            ),
            (json!({"response_format": {"type": "text"}}), None, false),
        ];
        for (more, seed, is_json) in table {
            assert_eq!(read(more.clone()), (seed, is_json), "{more}");
        }
    }

    #[test]
    fn requests_that_cannot_be_answered() {
        let table = [
            ("", "cannot be read: EOF"),
            ("{", "cannot be read: EOF"),
            ("[]", "cannot be read: "),
            (
                r#"{"messages":"hello"}"#,
                "cannot be read: invalid type: string",
            ),
            (r#"{"model":"m"}"#, "missing field `messages`"),
            (
                r#"{"messages":[],"seed":1.5}"#,
                "cannot be read: invalid type: floating point",
            ),
            (
                r#"{"messages":[{"role":"system","content":"s"}]}"#,
                "no user message",
            ),
            (r#"{"messages":[{"content":"s"}]}"#, "missing field `role`"),
            (
                r#"{"messages":[{"role":"user"}],"stream":true}"#,
                "not streamed",
            ),
        ];
        for (body, want) in table {
            let error = Asked::parse(body.as_bytes()).unwrap_err();
            assert!(error.contains(want), "{body}: {error}");
        }
        assert!(
            Asked::parse(b"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}").is_err()
        );
    }
}
