//! Whole runs in process, over a real store, with models and tools that misbehave on cue.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Map, Value, json, value::to_raw_value};
use tokio::time::timeout;

use super::{on_record::Wish, *};
use crate::{
    domain::{BoxFuture, Case, Ledger, Limits, Observation, SessionId, Status, ToolSpec},
    model::{Judge, Model, ModelError, Options, Reply, Request},
    score::load,
    store::{Options as StoreOptions, Reader, SessionRow, Store, Totals},
    tool::{Registry, Tool, ToolContext},
    verify::{DEFAULT, Verifiers},
};

mod crashing;
mod ending;
mod flow;
mod grading;
mod judge;
mod judging;
mod killing;
mod resuming;
mod waiting;
mod watching;

/// What a plain resume wishes for.
const RESUME: Wish = Wish {
    keep_errors: false,
    is_scored: true,
};

/// What any test may take at most, on a machine that is busy with other things.
const PATIENCE: Duration = Duration::from_secs(120);

/// Waits for something that is to happen.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future).await.expect("it hangs")
}

/// One request, as a model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Ask {
    case: String,
    seed: u64,
    turn: u64,
}

/// What a model does before it replies.
type Before = dyn Fn(Ask) -> BoxFuture<'static, ()> + Send + Sync;

/// Replies from one script for all cases, the last entry for ever, and counts what it is asked. A
/// message may say its `usage`.
struct TestModel {
    script: Vec<Value>,
    before: Box<Before>,
    asked: Mutex<HashMap<Ask, u32>>,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl TestModel {
    fn new(
        script: impl IntoIterator<Item = Value>,
        before: impl Fn(Ask) -> BoxFuture<'static, ()> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            script: script.into_iter().collect(),
            before: Box::new(before),
            asked: Mutex::default(),
            now: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        })
    }

    /// Replies at once.
    fn ready(script: impl IntoIterator<Item = Value>) -> Arc<Self> {
        Self::new(script, |_| Box::pin(std::future::ready(())))
    }

    /// How often it was asked for each turn of a session.
    fn asks(&self, case: &str, seed: u64) -> Vec<u32> {
        let asked = self.asked.lock().unwrap();
        let of = |turn| {
            let case = case.to_owned();
            asked.get(&Ask { case, seed, turn }).copied()
        };
        (0..).map_while(of).collect()
    }

    /// The most requests that it had at once.
    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

impl Model for TestModel {
    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        let ask = Ask {
            case: request.case.to_string(),
            seed: request.seed,
            turn: request.conversation.assistant_count(),
        };
        *self.asked.lock().unwrap().entry(ask.clone()).or_default() += 1;
        Box::pin(async move {
            let turn = ask.turn as usize;
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            (self.before)(ask).await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            let message = self.script.get(turn).or(self.script.last()).unwrap();
            let body = json!({"choices": [{"message": message}], "usage": message["usage"]});
            let body = to_raw_value(&body).unwrap();
            Reply::parse(body.into(), Options::default(), Duration::ZERO)
        })
    }
}

fn answer(text: &str) -> Value {
    json!({"content": text})
}

/// `count` calls of `tool` at once.
fn calls(tool: &str, count: usize) -> Value {
    let calls: Vec<Value> = (0..count)
        .map(|i| json!({"id": format!("c{i}"), "function": {"name": tool, "arguments": "{}"}}))
        .collect();
    json!({"content": null, "tool_calls": calls})
}

type Body = dyn Fn(ToolContext) -> BoxFuture<'static, Observation> + Send + Sync;

struct TestTool {
    spec: ToolSpec,
    body: Box<Body>,
}

impl Tool for TestTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, _: &'a Value, context: &'a ToolContext) -> BoxFuture<'a, Observation> {
        (self.body)(context.clone())
    }
}

