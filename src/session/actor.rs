//! Performs the effects of the machine: asks, keeps, runs. One turn a message.

use std::{collections::VecDeque, path::PathBuf, sync::Arc, time::Duration};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::time::sleep;

use self::stopwatch::Stopwatch;
use super::{
    replay::{StoredTurn, replay},
    spec::Spec,
    step::{Effect, Event, Machine},
};
use crate::{
    domain::{
        Activity, Clock, OnBehalf, Outcome, Purpose, SessionId, SessionKey, SessionRecord, trace,
    },
    model::{
        Caller, Conversation, Model, ModelError, ModelErrorKind, Purse, Reply, Request, Retry,
        Watch,
    },
    store::{At, Handle, StoreLost, Write},
    tool::{SessionFiles, ToolContext},
};

mod calling;
mod judging;
mod stopwatch;

/// All that a session needs; it knows nothing else of the run.
pub struct Job {
    /// Its number.
    pub id: SessionId,
    /// Its name.
    pub key: SessionKey,
    /// The number behind its randomness.
    pub rng_seed: u64,
    /// How often it began anew.
    pub attempt: u32,
    /// Limits, tools and verifiers.
    pub spec: Arc<Spec>,
    /// What answers.
    pub model: Arc<dyn Model>,
    /// Prompt and task.
    pub conversation: Conversation,
    /// The task, for a judge; empty where there is none.
    pub task: String,
    /// The folder to copy for it, and where to.
    pub files: Option<(PathBuf, PathBuf)>,
    /// Where its servers may have folders.
    pub work: PathBuf,
    /// Durable turns to go on from.
    pub history: Vec<StoredTurn>,
    /// Backoff before it goes on.
    pub delay: Duration,
    /// Where its turns are kept.
    pub store: Handle,
    /// Where its times come from.
    pub clock: Clock,
    /// Shows what it is at.
    pub watch: Arc<Watch>,
    /// What it may spend, if that is limited.
    pub purse: Option<Arc<Purse>>,
    /// Test hook: panics when this turn begins.
    pub panic_at: Option<u32>,
}

/// What is left of a session that ended.
pub struct Finished {
    /// What the scorer is given.
    pub record: SessionRecord,
    /// Its folder; removed when this is dropped.
    pub files: Option<SessionFiles>,
}

/// The actor of one session.
pub struct SessionActor;

/// The next turn is due.
pub struct NextTurn;

/// The actor's state; what it leaves behind travels in it.
pub struct State {
    id: SessionId,
    key: SessionKey,
    attempt: u32,
    rng_seed: u64,
    spec: Arc<Spec>,
    model: Arc<dyn Model>,
    task: String,
    store: Handle,
    clock: Clock,
    panic_at: Option<u32>,
    machine: Machine,
    todo: VecDeque<Effect>,
    /// What it goes on from; taken when it begins.
    start: Option<Start>,
    context: ToolContext,
    files: Option<SessionFiles>,
    /// The turn that the model replied to last, until it is kept.
    turn: Option<Write>,
    /// What the judge said last, until it is kept.
    judged: Option<Write>,
    writes: Vec<Write>,
    watch: Arc<Watch>,
    purse: Option<Arc<Purse>>,
    worked: Stopwatch,
    /// How it ended; none while it runs, and when it was killed.
    pub exit: Option<Exit>,
}

struct Start {
    delay: Duration,
    files: Option<(PathBuf, PathBuf)>,
    history: Vec<StoredTurn>,
}

/// How a session actor ended.
pub enum Exit {
    /// The session has ended, and that is durable.
    Finished(Box<Finished>),
    /// No further call is made for it, to do this; what is durable of it stays.
    Stopped(ModelError, Purpose),
    /// Its model gave no reply, and why: it may fare better when it goes on.
    Broken(String),
    /// A server of its tools did not come up, and why: it may fare better when it goes on.
    ServerLost(String),
    /// A server has other tools than those that the run began with: none of its sessions can go on.
    ToolsChanged(String),
    /// The store is gone.
    StoreLost(StoreLost),
}

impl Actor for SessionActor {
    type Msg = NextTurn;
    type State = State;
    type Arguments = Job;

    async fn pre_start(
        &self,
        myself: ActorRef<NextTurn>,
        job: Job,
    ) -> Result<State, ActorProcessingErr> {
        myself.cast(NextTurn)?;
        Ok(State::new(job))
    }

