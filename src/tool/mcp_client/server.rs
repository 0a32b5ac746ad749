//! A server of tools: what it is held to, and how many processes it has.

use std::{
    path::Path,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use rmcp::model::{JsonObject, Tool};
use tokio::{
    sync::{Mutex as AsyncMutex, Semaphore},
    time::timeout,
};
use tokio_util::task::TaskTracker;

use super::{
    connection::{Greeting, NoList},
    launch::Launched,
    list::{Listed, listed},
    process::{Folder, Process, Processes},
    start::{ServerCommand, Start},
    tool::tools,
};
use crate::{
    domain::{Observation, Redactor, Scope},
    tool::{self, ToolContext},
};

/// How long a run waits at its end for what does not want to end.
const PATIENCE: Duration = Duration::from_secs(15);

/// After so long a process of the run is asked for its tools again.
const CHECKED: Duration = Duration::from_secs(60);

/// What can be chosen about a server.
#[derive(Debug, Clone)]
pub struct McpOptions {
    /// Its tools are called `NAME__tool`.
    pub name: String,
    /// For whom a process is.
    pub share: Scope,
    /// The most processes at the same time, at least 1.
    pub max_processes: usize,
    /// Whether a session that called it may go on with a new process.
    pub resumable: bool,
    /// How long it may take until it has said which tools it has.
    pub start_timeout: Duration,
    /// How long a call may take.
    pub timeout: Duration,
    /// The longest result that is taken, in bytes.
    pub max_bytes: usize,
    /// Takes its secrets out of what it says.
    pub redactor: Redactor,
}

/// Why a server cannot be called, through no fault of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerLost {
    /// It did not come up.
    #[error("server {server} cannot be used: {why}")]
    NotStarted {
        /// Its name.
        server: String,
        /// Why, in words.
        why: String,
    },
    /// It says something else of its tools than before the run.
    #[error("the tools of server {server} are not those that the run began with: {what}")]
    Changed {
        /// Its name.
        server: String,
        /// What is different, in words.
        what: String,
    },
}

/// What a server said of itself before a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerInfo {
    /// What it calls itself, with its version; empty if it does not say.
    pub program: String,
    /// The version of MCP that it speaks.
    pub protocol: String,
    /// SHA-256, hex, of the canonical form of what it says of its tools.
    pub tools_sha256: String,
}

/// A server of tools.
pub struct McpServer {
    options: McpOptions,
    start: Box<dyn Start>,
    known: OnceLock<Known>,
    /// What is different about a process that was started since.
    changed: OnceLock<String>,
    slots: Arc<Semaphore>,
    shared: AsyncMutex<Shared>,
    /// How often a process of the run was started, or not.
    shared_starts: AtomicU64,
    /// What looks after processes that may still run.
    running: TaskTracker,
}

/// What it said before the run.
struct Known {
    listed: Listed,
    greeting: Greeting,
}

/// The process of the run.
#[derive(Default)]
struct Shared {
    process: Option<Arc<Process>>,
    /// Why it was not started the last time.
    lost: Option<ServerLost>,
}

impl McpServer {
    /// A server that runs this command.
    #[must_use]
    pub fn new(options: McpOptions, command: ServerCommand) -> Self {
        Self::started_by(options, Box::new(command))
    }

