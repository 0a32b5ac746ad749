//! A run: plan, schedule and policy as pure parts, and the actors that they steer.

mod case;
mod hub;
pub mod plan;
pub mod policy;
pub mod schedule;
mod shutdown;
mod supervisor;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock},
};

use ractor::{Actor, ActorRef};
use tokio::sync::oneshot;

pub use plan::{Plan, PlannedCase, Variant};
pub use shutdown::Shutdown;
pub use supervisor::WindDown;

use crate::{
    aggregate::{self, Aggregator, Counting},
    domain::{Clock, SessionId, SessionKey, SessionRecord, Tally},
    error::{Context, Error, Result},
    score::{self, Measured, Scorer, ScorerOptions, SealedSuite},
    store::Handle,
};
use hub::Hub;
use supervisor::{RunMessage, RunSupervisor};

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
    /// Sessions in flight on each endpoint.
    pub concurrency: usize,
    /// Sessions that are not to be run.
    pub done: Vec<SessionId>,
    /// The kill switch.
    pub shutdown: Shutdown,
    /// Where times come from.
    pub clock: Clock,
    /// What progress shows; it grows while the run goes on.
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
}

/// What is left when a run is over.
pub struct Ended {
    /// Why nothing new started, if the run ended early.
    pub wind_down: Option<WindDown>,
    /// Sessions whose credit has not come back: 0 when all is well.
    pub credits_out: usize,
    scorer: Option<ActorRef<score::Message>>,
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

/// Runs all sessions of `plan` that are to be run, to the last durable verdict.
///
/// # Errors
/// When the store, the scorer or a supervisor fails; what is durable stays.
pub async fn run(plan: Plan, setup: Setup) -> Result<Ended> {
    let Setup {
        store,
        database,
        work,
        sealed,
        concurrency,
        done,
        shutdown,
        clock,
        tally,
        hooks,
    } = setup;
    let schedule = plan.schedule(concurrency, &done);
    let (planned, done) = (plan.grid.planned(), done.len());
    tracing::info!(planned, done, concurrency, "run begins");
    let counting = Counting::new(
        plan.grid.clone(),
        store.clone(),
        tally.clone(),
        sealed.is_some(),
    );
    let (aggregator, _) = Actor::spawn(None, Aggregator, counting)
        .await
        .internal(not_started)?;
    let events = Arc::new(Events {
        run: OnceLock::new(),
        aggregator: aggregator.clone(),
    });
    let scorer = match sealed {
        None => None,
        Some(sealed) => {
            let sink = events.clone();
            let options = ScorerOptions {
                panic_on: hooks.panic_scoring,
            };
            let scorer = Scorer::new(Arc::new(move |event| sink.pass_on(event)), options);
            Some(
                Actor::spawn(None, scorer, sealed)
                    .await
                    .internal(not_started)?
                    .0,
            )
        }
    };
    let hub = Arc::new(Hub {
        plan,
        store: store.clone(),
        database,
        work: work.clone(),
        scorer: scorer.clone(),
        aggregator: aggregator.clone(),
        tally,
        clock,
        panic_at: hooks.panic_at,
    });
    let (tell, told) = oneshot::channel();
    let (run, over) = Actor::spawn(None, RunSupervisor, (hub, schedule, tell))
        .await
        .internal(not_started)?;
    // Set before the first session begins, so before the first event.
    let _ = events.run.set(run.clone());
    let steering = tokio::spawn(steer(shutdown, run));
    let last = told.await;
    // A supervisor that panicked tells nothing; its handle never fails.
    drop(over.await);
    steering.abort();
    let closing = close(scorer.as_ref(), &aggregator).await;
    drop(tokio::fs::remove_dir_all(work).await);
    // Waits for the last verdicts. A store that is lost is why whatever else broke.
    let stored = store.commit(Vec::new()).await.map_err(Error::from);
    let last = last.internal(|| "the run's supervisor broke".to_owned());
    let ended = stored.and(last).and_then(|last| match last.fatal {
        Some(error) => Err(error),
        None => closing.map(|()| Ended {
            wind_down: last.wind_down,
            credits_out: last.credits_out,
            scorer: scorer.clone(),
        }),
    });
    if let (Err(_), Some(scorer)) = (&ended, scorer) {
        scorer.stop(None);
    }
    if let Ok(ended) = &ended {
        tracing::info!(wind_down = ?ended.wind_down, "run over");
    }
    ended
}

fn not_started() -> String {
    "an actor of the run did not start".to_owned()
}

/// Waits until every verdict has been counted and handed to the store.
async fn close(
    scorer: Option<&ActorRef<score::Message>>,
    aggregator: &ActorRef<aggregate::Message>,
) -> Result<()> {
    let flushed = match scorer {
        Some(scorer) => {
            ractor::call!(scorer, score::Message::Flush).internal(|| "the scorer broke".to_owned())
        }
        None => Ok(()),
    };
    let drained = aggregator
        .drain_and_wait(None)
        .await
        .internal(|| "the aggregator broke".to_owned());
    flushed.and(drained)
}

/// Where the scorer's events go.
struct Events {
    run: OnceLock<ActorRef<RunMessage>>,
    aggregator: ActorRef<aggregate::Message>,
}

impl Events {
    /// A receiver that is gone has ended the run already.
    fn pass_on(&self, event: score::Event) {
        match event {
            score::Event::Acknowledged { ticket } => {
                if let Some(run) = self.run.get() {
                    drop(run.cast(RunMessage::Acknowledged(SessionId(ticket))));
                }
            }
            score::Event::Verdict { ticket, verdict } => {
                drop(
                    self.aggregator
                        .cast(aggregate::Message::Scored(SessionId(ticket), verdict)),
                );
            }
        }
    }
}

/// Begins the run, unless it is to end before that, and passes on how it is to end. A run that is
/// gone has ended already.
async fn steer(shutdown: Shutdown, run: ActorRef<RunMessage>) {
    if !shutdown.is_pulled() {
        drop(run.cast(RunMessage::Begin));
    }
    shutdown.pulled().await;
    drop(run.cast(RunMessage::WindDown(WindDown::Asked)));
    shutdown.interrupt.cancelled().await;
    drop(run.cast(RunMessage::Interrupt));
}

#[cfg(test)]
mod tests;
