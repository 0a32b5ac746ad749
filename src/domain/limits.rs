use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one session may spend. A limit that is absent does not bind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Limits {
    /// Steps: tool calls and answers, blocked and failed ones too.
    pub max_steps: u32,
    /// Tokens in and out together, as far as the provider reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// Working seconds: waiting for a slot, a rate or a retry does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_seconds: Option<f64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 8,
            max_tokens: None,
            max_cost_usd: None,
            max_seconds: None,
        }
    }
}

/// Which limit ended a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// `max_steps`.
    Steps,
    /// `max_tokens`.
    Tokens,
    /// `max_cost_usd`.
    CostUsd,
    /// `max_seconds`.
    Seconds,
    /// The model's context: the request was refused for its length.
    Context,
}

impl Limit {
    /// The name in formats.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Tokens => "tokens",
            Self::CostUsd => "cost_usd",
            Self::Seconds => "seconds",
            Self::Context => "context",
        }
    }
}
