//! One case with a seed in flight: owns its sessions and restarts those that break.

use std::{collections::HashMap, sync::Arc, time::Duration};

use ractor::{Actor, ActorCell, ActorId, ActorProcessingErr, ActorRef, SupervisionEvent};

use super::{
    Hub,
    policy::{self, AfterCrash, Crashes, Progress},
    supervisor::{Ending, RunMessage},
};
use crate::{
    aggregate,
    domain::{Outcome, SessionId, Status},
    score,
    session::{self, Exit, Finished, SessionActor, StoredTurn},
    store::Write,
};

/// The owner of the sessions of one case.
pub struct CaseSupervisor;

/// What it hears.
pub enum CaseMessage {
    /// A session is to begin.
    Start(SessionId),
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

/// A session whose actor is alive.
struct Live {
    cell: ActorCell,
    id: SessionId,
    attempt: u32,
    crashes: Crashes,
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
            CaseMessage::Start(id) if state.halted => state.leave(id, Ending::Interrupted)?,
            CaseMessage::Start(id) => {
                state
                    .begin(
                        &myself,
                        id,
                        0,
                        Crashes::default(),
                        Vec::new(),
                        Duration::ZERO,
                    )
                    .await?;
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
        match event {
            SupervisionEvent::ActorTerminated(cell, left, _) => {
                let Some(live) = state.live.remove(&cell.get_id()) else {
                    return Ok(());
                };
                let exit = left
                    .and_then(|mut s| s.take::<session::State>().ok())
                    .and_then(|s| s.exit);
                state.ended(&live, exit)
            }
            SupervisionEvent::ActorFailed(cell, error) => {
                let Some(live) = state.live.remove(&cell.get_id()) else {
                    return Ok(());
                };
                state.crashed(&myself, live, &error.to_string()).await
            }
            _ => Ok(()),
        }
    }
}

impl State {
    async fn begin(
        &mut self,
        myself: &ActorRef<CaseMessage>,
        id: SessionId,
        attempt: u32,
        crashes: Crashes,
        history: Vec<StoredTurn>,
        delay: Duration,
    ) -> Result<(), ActorProcessingErr> {
        let job = self.hub.job(id, attempt, crashes.restarts, history, delay);
        let (actor, _) = Actor::spawn_linked(None, SessionActor, job, myself.get_cell()).await?;
        let cell = actor.get_cell();
        self.live.insert(
            cell.get_id(),
            Live {
                cell,
                id,
                attempt,
                crashes,
            },
        );
        Ok(())
    }

    fn ended(&self, live: &Live, exit: Option<Exit>) -> Result<(), ActorProcessingErr> {
        match exit {
            None => self.leave(live.id, Ending::Interrupted),
            Some(Exit::StoreLost(lost)) => {
                self.run.cast(RunMessage::Fatal(lost.into()))?;
                self.leave(live.id, Ending::Interrupted)
            }
            Some(Exit::Finished(finished)) => self.finished(live, *finished),
        }
    }

    /// Hands a finished session on. The run hears of it before the scorer does, so that it knows
    /// the session when the scorer acknowledges it.
    fn finished(&self, live: &Live, finished: Finished) -> Result<(), ActorProcessingErr> {
        let (id, attempt) = (live.id, live.attempt);
        let Finished { record, files } = finished;
        self.hub.aggregator.cast(aggregate::Message::Ended(
            id,
            attempt,
            record.outcome.clone(),
        ))?;
        match &self.hub.scorer {
            Some(scorer) if record.outcome.status.is_scored() => {
                self.leave(id, Ending::Submitted(files))?;
                scorer.cast(score::Message::Submit {
                    ticket: id.0,
                    record,
                })?;
                Ok(())
            }
            _ => self.leave(id, Ending::Settled { crashed: false }),
        }
    }

    async fn crashed(
        &mut self,
        myself: &ActorRef<CaseMessage>,
        live: Live,
        reason: &str,
    ) -> Result<(), ActorProcessingErr> {
        let Live {
            id,
            attempt,
            crashes,
            ..
        } = live;
        let key = self.hub.plan.grid.key(id);
        tracing::warn!(%key, attempt, reason, "session crashed");
        if self.halted {
            return self.leave(id, Ending::Interrupted);
        }
        let (history, resumable) = self.hub.durable_turns(id, attempt).await?;
        let at = Progress {
            turns: history.len(),
            acted: history.last().is_some_and(|t| !t.steps.is_empty()),
        };
        let again = Crashes {
            restarts: crashes.restarts + 1,
            last_at: Some(at),
        };
        // It may have broken before it was on record; if not, this changes nothing.
        let ts = self.hub.clock.now();
        let mut writes = vec![Write::Begin {
            session: id,
            attempt,
            ts,
        }];
        match policy::after_crash(crashes, at, resumable, self.hub.plan.rng_seed(id)) {
            AfterCrash::Continue(delay) => {
                writes.push(Write::Restart { session: id });
                self.hub.keep_restart(writes).await?;
                self.begin(myself, id, attempt, again, history, delay).await
            }
            AfterCrash::Anew(delay) => {
                writes.push(Write::Restart { session: id });
                writes.push(lost_attempt(id, attempt, reason, &history, ts));
                self.hub.keep_restart(writes).await?;
                let again = Crashes {
                    last_at: None,
                    ..again
                };
                self.begin(myself, id, attempt + 1, again, Vec::new(), delay)
                    .await
            }
            AfterCrash::GiveUp => {
                let outcome = Arc::new(crashed(reason, &history));
                writes.push(Write::End {
                    session: id,
                    attempt,
                    outcome: outcome.clone(),
                    work_s: 0.0,
                    ts,
                });
                self.hub.store.commit(writes).await?;
                self.hub
                    .aggregator
                    .cast(aggregate::Message::Ended(id, attempt, outcome))?;
                self.leave(id, Ending::Settled { crashed: true })
            }
        }
    }

    fn leave(&self, id: SessionId, ending: Ending) -> Result<(), ActorProcessingErr> {
        Ok(self.run.cast(RunMessage::Ended(id, ending))?)
    }
}

/// What is kept of an attempt that is given up.
fn lost_attempt(
    session: SessionId,
    attempt: u32,
    reason: &str,
    turns: &[StoredTurn],
    ts: f64,
) -> Write {
    Write::LostAttempt {
        session,
        attempt,
        reason: reason.into(),
        cost_usd: cost(turns),
        ts,
    }
}

/// The end of a session that crashed beyond its restarts.
fn crashed(reason: &str, turns: &[StoredTurn]) -> Outcome {
    let steps = turns.iter().flat_map(|turn| &turn.steps);
    let usages: Vec<_> = turns.iter().map(|turn| turn.reply.usage).collect();
    Outcome::so_far(
        Status::Crashed,
        steps,
        &usages,
        cost(turns),
        Some(reason.to_owned()),
    )
}

/// US dollars, unknown if any turn's price is.
fn cost(turns: &[StoredTurn]) -> Option<f64> {
    turns.iter().map(|turn| turn.cost_usd).sum()
}
