use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{
    Shape,
    message::{JsonCall, JsonReply, Message, ToolCall},
};
use crate::{
    domain::{Action, Call, MAX_ARGS_BYTES, Observation, ToolMode, hex, is_wire_name},
    model::{Normalised, call_id::CallIds},
};

const NO_REPLY: &str = "(no usable reply)";
const NOT_RUN: &str = "(not run)";
const INVALID_TOOL: &str = "invalid_tool";

/// The whole history of a session, as a model gets it.
///
/// Every reply leaves exactly one assistant message. What goes back is always valid: arguments
/// that are no object, not JSON or too long as `{}`, names that providers do not take as
/// `invalid_tool`, call ids unique. The messages are hashed once, when they come, in their RFC 8785
/// form, in which they are sent.
#[derive(Clone)]
pub struct Conversation {
    shape: Arc<Shape>,
    messages: Vec<Kept>,
    /// Has hashed the request up to the last message.
    hasher: Sha256,
    ids: CallIds,
    turns: u64,
    last: Arc<str>,
}

/// A message as it is kept. Apart from each other, for one buffer that grows takes up to three
/// times its bytes.
#[derive(Clone)]
enum Kept {
    /// As it is sent.
    Json(Box<[u8]>),
    /// What a call brought, often most of a history: a text that the session's steps share. It is
    /// written as JSON when it is sent.
    Result {
        /// The text.
        content: Arc<str>,
        /// The id of the call.
        call: String,
    },
}

impl std::fmt::Debug for Conversation {
    /// Counts alone: what a judge is told is sealed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversation")
            .field("messages", &self.messages.len())
            .field("turns", &self.turns)
            .finish_non_exhaustive()
    }
}

impl Conversation {
    /// The beginning that the sessions of one variant share: the system prompt, byte for byte.
    #[must_use]
    pub fn opening(shape: Arc<Shape>, system: &str) -> Self {
        let mut conversation = Self {
            shape,
            messages: Vec::new(),
            hasher: Sha256::new_with_prefix(b"{\"messages\":"),
            ids: CallIds::default(),
            turns: 0,
            last: Arc::from(""),
        };
        conversation.say("system", system);
        conversation
    }

    /// A conversation of the same shape that begins with another system prompt.
    #[must_use]
    pub fn anew(&self, system: &str) -> Self {
        Self::opening(self.shape.clone(), system)
    }

    /// A conversation that goes on from this opening with a task, byte for byte.
    #[must_use]
    pub fn about(&self, task: &str) -> Self {
        let mut conversation = self.clone();
        // The task, and what a session of the usual few turns adds.
        conversation.messages.reserve(16);
        conversation.say("user", task);
        conversation
    }

