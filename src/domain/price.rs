use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Usage;

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Price {
    /// Of requests.
    pub input: f64,
    /// Of requests, as far as the provider had them in its cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<f64>,
    /// Of replies.
    pub output: f64,
}

const MILLION: f64 = 1e6;

impl Price {
    /// US dollars of a call; none when its tokens are not known. Tokens from a cache cost as much as
    /// others where no price of theirs is known.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Option<f64> {
        let (tokens_in, tokens_out) = (usage.tokens_in?, usage.tokens_out?);
        let cached = usage.tokens_cached.unwrap_or(0).min(tokens_in);
        let fresh = tokens_in - cached;
        let of_cached = self.cached.unwrap_or(self.input);
        Some(
            (fresh as f64 * self.input
                + cached as f64 * of_cached
                + tokens_out as f64 * self.output)
                / MILLION,
        )
    }

    /// The most that a call can cost whose request has that many bytes and whose reply at most that
    /// many tokens: no tokenizer makes more than one token of a byte.
    #[must_use]
    pub fn at_most(&self, request_bytes: usize, tokens_out: u64) -> f64 {
        let input = self.input.max(self.cached.unwrap_or(0.0));
        (request_bytes as f64 * input + tokens_out as f64 * self.output) / MILLION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices() {
        let price = Price {
            input: 2.0,
            cached: Some(0.5),
            output: 8.0,
        };
        let usage = |tokens_in, tokens_cached, tokens_out| Usage {
            tokens_in,
            tokens_cached,
            tokens_out,
            ..Usage::default()
        };
        let table = [
            (usage(Some(1_000_000), None, Some(500_000)), Some(6.0)),
            (usage(Some(1_000_000), Some(400_000), Some(0)), Some(1.4)),
            (usage(Some(10), Some(1_000_000), Some(0)), Some(0.000_005)),
            (usage(None, None, Some(1)), None),
            (usage(Some(1), None, None), None),
        ];
        for (usage, want) in table {
            assert_eq!(price.of(&usage), want, "{usage:?}");
        }
        let no_cache = Price {
            cached: None,
            ..price
        };
        assert_eq!(no_cache.of(&usage(Some(4), Some(4), Some(0))), Some(8e-6));
        assert_eq!(price.at_most(1_000_000, 500_000), 6.0);
    }
}
