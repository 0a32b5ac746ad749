//! The one thread that writes: it drains what is queued, commits it as one transaction, and only
//! then says so to those who wait.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    thread::JoinHandle,
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::sync::{mpsc, oneshot};

use super::{
    apply::Statements,
    books::settle_all,
    checkpoint::{Checkpoints, passive},
    fault::fault,
    schema,
    write::Write,
};
use crate::{
    domain::Grid,
    error::{Context, Error, Result},
};

/// Messages that may be queued; who sends more waits.
const QUEUE: usize = 1024;

/// WAL pages of 8 KiB (128 MiB) between checkpoints, so that their fsyncs do not dominate.
const CHECKPOINT_PAGES: u32 = 16_384;

/// What a commit outlives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// `kill -9`, but not power loss: `synchronous = NORMAL`.
    #[default]
    Process,
    /// Power loss too: `synchronous = FULL`, an fsync per commit. For sessions that cost money.
    Power,
}

/// When to abort, next to a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Everything is written, nothing is committed.
    Before,
    /// It is committed, nobody knows yet.
    After,
}

/// A fail point: the process aborts at a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbortAt {
    /// Which commit, from 1, counted since this store was opened.
    pub commit: u64,
    /// Before or after it.
    pub moment: Moment,
}

/// How a store works.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// What a commit outlives.
    pub durability: Durability,
    /// Aborts the process, for tests of resuming.
    pub abort_at: Option<AbortAt>,
}

/// What a store did.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Stats {
    /// Transactions.
    pub commits: u64,
    /// Writes that changed a row.
    pub rows: u64,
    /// Writes that changed nothing: of an attempt that is over, or there already.
    pub fenced: u64,
    /// Sessions that ended.
    pub ended: u64,
    /// Seconds that those worked, waits left out.
    pub work_s: f64,
}

impl Stats {
    /// Takes a write that changed a row.
    fn count(&mut self, write: &Write) {
        self.rows += 1;
        if let Write::End { work_s, .. } = write {
            self.ended += 1;
            self.work_s += work_s;
        }
    }
}

/// The store has ended, and why. What was committed stays.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct StoreLost(Arc<str>);

impl From<StoreLost> for Error {
    fn from(lost: StoreLost) -> Self {
        Self::internal(&*lost.0)
    }
}

/// What the thread has taken on: its owner drops it, and so fails those who wait, only after the
/// reason is set.
struct Queue {
    receiver: mpsc::Receiver<Message>,
    group: Vec<Message>,
}

enum Message {
    Batch {
        writes: Vec<Write>,
        committed: Option<oneshot::Sender<()>>,
    },
    Close,
}

/// Where sessions leave what must last. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Handle {
    queue: mpsc::Sender<Message>,
    reason: Arc<OnceLock<Arc<str>>>,
}

impl Handle {
    /// Keeps `writes`, all or none; they are durable once this returns. Without any it waits for
    /// what was posted before.
    ///
    /// # Errors
    /// When the store has ended: then nothing is known of these writes.
    pub async fn commit(&self, writes: Vec<Write>) -> Result<(), StoreLost> {
        let (committed, done) = oneshot::channel();
        self.send(Message::Batch {
            writes,
            committed: Some(committed),
        })
        .await?;
        done.await.map_err(|_| self.lost())
    }

    /// Queues `writes` in order and does not wait for their commit.
    ///
    /// # Errors
    /// When the store has ended.
    pub async fn post(&self, writes: Vec<Write>) -> Result<(), StoreLost> {
        self.send(Message::Batch {
            writes,
            committed: None,
        })
        .await
    }

    async fn send(&self, message: Message) -> Result<(), StoreLost> {
        self.queue.send(message).await.map_err(|_| self.lost())
    }

    fn lost(&self) -> StoreLost {
        let ended = || Arc::from("store: the writer has ended");
        StoreLost(self.reason.get().cloned().unwrap_or_else(ended))
    }
}

/// The database of a run, open for writing.
#[derive(Debug)]
pub struct Store {
    handle: Handle,
    closed: oneshot::Receiver<Stats>,
    may_end: oneshot::Sender<()>,
    thread: JoinHandle<Result<()>>,
}

