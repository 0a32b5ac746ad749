use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