    pub(super) fn started_by(options: McpOptions, start: Box<dyn Start>) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(options.max_processes)),
            options,
            start,
            known: OnceLock::new(),
            changed: OnceLock::new(),
            shared: AsyncMutex::default(),
            shared_starts: AtomicU64::new(0),
            running: TaskTracker::new(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// What it says of itself, and its tools, by a process that is started for this alone, in a folder in
    /// `work`. Those that are started later are held to it.
    ///
    /// # Errors
    /// When it does not come up, or says something else than before.
    pub async fn tools(
        self: &Arc<Self>,
        work: &Path,
    ) -> Result<(ServerInfo, Vec<Arc<dyn tool::Tool>>), ServerLost> {
        let (process, listed) = self.begin(None, work).await?;
        let connection = &process.connection;
        let info = ServerInfo {
            program: connection.program.clone(),
            protocol: connection.protocol.clone(),
            tools_sha256: listed.sha256.clone(),
        };
        let greeting = connection.greeting;
        process.end().await;
        let known = self.known.get_or_init(|| Known { listed, greeting });
        Ok((info, tools(self, &known.listed.tools)))
    }

    /// Whether a session can call it without waiting.
    #[must_use]
    pub fn is_ready(&self, processes: &Processes) -> bool {
        let process = self.process_of(processes);
        let is_known = process.is_some_and(|process| !process.connection.has_changed());
        is_known && self.changed.get().is_none()
    }

    /// Sees to it that a session has a process: waits for a slot, starts it, asks it for its tools.
    ///
    /// # Errors
    /// When it does not come up, or its tools are others than before the run.
    pub async fn ready(&self, ctx: &ToolContext) -> Result<(), ServerLost> {
        if self.is_ready(&ctx.processes) {
            return Ok(());
        }
        let _starting = ctx.processes.starting(self.name()).await;
        self.has_not_changed()?;
        if let Some(process) = self.process_of(&ctx.processes) {
            return match process.connection.has_changed() {
                true => self.check(&process).await,
                false => Ok(()),
            };
        }
        let Some(work) = &ctx.work else {
            return Err(self.not_started("there is no folder for it".to_owned()));
        };
        let process = match self.options.share {
            Scope::Session => Arc::new(self.begin(ctx.folder.as_deref(), work).await?.0),
            Scope::Run => self.of_run(work).await?,
        };
        ctx.processes.put(self.name(), process);
        Ok(())
    }

    /// Calls a tool in the process that a session has.
    pub(super) async fn call(
        &self,
        tool: &str,
        args: JsonObject,
        processes: &Processes,
    ) -> Observation {
        let Some(process) = processes.get(self.name()) else {
            return Observation::error(format!("server {} has not been started", self.name()));
        };
        let McpOptions {
            timeout, max_bytes, ..
        } = self.options;
        let called = process.connection.call(tool, args, timeout, max_bytes);
        let (observation, is_alive) = called.await;
        if !is_alive {
            process.hangs();
        }
        observation
    }

    /// Ends the process of the run, and waits until nothing of any process runs any more.
    pub async fn close(&self) {
        let shared = self.shared.lock().await.process.take();
        if let Some(process) = shared {
            process.stop();
        }
        self.running.close();
        if timeout(PATIENCE, self.running.wait()).await.is_err() {
            let server = self.name();
            tracing::warn!(server, "processes of a server do not end");
        }
    }

    /// The process of a session that need not be replaced. One of its own that has ended is only if that
    /// is allowed: what it knew is gone.
    fn process_of(&self, processes: &Processes) -> Option<Arc<Process>> {
        let stays = self.options.share == Scope::Session && !self.options.resumable;
        let process = processes.get(self.name());
        process.filter(|process| stays || process.is_alive())
    }

    async fn of_run(&self, work: &Path) -> Result<Arc<Process>, ServerLost> {
        let before = self.shared_starts.load(Relaxed);
        let process = self.shared_or_new(work, before).await?;
        // It may not say that its tools changed.
        if process.connection.has_changed() || process.is_due(CHECKED) {
            self.check(&process).await?;
        }
        Ok(process)
    }

    async fn shared_or_new(&self, work: &Path, before: u64) -> Result<Arc<Process>, ServerLost> {
        let mut shared = self.shared.lock().await;
        if let Some(process) = shared.process.as_ref().filter(|process| process.is_alive()) {
            return Ok(process.clone());
        }
        // Those who waited for a start that came to nothing need not try one by one.
        if self.shared_starts.load(Relaxed) > before
            && let Some(lost) = &shared.lost
        {
            return Err(lost.clone());
        }
        if let Some(dead) = shared.process.take() {
            // Sessions that still have it would keep its slot.
            dead.stop();
        }
        let begun = self.begin(None, work).await;
        self.shared_starts.fetch_add(1, Relaxed);
        shared.lost = begun.as_ref().err().cloned();
        let process = Arc::new(begun?.0);
        shared.process = Some(process.clone());
        Ok(process)
    }

    /// Asks a process for its tools again. One that is gone, or does not answer, is left to the calls.
    async fn check(&self, process: &Process) -> Result<(), ServerLost> {
        let said = process.connection.changes();
        let tools = timeout(self.options.start_timeout, process.connection.tools()).await;
        match tools {
            Ok(Ok(tools)) => drop(self.held(tools)?),
            Ok(Err(NoList::Wrong(why))) => return Err(self.is_changed(why)),
            Ok(Err(NoList::Ended(_))) | Err(_) => {}
        }
        process.connection.are_known(said);
        Ok(())
    }

    /// What a process lists, if it is what the server is held to.
    fn held(&self, tools: Vec<Tool>) -> Result<Listed, ServerLost> {
        let listed = listed(&self.options, tools);
        match (self.known.get(), listed) {
            (None, listed) => listed.map_err(|why| self.not_started(why)),
            (Some(_), Err(why)) => Err(self.is_changed(why)),
            (Some(known), Ok(listed)) if known.listed.sha256 != listed.sha256 => {
                Err(self.is_changed(known.listed.difference(&listed)))
            }
            (Some(_), Ok(listed)) => Ok(listed),
        }
    }

    /// An error once a process has said something else.
    fn has_not_changed(&self) -> Result<(), ServerLost> {
        match self.changed.get() {
            Some(what) => Err(self.is_changed(what.clone())),
            None => Ok(()),
        }
    }

    fn is_changed(&self, what: String) -> ServerLost {
        ServerLost::Changed {
            server: self.options.name.clone(),
            what: self.changed.get_or_init(|| what).clone(),
        }
    }

    fn not_started(&self, why: String) -> ServerLost {
        ServerLost::NotStarted {
            server: self.options.name.clone(),
            why,
        }
    }

    /// Starts a process and asks it for its tools.
    async fn begin(
        &self,
        session: Option<&Path>,
        work: &Path,
    ) -> Result<(Process, Listed), ServerLost> {
        let slot = self.slots.clone().acquire_owned().await;
        let slot = slot.map_err(|e| self.not_started(e.to_string()))?;
        self.has_not_changed()?;
        let folder = Folder::of(session, work);
        let launched = folder.and_then(|folder| {
            Launched::start(&self.options, &*self.start, (slot, folder), &self.running)
        });
        let launched = launched.map_err(|e| self.not_started(e.to_string()))?;
        let greeting = self.known.get().map(|known| known.greeting);
        let greeting = greeting.unwrap_or(Greeting::Unknown);
        let greeted = launched.greet(&self.options, greeting).await;
        let (process, tools) = greeted.map_err(|why| self.not_started(why))?;
        match self.held(tools) {
            Ok(listed) => Ok((process, listed)),
            Err(lost) => {
                process.end().await;
                Err(lost)
            }
        }
    }
}
