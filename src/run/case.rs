//! One case with a seed in flight: owns its sessions and restarts those that break.

use std::{collections::HashMap, sync::Arc, time::Duration};

use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::{
    Hub,
    on_record::Begun,
    past::Durable,
    policy::{self, AfterCrash, Crashes, Progress},
    supervisor::{Ending, RunMessage},
    writes::{begin, cost, lost_attempt, so_far, worked},
};
use crate::{
    aggregate,
    domain::{Outcome, SessionId, Status},
    error::{Context, Result},
    score,
    session::{self, Exit, Finished, SessionActor, StoredTurn},
    store::Write,
};

/// Why an attempt is given up when farm died and its tools must not be replayed.
const CUT_OFF: &str = "cut off, and a tool that it called cannot be resumed";

/// The owner of the sessions of one case.
pub struct CaseSupervisor;

/// What it hears.
pub enum CaseMessage {
    /// A session is to begin, or to be gone on with.
    Start(SessionId),
    /// A session that was started is to end, killed.
    Kill(SessionId),
    /// A session that was not is to end so.
    KillUnstarted(SessionId),
    /// All its sessions are to be dropped.
    Halt,
}

/// Its state.
pub struct State {
    hub: Arc<Hub>,
    run: ActorRef<RunMessage>,
    live: HashMap<ActorId, Live>,
    halted: bool,
}

/// From where an attempt starts.
#[derive(Default)]
pub(super) struct Start {
    /// Which attempt, from 0.
    pub attempt: u32,
    /// Its durable turns.
    pub history: Vec<StoredTurn>,
    /// US dollars that were spent on its turns, and on tries that came to nothing.
    pub spent_usd: f64,
    /// Backoff before it goes on.
    pub delay: Duration,
}

/// A session whose actor is alive.
struct Live {
    cell: ActorCell,
    id: SessionId,
    attempt: u32,
    crashes: Crashes,
    killed: bool,
}

impl Actor for CaseSupervisor {
    type Msg = CaseMessage;
    type State = State;
    type Arguments = (Arc<Hub>, ActorRef<RunMessage>);

