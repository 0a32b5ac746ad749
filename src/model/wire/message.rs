use serde::Serialize;
use serde_json::Value;

/// A message of a request. Fields stand in the order of their names: what serde_json writes is
/// the RFC 8785 form.
#[derive(Serialize, Default)]
pub(super) struct Message<'a> {
    pub content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<&'a str>,
    pub role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub tool_calls: &'a [ToolCall<'a>],
}

impl Message<'_> {
    /// Writes it as JSON to the end of `body`.
    #[expect(
        clippy::expect_used,
        reason = "strings always serialise, and a Vec takes all bytes"
    )]
    pub(super) fn write(&self, body: &mut Vec<u8>) {
        serde_json::to_writer(body, self).expect("a message");
    }
}

/// A call in a message, in the same order.
#[derive(Serialize)]
pub(super) struct ToolCall<'a> {
    pub function: Function<'a>,
    pub id: String,
    pub r#type: &'static str,
}

#[derive(Serialize)]
pub(super) struct Function<'a> {
    pub arguments: String,
    pub name: &'a str,
}

impl<'a> ToolCall<'a> {
    pub(super) fn new(id: String, name: &'a str, args: &Value) -> Self {
        Self {
            function: Function {
                arguments: args.to_string(),
                name,
            },
            id,
            r#type: "function",
        }
    }
}

/// The object of json mode: a call or an answer. Several calls come of native calls only.
#[derive(Serialize, Default)]
pub(super) struct JsonReply<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thought: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<JsonCall<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<JsonCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct JsonCall<'a> {
    pub tool: &'a str,
    pub args: &'a Value,
}

impl JsonReply<'_> {
    #[expect(
        clippy::expect_used,
        reason = "strings and JSON values always serialise"
    )]
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a JSON value")
    }
}
