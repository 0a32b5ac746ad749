//! The second phase: sessions about which a model has to be asked, once all others are over.

use std::sync::{Arc, OnceLock};

use futures_util::{StreamExt, stream::FuturesUnordered};
use ractor::{ActorRef, call};

use super::{Hub, Shutdown, WindDown, crew::gone, supervisor::Last};
use crate::{
    aggregate,
    domain::{Activity, OnBehalf, Purpose, SessionId, SessionKey},
    error::{Context, Error, Result},
    model::{Asked, Caller, Judge, ModelError, ModelErrorKind, Part, Stop, Watch},
    score::{self, Grade, Question},
    store::{self, Write},
};

/// What grades, and what ends that.
pub(super) struct Grading {
    pub hub: Arc<Hub>,
    pub judge: Judge,
    /// Sessions that are graded at the same time.
    pub at_once: usize,
    pub scorer: ActorRef<score::Message>,
    pub shutdown: Shutdown,
    /// Why the run is to wind down, once it is to.
    pub why: Arc<OnceLock<WindDown>>,
}

/// What became of one session.
enum Graded {
    /// The scorer has all that it needs.
    HandedIn,
    /// The model is not asked any more, and why.
    Stopped(Stopped),
}

/// Why the model is not asked any more. What the endpoint says to a call that grades is in no error.
struct Stopped {
    stop: Stop,
    why: String,
}

impl Grading {
    /// Grades in plan order. Once the run is to wind down or the model is not asked any more, no
    /// further session is begun with, and it stays unscored; so do those in flight when the run is
    /// interrupted.
    pub async fn perform(&self, last: &mut Last) {
        let interrupted = self.shutdown.interrupt.cancelled();
        let database = self.hub.past.database();
        tokio::select! {
            graded = self.all() => match graded {
                Ok(None) => {}
                // Why it winds down is said below.
                Ok(Some(Stopped { stop: Stop::Ending, .. })) => {}
                Ok(Some(Stopped { stop, why })) => {
                    tracing::warn!(reason = why, "grading stopped");
                    let parked = Write::Parked {
                        what: "score.judge".into(),
                        reason: why.as_str().into(),
                        ts: self.hub.clock.now(),
                    };
                    last.parked.push(format!("score.judge is not asked any more: {why}"));
                    if stop == Stop::Run {
                        last.wind_down = Some(WindDown::Money);
                    }
                    // A store that is lost says so when it is closed.
                    drop(self.hub.store.post(vec![parked]).await);
                }
                Err(error) => last.fatal = Some(error),
            },
            () = interrupted => {}
            () = gone(database) => last.fatal = Some(store::gone(database)),
            () = self.shows_wind_down() => {}
        }
        self.hub.tally().to_grade = 0;
        let Shutdown {
            wind_down,
            interrupt,
            ..
        } = &self.shutdown;
        if wind_down.is_cancelled() || interrupt.is_cancelled() {
            // Those who do not say why are those who asked.
            let why = self.why.get().copied().unwrap_or(WindDown::Asked);
            last.wind_down.get_or_insert(why);
        }
    }

    /// Lets progress show that the run winds down; never over.
    async fn shows_wind_down(&self) {
        self.shutdown.wind_down.cancelled().await;
        self.hub.tally().winding_down = true;
        std::future::pending().await
    }

    /// Gives why the model is not asked any more, if that is so.
    async fn all(&self) -> Result<Option<Stopped>> {
        let pending = call!(self.scorer, score::Message::Pending).internal(broke)?;
        if !pending.is_empty() {
            tracing::info!(sessions = pending.len(), "grading begins");
        }
        self.hub.tally().to_grade = pending.len();
        let mut waiting = pending.into_iter().map(SessionId);
        let mut at_work = FuturesUnordered::new();
        let mut stopped = None;
        loop {
            while at_work.len() < self.at_once
                && stopped.is_none()
                && !self.shutdown.wind_down.is_cancelled()
                && let Some(id) = waiting.next()
            {
                at_work.push(self.one(id));
            }
            match at_work.next().await {
                None => return Ok(stopped),
                Some(Ok(Graded::HandedIn)) => self.hub.tally().to_grade -= 1,
                Some(Ok(Graded::Stopped(why))) => drop(stopped.get_or_insert(why)),
                Some(Err(error)) => return Err(error),
            }
        }
    }

