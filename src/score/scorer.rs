//! The scorer: the actor that alone holds what is sealed.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::{
    checks::judge,
    metrics::{Measured, measure},
    sealed::{Check, SealedSuite},
};
use crate::domain::{CheckResult, ScoreError, SessionKey, SessionRecord, Verdict};

/// What the scorer is asked.
pub enum Message {
    /// To judge a finished session: answered by [`Event::Acknowledged`], then [`Event::Verdict`].
    Submit {
        /// The asker's own number for it, given back with the events.
        ticket: u64,
        /// The session.
        record: SessionRecord,
    },
    /// To say when everything submitted before has been judged.
    Flush(RpcReplyPort<()>),
    /// To measure finished sessions, after the run: one [`Measured`] for every name of
    /// [`SealedSuite::metric_names`] that one of their cases defines, in that order. The values are
    /// the aggregator's alone. Ask case by case: submits wait meanwhile, and what a case does not
    /// define is then told from what a session has no value of.
    Measure {
        /// The sessions. Their `steps` are not looked at and may be left out.
        records: Vec<SessionRecord>,
        /// Where the values go.
        reply: RpcReplyPort<Vec<Measured>>,
    },
}

/// What the scorer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The session was received. Said before it is looked at, so that its time tells nothing.
    Acknowledged {
        /// Of the submit.
        ticket: u64,
    },
    /// The session was judged.
    Verdict {
        /// Of the submit.
        ticket: u64,
        /// The outcome of its checks.
        verdict: Verdict,
    },
}

/// Where events go. Called on the scorer's task: it must not block.
pub type Sink = Arc<dyn Fn(Event) + Send + Sync>;

/// How the scorer behaves.
#[derive(Debug, Clone, Default)]
pub struct ScorerOptions {
    /// Scoring of this session panics: for tests of what follows.
    pub panic_on: Option<SessionKey>,
}

/// The actor. Its argument and its state is the suite. Close it with `drain_and_wait`: every
/// session submitted before has its verdict then.
pub struct Scorer {
    sink: Sink,
    options: ScorerOptions,
}

impl Scorer {
    /// A scorer that tells `sink`.
    #[must_use]
    pub fn new(sink: Sink, options: ScorerOptions) -> Self {
        Self { sink, options }
    }

    fn verdict(&self, suite: &SealedSuite, record: &SessionRecord) -> Verdict {
        let Some(case) = suite.cases.get(&record.key.case) else {
            return Verdict::Failed(ScoreError::NoSealedHalf);
        };
        let results: Result<Vec<_>, _> = case
            .checks
            .iter()
            .enumerate()
            .map(|(index, check)| {
                Ok(CheckResult {
                    name: check.name.clone(),
                    passed: self.judge_safely(index, check, record)?,
                })
            })
            .collect();
        results.map_or_else(Verdict::Failed, Verdict::Scored)
    }

    /// A panic fails the session and not the scorer. Its payload is dropped unread, but the panic
    /// hook has printed it by then. farm's own code does not panic here; the payload of another
    /// crate's panic (regex, jsonschema) may hold what it worked on, so a process that scores
    /// should set a hook that prints no payload.
    fn judge_safely(
        &self,
        index: usize,
        check: &Check,
        record: &SessionRecord,
    ) -> Result<bool, ScoreError> {
        // Unwind safe: nothing is changed that is used afterwards.
        catch_unwind(AssertUnwindSafe(|| {
            if self.options.panic_on.as_ref() == Some(&record.key) {
                panic!("scoring panics, as a test asked");
            }
            judge(index, check, record)
        }))
        .unwrap_or(Err(ScoreError::Panicked(index)))
    }
}

impl Actor for Scorer {
    type Msg = Message;
    type State = SealedSuite;
    type Arguments = SealedSuite;

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        suite: SealedSuite,
    ) -> Result<SealedSuite, ActorProcessingErr> {
        Ok(suite)
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        suite: &mut SealedSuite,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::Submit { ticket, record } => {
                (self.sink)(Event::Acknowledged { ticket });
                let verdict = self.verdict(suite, &record);
                (self.sink)(Event::Verdict { ticket, verdict });
            }
            Message::Flush(reply) => drop(reply.send(())),
            Message::Measure { records, reply } => {
                if !reply.is_closed() {
                    // Whoever asked may be gone by now, and that is their affair.
                    let _ = reply.send(measure(suite, &records));
                }
            }
        }
        Ok(())
    }
}
