//! The actors of a run: how they start and how they are let go.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, PoisonError},
};

use futures_util::future::join_all;
use ractor::{Actor, ActorRef};
use tokio::{sync::oneshot, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::{
    Ended, Hub, Plan, Setup,
    events::Events,
    grade::Grading,
    past::Past,
    shutdown::{LOOK, PATIENCE, lose_patience},
    supervisor::{Last, RunMessage, RunSupervisor},
    watches::{Watches, look_on},
};
use crate::{
    aggregate::{self, Aggregator, Counting},
    domain::CaseId,
    error::{Context, Error, Result},
    score::{self, Scorer, ScorerOptions},
    store,
};

/// The actors of a run, and what is waited for when it ends.
pub(super) struct Crew {
    hub: Arc<Hub>,
    /// The root.
    pub supervisor: ActorRef<RunMessage>,
    told: oneshot::Receiver<Last>,
    over: JoinHandle<()>,
    /// What steers the run and looks after its folder.
    tasks: [JoinHandle<()>; 3],
    /// What keeps what sessions are at; it is told when that is enough.
    looking: (CancellationToken, JoinHandle<()>),
    /// What grades its sessions afterwards.
    grading: Option<Grading>,
}

impl Crew {
    pub(super) async fn start(plan: Plan, setup: Setup) -> Result<Self> {
        let Setup {
            store,
            database,
            work,
            sealed,
            judge,
            concurrency,
            on_record,
            shutdown,
            clock,
            tally,
            hooks,
        } = setup;
        let is_graded = |case: &CaseId| sealed.as_ref().is_some_and(|s| s.is_graded(case));
        let mut cases = plan.cases.iter().map(|planned| &planned.case.id);
        if judge.is_none()
            && let Some(case) = cases.find(|case| is_graded(case))
        {
            let message = format!("no model grades the sessions of case {case}");
            return Err(Error::input(message));
        }
        let has_folders = plan.cases.iter().any(|case| case.files.is_some());
        if has_folders || plan.servers().next().is_some() {
            std::fs::create_dir_all(&work)
                .internal(|| format!("{} cannot be made", work.display()))?;
        }
        let (planned, done) = (plan.grid.planned(), on_record.done.len());
        let begun = on_record.begun.len();
        tracing::info!(planned, done, begun, concurrency, "run begins");
        let schedule = plan.schedule(concurrency, on_record.done.iter().map(|(id, _)| *id));
        {
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            for (id, state) in on_record.done {
                tally.settle(plan.grid.cell(id), state);
            }
        }
        let counting = Counting::new(
            plan.grid.clone(),
            store.clone(),
            tally.clone(),
            sealed.is_some(),
        );
        let (aggregator, _) = Actor::spawn(None, Aggregator, counting)
            .await
            .internal(not_started)?;
        let events = Arc::new(Events::to(aggregator.clone()));
        let scorer = match sealed {
            None => None,
            Some(sealed) => {
                let sink = events.clone();
                let options = ScorerOptions {
                    panic_on: hooks.panic_scoring,
                };
                let scorer = Scorer::new(Arc::new(move |event| sink.pass_on(event)), options);
                let (scorer, _) = Actor::spawn(None, scorer, sealed)
                    .await
                    .internal(not_started)?;
                Some(scorer)
            }
        };
        let hub = Arc::new(Hub {
            plan,
            store,
            past: Past::of(database.clone()),
            begun: on_record.begun,
            work,
            scorer,
            aggregator,
            tally,
            watches: Watches::default(),
            clock: clock.clone(),
            panic_at: hooks.panic_at,
        });
        let (tell, told) = oneshot::channel();
        let (supervisor, over) = Actor::spawn(None, RunSupervisor, (hub.clone(), schedule, tell))
            .await
            .internal(not_started)?;
        // Before the first session begins, so before the first event.
        events.hear(supervisor.clone());
        let why = Arc::new(OnceLock::new());
        let steering = shutdown
            .clone()
            .steer(supervisor.clone(), why.clone(), clock);
        let lasts = hooks.patience.unwrap_or(PATIENCE);
        let patience = lose_patience(hub.tally.clone(), lasts, shutdown.patience.clone());
        let tasks = [
            tokio::spawn(steering),
            tokio::spawn(patience),
            tokio::spawn(look_after(database, supervisor.clone())),
        ];
        let enough = CancellationToken::new();
        let looking = tokio::spawn(look_on(hub.clone(), enough.clone()));
        let grading = hub
            .scorer
            .clone()
            .zip(judge)
            .map(|(scorer, judge)| Grading {
                hub: hub.clone(),
                judge,
                at_once: concurrency,
                scorer,
                shutdown,
                why,
            });
        Ok(Self {
            grading,
            hub,
            supervisor,
            told,
            over,
            tasks,
            looking: (enough, looking),
        })
    }

    /// Waits for the end and clears up.
    pub(super) async fn see_through(self) -> Result<Ended> {
        let Self {
            hub,
            told,
            over,
            tasks,
            looking: (enough, looking),
            grading,
            ..
        } = self;
        let mut last = told.await;
        // A supervisor that panicked tells nothing; its handle never fails.
        drop(over.await);
        // Whatever judges sessions from here on finds none of their tools at work.
        join_all(hub.plan.servers().map(|server| server.close())).await;
        if let (Ok(last), Some(grading)) = (&mut last, grading)
            && last.fatal.is_none()
            && last.wind_down.is_none()
        {
            grading.perform(last).await;
        }
        tasks.iter().for_each(JoinHandle::abort);
        let scorer = hub.scorer.clone();
        let closing = close(scorer.as_ref(), &hub.aggregator).await;
        drop(tokio::fs::remove_dir_all(&hub.work).await);
        hub.past.close();
        enough.cancel();
        // It panics at nothing, and what it keeps is only for those who look on.
        drop(looking.await);
        // Waits for the last verdicts. A store that is lost is why whatever else broke.
        let stored = hub.store.commit(Vec::new()).await.map_err(Error::from);
        let last = last.internal(|| "the run's supervisor broke".to_owned());
        let ended = stored.and(last).and_then(|last| match last.fatal {
            Some(error) => Err(error),
            None => closing.map(|()| Ended {
                wind_down: last.wind_down,
                parked: last.parked,
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
}

/// Ends the run when its database is gone: what is written to it then would be gone with it.
async fn look_after(database: PathBuf, run: ActorRef<RunMessage>) {
    gone(&database).await;
    drop(run.cast(RunMessage::Fatal(store::gone(&database))));
}

/// Waits until a database is gone.
pub(super) async fn gone(database: &Path) {
    while database.exists() {
        tokio::time::sleep(LOOK).await;
    }
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
