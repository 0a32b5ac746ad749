use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::model::Watch;

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
}
