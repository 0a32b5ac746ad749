//! What was asked, what came of it and what it cost, as the server itself counts it.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::bill::{Bill, Tokens};

/// What came of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    Ok,
    Malformed,
    Error,
    RateLimited,
    Failing,
    Hanging,
    Reset,
    Half,
    Refused,
    Gone,
}

/// How many requests came to each end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Outcomes {
    /// A completion, as its script says.
    pub ok: u64,
    /// A completion whose tool-call arguments are broken JSON.
    pub malformed: u64,
    /// An error that a script holds.
    pub error: u64,
    /// HTTP 429.
    pub rate_limited: u64,
    /// HTTP 500.
    pub failing: u64,
    /// No answer; counted as soon as the request has come.
    pub hanging: u64,
    /// Closed without an answer.
    pub reset: u64,
    /// Half of a completion.
    pub half: u64,
    /// HTTP 400, 401, 404 and 413: the request itself was wrong.
    pub refused: u64,
    /// The client left before its answer was due.
    pub gone: u64,
}

/// How often turns were answered with a completion, malformed or not. A turn is a model, a task,
/// a seed and the number of assistant messages so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Turns {
    /// Different turns that were.
    pub answered: u64,
    /// Those of them that were more than once.
    pub repeated: u64,
}

/// What a server has seen so far.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Requests for a completion.
    pub requests: u64,
    /// What came of those that are over.
    pub outcomes: Outcomes,
    /// Those that are not over; a hanging one is when its client leaves.
    pub in_flight: u64,
    /// The most that were in flight at once.
    pub highest_in_flight: u64,
    /// The most at once that were to be answered: of those in flight all that have come whole, but
    /// for those that hang.
    pub highest_answering: u64,
    /// Tokens of all requests that were charged.
    pub tokens_in: u64,
    /// Tokens of their replies.
    pub tokens_out: u64,
    /// What those cost, US dollars; 0 without a price. Every request is charged that got a
    /// completion, or would have got one but for a fault or a client that left.
    pub charged_usd: f64,
    /// Turns that were answered.
    pub turns: Turns,
}

/// Counts; it keeps a few bytes for each turn, and nothing of what was said.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    bill: Bill,
    stats: Stats,
    /// By turn: whether it was answered more than once.
    turns: HashMap<u64, bool>,
    /// How often each request came.
    tries: HashMap<u64, u32>,
    /// Requests in flight that are to be answered.
    answering: u64,
}

impl Ledger {
    pub fn new(bill: Bill) -> Self {
        Self {
            bill,
            ..Self::default()
        }
    }

    /// A request comes.
    pub fn begin(&mut self) {
        let stats = &mut self.stats;
        stats.requests += 1;
        stats.in_flight += 1;
        stats.highest_in_flight = stats.highest_in_flight.max(stats.in_flight);
    }

    /// A request that came is one that is to be answered.
    pub fn will_answer(&mut self) {
        self.answering += 1;
        let stats = &mut self.stats;
        stats.highest_answering = stats.highest_answering.max(self.answering);
    }

    /// What came of a request; once for each.
    pub fn count(&mut self, outcome: Outcome) {
        let outcomes = &mut self.stats.outcomes;
        let count = match outcome {
            Outcome::Ok => &mut outcomes.ok,
            Outcome::Malformed => &mut outcomes.malformed,
            Outcome::Error => &mut outcomes.error,
            Outcome::RateLimited => &mut outcomes.rate_limited,
            Outcome::Failing => &mut outcomes.failing,
            Outcome::Hanging => &mut outcomes.hanging,
            Outcome::Reset => &mut outcomes.reset,
            Outcome::Half => &mut outcomes.half,
            Outcome::Refused => &mut outcomes.refused,
            Outcome::Gone => &mut outcomes.gone,
        };
        *count += 1;
    }

    /// A request is over; whether it was one that was to be answered.
    pub fn end(&mut self, was_answering: bool) {
        self.stats.in_flight -= 1;
        self.answering -= u64::from(was_answering);
    }

    /// How often this very request came before; `request` is a digest of it.
    pub fn tries(&mut self, request: u64) -> u32 {
        let tries = self.tries.entry(request).or_default();
        let before = *tries;
        *tries = before.saturating_add(1);
        before
    }

