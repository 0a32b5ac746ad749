use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When a verifier judges: before the action runs, or after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before the action; a failing judgment blocks it.
    PreAct,
    /// After the action.
    PostAct,
}

/// The kind of a failing `schema` or `reply` judgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// Arguments do not match the tool's schema.
    Schema,
    /// Arguments, or a reply in json mode, are not JSON.
    NotJson,
    /// The output limit cut the call or the thinking off.
    CutOff,
    /// Arguments over 64 KiB.
    TooLarge,
    /// No such tool in this session.
    UnknownTool,
    /// Neither text nor a call.
    Empty,
    /// The server said that it made a call, and delivered none.
    LostCall,
    /// The provider's filter refused the prompt or the reply.
    ContentFilter,
}

impl Code {
    /// The name in formats.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::NotJson => "not_json",
            Self::CutOff => "cut_off",
            Self::TooLarge => "too_large",
            Self::UnknownTool => "unknown_tool",
            Self::Empty => "empty",
            Self::LostCall => "lost_call",
            Self::ContentFilter => "content_filter",
        }
    }
}

/// What one verifier says of one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judgment {
    /// The verifier's name.
    pub verifier: Cow<'static, str>,
    /// When it judged.
    pub phase: Phase,
    /// From 0 to 1.
    pub score: f64,
    /// Whether the step may go on.
    pub passed: bool,
    /// Why, for a person and for the model.
    pub reason: String,
    /// The kind of failure, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
}