/// A database to which nothing is written any more. What stands in its log goes to its place while
/// others read; at last it is made one plain file that needs no others beside it.
#[derive(Debug)]
pub struct Settling {
    may_end: oneshot::Sender<()>,
    thread: JoinHandle<Result<()>>,
}

impl Settling {
    /// Waits for that, once those who read are done. While others still read it stays as it is, which
    /// is as good.
    ///
    /// # Errors
    /// When the disk refuses.
    pub async fn join(self) -> Result<()> {
        drop(self.may_end);
        let thread = self.thread;
        let joined = tokio::task::spawn_blocking(move || thread.join())
            .await
            .internal(|| "store: the writer could not be waited for".to_owned())?;
        joined.unwrap_or_else(|_| {
            Err(Error::internal("store: the writer panicked")
                .hint("what was committed is kept, `farm resume RUN` goes on"))
        })
    }
}

/// How the writer's end is agreed on with its owner.
struct End {
    closed: oneshot::Sender<Stats>,
    may_end: oneshot::Receiver<()>,
}

impl Store {
    /// Makes the database of a new run.
    ///
    /// # Errors
    /// When there is one already, or the disk refuses.
    pub fn create(path: &Path, run: &str, grid: &Grid, options: Options) -> Result<Self> {
        let mut conn = connect(path, OpenFlags::SQLITE_OPEN_CREATE, options)?;
        schema::create(&mut conn, path, run, grid)?;
        Self::run(conn, path.to_owned(), options)
    }

    /// Opens the database of a run to go on with it; that of an older farm is brought up to date.
    /// Calls that were in flight when an earlier process died are booked at their reservations.
    ///
    /// # Errors
    /// When there is none, it is of a newer farm or of another run, or the disk refuses.
    pub fn open(path: &Path, run: &str, grid: &Grid, options: Options) -> Result<Self> {
        let mut conn = connect(path, OpenFlags::empty(), options)?;
        schema::migrate(&mut conn, path)?;
        schema::check_owner(&conn, path, run, grid)?;
        schema::claim(&conn, path, run)?;
        schema::go_on(&mut conn, path)?;
        Self::run(conn, path.to_owned(), options)
    }

    /// A handle for sessions.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Commits what is queued, and books calls that were not settled at their reservations. Handles
    /// fail from now on; nothing is written any more, and who reads reads all of it. What is left to do
    /// goes on by itself: see [`Settling`].
    ///
    /// # Errors
    /// What ended the store, if it was lost.
    pub async fn close(self) -> Result<(Stats, Settling)> {
        // When this fails the thread has ended already, and says below why.
        let _ = self.handle.queue.send(Message::Close).await;
        let settling = Settling {
            may_end: self.may_end,
            thread: self.thread,
        };
        match self.closed.await {
            Ok(stats) => Ok((stats, settling)),
            Err(_) => {
                settling.join().await?;
                Err(Error::internal("store: the writer has ended"))
            }
        }
    }

    /// The same, and closes the database.
    ///
    /// # Errors
    /// What ended the store, if it was lost.
    pub async fn join(self) -> Result<Stats> {
        let (stats, settling) = self.close().await?;
        settling.join().await?;
        Ok(stats)
    }

    fn run(conn: Connection, path: PathBuf, options: Options) -> Result<Self> {
        Self::spawn(move |queue, end| write(conn, &path, queue, options, end))
    }

    /// Runs `body` on a thread of its own. However it ends, nobody waits on.
    fn spawn(body: impl FnOnce(&mut Queue, End) -> Result<()> + Send + 'static) -> Result<Self> {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let mut queue = Queue {
            receiver,
            group: Vec::with_capacity(QUEUE),
        };
        let handle = Handle {
            queue: sender,
            reason: Arc::default(),
        };
        let reason = Arc::clone(&handle.reason);
        let (say_closed, closed) = oneshot::channel();
        let (may_end, end) = oneshot::channel();
        let end = End {
            closed: say_closed,
            may_end: end,
        };
        let thread = std::thread::Builder::new()
            .name("farm-store".to_owned())
            .spawn(move || {
                body(&mut queue, end).inspect_err(|e| {
                    let _ = reason.set(e.message.as_str().into());
                })
            })
            .internal(|| "store: the writer's thread cannot be started".to_owned())?;
        Ok(Self {
            handle,
            closed,
            may_end,
            thread,
        })
    }
}

