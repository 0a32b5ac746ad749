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
    /// A session that an earlier process brought to its end, in this attempt, is to be scored.
    OnRecord(SessionId, u32),
    /// A session that has ended waits until a model can be asked about it: unscored for now.
    Pending(SessionId),
    /// A model has been asked about such a session, whose attempt this is: it is to be scored.
    Grading(SessionId, u32),
    /// A session has been scored.
    Scored(SessionId, Verdict),
}

/// What it counts in.
pub struct Counting {
    grid: Grid,
    store: Handle,
    tally: Arc<Mutex<Tally>>,
    scored: bool,
    /// Sessions that the scorer is at: their attempts, and as what they are counted meanwhile.
    unscored: HashMap<SessionId, (u32, SessionState)>,
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
            Message::OnRecord(id, attempt) => {
                counting.is_scored_as(id, attempt, SessionState::NotRun);
            }
            Message::Pending(id) => counting.pending(id),
            Message::Grading(id, attempt) => {
                counting.is_scored_as(id, attempt, SessionState::Unscored);
            }
            Message::Scored(session, verdict) => {
                // The end of a session is counted before it goes to the scorer.
                let Some(score) = counting.scored(session, &verdict) else {
                    return Err(format!("a verdict on {session:?}, which has not ended").into());
                };
                counting.store.post(vec![score]).await?;
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
            _ => self.is_scored_as(id, attempt, SessionState::NotRun),
        }
    }

    fn is_scored_as(&mut self, id: SessionId, attempt: u32, counted: SessionState) {
        self.unscored.insert(id, (attempt, counted));
    }

    /// There may be as many as there are sessions, so nothing of them is kept.
    fn pending(&mut self, id: SessionId) {
        if self.unscored.remove(&id).is_some() {
            self.settle(id, SessionState::Unscored);
        }
    }

    /// Gives the verdict as it is to be kept; none if the session has not ended.
    fn scored(&mut self, id: SessionId, verdict: &Verdict) -> Option<Write> {
        let (attempt, counted) = self.unscored.remove(&id)?;
        let state = match verdict.passed() {
            Some(true) => SessionState::Passed,
            Some(false) => SessionState::Failed,
            None => SessionState::Errored,
        };
        self.change(id, counted, state);
        Some(Write::score((id, attempt), verdict))
    }

    fn settle(&self, id: SessionId, state: SessionState) {
        self.change(id, SessionState::NotRun, state);
    }

    fn change(&self, id: SessionId, from: SessionState, state: SessionState) {
        tracing::info!(key = %self.grid.key(id), ?state, "session settled");
        self.tally().change(self.grid.cell(id), from, state);
    }

    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{CheckResult, Ledger, ScoreError},
        store::{Options, Reader, Standing, Store},
    };

    /// How a session ended, and the verdict if there is one.
    type End = (Status, Option<Verdict>);

    fn ends() -> Vec<(End, SessionState)> {
        let judged = |passed| {
            let name = "c".to_owned();
            Some(Verdict::Scored(vec![CheckResult { name, passed }]))
        };
        let broken = || Some(Verdict::Failed(ScoreError::NoSealedHalf));
        let mut table = Vec::new();
        for status in [
            Status::Completed,
            Status::BudgetExhausted,
            Status::FallbackStop,
        ] {
            table.extend([
                ((status, judged(true)), SessionState::Passed),
                ((status, judged(false)), SessionState::Failed),
                ((status, broken()), SessionState::Errored),
                ((status, None), SessionState::Unscored),
            ]);
        }
        table.extend([
            ((Status::Killed, None), SessionState::Killed),
            ((Status::ModelError, None), SessionState::Errored),
            ((Status::Crashed, None), SessionState::Errored),
        ]);
        table
    }

    fn outcome(status: Status) -> Arc<Outcome> {
        Arc::new(Outcome::so_far(status, [], &[], None, None))
    }

    /// What is counted while a run goes on, and what its rows say afterwards.
    #[tokio::test]
    async fn all_agree_on_the_state_of_a_session() {
        for ((status, verdict), state) in ends() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("farm.db");
            let names = (vec!["v".parse().unwrap()], vec!["c".parse().unwrap()]);
            let grid = Grid::new(names.0, names.1, 0..2).unwrap();
            let store = Store::create(&path, "r", &grid, Options::default()).unwrap();
            let tally = Arc::new(Mutex::new(Tally::of(&grid)));
            let is_scored = verdict.is_some();
            let mut counting =
                Counting::new(grid.clone(), store.handle(), tally.clone(), is_scored);

            let (session, attempt) = (SessionId(1), 0);
            let (outcome, ts) = (outcome(status), 1.0);
            let mut writes = vec![Write::Begin {
                session,
                attempt,
                ts,
            }];
            counting.ended(session, attempt, &outcome);
            writes.push(Write::End {
                session,
                attempt,
                outcome,
                work_s: 0.0,
                waits: Vec::new(),
                ts,
            });
            writes.extend(verdict.and_then(|verdict| counting.scored(session, &verdict)));
            store.handle().commit(writes).await.unwrap();

            let mut want = Ledger::planned(2);
            want.settle(state);
            let reader = Reader::open(&path).unwrap();
            assert_eq!(tally.lock().unwrap().ledger, want, "{status:?}");
            assert_eq!(reader.ledger(&grid).unwrap(), want, "{status:?}");
            let stands = Standing {
                session,
                attempt,
                state,
            };
            assert_eq!(reader.states().unwrap(), [stands], "{status:?}");
            let row = reader.session(session).unwrap().unwrap();
            assert_eq!(row.state(), state, "{status:?}");
            store.join().await.unwrap();
        }
    }
}