    async fn one(&self, id: SessionId) -> Result<Graded> {
        let (attempt, record) = self.hub.past.ended(&self.hub.plan, id).await?;
        let record = Arc::new(record);
        let questions = call!(self.scorer, |reply| score::Message::Questions {
            record: record.clone(),
            reply
        });
        let mut grades = Vec::new();
        let watched = Watched::begin(&self.hub, id);
        for question in questions.internal(broke)? {
            let asked = self.ask(watched.caller(attempt), &record.key, id, &question);
            let grade = match asked.await {
                Ok(grade) => Ok(grade),
                Err(error) => match error.kind {
                    ModelErrorKind::Stopped(stop) => {
                        let why = error.message;
                        return Ok(Graded::Stopped(Stopped { stop, why }));
                    }
                    ModelErrorKind::BooksLost => {
                        // Only the store knows what became of it.
                        self.hub.store.commit(Vec::new()).await?;
                        return Err(Error::internal("the books of money cannot be written"));
                    }
                    kind => Err(format!("{}: {}", self.judge.name(), in_words(kind))),
                },
            };
            let is_last = grade.is_err();
            grades.push(grade);
            if is_last {
                break;
            }
        }
        // The aggregator hears of it before the verdict can be there. One that is gone is told of
        // when all is closed, and so is the scorer.
        let grading = aggregate::Message::Grading(id, attempt);
        drop(self.hub.aggregator.cast(grading));
        let ticket = id.0;
        drop(self.scorer.cast(score::Message::Graded {
            ticket,
            record,
            grades,
        }));
        Ok(Graded::HandedIn)
    }

    async fn ask(
        &self,
        caller: Caller,
        key: &SessionKey,
        id: SessionId,
        question: &Question,
    ) -> Result<Grade, ModelError> {
        let plan = &self.hub.plan;
        let task = &plan.cases[plan.grid.cell(id).case].case.task;
        let mut parts = vec![Part::new("task", task)];
        parts.extend(question.parts().map(|(name, text)| Part::new(name, text)));
        let asked = Asked {
            case: &key.case,
            seed: key.seed,
            rng_seed: plan.rng_seed(id),
            rubric: question.rubric(),
            parts: &parts,
        };
        let graded = self.judge.ask(&asked, &caller).await?;
        Ok(Grade {
            score: graded.score,
            passed: graded.passed,
        })
    }
}

/// A session that is being graded, shown until this is dropped.
struct Watched<'a> {
    hub: &'a Hub,
    id: SessionId,
    watch: Arc<Watch>,
}

impl<'a> Watched<'a> {
    fn begin(hub: &'a Hub, id: SessionId) -> Self {
        let watch = hub.watches.begin(id, &hub.clock);
        watch.is_at(Activity::Scorer);
        Self { hub, id, watch }
    }

    fn caller(&self, attempt: u32) -> Caller {
        Caller {
            on_behalf: OnBehalf {
                session: Some(self.id),
                attempt,
                turn: 0,
                purpose: Purpose::Grade,
            },
            watch: self.watch.clone(),
            purse: None,
        }
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.hub.watches.end(self.id);
    }
}

/// Why a session was not graded. What the endpoint said may hold what it was asked.
fn in_words(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::NoReply => "it gave no grade that can be read",
        ModelErrorKind::Context => "the session is longer than its context",
        kind => kind.as_str(),
    }
}

fn broke() -> String {
    "the scorer broke".to_owned()
}
