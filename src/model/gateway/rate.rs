//! How many requests or tokens a minute an endpoint gets.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

const MINUTE: Duration = Duration::from_secs(60);

/// What may be used at once after a pause, as time: a second's worth.
const BURST: Duration = Duration::from_secs(1);

/// A rate as the time at which all that was taken would have flowed in evenly: the generic cell rate
/// algorithm. Pure.
#[derive(Debug)]
pub struct Flow {
    per_minute: f64,
    /// When what was taken so far has flowed in.
    full: Instant,
}

impl Flow {
    /// That many a minute, at least one.
    #[must_use]
    pub fn new(per_minute: u64, now: Instant) -> Self {
        Self {
            per_minute: per_minute.max(1) as f64,
            full: now,
        }
    }

    /// Takes `n`; gives how long to wait before they may be used.
    pub fn take(&mut self, n: u64, now: Instant) -> Duration {
        self.full = self.full.max(now);
        let wait = self.full.duration_since(now).saturating_sub(BURST);
        self.full += self.time_of(n);
        wait
    }

    /// Gives back `n` that were taken and not used.
    pub fn give_back(&mut self, n: u64) {
        self.full = self.full.checked_sub(self.time_of(n)).unwrap_or(self.full);
    }

    fn time_of(&self, n: u64) -> Duration {
        // At most a year: what asks for more would wait for ever in any case.
        let minutes = (n as f64 / self.per_minute).min(525_600.0);
        MINUTE.mul_f64(minutes)
    }
}

/// The rates of an endpoint.
#[derive(Debug, Default)]
pub struct Rates {
    requests: Option<Mutex<Flow>>,
    tokens: Option<Mutex<Flow>>,
}

impl Rates {
    /// Those rates; none binds not.
    #[must_use]
    pub fn new(requests_per_minute: Option<u64>, tokens_per_minute: Option<u64>) -> Self {
        let flow =
            |per_minute: Option<u64>| per_minute.map(|n| Mutex::new(Flow::new(n, Instant::now())));
        Self {
            requests: flow(requests_per_minute),
            tokens: flow(tokens_per_minute),
        }
    }

    /// Takes a request that will take about `tokens`; gives how long to wait before it.
    pub fn take(&self, tokens: u64) -> Duration {
        let now = Instant::now();
        let take = |flow: &Option<Mutex<Flow>>, n| {
            flow.as_ref()
                .map_or(Duration::ZERO, |flow| locked(flow).take(n, now))
        };
        take(&self.requests, 1).max(take(&self.tokens, tokens))
    }

    /// A request took `used` tokens in place of `taken`.
    pub fn used(&self, taken: u64, used: u64) {
        if let Some(tokens) = &self.tokens {
            let mut tokens = locked(tokens);
            // By the difference alone: what has flowed in since it was taken stays so.
            if used > taken {
                tokens.take(used - taken, Instant::now());
            } else {
                tokens.give_back(taken - used);
            }
        }
    }
}

fn locked(flow: &Mutex<Flow>) -> std::sync::MutexGuard<'_, Flow> {
    flow.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_over_any_minute() {
        let begun = Instant::now();
        let mut flow = Flow::new(60, begun);
        let waits: Vec<f64> = (0..5).map(|_| flow.take(1, begun).as_secs_f64()).collect();
        assert_eq!(waits, [0.0, 0.0, 1.0, 2.0, 3.0]);
        let later = begun + Duration::from_secs(100);
        assert_eq!(flow.take(1, later), Duration::ZERO);
        assert_eq!(
            flow.take(1, later),
            Duration::ZERO,
            "a pause saves up a second's worth"
        );
        assert_eq!(flow.take(1, later), Duration::from_secs(1));
    }

    #[test]
    fn what_is_not_used_is_given_back() {
        let begun = Instant::now();
        let mut flow = Flow::new(6000, begun);
        assert_eq!(flow.take(1000, begun), Duration::ZERO);
        assert_eq!(flow.take(1, begun), Duration::from_secs(9));
        flow.give_back(1000);
        assert_eq!(flow.take(1, begun), Duration::ZERO);
        assert!(flow.take(u64::MAX, begun) < Duration::from_secs(1));
        assert!(flow.take(1, begun) > Duration::from_secs(86_400));
    }

    /// Of 60 tokens a minute, 10 are taken at second 0; what they were is known some seconds later,
    /// and then the next ask.
    #[tokio::test(start_paused = true)]
    async fn tokens_count_once_whenever_it_is_known_how_many_there_were() {
        let seconds = Duration::from_secs;
        let table = [
            (0, 10, 9),
            (4, 10, 5),
            (4, 6, 1),
            (4, 0, 0),
            (4, 16, 11),
            (9, 10, 0),
            (20, 10, 0),
            (20, 3, 0),
            (20, 16, 5),
        ];
        for (known, used, want) in table {
            let rates = Rates::new(None, Some(60));
            assert_eq!(rates.take(10), Duration::ZERO);
            tokio::time::advance(seconds(known)).await;
            rates.used(10, used);
            assert_eq!(rates.take(1), seconds(want), "{known} {used}");
        }
    }
}
