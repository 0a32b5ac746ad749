//! Turns any provider's reply into calls, an answer, a failed reply or an error.

use serde::{Deserialize, Serialize};

use super::ModelError;
use crate::domain::{Action, Usage};

/// What a reply says, whatever way the provider says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalised {
    /// Visible text beside a call, else the reasoning.
    pub thought: Option<String>,
    /// The reasoning text, where the provider gives it apart from the visible text.
    pub reasoning: Option<String>,
    /// What it amounts to.
    pub action: Action,
    /// Why the model stopped, in the provider's word.
    pub finish: Option<String>,
    /// Whether the answer is a refusal.
    pub refused: bool,
    /// What it took; none when the provider does not say.
    pub usage: Option<Usage>,
    /// What had to be mended to read it.
    pub repairs: Vec<Repair>,
}

/// Something that was mended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// A call id was missing or taken.
    CallId,
}

/// How a model's replies are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Provider tool calls, or one JSON object.
    pub tool_mode: ToolMode,
    /// Whether a call written into the text counts.
    pub text_calls: bool,
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

/// Reads the body of a reply with HTTP status `status`.
///
/// # Errors
/// When the reply is an error of the endpoint and not of the agent.
pub fn normalise(_status: u16, _body: &str, _options: Options) -> Result<Normalised, ModelError> {
    unreachable!()
}
