//! How fast a run goes at the moment.

use std::{collections::VecDeque, time::Duration};

/// Speed over a window of the recent past.
#[derive(Debug)]
pub(super) struct Speed {
    window: Duration,
    /// When, and how many were done then; the oldest first.
    marks: VecDeque<(Duration, u64)>,
}

impl Speed {
    pub fn over(window: Duration) -> Self {
        Self {
            window,
            marks: VecDeque::new(),
        }
    }

    /// Notes that `done` sessions are done at `now`, a time since the beginning.
    pub fn mark(&mut self, now: Duration, done: u64) {
        self.marks.push_back((now, done));
        // One mark older than the window stays: the window begins in its interval.
        while let Some((second, _)) = self.marks.get(1)
            && now.saturating_sub(*second) >= self.window
        {
            self.marks.pop_front();
        }
    }

    /// Sessions per second; none before two marks lie apart.
    pub fn per_second(&self) -> Option<f64> {
        let (&(from, before), &(to, now)) = (self.marks.front()?, self.marks.back()?);
        let seconds = to.saturating_sub(from).as_secs_f64();
        let done = now.saturating_sub(before) as f64;
        (seconds > 0.0).then(|| done / seconds)
    }

    /// Time until `left` more sessions are done at this speed; none when it stands still.
    pub fn eta(&self, left: u64) -> Option<Duration> {
        let speed = self.per_second().filter(|s| *s > 0.0)?;
        let seconds = left as f64 / speed;
        Duration::try_from_secs_f64(seconds).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recent_past_decides() {
        let mut speed = Speed::over(Duration::from_secs(10));
        assert_eq!(speed.per_second(), None);
        for second in 0..=20 {
            speed.mark(Duration::from_secs(second), second); // 1/s
        }
        assert_eq!(speed.per_second(), Some(1.0));
        for second in 21..=30 {
            speed.mark(Duration::from_secs(second), 20 + (second - 20) * 5); // 5/s
        }
        assert_eq!(speed.per_second(), Some(5.0));
        assert_eq!(speed.eta(50), Some(Duration::from_secs(10)));
    }

    #[test]
    fn standing_still_has_no_end() {
        let mut speed = Speed::over(Duration::from_secs(10));
        speed.mark(Duration::ZERO, 3);
        assert_eq!((speed.per_second(), speed.eta(1)), (None, None));
        speed.mark(Duration::from_secs(1), 3);
        assert_eq!((speed.per_second(), speed.eta(1)), (Some(0.0), None));
    }
}
