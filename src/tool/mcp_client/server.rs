//! The processes of one server: who has one, how many there are, when they end.

use std::{
    collections::HashMap,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;
use rmcp::model::JsonObject;
use tempfile::TempDir;
use tokio::{
    sync::{Mutex as AsyncMutex, Semaphore},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    connection::{Connection, Greeting},
    list::{Listed, listed},
    process::{Command, Start, Started},
    tool::tools,
};
use crate::{
    domain::{Observation, Redactor, Share},
    tool::{Tool, ToolContext},
};

/// How long a process that did not come up may take to say why.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long the protocol may take to let go of its pipes.
const CLOSING: Duration = Duration::from_millis(100);

/// What can be chosen about a server.
#[derive(Debug, Clone)]
pub struct McpOptions {
    /// Its tools are called `NAME__tool`.
    pub name: String,
    /// For whom a process is.
    pub share: Share,
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
pub enum HostLost {
    /// It did not come up.
    #[error("server {server} did not start: {why}")]
    NotStarted {
        /// Its name.
        server: String,
        /// Why, in words.
        why: String,
    },
    /// It says something else of its tools than before the run.
    #[error("the tools of server {server} are not those that the run began with")]
    Changed {
        /// Its name.
        server: String,
    },
}

/// A server of tools.
pub struct McpServer {
    options: McpOptions,
    start: Box<dyn Start>,
    /// What it said of its tools before the run.
    known: OnceLock<Known>,
    slots: Arc<Semaphore>,
    shared: AsyncMutex<Option<Arc<Process>>>,
    /// Those that may still run.
    running: TaskTracker,
}

/// What is known of a server.
struct Known {
    listed: Listed,
    greeting: Greeting,
}

/// The processes that a session has.
#[derive(Clone, Default)]
pub struct Hosts(Arc<HostsOfSession>);

#[derive(Default)]
struct HostsOfSession {
    processes: Mutex<HashMap<String, Arc<Process>>>,
    /// Held while one is started: calls at the same time want one and the same.
    starting: AsyncMutex<()>,
}

/// A process that is spoken with. It ends when this is dropped.
struct Process {
    connection: Connection,
    /// The path of the folder that it works in, as the system knows it.
    folder: String,
    stop: DropGuard,
    ended: JoinHandle<()>,
}

/// Where a process works.
enum Folder {
    /// In a session's folder.
    Lent(PathBuf),
    /// In one that goes with it.
    Own(TempDir),
}

impl McpServer {
    /// A server that runs this command.
    #[must_use]
    pub fn new(options: McpOptions, command: Command) -> Self {
        Self::started_by(options, Box::new(command))
    }

    pub(super) fn started_by(options: McpOptions, start: Box<dyn Start>) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(options.max_processes)),
            options,
            start,
            known: OnceLock::new(),
            shared: AsyncMutex::default(),
            running: TaskTracker::new(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// Its tools, by what a process says that is started for this alone. Those that are started
    /// later are held to it.
    ///
    /// # Errors
    /// When it does not come up, or says something else than before.
    pub async fn tools(self: &Arc<Self>) -> Result<Vec<Arc<dyn Tool>>, HostLost> {
        let (process, listed) = self.begin(&ToolContext::default()).await?;
        let greeting = process.connection.greeting();
        process.end().await;
        let known = self.known.get_or_init(|| Known { listed, greeting });
        Ok(tools(self, &known.listed.tools))
    }

    /// SHA-256, hex, of the canonical form of what it said of its tools; none before it was asked.
    #[must_use]
    pub fn tools_sha256(&self) -> Option<&str> {
        self.known.get().map(|known| known.listed.sha256.as_str())
    }

    /// Whether a session has to wait before it can call it.
    #[must_use]
    pub fn is_ready(&self, hosts: &Hosts) -> bool {
        let process = self.process_of(hosts);
        process.is_some_and(|process| !process.connection.has_changed())
    }

    /// Sees to it that a session has a process: waits for a slot, starts it, asks it for its tools.
    ///
    /// # Errors
    /// When it does not come up, or says something else of its tools.
    pub async fn ready(&self, ctx: &ToolContext) -> Result<(), HostLost> {
        let _starting = ctx.hosts.0.starting.lock().await;
        if let Some(process) = self.process_of(&ctx.hosts) {
            return self.check(&process).await;
        }
        let process = match self.options.share {
            Share::Session => Arc::new(self.begin(ctx).await?.0),
            Share::Run => self.of_run(ctx).await?,
        };
        ctx.hosts.lock().insert(self.options.name.clone(), process);
        Ok(())
    }

    /// Calls a tool in the process that a session has.
    pub(super) async fn call(&self, tool: &str, args: JsonObject, hosts: &Hosts) -> Observation {
        let process = hosts.lock().get(self.name()).cloned();
        let Some(process) = process else {
            return Observation::error(format!("server {} has not been started", self.name()));
        };
        let McpOptions {
            timeout, max_bytes, ..
        } = self.options;
        let called = process.connection.call(tool, args, timeout, max_bytes);
        let Observation { ok, content } = called.await;
        let content = self.options.redactor.clean(&content);
        // Another one in each run: it would tell runs apart, and models where they are.
        let content = content.replace(&process.folder, ".").into();
        Observation { ok, content }
    }

    /// Ends the process of the run, and waits until nothing of any process runs any more.
    pub async fn close(&self) {
        if let Some(process) = self.shared.lock().await.take().and_then(Arc::into_inner) {
            process.end().await;
        }
        self.running.close();
        self.running.wait().await;
    }

    /// The process of a session that need not be replaced. One of its own that has ended is not: what
    /// it knew is gone.
    fn process_of(&self, hosts: &Hosts) -> Option<Arc<Process>> {
        let process = hosts.lock().get(self.name()).cloned();
        let is_own = self.options.share == Share::Session;
        process.filter(|process| is_own || process.connection.is_open())
    }

    async fn of_run(&self, ctx: &ToolContext) -> Result<Arc<Process>, HostLost> {
        let mut shared = self.shared.lock().await;
        let open = shared.take().filter(|process| process.connection.is_open());
        let process = match open {
            Some(process) => {
                self.check(&process).await?;
                process
            }
            None => {
                // No session's folder is the run's.
                let ctx = ToolContext {
                    folder: None,
                    ..ctx.clone()
                };
                Arc::new(self.begin(&ctx).await?.0)
            }
        };
        Ok(shared.insert(process).clone())
    }

    /// Asks a process for its tools again if it has said that they changed. One that does not
    /// answer is left to the calls.
    async fn check(&self, process: &Process) -> Result<(), HostLost> {
        if !process.connection.take_changed() {
            return Ok(());
        }
        let listed = self.list(&process.connection);
        match timeout(self.options.start_timeout, listed).await {
            Ok(Ok(listed)) => self.held(&listed),
            _ => Ok(()),
        }
    }

    async fn list(&self, connection: &Connection) -> Result<Listed, String> {
        let tools = connection.tools().await?;
        listed(&self.options, tools)
    }

    fn held(&self, listed: &Listed) -> Result<(), HostLost> {
        match self.known.get() {
            Some(known) if known.listed.sha256 != listed.sha256 => {
                let server = self.options.name.clone();
                Err(HostLost::Changed { server })
            }
            _ => Ok(()),
        }
    }

    async fn begin(&self, ctx: &ToolContext) -> Result<(Process, Listed), HostLost> {
        let lost = |why: String| HostLost::NotStarted {
            server: self.options.name.clone(),
            why,
        };
        let slot = self.slots.clone().acquire_owned().await;
        let slot = slot.map_err(|e| lost(e.to_string()))?;
        let folder = Folder::of(ctx).and_then(|folder| Ok((folder.path()?, folder)));
        let (path, folder) = folder.map_err(|e| lost(format!("no folder for it: {e}")))?;
        let stop = CancellationToken::new();
        let started = self.start.start(&path, stop.clone());
        let stop = stop.drop_guard();
        let Started {
            from,
            to,
            said,
            ended,
        } = started.map_err(|e| lost(e.to_string()))?;
        let ended = self.running.spawn(async move {
            ended.await;
            drop((slot, folder));
        });
        let greeting = self
            .known
            .get()
            .map_or(Greeting::Unknown, |known| known.greeting);
        let open = async {
            let connection = Connection::open(self.name(), greeting, from, to).await?;
            let listed = self.list(&connection).await?;
            Ok((connection, listed))
        };
        let within = self.options.start_timeout;
        let why = match timeout(within, open).await {
            Ok(Ok((connection, listed))) => {
                let process = Process {
                    connection,
                    folder: path.to_string_lossy().into_owned(),
                    stop,
                    ended,
                };
                return match self.held(&listed) {
                    Ok(()) => Ok((process, listed)),
                    Err(lost) => {
                        process.end().await;
                        Err(lost)
                    }
                };
            }
            Ok(Err(why)) => why,
            Err(_) => format!(
                "it did not list its tools within {} s",
                within.as_secs_f64()
            ),
        };
        drop(stop);
        drop(timeout(LAST_WORDS, ended).await);
        Err(lost(
            self.options.redactor.clean(&said.after(why)).into_owned(),
        ))
    }
}

impl Process {
    /// Ends it, and waits until nothing of it runs any more.
    async fn end(self) {
        // One that does not read what it is told would keep its pipe open.
        drop(timeout(CLOSING, self.connection.close()).await);
        drop(self.stop);
        // Nothing in that task panics.
        drop(self.ended.await);
    }
}

impl Hosts {
    /// Ends the processes that are the session's own, and waits until nothing of them runs any more.
    pub async fn close(&self) {
        let processes = std::mem::take(&mut *self.lock());
        let own = processes.into_values().filter_map(Arc::into_inner);
        join_all(own.map(Process::end)).await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Process>>> {
        let processes = self.0.processes.lock();
        processes.unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Hosts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.lock().keys()).finish()
    }
}

impl Folder {
    fn of(ctx: &ToolContext) -> io::Result<Self> {
        Ok(match (&ctx.folder, &ctx.work) {
            (Some(folder), _) => Self::Lent(folder.clone()),
            (None, Some(work)) => Self::Own(TempDir::new_in(work)?),
            (None, None) => Self::Own(TempDir::new()?),
        })
    }

    /// Its path without links: what a server says of it is found again.
    fn path(&self) -> io::Result<PathBuf> {
        match self {
            Self::Lent(path) => path.canonicalize(),
            Self::Own(folder) => folder.path().canonicalize(),
        }
    }
}
