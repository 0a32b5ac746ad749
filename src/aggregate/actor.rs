//! Counts what settles and hands verdicts to the store.

use std::{
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
    /// A session has ended, and that is durable.
    Ended(SessionId, Arc<Outcome>),
    /// A session has been scored.
    Scored(SessionId, Verdict),
}

/// What it counts in.
pub struct Counting {
    /// The plan's grid.
    pub grid: Grid,
    /// Where verdicts are kept.
    pub store: Handle,
    /// The counts; shared with whoever shows progress.
    pub tally: Arc<Mutex<Tally>>,
    /// Whether sessions are scored at all.
    pub scored: bool,
}

impl Actor for Aggregator {
    type Msg = Message;
    type State = Counting;
    type Arguments = Counting;

    async fn pre_start(&self, _: ActorRef<Message>, counting: Counting) -> Result<Counting, ActorProcessingErr> {
        Ok(counting)
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        counting: &mut Counting,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Ended(id, outcome) => counting.ended(id, &outcome),
            Message::Scored(session, verdict) => {
                let state = match verdict.passed() {
                    Some(true) => SessionState::Passed,
                    Some(false) => SessionState::Failed,
                    None => SessionState::Errored,
                };
                counting.settle(session, state);
                counting.store.post(vec![Write::Score { session, verdict }]).await?;
            }
        }
        Ok(())
    }
}

impl Counting {
    fn ended(&self, id: SessionId, outcome: &Outcome) {
        self.tally().cost_usd += outcome.cost_usd.unwrap_or(0.0);
        match outcome.status {
            Status::Killed => self.settle(id, SessionState::Killed),
            status if !status.is_scored() => self.settle(id, SessionState::Errored),
            _ if !self.scored => self.settle(id, SessionState::Unscored),
            _ => {}
        }
    }

    fn settle(&self, id: SessionId, state: SessionState) {
        self.tally().settle(self.grid.cell(id), state);
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
