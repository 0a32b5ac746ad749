//! Counts what settles and hands verdicts to the store.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ractor::{Actor, ActorProcessingErr, ActorRef};

use crate::{
    domain::{Grid, Outcome, SessionId, SessionState, Status, Tally, Verdict},
    store::{Handle, Write},
};

/// The actor that counts.
pub struct Aggregator;

/// What it hears of.
pub enum Message {
    /// A session has ended in this attempt, and that is durable.
    Ended(SessionId, u32, Arc<Outcome>),
    /// A session has been scored.
    Scored(SessionId, Verdict),
}

/// What it counts in.
pub struct Counting {
    grid: Grid,
    store: Handle,
    tally: Arc<Mutex<Tally>>,
    scored: bool,
    /// The attempts of sessions that the scorer is at.
    unscored: HashMap<SessionId, u32>,
}

impl Actor for Aggregator {
    type Msg = Message;
    type State = Counting;
    type Arguments = Counting;

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        counting: Counting,
    ) -> Result<Counting, ActorProcessingErr> {
        Ok(counting)
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        counting: &mut Counting,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Ended(id, attempt, outcome) => counting.ended(id, attempt, &outcome),
            Message::Scored(session, verdict) => {
                let state = match verdict.passed() {
                    Some(true) => SessionState::Passed,
                    Some(false) => SessionState::Failed,
                    None => SessionState::Errored,
                };
                // The end of a session is counted before it goes to the scorer.
                let Some(attempt) = counting.unscored.remove(&session) else {
                    return Err(format!("a verdict on {session:?}, which has not ended").into());
                };
                counting.settle(session, state);
                counting
                    .store
                    .post(vec![Write::score((session, attempt), &verdict)])
                    .await?;
            }
        }
        Ok(())
    }
}

impl Counting {
    /// Counts of a run that has not begun.
    #[must_use]
    pub fn new(grid: Grid, store: Handle, tally: Arc<Mutex<Tally>>, scored: bool) -> Self {
        Self {
            grid,
            store,
            tally,
            scored,
            unscored: HashMap::new(),
        }
    }

    fn ended(&mut self, id: SessionId, attempt: u32, outcome: &Outcome) {
        self.tally().cost_usd += outcome.cost_usd.unwrap_or(0.0);
        match outcome.status {
            Status::Killed => self.settle(id, SessionState::Killed),
            status if !status.is_scored() => self.settle(id, SessionState::Errored),
            _ if !self.scored => self.settle(id, SessionState::Unscored),
            _ => drop(self.unscored.insert(id, attempt)),
        }
    }

    fn settle(&self, id: SessionId, state: SessionState) {
        tracing::info!(key = %self.grid.key(id), ?state, "session settled");
        self.tally().settle(self.grid.cell(id), state);
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