    async fn handle(
        &self,
        myself: ActorRef<NextTurn>,
        _: NextTurn,
        state: &mut State,
    ) -> Result<(), ActorProcessingErr> {
        if let Some(start) = state.start.take() {
            state.begin(start).await?;
        }
        match state.turn().await {
            Ok(()) => myself.cast(NextTurn)?,
            Err(exit) => {
                state.let_go().await;
                state.exit = Some(exit);
                myself.stop(None);
            }
        }
        Ok(())
    }
}

impl State {
    fn new(job: Job) -> Self {
        let Job {
            id,
            key,
            rng_seed,
            attempt,
            spec,
            model,
            conversation,
            task,
            ..
        } = job;
        Self {
            id,
            key,
            attempt,
            rng_seed,
            machine: Machine::new(spec.clone(), conversation),
            spec,
            model,
            task,
            worked: Stopwatch::from(0.0, job.watch.clone()),
            watch: job.watch,
            purse: job.purse,
            store: job.store,
            clock: job.clock,
            panic_at: job.panic_at,
            todo: VecDeque::new(),
            start: Some(Start {
                delay: job.delay,
                files: job.files,
                history: job.history,
            }),
            context: ToolContext {
                work: Some(job.work),
                ..ToolContext::default()
            },
            files: None,
            turn: None,
            judged: None,
            writes: Vec::new(),
            exit: None,
        }
    }

    /// Makes the session's folder and goes through what is durable.
    async fn begin(&mut self, start: Start) -> Result<(), ActorProcessingErr> {
        let turns = start.history.len();
        tracing::debug!(key = %self.key, attempt = self.attempt, turns, "session begins");
        if !start.delay.is_zero() {
            let _waiting = self.watch.waits(Activity::Backoff, Some(start.delay));
            sleep(start.delay).await;
        }
        if let Some((from, to)) = start.files {
            let files =
                tokio::task::spawn_blocking(move || SessionFiles::copy(&from, to)).await??;
            self.context.files = Some(files.dir());
            self.context.folder = Some(files.path().to_owned());
            self.files = Some(files);
        }
        if start.history.is_empty() {
            let begin = Write::Begin {
                session: self.id,
                attempt: self.attempt,
                ts: self.clock.now(),
            };
            // That it has begun is to be seen at once, but nothing waits for it. A store that is
            // lost says so again when the first reply is kept.
            drop(self.store.post(vec![begin]).await);
        }
        let before_s = start.history.last().map_or(0.0, StoredTurn::work_s);
        self.worked = Stopwatch::from(before_s, self.watch.clone());
        self.todo = replay(&mut self.machine, start.history).into();
        Ok(())
    }

    /// Performs effects up to the next request.
    ///
    /// # Errors
    /// How the session ended, once it has.
    async fn turn(&mut self) -> Result<(), Exit> {
        loop {
            let event = match self.next_effect() {
                Effect::Ask => Some(self.ask().await?),
                Effect::KeepTurn => {
                    self.writes.extend(self.turn.take());
                    None
                }
                Effect::KeepSteps(steps) => {
                    self.keep_steps(&steps);
                    None
                }
                Effect::Judge(steps) => {
                    self.flush().await?;
                    Some(self.judge(&steps).await?)
                }
                Effect::KeepJudgments => {
                    self.writes.extend(self.judged.take());
                    None
                }
                Effect::Run(calls) => {
                    self.flush().await?;
                    self.ready(&calls).await?;
                    Some(self.run(&calls).await)
                }
                Effect::End(outcome) => {
                    let finished = self.end(outcome).await?;
                    return Err(Exit::Finished(Box::new(finished)));
                }
            };
            if let Some(event) = event {
                self.todo.extend(self.machine.step(event));
            }
            if matches!(self.todo.front(), Some(Effect::Ask)) {
                self.flush().await?;
                return Ok(());
            }
        }
    }

