use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Code, strict_json};

/// The longest text of a call's arguments that is taken, and sent back to the model: 64 KiB.
pub const MAX_ARGS_BYTES: usize = 64 << 10;

/// How deep the arguments of a call may be nested. They stand a few levels deeper in a trace, and at
/// 128 JSON readers give up.
pub const MAX_ARGS_DEPTH: usize = 100;

/// One tool call as the model made it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The id that its result is sent back under; unique in the reply.
    pub id: String,
    /// The tool's name as written; may be unknown or empty.
    pub tool: String,
    /// The arguments, if they are taken.
    pub args: Result<Value, BadArgs>,
    /// Length of the arguments' text in bytes.
    pub args_len: usize,
}

/// Arguments that are not JSON, or longer than [`MAX_ARGS_BYTES`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadArgs {
    /// `not_json`, `cut_off` or `too_large`.
    pub code: Code,
    /// What is wrong and what to do; goes back to the model.
    pub reason: String,
    /// Their text as received, at most [`MAX_ARGS_BYTES`] of it.
    pub text: String,
}

impl Call {
    /// A call of a client that hands its arguments over as an object; they are taken or not as their
    /// text would be in a model's reply. It has no id.
    #[must_use]
    pub fn with_object(tool: String, args: Map<String, Value>) -> Self {
        let text = Value::Object(args).to_string();
        Self {
            id: String::new(),
            tool,
            args_len: text.len(),
            args: strict_json(&text, MAX_ARGS_DEPTH).map_err(|e| BadArgs::not_json(&text, &e)),
        }
    }
}

impl BadArgs {
    /// Arguments that are not one JSON value, or one that is nested too deep; `why` says what is wrong.
    #[must_use]
    pub fn not_json(text: &str, why: &serde_json::Error) -> Self {
        Self {
            code: Code::NotJson,
            reason: format!(
                "The arguments are not valid JSON: {why}. Call the tool again with one JSON object \
                 that matches its schema and nothing around it."
            ),
            text: text.to_owned(),
        }
    }
}

/// What a reply amounts to.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Tool calls, at least one.
    Calls(Vec<Call>),
    /// The final answer.
    Answer(String),
    /// Nothing usable.
    Malformed {
        /// The kind.
        code: Code,
        /// Why, and what to do; goes back to the model.
        reason: String,
    },
}

/// The model's part of one step in a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Decision {
    /// What the model thought, where it says so.
    pub thought: Option<String>,
    /// The call of this step.
    pub tool_call: Option<DecidedCall>,
    /// The answer of this step.
    pub answer: Option<String>,
}

/// A call in a trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecidedCall {
    /// The tool's name as written.
    pub tool: String,
    /// The arguments, null when they are not JSON or too long.
    pub args: Value,
    /// At most 64 KiB of their text as received, when the arguments are not JSON or too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args_raw: Option<String>,
}

/// The tool and its arguments as JSON, or as received: `calculator {"expression":"1 + 1"}`.
impl fmt::Display for DecidedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.args_raw {
            Some(raw) => write!(f, "{} {raw}", self.tool),
            None => write!(f, "{} {}", self.tool, self.args),
        }
    }
}