fn connect(path: &Path, create: OpenFlags, options: Options) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
    let open = || {
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(Duration::from_secs(10))?;
        conn.pragma_update(None, "page_size", 8192)?;
        conn.pragma_update(None, "cache_size", -16_384)?;
        conn.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        let synchronous = match options.durability {
            Durability::Process => "NORMAL",
            Durability::Power => "FULL",
        };
        conn.pragma_update(None, "synchronous", synchronous)?;
        let mode: String =
            conn.pragma_update_and_check(None, "journal_mode", "WAL", |r| r.get(0))?;
        Ok((conn, mode))
    };
    let (conn, mode) = open().map_err(|e| fault(path, e))?;
    if mode == "wal" {
        return Ok(conn);
    }
    Err(Error::internal(format!(
        "store: {} cannot be written ahead: its journal mode stays {mode}",
        path.display()
    ))
    .hint("name a folder on a local disk with --out"))
}

fn write(
    conn: Connection,
    path: &Path,
    queue: &mut Queue,
    options: Options,
    end: End,
) -> Result<()> {
    let mut checkpoints = Checkpoints::begin(path);
    let stats = drain(&conn, queue, options, &mut checkpoints).map_err(|e| fault(path, e))?;
    if let Some(checkpoints) = checkpoints {
        checkpoints.end();
    }
    settle_all(&conn).map_err(|e| fault(path, e))?;
    // Nobody who is gone wants to know.
    let _ = end.closed.send(stats);
    passive(&conn).map_err(|e| fault(path, e))?;
    drop(end.may_end.blocking_recv());
    settle(&conn).map_err(|e| fault(path, e))?;
    conn.close().map_err(|(_, e)| fault(path, e))
}

/// Leaves one plain file that needs no others beside it to be read. While somebody reads it stays
/// as it is, which is as good.
fn settle(conn: &Connection) -> rusqlite::Result<()> {
    conn.busy_timeout(Duration::ZERO)?;
    match conn.pragma_update(None, "journal_mode", "DELETE") {
        Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(()),
        settled => settled,
    }
}

/// Commits until all handles are gone or the store is closed.
fn drain(
    conn: &Connection,
    queue: &mut Queue,
    options: Options,
    checkpoints: &mut Option<Checkpoints>,
) -> rusqlite::Result<Stats> {
    let mut statements = Statements::prepare(conn)?;
    let mut stats = Stats::default();
    let Queue { receiver, group } = queue;
    while receiver.blocking_recv_many(group, QUEUE) > 0 {
        // Who is about to send joins this commit: a small one writes as many pages as a large one.
        std::thread::yield_now();
        while let Ok(message) = receiver.try_recv() {
            group.push(message);
        }
        commit(conn, &mut statements, group, &mut stats, options.abort_at)?;
        if let Some(checkpoints) = checkpoints {
            checkpoints.written(stats.rows);
        }
        for message in group.drain(..) {
            match message {
                // Who no longer waits misses nothing.
                Message::Batch { committed, .. } => drop(committed.map(|c| c.send(()))),
                Message::Close => receiver.close(),
            }
        }
    }
    Ok(stats)
}

/// One transaction for a group of messages.
fn commit(
    conn: &Connection,
    statements: &mut Statements<'_>,
    group: &[Message],
    stats: &mut Stats,
    abort_at: Option<AbortAt>,
) -> rusqlite::Result<()> {
    let mut writes = group
        .iter()
        .flat_map(|message| match message {
            Message::Batch { writes, .. } => writes.as_slice(),
            Message::Close => &[],
        })
        .peekable();
    if writes.peek().is_none() {
        return Ok(());
    }
    let commit = stats.commits + 1;
    let abort_if = |moment| {
        if abort_at == Some(AbortAt { commit, moment }) {
            std::process::abort();
        }
    };
    conn.execute_batch("BEGIN IMMEDIATE")?;
    for write in writes {
        match statements.apply(write)? {
            0 => stats.fenced += 1,
            _ => stats.count(write),
        }
    }
    abort_if(Moment::Before);
    conn.execute_batch("COMMIT")?;
    abort_if(Moment::After);
    stats.commits = commit;
    Ok(())
}

#[cfg(test)]
pub(super) mod tests;
