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
    sync::{Mutex as AsyncMutex, MutexGuard as AsyncGuard},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::connection::Connection;

/// How long the protocol may take to let go of its pipes.
const CLOSING: Duration = Duration::from_millis(100);

/// A process of a server. It ends when this is dropped.
pub(super) struct Process {
    pub connection: Connection,
    stop: CancellationToken,
    _stop: DropGuard,
    ended: JoinHandle<()>,
    /// It does nothing any more.
    is_hung: AtomicBool,
}

impl Process {
    pub fn new(connection: Connection, stop: DropGuard, ended: JoinHandle<()>) -> Self {
        let token = stop.disarm();
        Self {
            connection,
            stop: token.clone(),
            _stop: token.drop_guard(),
            ended,
            is_hung: AtomicBool::new(false),
        }
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
        self.stop.cancel();
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
        stop.cancel();
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
    /// Held while one is started: calls at the same time want one and the same.
    starting: AsyncMutex<()>,
}

impl Processes {
    /// Ends those that are the session's own, and waits until nothing of them runs any more.
    pub async fn close(&self) {
        let processes = std::mem::take(&mut *self.lock());
        // Those of a run have another owner.
        let own = processes.into_values().filter_map(Arc::into_inner);
        join_all(own.map(Process::end)).await;
    }

    pub(super) fn get(&self, server: &str) -> Option<Arc<Process>> {
        self.lock().get(server).cloned()
    }

    pub(super) fn put(&self, server: &str, process: Arc<Process>) {
        self.lock().insert(server.to_owned(), process);
    }

    /// Until the guard is dropped, nobody else starts one.
    pub(super) async fn starting(&self) -> AsyncGuard<'_, ()> {
        self.0.starting.lock().await
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