    /// A completion is charged.
    pub fn charge(&mut self, tokens: Tokens) {
        self.stats.tokens_in += tokens.input;
        self.stats.tokens_out += tokens.output;
    }

    /// A turn was answered with a completion; `turn` is a digest of which.
    pub fn answered(&mut self, turn: u64) {
        let turns = &mut self.stats.turns;
        match self.turns.get_mut(&turn) {
            None => {
                self.turns.insert(turn, false);
                turns.answered += 1;
            }
            Some(repeated @ false) => {
                *repeated = true;
                turns.repeated += 1;
            }
            Some(true) => {}
        }
    }

    /// How it stands.
    pub fn stats(&self) -> Stats {
        let tokens = Tokens {
            input: self.stats.tokens_in,
            output: self.stats.tokens_out,
        };
        Stats {
            // Of the sums, for a sum of prices would depend on their order.
            charged_usd: self.bill.cost(tokens).unwrap_or(0.0),
            ..self.stats
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Price, mock::Reports};

    #[test]
    fn requests_are_in_flight_from_begin_to_end() {
        let mut ledger = Ledger::default();
        // +1: one comes; -1: one is over.
        let table = [
            (1, 1, 1),
            (1, 2, 2),
            (-1, 1, 2),
            (1, 2, 2),
            (1, 3, 3),
            (-1, 2, 3),
        ];
        for (what, in_flight, highest) in table {
            match what {
                1 => ledger.begin(),
                _ => ledger.end(false),
            }
            let stats = ledger.stats();
            assert_eq!(
                (stats.in_flight, stats.highest_in_flight),
                (in_flight, highest)
            );
        }
        assert_eq!(ledger.stats().requests, 4);
    }

    #[test]
    fn those_that_hang_are_not_among_those_that_are_answered() {
        let mut ledger = Ledger::default();
        for hangs in [true, false, true, false, true] {
            ledger.begin();
            if !hangs {
                ledger.will_answer();
            }
        }
        ledger.end(true);
        ledger.begin();
        ledger.will_answer();
        ledger.end(false);
        let stats = ledger.stats();
        assert_eq!((stats.in_flight, stats.highest_in_flight), (4, 5));
        assert_eq!(stats.highest_answering, 2);
    }

    #[test]
    fn each_outcome_has_its_count() {
        use Outcome::*;
        let all = [
            Ok,
            Malformed,
            Error,
            RateLimited,
            Failing,
            Hanging,
            Reset,
            Half,
            Refused,
            Gone,
        ];
        let mut ledger = Ledger::default();
        for (i, outcome) in all.into_iter().enumerate() {
            for _ in 0..=i {
                ledger.count(outcome);
            }
        }
        let want = Outcomes {
            ok: 1,
            malformed: 2,
            error: 3,
            rate_limited: 4,
            failing: 5,
            hanging: 6,
            reset: 7,
            half: 8,
            refused: 9,
            gone: 10,
        };
        assert_eq!(ledger.stats().outcomes, want);
    }

    #[test]
    fn turns_and_tries_are_told_apart() {
        let mut ledger = Ledger::default();
        for turn in [1, 2, 1, 3, 1, 2] {
            ledger.answered(turn);
        }
        let want = Turns {
            answered: 3,
            repeated: 2,
        };
        assert_eq!(ledger.stats().turns, want);
        let tries: Vec<u32> = [7, 7, 8, 7].map(|request| ledger.tries(request)).into();
        assert_eq!(tries, [0, 1, 0, 2]);
    }

    #[test]
    fn the_charge_is_that_of_all_tokens() {
        let price = Price {
            input: 0.1,
            cached: None,
            output: 0.7,
        };
        let bill = Bill {
            price: Some(price),
            reports: Reports::None,
        };
        let mut ledger = Ledger::new(bill);
        for i in 0..1_000 {
            ledger.charge(Tokens {
                input: i,
                output: 3,
            });
        }
        let stats = ledger.stats();
        assert_eq!((stats.tokens_in, stats.tokens_out), (499_500, 3_000));
        assert_eq!(stats.charged_usd, (499_500.0 * 0.1 + 3_000.0 * 0.7) / 1e6);
        assert_eq!(Ledger::default().stats().charged_usd, 0.0);
    }
}
