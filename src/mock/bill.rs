//! What replies cost, and what is said of it.

use serde::Serialize;

use crate::domain::{Price, Usage};

/// What replies say of their own cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reports {
    /// Tokens and cost as they are; without a price, tokens alone.
    #[default]
    Exact,
    /// Tokens, and never a cost.
    Tokens,
    /// No usage at all.
    None,
    /// The tokens, and half of the cost.
    Less,
    /// The tokens, and twice the cost.
    More,
}

/// Tokens of a call. Nobody tokenizes here: four bytes are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tokens {
    /// Of the request's body.
    pub input: u64,
    /// Of the reply's text.
    pub output: u64,
}

/// How calls are charged.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bill {
    /// None: nothing is charged.
    pub price: Option<Price>,
    /// What is said of it.
    pub reports: Reports,
}

/// The `usage` of a reply.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Reported {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
}

impl Tokens {
    /// Of a request and a reply with so many bytes.
    pub fn of_bytes(request: usize, reply: usize) -> Self {
        let tokens = |bytes: usize| bytes.div_ceil(4) as u64;
        Self {
            input: tokens(request),
            output: tokens(reply),
        }
    }
}

impl Bill {
    /// What these tokens cost, US dollars; none without a price.
    pub fn cost(&self, tokens: Tokens) -> Option<f64> {
        self.price?.of(&Usage {
            tokens_in: Some(tokens.input),
            tokens_out: Some(tokens.output),
            ..Usage::default()
        })
    }

    /// What a reply says of the tokens that it took.
    pub fn reported(&self, tokens: Tokens) -> Option<Reported> {
        let cost = self.cost(tokens);
        let cost = match self.reports {
            Reports::None => return None,
            Reports::Tokens => None,
            Reports::Exact => cost,
            Reports::Less => cost.map(|usd| usd / 2.0),
            Reports::More => cost.map(|usd| usd * 2.0),
        };
        Some(Reported {
            prompt_tokens: tokens.input,
            completion_tokens: tokens.output,
            total_tokens: tokens.input + tokens.output,
            cost,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn four_bytes_are_a_token() {
        for (bytes, want) in [(0, 0), (1, 1), (4, 1), (5, 2)] {
            let tokens = Tokens::of_bytes(bytes, bytes + 4);
            assert_eq!((tokens.input, tokens.output), (want, want + 1));
        }
    }

    #[test]
    fn what_is_said_and_what_is_true() {
        let price = Some(Price {
            input: 3.0,
            cached: None,
            output: 15.0,
        });
        let tokens = Tokens {
            input: 1_000,
            output: 200,
        };
        let counts = |cost: Option<f64>| {
            let mut usage =
                json!({"prompt_tokens": 1000, "completion_tokens": 200, "total_tokens": 1200});
            if let Some(cost) = cost {
                usage["cost"] = cost.into();
            }
            usage
        };
        let table = [
            (price, Reports::Exact, counts(Some(0.006))),
            (price, Reports::Tokens, counts(None)),
            (price, Reports::Less, counts(Some(0.003))),
            (price, Reports::More, counts(Some(0.012))),
            (price, Reports::None, json!(null)),
            (None, Reports::Exact, counts(None)),
            (None, Reports::None, json!(null)),
        ];
        for (price, reports, want) in table {
            let bill = Bill { price, reports };
            assert_eq!(json!(bill.reported(tokens)), want, "{reports:?}");
            assert_eq!(bill.cost(tokens), price.map(|_| 0.006));
        }
    }
}