    /// Adds a turn: the reply, and what came of its calls, in their order. A call without an
    /// observation counts as not run; a reply without calls needs none.
    pub fn push_turn<'a>(
        &mut self,
        reply: &Normalised,
        observations: impl IntoIterator<Item = &'a Observation>,
    ) {
        let results = observations
            .into_iter()
            .map(|o| o.content.clone())
            .chain(std::iter::repeat_with(|| NOT_RUN.into()));
        match (&reply.action, self.shape.tool_mode) {
            (Action::Malformed { reason, .. }, _) => {
                let text = reply.text.as_deref().unwrap_or(NO_REPLY);
                self.assistant(reply, Some(text), &[]);
                self.say("user", reason);
                self.last = reason.as_str().into();
            }
            (Action::Answer(answer), ToolMode::Native) => {
                self.assistant(reply, Some(answer), &[]);
            }
            (Action::Answer(answer), ToolMode::Json) => {
                let answer = Some(answer.as_str());
                self.assistant_json(
                    reply,
                    JsonReply {
                        answer,
                        ..JsonReply::default()
                    },
                );
            }
            (Action::Calls(calls), ToolMode::Native) => {
                let sent: Vec<ToolCall<'_>> = calls
                    .iter()
                    .enumerate()
                    .map(|(index, call)| {
                        let fallback = || format!("call_{}_{index}", self.turns);
                        let id = self.ids.take(&call.id, fallback);
                        ToolCall::new(id, sent_name(call), sent_args(call))
                    })
                    .collect();
                self.assistant(reply, reply.text.as_deref(), &sent);
                for (call, content) in sent.into_iter().zip(results) {
                    self.last = content.clone();
                    self.push_result(content, call.id);
                }
            }
            (Action::Calls(calls), ToolMode::Json) => {
                let mut object = JsonReply::default();
                if let [call] = &calls[..] {
                    object.tool_call = Some(sent_in_json(call));
                } else {
                    object.tool_calls = calls.iter().map(sent_in_json).collect();
                }
                self.assistant_json(reply, object);
                // One message: chat templates want user and assistant in turn.
                let results: Vec<Arc<str>> = results.take(calls.len()).collect();
                let results = results.join("\n\n");
                self.say("user", &results);
                self.last = results.into();
            }
        }
        self.turns += 1;
    }

    /// How many replies it holds: the address of the next draw of a script.
    #[must_use]
    pub fn assistant_count(&self) -> u64 {
        self.turns
    }

    /// What came back last: the observation of a turn's last call (in json mode, of all its
    /// calls), or why a reply failed. Empty before that.
    #[must_use]
    pub fn last_observation(&self) -> &str {
        &self.last
    }

    /// What it shares with the other conversations of its variant.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Writes the `messages` of a chat request, a JSON array, to the end of `body`.
    pub fn write_messages(&self, body: &mut Vec<u8>) {
        let mut before = b'[';
        for message in &self.messages {
            body.push(std::mem::replace(&mut before, b','));
            message.write(body);
        }
        body.push(b']');
    }

    /// How long a chat request is, in bytes, but for the names of model and seed.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let mut messages = Vec::new();
        self.write_messages(&mut messages);
        let format = match self.shape.tool_mode() {
            ToolMode::Native => 0,
            ToolMode::Json => self.shape.reply_format().len(),
        };
        messages.len() + self.shape.along().len() + format
    }

    /// The `messages` of a chat request as a JSON value.
    #[expect(clippy::expect_used, reason = "the messages are written as JSON above")]
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut json = Vec::new();
        self.write_messages(&mut json);
        serde_json::from_slice(&json).expect("an array of messages")
    }

    /// SHA-256, in lower-case hex, of the RFC 8785 form of `{messages, parameters, tool_mode,
    /// tools}`: the request without model, seed and endpoint.
    #[must_use]
    pub fn digest(&self) -> String {
        let request = self.hasher.clone().chain_update(&self.shape.tail);
        hex(&request.finalize())
    }

    fn say(&mut self, role: &'static str, content: &str) {
        self.push(&Message {
            content: Some(content),
            role,
            ..Message::default()
        });
    }

    fn assistant(&mut self, reply: &Normalised, content: Option<&str>, calls: &[ToolCall<'_>]) {
        self.push(&Message {
            content,
            reasoning_content: reply
                .reasoning
                .as_deref()
                .filter(|_| self.shape.send_reasoning),
            role: "assistant",
            tool_call_id: None,
            tool_calls: calls,
        });
    }

    fn assistant_json<'a>(&mut self, reply: &'a Normalised, mut object: JsonReply<'a>) {
        object.thought = reply.text.as_deref();
        let content = object.to_json();
        self.assistant(reply, Some(&content), &[]);
    }

    fn push(&mut self, message: &Message<'_>) {
        let json = self.hashed(message);
        self.messages.push(Kept::Json(json.into_boxed_slice()));
    }

    fn push_result(&mut self, content: Arc<str>, call: String) {
        self.hashed(&result(&content, &call));
        self.messages.push(Kept::Result { content, call });
    }

    /// The next message as JSON, taken into the digest.
    fn hashed(&mut self, message: &Message<'_>) -> Vec<u8> {
        let mut json = Vec::new();
        message.write(&mut json);
        let before = if self.messages.is_empty() { "[" } else { "," };
        self.hasher.update(before);
        self.hasher.update(&json);
        json
    }
}

impl Kept {
    fn write(&self, body: &mut Vec<u8>) {
        match self {
            Self::Json(json) => body.extend_from_slice(json),
            Self::Result { content, call } => result(content, call).write(body),
        }
    }
}

fn result<'a>(content: &'a str, call: &'a str) -> Message<'a> {
    Message {
        content: Some(content),
        role: "tool",
        tool_call_id: Some(call),
        ..Message::default()
    }
}

fn sent_name(call: &Call) -> &str {
    if is_wire_name(&call.tool) {
        &call.tool
    } else {
        INVALID_TOOL
    }
}

/// `{}` in place of arguments that chat templates or providers would choke on.
fn sent_args(call: &Call) -> &Value {
    static EMPTY: LazyLock<Value> = LazyLock::new(|| Value::Object(Map::new()));
    match &call.args {
        Ok(args @ Value::Object(_)) if call.args_len <= MAX_ARGS_BYTES => args,
        _ => &EMPTY,
    }
}

fn sent_in_json(call: &Call) -> JsonCall<'_> {
    JsonCall {
        tool: sent_name(call),
        args: sent_args(call),
    }
}

#[cfg(test)]
mod tests;
