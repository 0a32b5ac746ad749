//! The run: credits, admission, breaker and kill switch. The one place where events are put in line.

use std::{collections::HashMap, sync::Arc};

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort, SupervisionEvent};
use tokio::sync::oneshot;

use super::{
    Hub, Kill,
    case::{CaseMessage, CaseSupervisor},
    plan::Variant,
    policy::{Breaker, CASE_CRASHES},
    schedule::{Place, Schedule},
    shutdown::WindDown,
};
use crate::{
    domain::{Purpose, SessionId},
    error::{Context, Error},
    model::{ModelError, ModelErrorKind, Stop},
    store::{StoreLost, Write},
    tool::SessionFiles,
};

/// The root of the actors of a run.
pub struct RunSupervisor;

/// What the run hears.
pub enum RunMessage {
    /// Sessions may begin.
    Begin,
    /// A session's actor is gone.
    Ended(SessionId, Ending),
    /// The scorer has taken a session.
    Acknowledged(SessionId),
    /// This session is to end for good.
    Kill(SessionId, RpcReplyPort<Kill>),
    /// Nothing new is to start, for this reason.
    WindDown(WindDown),
    /// Sessions in flight are to be dropped.
    Interrupt,
    /// The run cannot go on.
    Fatal(Error),
}

/// How the actor of a session left.
pub enum Ending {
    /// It goes to the scorer, which will acknowledge it.
    Submitted(Option<SessionFiles>),
    /// It is over and not to be scored.
    Settled {
        /// It crashed beyond its restarts.
        crashed: bool,
    },
    /// It was dropped; it stays `not_run`.
    Interrupted,
    /// No further call is made for it, and why, and to do what; it stays `not_run`.
    Stopped(ModelError, Purpose),
    /// A server has other tools than those that the run began with, and which; it stays `not_run`.
    ToolsChanged(String),
}

/// What is left when the run is over.
pub struct Last {
    /// Why it wound down, if it did.
    pub wind_down: Option<WindDown>,
    /// Why some variants did not come to their end.
    pub parked: Vec<String>,
    /// Why it failed, if it did.
    pub fatal: Option<Error>,
    /// Sessions whose credit has not come back: 0 when all is well.
    pub credits_out: usize,
}

/// The supervisor's state.
pub struct State {
    hub: Arc<Hub>,
    schedule: Schedule,
    breaker: Breaker,
    crashes: HashMap<usize, u32>,
    cases: HashMap<usize, LiveCase>,
    /// Folders of sessions that the scorer has not acknowledged.
    unacknowledged: HashMap<SessionId, Option<SessionFiles>>,
    has_begun: bool,
    wind_down: Option<WindDown>,
    parked: Vec<String>,
    fatal: Option<Error>,
    tell: Option<oneshot::Sender<Last>>,
}

struct LiveCase {
    actor: ActorRef<CaseMessage>,
    sessions: usize,
}

impl Actor for RunSupervisor {
    type Msg = RunMessage;
    type State = State;
    type Arguments = (Arc<Hub>, Schedule, oneshot::Sender<Last>);

    async fn pre_start(
        &self,
        myself: ActorRef<RunMessage>,
        (hub, schedule, tell): Self::Arguments,
    ) -> Result<State, ActorProcessingErr> {
        for sink in hub.sinks() {
            sink.link(myself.get_cell());
        }
        Ok(State {
            hub,
            schedule,
            breaker: Breaker::default(),
            crashes: HashMap::new(),
            cases: HashMap::new(),
            unacknowledged: HashMap::new(),
            has_begun: false,
            wind_down: None,
            parked: Vec::new(),
            fatal: None,
            tell: Some(tell),
        })
    }

