//! No more requests in any minute than are allowed.

use std::{collections::VecDeque, num::NonZeroUsize, time::Duration};

const MINUTE: Duration = Duration::from_secs(60);

/// Lets so many requests through in any 60 seconds.
#[derive(Debug)]
pub(super) struct Window {
    most: NonZeroUsize,
    /// When the last ones came, at most as many as are allowed.
    came: VecDeque<Duration>,
}

impl Window {
    pub fn new(most: NonZeroUsize) -> Self {
        Self {
            most,
            came: VecDeque::new(),
        }
    }

    /// Lets a request through that comes at `now`, counted from any moment.
    ///
    /// # Errors
    /// In how many whole seconds one may come again: at least 1.
    pub fn admit(&mut self, now: Duration) -> Result<(), u64> {
        if self.came.len() >= self.most.get()
            && let Some(first) = self.came.front()
        {
            let wait = (*first + MINUTE).saturating_sub(now);
            if !wait.is_zero() {
                return Err(wait.as_secs() + u64::from(wait.subsec_nanos() > 0));
            }
            self.came.pop_front();
        }
        self.came.push_back(now);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_any_minute_no_more_than_allowed() {
        let mut window = Window::new(NonZeroUsize::new(2).unwrap());
        let table = [
            (0, Ok(())),
            (30_000, Ok(())),
            (30_000, Err(30)),
            (59_001, Err(1)),
            // The first has left the minute, and what was refused does not count.
            (60_000, Ok(())),
            (60_000, Err(30)),
            (89_999, Err(1)),
            (90_000, Ok(())),
            (300_000, Ok(())),
            (300_000, Ok(())),
            (300_000, Err(60)),
        ];
        for (ms, want) in table {
            assert_eq!(window.admit(Duration::from_millis(ms)), want, "{ms}");
        }
        assert_eq!(window.came.len(), 2);
    }
}
