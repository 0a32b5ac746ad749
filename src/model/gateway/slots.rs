//! How many calls an endpoint gets at once: as many as it takes without refusing.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Semaphore, time::Instant};

/// Between two cuts: what a cut brings shows only after it.
const COOL_DOWN: Duration = Duration::from_secs(1);

/// What is left of the window after a cut.
const CUT: f64 = 0.8;

/// How many calls there may be at once. Pure: additive increase, multiplicative decrease.
///
/// It begins small and doubles with each round of successes until the first refusal; each refusal
/// cuts it to four fifths, after which it grows by one a round. Calls that were under way at a cut
/// do not cut again, nor does any within the second after it. After a failure a round of successes
/// passes before it grows.
#[derive(Debug)]
pub struct Window {
    size: u32,
    max: u32,
    is_doubling: bool,
    /// Successes in this round; a round is as many as the window is wide.
    successes: u32,
    /// Successes that are to pass without growth while it doubles.
    idle: u32,
    cut: Option<Instant>,
}

impl Window {
    /// A window that begins with `start` calls, at most `max`; both at least one.
    #[must_use]
    pub fn new(start: u32, max: u32) -> Self {
        let max = max.max(1);
        Self {
            size: start.clamp(1, max),
            max,
            is_doubling: true,
            successes: 0,
            idle: 0,
            cut: None,
        }
    }

    /// How many calls there may be at once.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// A call succeeded.
    pub fn succeeded(&mut self) {
        if self.idle > 0 {
            self.idle -= 1;
            return;
        }
        if self.is_doubling {
            self.size = self.size.saturating_add(1).min(self.max);
            return;
        }
        self.successes += 1;
        if self.successes >= self.size {
            self.successes = 0;
            self.size = self.size.saturating_add(1).min(self.max);
        }
    }

    /// A call that was sent at `sent` was refused at `now`, since there are too many.
    pub fn refused(&mut self, sent: Instant, now: Instant) {
        self.is_doubling = false;
        self.successes = 0;
        self.idle = 0;
        let is_news = self
            .cut
            .is_none_or(|cut| sent > cut && now.duration_since(cut) >= COOL_DOWN);
        if is_news {
            self.cut = Some(now);
            self.size = ((f64::from(self.size) * CUT) as u32).max(1);
        }
    }

    /// The endpoint failed a call: growth begins its round anew.
    pub fn failed(&mut self) {
        self.successes = 0;
        if self.is_doubling {
            self.idle = self.size;
        }
    }
}

/// The calls that there are, kept within the window. Who comes first is served first.
#[derive(Debug)]
pub struct Slots {
    free: Semaphore,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    window: Window,
    /// Slots that are taken or free.
    there_are: u32,
}

/// A slot that is taken; dropped, it is free again.
#[derive(Debug)]
pub struct Slot<'a> {
    slots: &'a Slots,
    /// When its call was sent.
    sent: Instant,
}

/// How a call ended, as far as slots are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// With a reply.
    Succeeded,
    /// There are too many.
    Refused,
    /// Otherwise.
    Failed,
}

impl Slots {
    /// Slots of that window.
    #[must_use]
    pub fn new(window: Window) -> Self {
        let there_are = window.size();
        Self {
            free: Semaphore::new(there_are as usize),
            state: Mutex::new(State { window, there_are }),
        }
    }

    /// A slot, if one is free and nobody waits for it.
    #[must_use]
    pub fn try_take(&self) -> Option<Slot<'_>> {
        let permit = self.free.try_acquire().ok()?;
        permit.forget();
        Some(self.slot())
    }

    /// Waits for a slot.
    pub async fn take(&self) -> Slot<'_> {
        match self.free.acquire().await {
            Ok(permit) => permit.forget(),
            // It is never closed.
            Err(_) => std::future::pending().await,
        }
        self.slot()
    }

    fn slot(&self) -> Slot<'_> {
        Slot {
            slots: self,
            sent: Instant::now(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes as many slots as the window is wide, as far as they are not taken.
    fn fit(&self, state: &mut State) {
        let size = state.window.size();
        if size > state.there_are {
            self.free.add_permits((size - state.there_are) as usize);
            state.there_are = size;
        } else {
            let gone = self.free.forget_permits((state.there_are - size) as usize);
            // At most as many as were asked for.
            state.there_are -= gone as u32;
        }
    }
}

impl Slot<'_> {
    /// Its call goes out now.
    pub fn sent(&mut self) {
        self.sent = Instant::now();
    }

    /// Its call is over.
    pub fn ended(self, how: How) {
        let mut state = self.slots.state();
        match how {
            How::Succeeded => state.window.succeeded(),
            How::Refused => state.window.refused(self.sent, Instant::now()),
            How::Failed => state.window.failed(),
        }
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut state = self.slots.state();
        if state.there_are > state.window.size() {
            state.there_are -= 1;
        } else {
            self.slots.free.add_permits(1);
        }
        self.slots.fit(&mut state);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    /// What happens to a window: successes, a refusal of a call just sent, one of an older call, a
    /// failure, a second that passes.
    fn play(window: &mut Window, events: &str) {
        let mut now = Instant::now();
        let begun = now;
        for event in events.chars() {
            match event {
                's' => window.succeeded(),
                'r' => window.refused(now, now),
                'o' => window.refused(begun, now),
                'f' => window.failed(),
                _ => now += COOL_DOWN,
            }
        }
    }

    #[test]
    fn the_window_grows_and_shrinks() {
        let table = [
            (64, 500, "", 64),
            (64, 16, "", 16),
            (0, 0, "", 1),
            (2, 500, "ss", 4),
            (2, 3, "ssss", 3),
            (2, 500, "fss", 2),
            (2, 500, "fsss", 3),
            (2, 500, "sfsss", 3),
            (2, 500, "sfssss", 4),
            (2, 500, "sfssfsss", 3),
            (10, 500, "frssssssss", 9),
            (10, 500, "r", 8),
            (10, 500, "rr", 8),
            (10, 500, "r.r", 6),
            (10, 500, "r..r", 6),
            (10, 500, "..r..o", 8),
            (10, 500, "rssssssss", 9),
            (10, 500, "rsssssss", 8),
            (10, 500, "rsssssssfs", 8),
            (1, 500, "r..r..r", 1),
        ];
        for (start, max, events, want) in table {
            let mut window = Window::new(start, max);
            play(&mut window, events);
            assert_eq!(window.size(), want, "{start} {max} {events}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn there_are_never_more_calls_than_the_window_is_wide() {
        let slots = Slots::new(Window::new(4, 4));
        let mut taken: Vec<_> = (0..4).map_while(|_| slots.try_take()).collect();
        assert_eq!(taken.len(), 4);
        assert!(slots.try_take().is_none());
        taken.pop().unwrap().ended(How::Refused);
        assert!(slots.try_take().is_none(), "three are taken, three may be");
        advance(2 * COOL_DOWN).await;
        drop(taken.pop());
        let mut one = slots.try_take().unwrap();
        one.sent();
        advance(COOL_DOWN).await;
        one.ended(How::Refused);
        assert!(slots.try_take().is_none(), "two are taken, two may be");
        taken.clear();
        assert!(slots.try_take().is_some());
        for _ in 0..9 {
            slots.try_take().unwrap().ended(How::Succeeded);
        }
        let taken: Vec<_> = std::iter::from_fn(|| slots.try_take()).collect();
        assert_eq!(taken.len(), 4, "grown, and not beyond its most");
    }
}
