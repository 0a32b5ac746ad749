//! Performs the effects of the machine: asks, keeps, runs. One turn a message.

use std::{collections::VecDeque, path::PathBuf, sync::Arc, time::Duration};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::time::{Instant, error::Elapsed, sleep, timeout};

use super::{
    replay::{StoredTurn, replay},
    spec::Spec,
    step::{Effect, Event, Machine},
};
use crate::{
    domain::{Call, Clock, Observation, Outcome, SessionId, SessionKey, SessionRecord, trace},
    model::{Conversation, Model, Reply, Request},
    store::{At, Handle, StoreLost, Write},
    tool::{SessionFiles, ToolContext},
};

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
    /// The folder to copy for it, and where to.
    pub files: Option<(PathBuf, PathBuf)>,
    /// Durable turns to go on from.
    pub history: Vec<StoredTurn>,
    /// Backoff before it goes on.
    pub delay: Duration,
    /// Where its turns are kept.
    pub store: Handle,
    /// Where its times come from.
    pub clock: Clock,
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
    writes: Vec<Write>,
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
            Ok(None) => myself.cast(NextTurn)?,
            Ok(Some(finished)) => {
                state.exit = Some(Exit::Finished(Box::new(finished)));
                myself.stop(None);
            }
            Err(lost) => {
                state.exit = Some(Exit::StoreLost(lost));
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
            store: job.store,
            clock: job.clock,
            panic_at: job.panic_at,
            todo: VecDeque::new(),
            start: Some(Start {
                delay: job.delay,
                files: job.files,
                history: job.history,
            }),
            context: ToolContext::default(),
            files: None,
            turn: None,
            writes: Vec::new(),
            worked: Stopwatch::from(0.0),
            exit: None,
        }
    }

    /// Makes the session's folder and goes through what is durable.
    async fn begin(&mut self, start: Start) -> Result<(), ActorProcessingErr> {
        let turns = start.history.len();
        tracing::debug!(key = %self.key, attempt = self.attempt, turns, "session begins");
        sleep(start.delay).await;
        if let Some((from, to)) = start.files {
            let files =
                tokio::task::spawn_blocking(move || SessionFiles::copy(&from, to)).await??;
            self.context.files = Some(files.dir());
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
        self.worked = Stopwatch::from(start.history.last().map_or(0.0, |turn| turn.acted_s));
        self.todo = replay(&mut self.machine, start.history).into();
        Ok(())
    }

    /// Performs effects up to the next request; the record of the session once it has ended.
    async fn turn(&mut self) -> Result<Option<Finished>, StoreLost> {
        loop {
            let event = match self.next_effect() {
                Effect::Ask => Some(self.ask().await),
                Effect::KeepTurn => {
                    self.writes.extend(self.turn.take());
                    None
                }
                Effect::KeepSteps(steps) => {
                    self.keep_steps(&steps);
                    None
                }
                Effect::Run(calls) => {
                    self.flush().await?;
                    Some(self.run(&calls).await)
                }
                Effect::End(outcome) => return self.end(outcome).await.map(Some),
            };
            if let Some(event) = event {
                self.todo.extend(self.machine.step(event));
            }
            if matches!(self.todo.front(), Some(Effect::Ask)) {
                self.flush().await?;
                return Ok(None);
            }
        }
    }

    #[expect(
        clippy::expect_used,
        reason = "each event leads to Ask, Run or End; a bug here ends one session"
    )]
    fn next_effect(&mut self) -> Effect {
        self.todo
            .pop_front()
            .expect("the machine says what is next")
    }

    async fn ask(&mut self) -> Event {
        #[expect(clippy::panic, reason = "the test hook of crashing sessions")]
        if self.panic_at == Some(self.machine.turn()) {
            panic!("panicked on purpose in turn {}", self.machine.turn());
        }
        let (attempt, turn) = (self.attempt, self.machine.turn());
        tracing::debug!(key = %self.key, attempt, turn, "asks");
        let request = Request {
            case: &self.key.case,
            seed: self.key.seed,
            rng_seed: self.rng_seed,
            conversation: self.machine.conversation(),
        };
        let Ok(replied) = within(self.time_left(), self.model.complete(&request)).await else {
            return Event::TimeUp;
        };
        match replied {
            Ok(reply) => self.replied(reply),
            Err(error) => Event::Failed(error),
        }
    }

    fn replied(&mut self, reply: Reply) -> Event {
        let Reply { body, content, .. } = reply;
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

    /// Runs calls at the same time. One that outlives `max_seconds` is dropped.
    async fn run(&self, calls: &[Call]) -> Event {
        let left = self.time_left();
        let runs = calls.iter().map(async |call| {
            let (Some(entry), Ok(args)) = (self.spec.tools.get(&call.tool), &call.args) else {
                return Observation::error(format!("no tool {:?} takes such arguments", call.tool));
            };
            within(left, entry.tool().call(args, &self.context))
                .await
                .unwrap_or_else(|_| {
                    Observation::error("stopped: the session's time (max_seconds) is up")
                })
        });
        let observations = futures_util::future::join_all(runs).await;
        Event::Observed {
            observations,
            work_s: self.worked.seconds(),
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
        let outcome = Arc::new(outcome);
        self.writes.push(Write::End {
            session: self.id,
            attempt: self.attempt,
            outcome: outcome.clone(),
            work_s: self.worked.seconds(),
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

    /// None when no limit binds, as one that is longer than a [`Duration`] can be.
    fn time_left(&self) -> Option<Duration> {
        let left = self.spec.limits.max_seconds? - self.worked.seconds();
        Duration::try_from_secs_f64(left.max(0.0)).ok()
    }
}

/// Working time: it goes on where the session was interrupted.
struct Stopwatch {
    since: Instant,
    before_s: f64,
}

impl Stopwatch {
    fn from(before_s: f64) -> Self {
        Self {
            since: Instant::now(),
            before_s,
        }
    }

    fn seconds(&self) -> f64 {
        self.before_s + self.since.elapsed().as_secs_f64()
    }
}

async fn within<T>(left: Option<Duration>, future: impl Future<Output = T>) -> Result<T, Elapsed> {
    match left {
        Some(left) => timeout(left, future).await,
        None => Ok(future.await),
    }
}
