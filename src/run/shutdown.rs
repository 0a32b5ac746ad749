//! The kill switch: two tokens that anyone may pull, a file and a deadline.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use ractor::ActorRef;
use tokio_util::sync::CancellationToken;

use super::supervisor::RunMessage;
use crate::domain::{Clock, Tally};

/// How often the file and the deadline are looked at.
pub(super) const LOOK: Duration = Duration::from_millis(200);

/// Why nothing new starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindDown {
    /// Asked for by a signal or a program.
    Asked,
    /// Asked for by a `STOP` file.
    StopFile,
    /// Its time is up.
    Deadline,
    /// Too many sessions crash.
    Breaker,
    /// The run has spent what it may.
    Money,
    /// A server has other tools than those that it began with.
    Tools,
}

/// Ends a run early.
#[derive(Debug, Clone, Default)]
pub struct Shutdown {
    /// Nothing new starts; sessions in flight finish.
    pub wind_down: CancellationToken,
    /// Sessions in flight are dropped; what is durable stays.
    pub interrupt: CancellationToken,
    /// The run winds down when there is a file of this name.
    pub stop_file: Option<PathBuf>,
    /// The run winds down at this time, in Unix seconds.
    pub deadline: Option<f64>,
    /// Cancelled by the run itself a minute after it began to wind down: nobody waits for a rate or
    /// for another try any more, for an endpoint may refuse calls for hours. Sessions that are not
    /// through by then are left for a resume.
    pub patience: CancellationToken,
}

/// How long a run that winds down is patient.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Cancels `patience` so long after the run began to wind down, whatever for.
pub(super) async fn lose_patience(
    tally: Arc<Mutex<Tally>>,
    lasts: Duration,
    patience: CancellationToken,
) {
    let winds_down = || {
        let tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.winding_down
    };
    while !winds_down() {
        tokio::time::sleep(LOOK).await;
    }
    tokio::time::sleep(lasts).await;
    patience.cancel();
}

impl Shutdown {
    /// Begins the run, unless it is to end before that, and passes on how it is to end. A run that
    /// is gone has ended already, but for the grading of its sessions: `told` says why that is to
    /// end.
    pub(super) async fn steer(
        self,
        run: ActorRef<RunMessage>,
        told: Arc<OnceLock<WindDown>>,
        clock: Clock,
    ) {
        if self.reason(&clock).is_none() {
            drop(run.cast(RunMessage::Begin));
        }
        let why = loop {
            if let Some(why) = self.reason(&clock) {
                break why;
            }
            tokio::select! {
                () = self.wind_down.cancelled() => {}
                () = self.interrupt.cancelled() => {}
                () = tokio::time::sleep(LOOK) => {}
            }
        };
        let _ = told.set(why);
        self.wind_down.cancel();
        drop(run.cast(RunMessage::WindDown(why)));
        self.interrupt.cancelled().await;
        drop(run.cast(RunMessage::Interrupt));
    }

    /// Why the run is to wind down by now.
    fn reason(&self, clock: &Clock) -> Option<WindDown> {
        if self.wind_down.is_cancelled() || self.interrupt.is_cancelled() {
            Some(WindDown::Asked)
        } else if self.stop_file.as_ref().is_some_and(|file| file.exists()) {
            Some(WindDown::StopFile)
        } else if self.deadline.is_some_and(|end| clock.now() >= end) {
            Some(WindDown::Deadline)
        } else {
            None
        }
    }
}
