//! Processes that are spoken with, and who has them.

use std::{
    collections::HashMap,
    fmt, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::future::join_all;
use tempfile::TempDir;
use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard},
    task::JoinHandle,
    time::{Instant, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connection::Connection;

/// How long the protocol may take to let go of its pipes.
const CLOSING: Duration = Duration::from_millis(100);

/// Ends a process, at the latest when it is dropped.
pub(super) struct Stop {
    token: CancellationToken,
    _at_last: DropGuard,
}

impl Stop {
    /// Cancels this.
    pub fn of(token: CancellationToken) -> Self {
        Self {
            _at_last: token.clone().drop_guard(),
            token,
        }
    }

    /// Ends it.
    pub fn now(&self) {
        self.token.cancel();
    }
}

/// A process of a server. It ends when this is dropped.
pub(super) struct Process {
    pub connection: Connection,
    stop: Stop,
    ended: JoinHandle<()>,
    /// It does nothing any more.
    is_hung: AtomicBool,
    /// When its tools were asked for last.
    checked: Mutex<Instant>,
}

impl Process {
    /// One whose tools have just been asked for.
    pub fn new(connection: Connection, stop: Stop, ended: JoinHandle<()>) -> Self {
        Self {
            connection,
            stop,
            ended,
            is_hung: AtomicBool::new(false),
            checked: Mutex::new(Instant::now()),
        }
    }

    /// Whether its tools are to be asked for again, after so long; if so, by nobody else meanwhile.
    pub fn is_due(&self, after: Duration) -> bool {
        let mut checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = checked.elapsed() >= after;
        if is_due {
            *checked = Instant::now();
        }
        is_due
    }

    /// Whether a call may bring something.
    pub fn is_alive(&self) -> bool {
        self.connection.is_open() && !self.ended.is_finished() && !self.is_hung.load(Relaxed)
    }

    /// It has let a call time out and has not said a word meanwhile.
    pub fn hangs(&self) {
        self.is_hung.store(true, Relaxed);
    }

    /// Ends it, whoever else has it.
    pub fn stop(&self) {
        self.stop.now();
    }

    /// Ends it, and waits until nothing of it runs any more.
    pub async fn end(self) {
        let Self {
            connection,
            stop,
            ended,
            ..
        } = self;
        // One that does not read what it is told would keep its pipe open.
        drop(timeout(CLOSING, connection.close()).await);
        stop.now();
        // Nothing in that task panics.
        drop(ended.await);
    }
}

/// The processes that a session has, by the name of their server.
#[derive(Clone, Default)]
pub struct Processes(Arc<OfSession>);

#[derive(Default)]
struct OfSession {
    processes: Mutex<HashMap<String, Arc<Process>>>,
    /// Held while one is started, by the name of its server: calls at the same time want one and the
    /// same.
    starting: Mutex<HashMap<String, Arc<AsyncMutex<()>>>>,
}

impl Processes {
    /// Ends those that are the session's own, and waits until nothing of them runs any more.
    pub async fn close(&self) {
        let processes = std::mem::take(&mut *self.lock());
        // Those of a run have another owner.
        let own = processes.into_values().filter_map(Arc::into_inner);
        join_all(own.map(Process::end)).await;
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(super) fn get(&self, server: &str) -> Option<Arc<Process>> {
        self.lock().get(server).cloned()
    }

    pub(super) fn put(&self, server: &str, process: Arc<Process>) {
        self.lock().insert(server.to_owned(), process);
    }

    /// Until the guard is dropped, nobody else starts one of this server.
    pub(super) async fn starting(&self, server: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let starting = self.0.starting.lock();
            let mut starting = starting.unwrap_or_else(PoisonError::into_inner);
            starting.entry(server.to_owned()).or_default().clone()
        };
        lock.lock_owned().await
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Process>>> {
        let processes = self.0.processes.lock();
        processes.unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.lock().keys()).finish()
    }
}

/// Where a process works.
pub(super) enum Folder {
    /// In a session's folder.
    Lent(PathBuf),
    /// In one that goes with it.
    Own(TempDir),
}

impl Folder {
    /// The session's, or a new one in `work`. Blocks, shortly.
    pub fn of(session: Option<&Path>, work: &Path) -> io::Result<Self> {
        match session {
            Some(folder) => Ok(Self::Lent(folder.to_owned())),
            None => TempDir::new_in(work).map(Self::Own),
        }
    }

    /// Its path without links: what a server says of it is found again.
    pub fn path(&self) -> io::Result<PathBuf> {
        match self {
            Self::Lent(path) => path.canonicalize(),
            Self::Own(folder) => folder.path().canonicalize(),
        }
    }
}
