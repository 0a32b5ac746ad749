use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most tokens of one call that are believed: counts stay exact as numbers of JSON.
pub const MAX_CALL_TOKENS: u64 = 1 << 53;

/// The most US dollars of one call that are believed: no sum of them leaves what can be written.
pub const MAX_CALL_USD: f64 = 1e6;

/// Adds tokens to a sum: unknown once either is; it stays at the largest number rather than
/// beginning anew.
#[must_use]
pub fn add_tokens(sum: Option<u64>, more: Option<u64>) -> Option<u64> {
    sum.zip(more).map(|(a, b)| a.saturating_add(b))
}

/// What a provider says a reply took. Null is unknown, never 0.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Tokens of the request.
    pub tokens_in: Option<u64>,
    /// Those of `tokens_in` that came from the provider's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_cached: Option<u64>,
    /// Tokens of the reply.
    pub tokens_out: Option<u64>,
    /// Those of `tokens_out` that were spent on reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_reasoning: Option<u64>,
    /// The provider's own price of the call, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}
