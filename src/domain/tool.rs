use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What came of a step that asked for something: the text that goes back to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Observation {
    /// False when the call was blocked or the tool failed.
    pub ok: bool,
    // Shared by the history that the model sees and the steps that checks see: it is most of what
    // a session holds.
    /// The result, or the error in words.
    pub content: Arc<str>,
}

impl Observation {
    /// A result.
    #[must_use]
    pub fn ok(content: impl Into<Arc<str>>) -> Self {
        Self {
            ok: true,
            content: content.into(),
        }
    }

    /// An error, in words that help the model to do better.
    #[must_use]
    pub fn error(content: impl Into<Arc<str>>) -> Self {
        Self {
            ok: false,
            content: content.into(),
        }
    }
}

/// What is said of a tool: to the model, to MCP clients and to the `schema` verifier.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ToolSpec {
    /// The name that calls use.
    pub name: String,
    /// What it does, its limits and its errors.
    pub description: String,
    /// JSON Schema (2020-12) of its arguments.
    pub parameters: Value,
    /// Whether a session that called it may be continued by replay.
    #[serde(skip)]
    pub resumable: bool,
    /// What clients may take for granted of it.
    #[serde(skip)]
    pub hints: Hints,
}

/// What clients may take for granted of a tool; nothing by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// It changes nothing.
    pub read_only: bool,
    /// The same call again has the same effect.
    pub idempotent: bool,
    /// It deals with nothing but what it is lent: no network, no other files.
    pub closed_world: bool,
}

impl Hints {
    /// Of a tool that only looks at what it is lent.
    pub const LOOKS_ONLY: Self = Self {
        read_only: true,
        idempotent: true,
        closed_world: true,
    };
}

/// For whom a process of a server of tools is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// For one session, which alone changes its state.
    #[default]
    Session,
    /// For all sessions of a run: what one calls must not change what another sees.
    Run,
}

/// Whether providers take `name` as the name of a tool: `[A-Za-z0-9_-]{1,64}`.
#[must_use]
pub fn is_wire_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// How a model calls tools.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ToolMode {
    /// The provider's tool calls.
    #[default]
    Native,
    /// The reply is one JSON object `{thought, tool_call | answer}`.
    Json,
}

/// What is asked of a reply in json mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormat {
    /// That it matches the schema of farm's one object: `response_format` of type `json_schema`.
    #[default]
    JsonSchema,
    /// That it is an object: type `json_object`.
    JsonObject,
    /// Nothing: for servers that know no `response_format`.
    None,
}
