//! The scorer: the actor that alone holds what is sealed.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use ractor::{Actor, ActorProcessingErr, ActorRef, RpcReplyPort};

use super::{
    checks::judge,
    metrics::{Measured, measure},
    question::{Grade, Question, question},
    sealed::{Check, SealedCase, SealedSuite},
};
use crate::domain::{CheckResult, ScoreError, SessionKey, SessionRecord, Verdict};

/// What the scorer is asked.
pub enum Message {
    /// To judge a finished session: answered by [`Event::Acknowledged`], then [`Event::Verdict`], or
    /// [`Event::Pending`] where a model has to be asked.
    Submit {
        /// The asker's own number for it, given back with the events.
        ticket: u64,
        /// The session.
        record: SessionRecord,
    },
    /// To name the sessions that are pending: their tickets, ascending. It is theirs who ask: the
    /// scorer forgets them.
    Pending(RpcReplyPort<Vec<u64>>),
    /// To say what a model is to be asked about a pending session: one question for each check that
    /// needs one, in their order.
    Questions {
        /// The session.
        record: Arc<SessionRecord>,
        /// Where the questions go.
        reply: RpcReplyPort<Vec<Question>>,
    },
    /// To judge a pending session with the answers: followed by [`Event::Verdict`].
    Graded {
        /// The asker's own number for it.
        ticket: u64,
        /// The session.
        record: Arc<SessionRecord>,
        /// One for each question, up to the first that got none, and why, in farm's own words.
        grades: Vec<Result<Grade, String>>,
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
    /// A model has to be asked about the session before it can be judged.
    Pending {
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

/// What the scorer holds.
pub struct State {
    suite: SealedSuite,
    /// The tickets of sessions about which a model has to be asked; of the sessions themselves it
    /// keeps nothing.
    pending: Vec<u64>,
}

/// The actor. Its argument is the suite. Close it with `drain_and_wait`: every
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

    /// The verdict without a model; none when one has to be asked.
    fn verdict(&self, suite: &SealedSuite, record: &SessionRecord) -> Option<Verdict> {
        let Some(case) = suite.cases.get(&record.key.case) else {
            return Some(Verdict::Failed(ScoreError::NoSealedHalf));
        };
        if !case.is_graded() {
            return Some(self.graded(case, record, Vec::new()));
        }
        // No model mends what cannot be judged without one.
        let checks = case.checks.iter().enumerate();
        let mut plain = checks.filter(|(_, check)| !check.expect.is_graded());
        plain.find_map(|(index, check)| {
            let wrong = self.judge_safely(index, check, record, None).err()?;
            Some(Verdict::Failed(wrong))
        })
    }

    /// The verdict with what a model said.
    fn graded(
        &self,
        case: &SealedCase,
        record: &SessionRecord,
        grades: Vec<Result<Grade, String>>,
    ) -> Verdict {
        let mut grades = grades.into_iter();
        let results: Result<Vec<_>, _> = case
            .checks
            .iter()
            .enumerate()
            .map(|(index, check)| {
                let grade = if check.expect.is_graded() {
                    grades.next().transpose()
                } else {
                    Ok(None)
                };
                let grade = grade.map_err(|why| ScoreError::Judge(index, why))?;
                Ok(CheckResult {
                    name: check.name.clone(),
                    passed: self.judge_safely(index, check, record, grade)?,
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
        grade: Option<Grade>,
    ) -> Result<bool, ScoreError> {
        // Unwind safe: nothing is changed that is used afterwards.
        catch_unwind(AssertUnwindSafe(|| {
            if self.options.panic_on.as_ref() == Some(&record.key) {
                panic!("scoring panics, as a test asked");
            }
            judge(index, check, record, grade)
        }))
        .unwrap_or(Err(ScoreError::Panicked(index)))
    }
}

impl Actor for Scorer {
    type Msg = Message;
    type State = State;
    type Arguments = SealedSuite;

    async fn pre_start(
        &self,
        _: ActorRef<Message>,
        suite: SealedSuite,
    ) -> Result<State, ActorProcessingErr> {
        let pending = Vec::new();
        Ok(State { suite, pending })
    }

    async fn handle(
        &self,
        _: ActorRef<Message>,
        message: Message,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        let State { suite, pending } = state;
        match message {
            Message::Submit { ticket, record } => {
                (self.sink)(Event::Acknowledged { ticket });
                match self.verdict(suite, &record) {
                    Some(verdict) => (self.sink)(Event::Verdict { ticket, verdict }),
                    None => {
                        pending.push(ticket);
                        (self.sink)(Event::Pending { ticket });
                    }
                }
            }
            Message::Pending(reply) => {
                let mut pending = std::mem::take(pending);
                pending.sort_unstable();
                drop(reply.send(pending));
            }
            Message::Questions { record, reply } => {
                let case = suite.cases.get(&record.key.case);
                let checks = case.map_or(&[][..], |case| &case.checks);
                let questions = checks.iter().filter_map(|check| question(check, &record));
                drop(reply.send(questions.collect()));
            }
            Message::Graded {
                ticket,
                record,
                grades,
            } => {
                let verdict = match suite.cases.get(&record.key.case) {
                    Some(case) => self.graded(case, &record, grades),
                    None => Verdict::Failed(ScoreError::NoSealedHalf),
                };
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