    async fn handle(
        &self,
        myself: ActorRef<RunMessage>,
        message: RunMessage,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            RunMessage::Begin => state.has_begun = true,
            RunMessage::Ended(id, ending) => {
                if let Err(lost) = state.ended(id, ending).await {
                    state.fatal.get_or_insert(lost.into());
                }
            }
            RunMessage::Acknowledged(id) => {
                drop(state.unacknowledged.remove(&id));
                state.settle(id);
            }
            RunMessage::Kill(id, reply) => match state.kill(&myself, id).await {
                // Who no longer waits for the answer misses nothing.
                Ok(answer) => drop(reply.send(answer)),
                Err(error) => drop(state.fatal.get_or_insert(error)),
            },
            RunMessage::WindDown(why) => state.wind_down(why),
            RunMessage::Interrupt => state.interrupt(),
            RunMessage::Fatal(error) => drop(state.fatal.get_or_insert(error)),
        }
        if let Err(error) = state.go_on(&myself).await {
            state.fatal.get_or_insert(error);
        }
        if state.is_over() {
            myself.stop(None);
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        myself: ActorRef<RunMessage>,
        event: SupervisionEvent,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        if let SupervisionEvent::ActorFailed(cell, error) = event {
            let who = if state.hub.sinks().any(|sink| sink.get_id() == cell.get_id()) {
                "the scorer or the aggregator"
            } else {
                "a case supervisor"
            };
            myself.cast(RunMessage::Fatal(Error::internal(format!(
                "{who} failed: {error}"
            ))))?;
        }
        Ok(())
    }

    /// Scorer and aggregator outlive the run: their mailboxes are worked off first.
    async fn post_stop(
        &self,
        myself: ActorRef<RunMessage>,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        for sink in state.hub.sinks() {
            sink.unlink(myself.get_cell());
        }
        myself.get_cell().stop_children_and_wait(None, None).await;
        if let Some(tell) = state.tell.take() {
            let credits_out = state.schedule.in_flight();
            // Nobody listens any more when the caller has given up.
            drop(tell.send(Last {
                wind_down: state.wind_down,
                parked: std::mem::take(&mut state.parked),
                fatal: state.fatal.take(),
                credits_out,
            }));
        }
        Ok(())
    }
}

impl State {
    /// Begins what may begin.
    async fn go_on(&mut self, myself: &ActorRef<RunMessage>) -> Result<(), Error> {
        while self.has_begun
            && self.fatal.is_none()
            && let Some(id) = self.schedule.admit()
        {
            self.start(myself, id, CaseMessage::Start(id)).await?;
        }
        self.hub.tally().in_flight = self.schedule.in_flight();
        Ok(())
    }

    /// Nothing is in flight and nothing is to come, or the run cannot go on.
    fn is_over(&self) -> bool {
        let is_going_on = self.has_begun || self.wind_down.is_some();
        self.fatal.is_some() || (is_going_on && self.schedule.in_flight() == 0)
    }

    async fn kill(&mut self, myself: &ActorRef<RunMessage>, id: SessionId) -> Result<Kill, Error> {
        if self.schedule.take(id) {
            self.start(myself, id, CaseMessage::KillUnstarted(id))
                .await?;
            return Ok(Kill::TakenOn);
        }
        let is_alive =
            self.schedule.place(id) == Place::InFlight && !self.unacknowledged.contains_key(&id);
        let case = self.cases.get(&self.hub.plan.grid.cell(id).case);
        match case.filter(|_| is_alive) {
            Some(case) => {
                case.actor
                    .cast(CaseMessage::Kill(id))
                    .internal(|| "a case supervisor is gone".to_owned())?;
                Ok(Kill::TakenOn)
            }
            None => Ok(Kill::TooLate),
        }
    }

    async fn start(
        &mut self,
        myself: &ActorRef<RunMessage>,
        id: SessionId,
        message: CaseMessage,
    ) -> Result<(), Error> {
        let case = self.hub.plan.grid.cell(id).case;
        if !self.cases.contains_key(&case) {
            let args = (self.hub.clone(), myself.clone());
            let (actor, _) = Actor::spawn_linked(None, CaseSupervisor, args, myself.get_cell())
                .await
                .internal(|| "a case supervisor did not start".to_owned())?;
            self.cases.insert(case, LiveCase { actor, sessions: 0 });
        }
        if let Some(live) = self.cases.get_mut(&case) {
            live.sessions += 1;
            live.actor
                .cast(message)
                .internal(|| "a case supervisor is gone".to_owned())?;
        }
        Ok(())
    }

    /// A session's credit is back.
    fn settle(&mut self, id: SessionId) {
        self.hub.watches.end(id);
        self.schedule.settle(id);
    }

