//! What is done after a session broke. Pure; it never sees a verdict.

use std::{collections::VecDeque, time::Duration};

use crate::domain::draw;

/// Restarts that infrastructure failures of one session may use up.
pub const MAX_RESTARTS: u32 = 2;
/// Sessions of one case that ended crashed before the case is closed.
pub const CASE_CRASHES: u32 = 3;
/// How many of the last sessions the run's breaker looks at.
const WINDOW: usize = 100;
/// How many it needs before it judges.
const WINDOW_MIN: usize = 20;
/// The share of crashed sessions above which the run winds down.
const CRASH_SHARE: f64 = 0.20;

const BACKOFF_BASE: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// A session's crashes so far, in this attempt and before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Crashes {
    /// Restarts used up.
    pub restarts: u32,
    /// How far its durable part went at the last crash of this attempt.
    pub last_at: Option<Progress>,
}

/// How far the durable part of an attempt goes: its turns, and what there is of the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Durable turns.
    pub turns: usize,
    /// Whether the last of them has its steps.
    pub acted: bool,
    /// Whether it has what a judge said of them.
    pub judged: bool,
}

/// What to do with a session that crashed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterCrash {
    /// Go on from its durable turns, same attempt.
    Continue(Duration),
    /// Begin anew, as attempt + 1.
    Anew(Duration),
    /// It ends crashed.
    GiveUp,
}

/// Decides after a crash. `resumable`: every tool that it has called may be replayed.
///
/// A session goes on from its durable turns if it can; a second crash at the same place begins
/// anew, for then the durable part may be what breaks it.
#[must_use]
pub fn after_crash(crashes: Crashes, at: Progress, resumable: bool, rng_seed: u64) -> AfterCrash {
    if crashes.restarts >= MAX_RESTARTS {
        return AfterCrash::GiveUp;
    }
    let delay = backoff(crashes.restarts, rng_seed);
    if resumable && crashes.last_at != Some(at) {
        AfterCrash::Continue(delay)
    } else {
        AfterCrash::Anew(delay)
    }
}

/// Full jitter: uniform up to 100 ms × 2^restarts, at most 5 s, drawn from the session's own seed.
fn backoff(restarts: u32, rng_seed: u64) -> Duration {
    let ceiling = (BACKOFF_BASE * 2u32.saturating_pow(restarts)).min(BACKOFF_MAX);
    let millis = u64::try_from(ceiling.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(draw(rng_seed, u64::from(restarts), u64::MAX, millis + 1))
}

/// The run's breaker: trips when more than 20 % of the last 100 sessions, of at least 20, crashed.
#[derive(Debug, Default)]
pub struct Breaker {
    last: VecDeque<bool>,
    crashed: usize,
}

impl Breaker {
    /// Takes the end of one session; true when the run is to wind down.
    pub fn trips(&mut self, crashed: bool) -> bool {
        self.last.push_back(crashed);
        self.crashed += usize::from(crashed);
        if self.last.len() > WINDOW && self.last.pop_front() == Some(true) {
            self.crashed -= 1;
        }
        self.last.len() >= WINDOW_MIN && self.crashed as f64 > CRASH_SHARE * self.last.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_continued_then_begun_anew_then_given_up() {
        let place = |turns| Progress {
            turns,
            acted: true,
            judged: false,
        };
        let kind = |restarts, last: Option<usize>, turns, resumable| {
            let crashes = Crashes {
                restarts,
                last_at: last.map(place),
            };
            match after_crash(crashes, place(turns), resumable, 7) {
                AfterCrash::Continue(_) => "continue",
                AfterCrash::Anew(_) => "anew",
                AfterCrash::GiveUp => "give up",
            }
        };
        assert_eq!(kind(0, None, 3, true), "continue");
        assert_eq!(kind(0, None, 3, false), "anew");
        assert_eq!(kind(1, Some(3), 4, true), "continue");
        assert_eq!(kind(1, Some(3), 3, true), "anew");
        assert_eq!(kind(2, None, 0, true), "give up");
    }

    #[test]
    fn backoff_is_seeded_and_bounded() {
        for restarts in 0..40 {
            let delay = backoff(restarts, 99);
            assert_eq!(delay, backoff(restarts, 99));
            assert!(delay <= BACKOFF_MAX);
        }
    }

    #[test]
    fn the_breaker_needs_more_than_a_fifth_of_at_least_twenty() {
        let trips = |ends: &[bool]| {
            let mut breaker = Breaker::default();
            ends.iter().any(|e| breaker.trips(*e))
        };
        assert!(!trips(&[true; 19]));
        assert!(trips(&[true; 20]));
        let every = |n: usize, len: usize| (1..=len).map(|i| i % n == 0).collect::<Vec<_>>();
        assert!(!trips(&every(5, 1000)), "exactly 20 % does not trip");
        assert!(trips(&every(4, 1000)));
        let mut healed = vec![true; 4];
        healed.extend([false; 200]);
        healed.extend([true; 20]);
        assert!(!trips(&healed), "old crashes leave the window");
    }
}