    async fn pre_start(
        &self,
        _: ActorRef<CaseMessage>,
        (hub, run): (Arc<Hub>, ActorRef<RunMessage>),
    ) -> Result<State, ActorProcessingErr> {
        Ok(State {
            hub,
            run,
            live: HashMap::new(),
            halted: false,
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<CaseMessage>,
        message: CaseMessage,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            CaseMessage::Start(id) => {
                let started = state.start(&myself, id).await;
                state.or_fatal(id, started);
            }
            CaseMessage::Kill(id) => state.kill(id),
            CaseMessage::KillUnstarted(id) => {
                let killed = state.kill_unstarted(&myself, id).await;
                state.or_fatal(id, killed);
            }
            CaseMessage::Halt => {
                state.halted = true;
                state.live.values().for_each(|live| live.cell.kill());
            }
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<CaseMessage>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        let (cell, left) = match event {
            SupervisionEvent::ActorTerminated(cell, left, _) => (cell, Ok(left)),
            SupervisionEvent::ActorFailed(cell, error) => (cell, Err(error.to_string())),
            _ => return Ok(()),
        };
        let Some(live) = state.live.remove(&cell.get_id()) else {
            return Ok(());
        };
        let id = live.id;
        let exit = left.map(|left| {
            left.and_then(|mut s| s.take::<session::State>().ok())
                .and_then(|s| s.exit)
        });
        let done = state.gone(&myself, live, exit).await;
        state.or_fatal(id, done);
        Ok(())
    }
}

impl State {
    /// Begins a session, or goes on with it from what is on record.
    async fn start(&mut self, myself: &ActorRef<CaseMessage>, id: SessionId) -> Result<()> {
        if self.halted {
            self.leave(id, Ending::Interrupted);
            return Ok(());
        }
        let start = match self.hub.begun.get(&id) {
            None => Start::default(),
            Some(Begun::Unscored(attempt)) => {
                let record = self.hub.past.record(&self.hub.plan, id).await?;
                self.tell(aggregate::Message::OnRecord(id, *attempt));
                let files = None;
                self.hand_in(id, Finished { record, files });
                return Ok(());
            }
            Some(Begun::Open(attempt)) => {
                let Durable {
                    turns,
                    resumable,
                    spent_usd,
                } = self.durable(id, *attempt).await?;
                if resumable {
                    Start {
                        attempt: *attempt,
                        history: turns,
                        spent_usd,
                        ..Start::default()
                    }
                } else {
                    let lost = self.lost((id, *attempt), CUT_OFF, &turns);
                    self.anew(*attempt, lost).await?
                }
            }
            Some(Begun::Errored(attempt)) => self.after_error(id, *attempt).await?,
        };
        self.begin(myself, id, start, Crashes::default()).await
    }

    /// Begins an errored session anew.
    async fn after_error(&self, id: SessionId, attempt: u32) -> Result<Start> {
        let row = self.hub.past.row(id).await?;
        let outcome = row.as_ref().and_then(|row| row.outcome.as_ref());
        let cost_usd = outcome.and_then(|outcome| outcome.cost_usd);
        let reason = row.as_ref().and_then(|row| row.error());
        let reason = reason.unwrap_or("errored");
        // Its cost is counted with that of the sessions that ended.
        let lost = lost_attempt((id, attempt), reason, cost_usd, self.hub.clock.now());
        self.anew(attempt, lost).await
    }

    /// An attempt that is given up after these durable turns. What it cost stays counted.
    fn lost(&self, of: (SessionId, u32), reason: &str, turns: &[StoredTurn]) -> Write {
        let cost_usd = cost(turns);
        self.hub.tally().cost_usd += cost_usd.unwrap_or(0.0);
        lost_attempt(of, reason, cost_usd, self.hub.clock.now())
    }

    /// Gives an attempt up for the next one.
    async fn anew(&self, attempt: u32, lost: Write) -> Result<Start> {
        self.hub.store.commit(vec![lost]).await?;
        Ok(Start {
            attempt: attempt.saturating_add(1),
            ..Start::default()
        })
    }

    async fn begin(
        &mut self,
        myself: &ActorRef<CaseMessage>,
        id: SessionId,
        start: Start,
        crashes: Crashes,
    ) -> Result<()> {
        let attempt = start.attempt;
        let job = self.hub.job(id, start, crashes.restarts);
        let (actor, _) = Actor::spawn_linked(None, SessionActor, job, myself.get_cell())
            .await
            .internal(|| "a session did not start".to_owned())?;
        let cell = actor.get_cell();
        let live = Live {
            cell,
            id,
            attempt,
            crashes,
            killed: false,
        };
        self.live.insert(live.cell.get_id(), live);
        Ok(())
    }

    /// The actor of a session is gone, with its exit or with why it broke.
    async fn gone(
        &mut self,
        myself: &ActorRef<CaseMessage>,
        live: Live,
        exit: Result<Option<Exit>, String>,
    ) -> Result<()> {
        let (id, attempt) = (live.id, live.attempt);
        match exit {
            Ok(Some(Exit::Finished(finished))) => self.finished(id, attempt, *finished),
            Ok(Some(Exit::StoreLost(lost))) => return Err(lost.into()),
            _ if live.killed => self.killed(id, attempt).await?,
            Ok(Some(Exit::Stopped(why, asked))) => self.leave(id, Ending::Stopped(why, asked)),
            Ok(Some(Exit::Broken(reason))) => {
                self.crashed(myself, live, Status::ModelError, &reason)
                    .await?;
            }
            Ok(Some(Exit::HostLost(reason))) | Err(reason) => {
                self.crashed(myself, live, Status::Crashed, &reason).await?;
            }
            Ok(Some(Exit::ToolsChanged(why))) => self.leave(id, Ending::ToolsChanged(why)),
            Ok(None) => self.leave(id, Ending::Interrupted),
        }
        Ok(())
    }

    /// A session has come to its own end.
    fn finished(&self, id: SessionId, attempt: u32, finished: Finished) {
        self.ended(id, attempt, finished.record.outcome.clone());
        self.hand_in(id, finished);
    }

    /// Hands an ended session, of which the aggregator knows, to the scorer. The run hears of it
    /// before the scorer does, so that it knows the session when the scorer acknowledges it.
    fn hand_in(&self, id: SessionId, finished: Finished) {
        let Finished { record, files } = finished;
        match &self.hub.scorer {
            Some(scorer) if record.outcome.status.is_scored() => {
                self.hub.watches.hand_in(id, &self.hub.clock);
                self.leave(id, Ending::Submitted(files));
                let ticket = id.0;
                drop(scorer.cast(score::Message::Submit { ticket, record }));
            }
            _ => self.leave(id, Ending::Settled { crashed: false }),
        }
    }

    fn kill(&mut self, id: SessionId) {
        // One that is gone by now has ended.
        if let Some(live) = self.live.values_mut().find(|live| live.id == id) {
            live.killed = true;
            live.cell.kill();
        }
    }

    async fn kill_unstarted(
        &mut self,
        myself: &ActorRef<CaseMessage>,
        id: SessionId,
    ) -> Result<()> {
        match self.hub.begun.get(&id) {
            None => self.killed(id, 0).await,
            Some(Begun::Open(attempt)) => self.killed(id, *attempt).await,
            Some(Begun::Errored(attempt)) => {
                let start = self.after_error(id, *attempt).await?;
                self.killed(id, start.attempt).await
            }
            // It has ended already.
            Some(Begun::Unscored(_)) => self.start(myself, id).await,
        }
    }

    async fn killed(&self, id: SessionId, attempt: u32) -> Result<()> {
        // What it had handed in to the store when it was killed comes first: perhaps its own end.
        self.hub.store.commit(Vec::new()).await?;
        let row = self.hub.past.row(id).await?;
        if row.is_some_and(|row| row.attempt == attempt && row.outcome.is_some()) {
            let record = self.hub.past.record(&self.hub.plan, id).await?;
            let files = None;
            self.finished(id, attempt, Finished { record, files });
            return Ok(());
        }
        let Durable { turns, .. } = self.durable(id, attempt).await?;
        let outcome = so_far(Status::Killed, &turns, "killed by the operator");
        self.end(id, attempt, outcome, worked(&turns)).await?;
        self.leave(id, Ending::Settled { crashed: false });
        Ok(())
    }

    /// Infrastructure failed a session: it goes on or begins anew, or ends as `status`.
    async fn crashed(
        &mut self,
        myself: &ActorRef<CaseMessage>,
        live: Live,
        status: Status,
        reason: &str,
    ) -> Result<()> {
        let Live {
            id,
            attempt,
            crashes,
            ..
        } = live;
        let key = self.hub.plan.grid.key(id);
        match status {
            // An endpoint that is down breaks every session: they are counted, and told together
            // when the run is over.
            Status::ModelError => tracing::info!(%key, attempt, reason, "session broke"),
            _ => tracing::warn!(%key, attempt, reason, "session broke"),
        }
        if self.halted {
            self.leave(id, Ending::Interrupted);
            return Ok(());
        }
        // What its last call cost may still be on its way to the books.
        self.hub.store.commit(Vec::new()).await?;
        let Durable {
            turns,
            resumable,
            spent_usd,
        } = self.durable(id, attempt).await?;
        let at = Progress {
            turns: turns.len(),
            acted: turns.last().is_some_and(|t| !t.steps.is_empty()),
            judged: turns.last().is_some_and(|t| t.judged.is_some()),
        };
        let again = Crashes {
            restarts: crashes.restarts + 1,
            last_at: Some(at),
        };
        // It may have broken before it was on record; if not, the first write changes nothing.
        let ts = self.hub.clock.now();
        let mut writes = vec![begin(id, attempt, ts), Write::Restart { session: id }];
        match policy::after_crash(crashes, at, resumable, self.hub.plan.rng_seed(id)) {
            AfterCrash::Continue(delay) => {
                self.hub.keep_restart(writes).await?;
                let start = Start {
                    attempt,
                    history: turns,
                    spent_usd,
                    delay,
                };
                self.begin(myself, id, start, again).await
            }
            AfterCrash::Anew(delay) => {
                writes.push(self.lost((id, attempt), reason, &turns));
                self.hub.keep_restart(writes).await?;
                let start = Start {
                    attempt: attempt + 1,
                    delay,
                    ..Start::default()
                };
                let last_at = None;
                self.begin(myself, id, start, Crashes { last_at, ..again })
                    .await
            }
            AfterCrash::GiveUp => {
                let outcome = so_far(status, &turns, reason);
                self.end(id, attempt, outcome, worked(&turns)).await?;
                let crashed = status == Status::Crashed;
                self.leave(id, Ending::Settled { crashed });
                Ok(())
            }
        }
    }

    /// Ends a session from outside, for good.
    async fn end(&self, id: SessionId, attempt: u32, outcome: Outcome, work_s: f64) -> Result<()> {
        let ts = self.hub.clock.now();
        let outcome = Arc::new(outcome);
        let end = Write::End {
            session: id,
            attempt,
            outcome: outcome.clone(),
            work_s,
            waits: self.hub.watches.take_waits(id),
            ts,
        };
        let writes = vec![begin(id, attempt, ts), end];
        self.hub.store.commit(writes).await?;
        self.ended(id, attempt, outcome);
        Ok(())
    }

    async fn durable(&self, id: SessionId, attempt: u32) -> Result<Durable> {
        self.hub.past.durable(&self.hub.plan, id, attempt).await
    }

    fn ended(&self, id: SessionId, attempt: u32, outcome: Arc<Outcome>) {
        self.tell(aggregate::Message::Ended(id, attempt, outcome));
    }

    /// Tells the aggregator. One that is gone has ended the run already.
    fn tell(&self, message: aggregate::Message) {
        drop(self.hub.aggregator.cast(message));
    }

    /// Tells the run that a session is no longer here. A run that is gone takes all with it, and so
    /// does the scorer.
    fn leave(&self, id: SessionId, ending: Ending) {
        drop(self.run.cast(RunMessage::Ended(id, ending)));
    }

    /// What cannot be done for one session ends the run.
    fn or_fatal(&self, id: SessionId, done: Result<()>) {
        if let Err(error) = done {
            drop(self.run.cast(RunMessage::Fatal(error)));
            self.leave(id, Ending::Interrupted);
        }
    }
}