    async fn ended(&mut self, id: SessionId, ending: Ending) -> Result<(), StoreLost> {
        let case = self.hub.plan.grid.cell(id).case;
        if let Some(live) = self.cases.get_mut(&case) {
            live.sessions -= 1;
            if live.sessions == 0 {
                live.actor.stop(None);
                self.cases.remove(&case);
            }
        }
        let crashed = matches!(ending, Ending::Settled { crashed: true });
        match ending {
            Ending::Submitted(files) => drop(self.unacknowledged.insert(id, files)),
            Ending::Settled { .. } | Ending::Interrupted => self.settle(id),
            Ending::Stopped(why, asked) => {
                self.settle(id);
                self.stopped(id, why, asked).await?;
            }
            Ending::ToolsChanged(why) => {
                self.settle(id);
                if !self.parked.contains(&why) {
                    tracing::warn!(why, "tools changed");
                    let parked = Write::Parked {
                        what: "the run".into(),
                        reason: why.as_str().into(),
                        ts: self.hub.clock.now(),
                    };
                    self.parked.push(why);
                    self.hub.store.post(vec![parked]).await?;
                }
                self.wind_down(WindDown::Tools);
            }
        }
        if crashed {
            let crashes = self.crashes.entry(case).or_default();
            *crashes += 1;
            if *crashes == CASE_CRASHES {
                self.schedule.close_case(case);
                let case = &self.hub.plan.grid.cases[case];
                self.parked.push(format!(
                    "case {case}: {CASE_CRASHES} of its sessions crashed; no further one begins"
                ));
            }
        }
        if self.breaker.trips(crashed) {
            self.wind_down(WindDown::Breaker);
        }
        Ok(())
    }

    /// No further call is made for a session and for others whom it concerns: they do not begin.
    async fn stopped(
        &mut self,
        id: SessionId,
        why: ModelError,
        asked: Purpose,
    ) -> Result<(), StoreLost> {
        let ModelErrorKind::Stopped(stop) = why.kind else {
            return Ok(());
        };
        let plan = &self.hub.plan;
        let own = &plan.variants[plan.grid.cell(id).variant];
        let is_judge = asked == Purpose::Judge;
        let concerned = |other: &Variant| match stop {
            Stop::Run => true,
            // None begins any more.
            Stop::Ending => false,
            // It is not the variant's model that is not asked any more.
            _ if is_judge => {
                let judges = other.judge.as_ref().zip(own.judge.as_ref());
                judges.is_some_and(|(other, own)| Arc::ptr_eq(other, own))
            }
            Stop::Endpoint => other.endpoint == own.endpoint,
            Stop::Model => other.account == own.account,
        };
        let parked: Vec<usize> = (0..plan.variants.len())
            .filter(|at| concerned(&plan.variants[*at]) && !self.schedule.is_parked(*at))
            .collect();
        if parked.is_empty() {
            return Ok(());
        }
        let what = match stop {
            Stop::Endpoint | Stop::Model if is_judge => "the judge of steps".to_owned(),
            Stop::Endpoint => format!("endpoint {}", own.endpoint),
            Stop::Model => format!("model {}", own.account),
            Stop::Run | Stop::Ending => "the run".to_owned(),
        };
        let variants: Vec<&str> = parked
            .iter()
            .map(|at| plan.variants[*at].name.as_str())
            .collect();
        let reason = match is_judge {
            true => format!("judge: {}", why.message),
            false => why.message,
        };
        tracing::warn!(?variants, reason, "parked");
        parked.iter().for_each(|at| self.schedule.park(*at));
        let parked = Write::Parked {
            what: what.into(),
            reason: reason.as_str().into(),
            ts: self.hub.clock.now(),
        };
        self.parked.push(reason);
        if stop == Stop::Run {
            self.wind_down(WindDown::Money);
        }
        self.hub.store.post(vec![parked]).await
    }

    fn wind_down(&mut self, why: WindDown) {
        self.wind_down.get_or_insert(why);
        self.hub.tally().winding_down = true;
        self.schedule.wind_down();
    }

    fn interrupt(&mut self) {
        self.wind_down(WindDown::Asked);
        for case in self.cases.values() {
            // A case that is gone already has nothing in flight.
            drop(case.actor.cast(CaseMessage::Halt));
        }
    }
}
