//! Takes what stands in the log to its place in the database, beside the writer.
//!
//! SQLite does that by itself once the log is long, and whoever commits then waits for the disk. Here
//! most of it is done by then, so that they hardly wait.

use std::{
    path::Path,
    sync::mpsc::{SyncSender, sync_channel},
    thread::JoinHandle,
};

use rusqlite::{Connection, OpenFlags};

/// Rows that are written between two checkpoints: some 10 MiB of log.
const ROWS: u64 = 8192;

/// The thread that does it.
#[derive(Debug)]
pub(super) struct Checkpoints {
    due: SyncSender<()>,
    thread: JoinHandle<()>,
    /// Rows that were written by the last one.
    done: u64,
}

impl Checkpoints {
    /// Of the database at `path`. None where there can be no such thread: SQLite does it all then.
    pub fn begin(path: &Path) -> Option<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags).ok()?;
        let (due, asked) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("farm-checkpoint".to_owned())
            .spawn(move || {
                for () in asked {
                    // What the disk refuses here it refuses the writer too, who says so.
                    drop(passive(&conn));
                }
            });
        Some(Self {
            due,
            thread: thread.ok()?,
            done: 0,
        })
    }

    /// So many rows have been written by now.
    pub fn written(&mut self, rows: u64) {
        if rows.saturating_sub(self.done) >= ROWS {
            self.done = rows;
            // One that is under way or asked for already is as good.
            let _ = self.due.try_send(());
        }
    }

    /// Ends the thread.
    pub fn end(self) {
        drop(self.due);
        // It has nothing to say, and nothing that could panic.
        drop(self.thread.join());
    }
}

/// Takes to its place what no reader needs in the log, and waits for nobody.
pub(super) fn passive(conn: &Connection) -> rusqlite::Result<()> {
    conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}