    #[expect(
        clippy::expect_used,
        reason = "each event leads to Ask, Run, Judge or End; a bug here ends one session"
    )]
    fn next_effect(&mut self) -> Effect {
        self.todo
            .pop_front()
            .expect("the machine says what is next")
    }

    async fn ask(&mut self) -> Result<Event, Exit> {
        #[expect(clippy::panic, reason = "the test hook of crashing sessions")]
        if self.panic_at == Some(self.machine.turn()) {
            panic!("panicked on purpose in turn {}", self.machine.turn());
        }
        let (attempt, turn) = (self.attempt, self.machine.turn());
        tracing::debug!(key = %self.key, attempt, turn, "asks");
        let caller = self.caller(turn, Purpose::Turn);
        let request = Request {
            case: &self.key.case,
            seed: self.key.seed,
            rng_seed: self.rng_seed,
            conversation: self.machine.conversation(),
            caller: &caller,
        };
        self.watch.is_at(Activity::Thinking);
        let max_s = self.spec.limits.max_seconds;
        let Some(replied) = self
            .worked
            .within(max_s, self.model.complete(&request))
            .await
        else {
            return Ok(Event::TimeUp);
        };
        match replied {
            Ok(reply) => Ok(self.replied(reply)),
            Err(error) => self.failed(error, Purpose::Turn).await,
        }
    }

    fn caller(&self, turn: u32, purpose: Purpose) -> Caller {
        Caller {
            on_behalf: OnBehalf {
                session: Some(self.id),
                attempt: self.attempt,
                turn,
                purpose,
            },
            watch: self.watch.clone(),
            // What a judge costs is not the session's.
            purse: self.purse.clone().filter(|_| purpose == Purpose::Turn),
        }
    }

    /// What an error of a model that was asked to do this means for the session.
    async fn failed(&mut self, error: ModelError, asked: Purpose) -> Result<Event, Exit> {
        let broken = |error: &ModelError| match asked {
            Purpose::Judge => Exit::Broken(format!("judge: {error}")),
            _ => Exit::Broken(error.to_string()),
        };
        match (error.kind, error.retry) {
            (ModelErrorKind::Stopped(_), _) => Err(Exit::Stopped(error, asked)),
            // Only the store knows what became of it.
            (ModelErrorKind::BooksLost, _) => {
                self.store.commit(Vec::new()).await?;
                Err(broken(&error))
            }
            (_, Retry::Later) => Err(broken(&error)),
            _ => Ok(Event::Failed(error)),
        }
    }

    fn replied(&mut self, reply: Reply) -> Event {
        let Reply {
            body,
            content,
            latency,
        } = reply;
        let work_s = self.worked.seconds();
        let turn = trace::Turn {
            reply: body,
            request_sha256: self.machine.conversation().digest(),
            repairs: content
                .repairs
                .iter()
                .map(|r| r.as_str().to_owned())
                .collect(),
            finish: content.finish.clone(),
            refused: content.refused,
            usage: content.usage,
            served: content.served.clone(),
            latency_s: trace::seconds(latency),
            waits: self.watch.take_waits(),
        };
        let of = (self.id, self.attempt);
        let cost_usd = self.model.cost(content.usage.as_ref());
        let at = At {
            work_s,
            ts: self.clock.now(),
        };
        self.turn = Some(Write::turn(of, self.machine.turn(), &turn, cost_usd, at));
        Event::Replied {
            cost_usd,
            work_s,
            reply: content,
        }
    }

    fn keep_steps(&mut self, steps: &[trace::Step]) {
        let of = (self.id, self.attempt);
        let at = At {
            work_s: self.worked.seconds(),
            ts: self.clock.now(),
        };
        for step in steps {
            let tool = step.decision.tool_call.as_ref().map(|call| &*call.tool);
            let failed = step.is_failed();
            tracing::debug!(key = %self.key, step = step.step, tool, failed, "step");
        }
        self.writes
            .extend(steps.iter().map(|step| Write::step(of, step, at)));
    }

    async fn end(&mut self, outcome: Outcome) -> Result<Finished, StoreLost> {
        // Whatever looks at its folder later finds nobody at work there.
        self.let_go().await;
        let outcome = Arc::new(outcome);
        self.writes.push(Write::End {
            session: self.id,
            attempt: self.attempt,
            outcome: outcome.clone(),
            work_s: self.worked.seconds(),
            waits: self.watch.take_waits(),
            ts: self.clock.now(),
        });
        self.flush().await?;
        let steps = self.machine.take_facts();
        let record = SessionRecord {
            key: self.key.clone(),
            outcome,
            steps,
        };
        Ok(Finished {
            record,
            files: self.files.take(),
        })
    }

    async fn flush(&mut self) -> Result<(), StoreLost> {
        if self.writes.is_empty() {
            return Ok(());
        }
        self.store.commit(std::mem::take(&mut self.writes)).await
    }
}

impl From<StoreLost> for Exit {
    fn from(lost: StoreLost) -> Self {
        Self::StoreLost(lost)
    }
}
