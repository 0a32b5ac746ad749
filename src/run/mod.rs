//! A run: plan, schedule and policy as pure parts, and the actors that they steer.

mod case;
mod crew;
mod events;
pub mod forecast;
mod grade;
mod hub;
pub mod on_record;
mod past;
pub mod plan;
pub mod policy;

pub mod schedule;
mod shutdown;
mod supervisor;
mod watches;
mod writes;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ractor::ActorRef;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use on_record::OnRecord;
pub use plan::{Plan, PlannedCase, Variant};
pub use shutdown::{Shutdown, WindDown};

use crate::{
    domain::{Clock, Grid, SessionKey, SessionRecord, Tally},
    error::{Context, Error, Result},
    model::Judge,
    score::{self, Measured, SealedSuite},
    store::Handle,
};
use crew::Crew;
use hub::Hub;
use supervisor::RunMessage;

/// Where a run keeps things, and how it is steered.
pub struct Setup {
    /// Where turns are kept.
    pub store: Handle,
    /// The database behind it.
    pub database: PathBuf,
    /// Where sessions have their folders; removed at the end.
    pub work: PathBuf,
    /// The sealed halves; none with `--unscored`.
    pub sealed: Option<SealedSuite>,
    /// The model that grades sessions; needed where a case of the plan has a check of that
    /// kind.
    pub judge: Option<Judge>,
    /// Sessions in flight on each endpoint.
    pub concurrency: usize,
    /// What an earlier process has begun.
    pub on_record: OnRecord,
    /// The kill switch.
    pub shutdown: Shutdown,
    /// Where times come from.
    pub clock: Clock,
    /// What progress shows, without the sessions on record; it grows while the run goes on.
    pub tally: Arc<Mutex<Tally>>,
    /// Test hooks.
    pub hooks: Hooks,
}

/// Faults for tests, handed in.
#[derive(Debug, Clone, Default)]
pub struct Hooks {
    /// The session that panics each time this turn begins.
    pub panic_at: Option<(SessionKey, u32)>,
    /// The session whose scoring panics.
    pub panic_scoring: Option<SessionKey>,
    /// How long a run that winds down is patient, where not as long as ever.
    pub patience: Option<Duration>,
}

/// A run that is at work. Dropping it interrupts the run.
pub struct Run {
    grid: Grid,
    shutdown: Shutdown,
    supervisor: ActorRef<RunMessage>,
    over: Mutex<Option<JoinHandle<Result<Ended>>>>,
}

/// What became of a wish to kill a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kill {
    /// The session ends `killed`, unless it comes to its own end just now.
    TakenOn,
    /// It has ended, or the run is over: it stays as it is.
    TooLate,
}

/// What is left when a run is over.
pub struct Ended {
    /// Why nothing new started, if the run ended early.
    pub wind_down: Option<WindDown>,
    /// Why some variants did not come to their end: one line for each endpoint, model or cap.
    pub parked: Vec<String>,
    /// Sessions whose credit has not come back: 0 when all is well.
    pub credits_out: usize,
    scorer: Option<ActorRef<score::Message>>,
}

impl Run {
    /// Sets all sessions of `plan` going that are to be run.
    ///
    /// # Errors
    /// When an actor does not start, or the model that is to grade sessions is missing.
    pub async fn start(plan: Plan, setup: Setup) -> Result<Self> {
        let (grid, shutdown) = (plan.grid.clone(), setup.shutdown.clone());
        let crew = Crew::start(plan, setup).await?;
        Ok(Self {
            grid,
            shutdown,
            supervisor: crew.supervisor.clone(),
            over: Mutex::new(Some(tokio::spawn(crew.see_through()))),
        })
    }

    /// Winds the run down when it is cancelled: nothing new starts, sessions in flight finish. It is
    /// cancelled too when a file or the deadline winds the run down.
    #[must_use]
    pub fn cancel_token(&self) -> CancellationToken {
        self.shutdown.wind_down.clone()
    }

    /// Interrupts the run when it is cancelled: sessions in flight are dropped, what is durable
    /// stays.
    #[must_use]
    pub fn interrupt_token(&self) -> CancellationToken {
        self.shutdown.interrupt.clone()
    }

    /// Ends one session for good, whether it has begun or not: it is `killed` and never runs again.
    /// An errored session of an earlier process, which this one would begin anew, has not ended.
    ///
    /// # Errors
    /// When the session is not in this run.
    pub async fn kill(&self, key: &SessionKey) -> Result<Kill> {
        let id = self
            .grid
            .find(key)
            .ok_or_else(|| Error::input(format!("{key} is not a session of this run")))?;
        let answer = ractor::call!(self.supervisor, |reply| RunMessage::Kill(id, reply));
        // No answer: the run is over.
        Ok(answer.unwrap_or(Kill::TooLate))
    }

    /// Waits, once, for the last durable verdict.
    ///
    /// # Errors
    /// When the store, the scorer or a supervisor fails; what is durable stays. When it is called
    /// again.
    pub async fn wait(&self) -> Result<Ended> {
        let over = self
            .over
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        over.ok_or_else(|| Error::internal("the run was waited for already"))?
            .await
            .internal(|| "the run broke off".to_owned())?
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.shutdown.interrupt.cancel();
    }
}

impl Ended {
    /// Asks the scorer, which still holds the hidden metrics, for their values; none when there is
    /// no scorer.
    ///
    /// # Errors
    /// When the scorer does not answer.
    pub async fn measure(&self, records: Vec<SessionRecord>) -> Result<Vec<Measured>> {
        let Some(scorer) = &self.scorer else {
            return Ok(Vec::new());
        };
        ractor::call!(scorer, |reply| score::Message::Measure { records, reply })
            .internal(|| "the scorer does not answer".to_owned())
    }

    /// Lets the scorer go.
    ///
    /// # Errors
    /// When it broke.
    pub async fn close(self) -> Result<()> {
        match self.scorer {
            Some(scorer) => scorer
                .drain_and_wait(None)
                .await
                .internal(|| "the scorer broke".to_owned()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
