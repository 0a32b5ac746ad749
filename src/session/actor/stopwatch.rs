use std::{sync::Arc, time::Duration};

use tokio::time::{Instant, timeout};

use crate::model::Watch;

/// The shortest time between two looks at the time that is left: it stands still in a wait.
const LOOK: Duration = Duration::from_millis(5);

/// Working time: it goes on where the session was interrupted, and stands still in waits.
pub(super) struct Stopwatch {
    since: Instant,
    before_s: f64,
    watch: Arc<Watch>,
    /// What had been waited when it was started.
    waited: Duration,
}

impl Stopwatch {
    /// Begins at so many seconds.
    pub(super) fn from(before_s: f64, watch: Arc<Watch>) -> Self {
        Self {
            since: Instant::now(),
            before_s,
            waited: watch.waited(),
            watch,
        }
    }

    pub(super) fn seconds(&self) -> f64 {
        let waited = self.watch.waited().saturating_sub(self.waited);
        let worked = self.since.elapsed().saturating_sub(waited);
        self.before_s + worked.as_secs_f64()
    }

    /// Performs `work` unless the session's time is up before that: none then. Time that it waits does
    /// not count, so how much is left is looked at again each time it seems to be up.
    pub(super) async fn within<T>(
        &self,
        max_s: Option<f64>,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let Some(max_s) = max_s else {
            return Some(work.await);
        };
        let mut work = std::pin::pin!(work);
        loop {
            let left = max_s - self.seconds();
            // None: longer than a [`Duration`] can be.
            let Ok(left) = Duration::try_from_secs_f64(left.max(0.0)) else {
                return Some(work.await);
            };
            if let Ok(done) = timeout(left.max(LOOK), &mut work).await {
                return Some(done);
            }
            if self.seconds() >= max_s {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;
    use crate::domain::{Activity, Clock};

    /// What a session does one after the other, in seconds.
    #[derive(Debug, Clone, Copy)]
    enum Does {
        Works(u64),
        Waits(Activity, u64),
    }

    /// Whether it comes through, after how many seconds, and how many of them it worked.
    type Came = (bool, u64, f64);

    /// What comes of it.
    async fn within(before_s: f64, max_s: Option<f64>, does: &[Does]) -> Came {
        let watch = Arc::new(Watch::new(Clock::fixed(0.0)));
        let worked = Stopwatch::from(before_s, watch.clone());
        let began = Instant::now();
        let work = async {
            for does in does {
                match *does {
                    Does::Works(seconds) => sleep(Duration::from_secs(seconds)).await,
                    Does::Waits(what, seconds) => {
                        let _waiting = watch.waits(what, None);
                        sleep(Duration::from_secs(seconds)).await;
                    }
                }
            }
        };
        let is_done = worked.within(max_s, work).await.is_some();
        let worked_s = (worked.seconds() * 10.0).round() / 10.0;
        (is_done, began.elapsed().as_secs(), worked_s)
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_waited_is_no_working_time() {
        use Activity::{Backoff, Rate, Slot};
        use Does::{Waits, Works};
        let two = Some(2.0);
        let table: [(f64, Option<f64>, &[Does], Came); 8] = [
            (0.0, two, &[Works(1)], (true, 1, 1.0)),
            (0.0, two, &[Works(3)], (false, 2, 2.0)),
            (0.0, None, &[Works(3)], (true, 3, 3.0)),
            (1.5, two, &[Works(1)], (false, 0, 2.0)),
            (0.0, two, &[Waits(Rate, 60)], (true, 60, 0.0)),
            (
                0.0,
                two,
                &[Waits(Slot, 9), Works(1), Waits(Backoff, 3600)],
                (true, 3610, 1.0),
            ),
            (0.0, two, &[Waits(Rate, 60), Works(3)], (false, 62, 2.0)),
            (0.0, Some(1e300), &[Works(3)], (true, 3, 3.0)),
        ];
        for (before_s, max_s, does, want) in table {
            let got = within(before_s, max_s, does).await;
            assert_eq!(got, want, "{before_s} {max_s:?} {does:?}");
        }
    }
}