/// A tool that takes no arguments.
fn tool(
    name: &str,
    resumable: bool,
    body: impl Fn(ToolContext) -> BoxFuture<'static, Observation> + Send + Sync + 'static,
) -> Arc<dyn Tool> {
    Arc::new(TestTool {
        spec: ToolSpec {
            name: name.to_owned(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            resumable,
            hints: crate::domain::Hints::default(),
        },
        body: Box::new(body),
    })
}

/// A tool whose work is done when it is called.
fn quick(name: &str, body: impl Fn() -> Observation + Send + Sync + 'static) -> Arc<dyn Tool> {
    let body = Arc::new(body);
    tool(name, true, move |_| {
        let body = body.clone();
        Box::pin(async move { body() })
    })
}

/// A run that has not begun: every case has the same checks, and passes when its answer is `done`
/// unless a test says otherwise.
struct Farm {
    folder: tempfile::TempDir,
    cases: Vec<PlannedCase>,
    variants: Vec<Variant>,
    seeds: u64,
    registry: Registry,
    concurrency: usize,
    unscored: bool,
    checks: Value,
    judge: Option<Arc<dyn Model>>,
    hooks: Hooks,
    shutdown: Shutdown,
    store: Arc<Mutex<Option<Store>>>,
    /// What is left of an earlier run in the same folder.
    on_record: Option<OnRecord>,
}

/// A run that is at work.
struct AtWork {
    run: Option<Run>,
    store: Arc<Mutex<Option<Store>>>,
    tally: Arc<Mutex<Tally>>,
    grid: Grid,
    folder: tempfile::TempDir,
}

/// A run that is over.
struct Over {
    ended: Result<Ended>,
    tally: Tally,
    grid: Grid,
    reader: Reader,
    folder: tempfile::TempDir,
}

impl Farm {
    fn new(cases: &[&str], seeds: u64, model: Arc<dyn Model>) -> Self {
        let cases = cases.iter().map(|id| PlannedCase {
            case: Case {
                id: id.parse().unwrap(),
                task: "Do it.".to_owned(),
                max_steps: None,
                tools: None,
                files: None,
                tags: Vec::new(),
                cluster: None,
                script: None,
                metadata: Map::new(),
            },
            files: None,
        });
        Self {
            folder: tempfile::tempdir().unwrap(),
            cases: cases.collect(),
            variants: vec![variant("v", model)],
            seeds,
            registry: Registry::default(),
            concurrency: 4,
            unscored: false,
            checks: json!([{"kind": "answer_equals", "text": "done"}]),
            judge: None,
            hooks: Hooks::default(),
            shutdown: Shutdown::default(),
            store: Arc::default(),
            on_record: None,
        }
    }

    /// Goes on where an earlier run of the same plan was left.
    fn after(mut self, over: Over, wish: Wish) -> Self {
        self.on_record = Some(OnRecord::of(over.reader.states().unwrap(), wish));
        self.folder = over.folder;
        self
    }

    /// Adds a tool to the sessions of these cases.
    fn with_tool(mut self, cases: &[&str], tool: Arc<dyn Tool>) -> Self {
        let name = tool.spec().name.clone();
        self.registry.add(tool).unwrap();
        for planned in &mut self.cases {
            if cases.contains(&planned.case.id.as_str()) {
                planned
                    .case
                    .tools
                    .get_or_insert_default()
                    .push(name.clone());
            }
        }
        self
    }

    fn sealed(&self) -> SealedSuite {
        let path = self.folder.path().join("sealed.jsonl");
        let ids: Vec<_> = self.cases.iter().map(|c| c.case.id.clone()).collect();
        let line = |id| json!({"id": id, "checks": self.checks});
        let lines: Vec<String> = ids.iter().map(|id| line(id).to_string()).collect();
        std::fs::write(&path, lines.join("\n")).unwrap();
        load(&path, &ids).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    async fn run(self) -> Over {
        self.start().await.over().await
    }

    async fn start(self) -> AtWork {
        self.try_start().await.unwrap()
    }

    async fn try_start(self) -> Result<AtWork> {
        let sealed = (!self.unscored).then(|| self.sealed());
        let plan = Plan::new(self.cases, self.variants, 0..self.seeds, 0, &self.registry).unwrap();
        let grid = plan.grid.clone();
        let database = self.folder.path().join("farm.db");
        let options = StoreOptions::default();
        let store = match self.on_record {
            Some(_) => Store::open(&database, "r", &grid, options).unwrap(),
            None => Store::create(&database, "r", &grid, options).unwrap(),
        };
        let before = Reader::open(&database).unwrap().totals().unwrap();
        let tally = Arc::new(Mutex::new(Tally {
            restarts: before.restarts,
            ..Tally::of(&grid)
        }));
        let setup = Setup {
            store: store.handle(),
            database,
            work: self.folder.path().join("work"),
            sealed,
            judge: self
                .judge
                .map(|model| Judge::new(model, "model j", &Map::new())),
            concurrency: self.concurrency,
            on_record: self.on_record.unwrap_or_default(),
            shutdown: self.shutdown,
            clock: Clock::fixed(1.0),
            tally: tally.clone(),
            hooks: self.hooks,
        };
        *self.store.lock().unwrap() = Some(store);
        Ok(AtWork {
            run: Some(Run::start(plan, setup).await?),
            store: self.store,
            tally,
            grid,
            folder: self.folder,
        })
    }
}

impl AtWork {
    async fn kill(&self, key: &str) -> Kill {
        soon(self.run().kill(&key.parse().unwrap())).await.unwrap()
    }

    fn run(&self) -> &Run {
        self.run.as_ref().unwrap()
    }

    /// Waits until progress shows this.
    async fn until(&self, is_so: impl Fn(&Tally) -> bool) {
        let seen = async {
            while !is_so(&self.tally.lock().unwrap()) {
                tokio::task::yield_now().await;
            }
        };
        soon(seen).await;
    }

    async fn over(self) -> Over {
        let ended = soon(self.run().wait()).await;
        let store = self.store.lock().unwrap().take();
        if let Some(store) = store {
            soon(store.join()).await.unwrap();
        }
        let tally = self.tally.lock().unwrap().clone();
        Over {
            ended,
            tally,
            grid: self.grid,
            reader: Reader::open(&self.folder.path().join("farm.db")).unwrap(),
            folder: self.folder,
        }
    }
}

fn variant(name: &str, model: Arc<dyn Model>) -> Variant {
    Variant {
        name: name.parse().unwrap(),
        model,
        endpoint: name.to_owned(),
        account: name.to_owned(),
        prompt: "Be brief.".to_owned(),
        tools: Vec::new(),
        limits: Limits::default(),
        verifiers: Verifiers::new(DEFAULT).unwrap(),
        judge: None,
        parameters: Map::new(),
        options: Options::default(),
        send_reasoning: false,
    }
}

impl Over {
    /// The ledger of a run that went well: every session is in it once, every credit is back, and
    /// what progress showed is what is durable.
    fn ledger(&self) -> Ledger {
        let ended = self.ended.as_ref().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(ended.credits_out, 0);
        let ledger = self.reader.ledger(&self.grid).unwrap();
        assert!(ledger.adds_up(), "{ledger:?}");
        assert_eq!(self.tally.ledger, ledger);
        assert_eq!(self.tally.in_flight, 0);
        assert_eq!(self.tally.restarts, self.totals().restarts);
        assert!(!self.folder.path().join("work").exists());
        ledger
    }

    fn totals(&self) -> Totals {
        self.reader.totals().unwrap()
    }

    fn wind_down(&self) -> Option<WindDown> {
        self.ended.as_ref().unwrap().wind_down
    }

    fn id(&self, case: &str, seed: u64) -> SessionId {
        let key = format!("v/{case}/{seed}").parse().unwrap();
        self.grid.find(&key).unwrap()
    }

    fn session(&self, case: &str, seed: u64) -> Option<SessionRow> {
        self.reader.session(self.id(case, seed)).unwrap()
    }

    fn outcome(&self, case: &str, seed: u64) -> crate::domain::Outcome {
        self.session(case, seed).unwrap().outcome.unwrap()
    }

    /// Durable turns and steps of an attempt.
    fn durable(&self, case: &str, seed: u64, attempt: u32) -> (usize, usize) {
        let id = self.id(case, seed);
        let turns = self.reader.turns(id, attempt).unwrap().len();
        (turns, self.reader.steps(id, attempt).unwrap().len())
    }
}

/// A plan of that many variants, cases and seeds.
pub(super) fn plan_of(variants: usize, cases: usize, seeds: u64) -> Plan {
    let model = TestModel::ready([]);
    let cases = (0..cases).map(|n| PlannedCase {
        case: serde_json::from_value(json!({"id": format!("c{n}"), "task": "a task"})).unwrap(),
        files: None,
    });
    let variants = (0..variants).map(|n| variant(&format!("v{n}"), model.clone()));
    let registry = Registry::default();
    Plan::new(cases.collect(), variants.collect(), 0..seeds, 0, &registry).unwrap()
}

/// The ledger of a plan in which nothing else happened.
fn ledger(passed: u64, errored: u64, not_run: u64) -> Ledger {
    Ledger {
        planned: passed + errored + not_run,
        passed,
        errored,
        not_run,
        ..Ledger::default()
    }
}
