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
    now: Seen,
    /// Waits that go on.
    open: u32,
    /// When the first of them began, in Unix seconds too, and what was gone on with before it.
    began: Option<(Instant, f64, Seen)>,
    /// What the first of them waited for.
    what: Activity,
    waited: Duration,
    /// Waits that are over and have not been taken.
    over: Vec<Wait>,
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
pub struct Waiting<'a>(&'a Watch);

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
                open: 0,
                began: None,
                what: Activity::Slot,
                waited: Duration::ZERO,
                over: Vec::new(),
            }),
        }
    }

    /// It is at something that is no wait.
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
        let mut state = self.state();
        if state.open == 0 {
            // After the other clock was read: so no wait seems to begin before another has ended.
            state.began = Some((Instant::now(), since, state.now));
            state.what = what;
        }
        state.open += 1;
        state.now = Seen {
            activity: what,
            since,
            until: expected.map(|expected| since + expected.as_secs_f64()),
        };
        Waiting(self)
    }

    /// How long it has waited in all, up to now.
    #[must_use]
    pub fn waited(&self) -> Duration {
        let state = self.state();
        let open = state.began.map(|(began, ..)| began.elapsed());
        state.waited + open.unwrap_or_default()
    }

    /// The waits that have ended since this was asked last.
    #[must_use]
    pub fn take_waits(&self) -> Vec<Wait> {
        std::mem::take(&mut self.state().over)
    }

    /// What it is at.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.state().now
    }

    fn ends(&self) {
        let ended = self.clock.now();
        let mut state = self.state();
        state.open -= 1;
        if state.open > 0 {
            return;
        }
        if let Some((began, since, before)) = state.began.take() {
            let waited = began.elapsed();
            state.waited += waited;
            state.now = Seen {
                since: ended,
                ..before
            };
            let what = state.what;
            state.over.push(Wait {
                what,
                began: since,
                // Not read from the clock, which may have been set meanwhile.
                ended: since + waited.as_secs_f64(),
            });
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.ends();
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
}
