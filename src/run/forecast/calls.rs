//! Calls and what they send and bring, as sums.

use std::iter::Sum;

use crate::domain::Price;

/// Calls of a session.
pub(super) const CALLS: f64 = 3.0;
/// Tokens of a reply.
pub(super) const REPLY_TOKENS: f64 = 120.0;
/// Tokens of what a tool brings.
pub(super) const OBSERVATION_TOKENS: f64 = 80.0;
/// Bytes of a token, on average.
pub(super) const TOKEN_BYTES: f64 = 4.0;
/// What is asked, and what comes back.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Calls {
    pub calls: f64,
    pub bytes_in: f64,
    pub tokens_out: f64,
}

impl Calls {
    /// Of a session of so many calls, the first of which sends `opening` bytes, and each of the next
    /// as much `more`; `reply` is the tokens of one reply.
    pub fn of_session(calls: f64, opening: f64, more: f64, reply: f64) -> Self {
        Self {
            calls,
            bytes_in: calls * opening + calls * (calls - 1.0) / 2.0 * more,
            tokens_out: calls * reply,
        }
    }

    /// So many calls of which each sends as much.
    pub fn alike(calls: f64, bytes: f64, reply: f64) -> Self {
        Self::of_session(calls, bytes, 0.0, reply)
    }

    /// Tokens of the requests, as is likely.
    pub fn tokens_in(self) -> f64 {
        self.bytes_in / TOKEN_BYTES
    }

    /// US dollars, as is likely.
    pub fn usd(self, price: Price) -> f64 {
        usd(price, self.tokens_in(), self.tokens_out)
    }

    /// US dollars with a token for each byte, as calls are reserved.
    pub fn usd_at_most(self, price: Price) -> f64 {
        usd(price, self.bytes_in, self.tokens_out)
    }

    pub fn times(self, n: f64) -> Self {
        Self {
            calls: self.calls * n,
            bytes_in: self.bytes_in * n,
            tokens_out: self.tokens_out * n,
        }
    }
}

impl Sum for Calls {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            calls: a.calls + b.calls,
            bytes_in: a.bytes_in + b.bytes_in,
            tokens_out: a.tokens_out + b.tokens_out,
        })
    }
}

/// What tokens cost, in US dollars.
pub(super) fn usd(price: Price, tokens_in: f64, tokens_out: f64) -> f64 {
    (tokens_in * price.input + tokens_out * price.output) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_grow_with_each_call() {
        let session = Calls::of_session(3.0, 400.0, 100.0, 50.0);
        assert_eq!(session.bytes_in, 400.0 + 500.0 + 600.0);
        assert_eq!((session.tokens_in(), session.tokens_out), (375.0, 150.0));
        let price = Price {
            input: 1.0,
            cached: None,
            output: 10.0,
        };
        assert_eq!(usd(price, 1e6, 1e5), 2.0);
        assert_eq!(session.usd_at_most(price), (1500.0 + 1500.0) / 1e6);
        let both: Calls = [session, session].into_iter().sum();
        assert_eq!(both, session.times(2.0));
    }
}
