//! What one session is at, and how long it has waited.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::domain::{Activity, Clock, Wait};

/// What one session is at: set by those who work for it, read by those who look on.
///
/// Waits that overlap count once: one begins when nothing of the session waits yet, and ends when
/// nothing waits any more. What it waits for is what the first one waited for.
#[derive(Debug)]
pub struct Watch {
    clock: Clock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What it is at but for waits.
    now: Seen,
    /// The wait that goes on, if one does.
    open: Option<Open>,
    /// How many waits have begun: each has a number.
    begun: u64,
    waited: Duration,
    /// Waits that are over and have not been taken.
    over: Vec<Wait>,
}

/// Waits that overlap and go on.
#[derive(Debug)]
struct Open {
    /// When the first of them began.
    began: Instant,
    /// The same in Unix seconds.
    since: f64,
    /// What the first of them waited for.
    what: Activity,
    /// Those that are not over, with their numbers, in the order in which they began.
    waits: Vec<(u64, Seen)>,
}

/// What a session is at, and since when.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Seen {
    /// What.
    pub activity: Activity,
    /// Unix seconds.
    pub since: f64,
    /// Unix seconds when a wait is to be over, where that is known.
    pub until: Option<f64>,
}

/// A wait that goes on until this is dropped.
#[derive(Debug)]
pub struct Waiting<'a> {
    watch: &'a Watch,
    number: u64,
}

impl Watch {
    /// Of a session that is about to think.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        let now = Seen {
            activity: Activity::Thinking,
            since: clock.now(),
            until: None,
        };
        Self {
            clock,
            state: Mutex::new(State {
                now,
                open: None,
                begun: 0,
                waited: Duration::ZERO,
                over: Vec::new(),
            }),
        }
    }

    /// It is at something that is no wait, apart from waits that go on.
    pub fn is_at(&self, activity: Activity) {
        let since = self.clock.now();
        self.state().now = Seen {
            activity,
            since,
            until: None,
        };
    }

    /// It waits, as long as the guard lives; `expected` is how long that will be, if it is known.
    #[must_use]
    pub fn waits(&self, what: Activity, expected: Option<Duration>) -> Waiting<'_> {
        let since = self.clock.now();
        let seen = Seen {
            activity: what,
            since,
            until: expected.map(|expected| since + expected.as_secs_f64()),
        };
        let mut state = self.state();
        let number = state.begun;
        state.begun += 1;
        let open = state.open.get_or_insert_with(|| Open {
            // After the other clock was read: so no wait seems to begin before another has ended.
            began: Instant::now(),
            since,
            what,
            waits: Vec::new(),
        });
        open.waits.push((number, seen));
        Waiting {
            watch: self,
            number,
        }
    }

    /// How long it has waited in all, up to now.
    #[must_use]
    pub fn waited(&self) -> Duration {
        let state = self.state();
        let open = state.open.as_ref().map(|open| open.began.elapsed());
        state.waited + open.unwrap_or_default()
    }

    /// The waits that have ended since this was asked last.
    #[must_use]
    pub fn take_waits(&self) -> Vec<Wait> {
        std::mem::take(&mut self.state().over)
    }

    /// What it is at: the wait that began last of those that go on, if any does.
    #[must_use]
    pub fn seen(&self) -> Seen {
        let state = self.state();
        let newest = state.open.as_ref().and_then(|open| open.waits.last());
        newest.map_or(state.now, |(_, seen)| *seen)
    }

    fn ends(&self, number: u64) {
        let ended = self.clock.now();
        let mut state = self.state();
        let Some(open) = &mut state.open else {
            return;
        };
        open.waits.retain(|(of, _)| *of != number);
        if !open.waits.is_empty() {
            return;
        }
        let waited = open.began.elapsed();
        let wait = Wait {
            what: open.what,
            began: open.since,
            // Not read from the clock, which may have been set meanwhile.
            ended: open.since + waited.as_secs_f64(),
        };
        state.open = None;
        state.waited += waited;
        state.now.since = ended;
        state.over.push(wait);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.watch.ends(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn waits_that_overlap_count_once() {
        let watch = Watch::new(Clock::fixed(100.0));
        watch.is_at(Activity::Tool);
        advance(SECOND).await;
        let slot = watch.waits(Activity::Slot, None);
        advance(SECOND).await;
        let rate = watch.waits(Activity::Rate, Some(3 * SECOND));
        advance(SECOND).await;
        drop(slot);
        assert_eq!(watch.seen().activity, Activity::Rate);
        assert_eq!(watch.seen().until, Some(103.0));
        advance(SECOND).await;
        assert_eq!(watch.waited(), 3 * SECOND, "it still goes on");
        drop(rate);
        advance(SECOND).await;
        assert_eq!(watch.waited(), 3 * SECOND);
        assert_eq!(watch.seen().activity, Activity::Tool);
        let waits = watch.take_waits();
        assert_eq!(waits.len(), 1);
        assert_eq!(waits[0].what, Activity::Slot);
        assert_eq!((waits[0].began, waits[0].ended), (100.0, 103.0));
        assert!(watch.take_waits().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_newest_wait_that_goes_on_is_shown() {
        let watch = Watch::new(Clock::fixed(100.0));
        let first = watch.waits(Activity::Backoff, Some(9 * SECOND));
        let second = watch.waits(Activity::Rate, Some(3 * SECOND));
        let third = watch.waits(Activity::Slot, None);
        let shown = || (watch.seen().activity, watch.seen().until);
        assert_eq!(shown(), (Activity::Slot, None));
        advance(SECOND).await;
        drop(second);
        assert_eq!(shown(), (Activity::Slot, None));
        drop(third);
        assert_eq!(shown(), (Activity::Backoff, Some(109.0)));
        drop(first);
        assert_eq!(shown(), (Activity::Thinking, None));
        let waits = watch.take_waits();
        assert_eq!((waits.len(), waits[0].what), (1, Activity::Backoff));
        assert_eq!(watch.waited(), SECOND);
    }
}
