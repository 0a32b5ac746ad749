//! What the database of a run holds, read from a copy, so that what a kill left behind stays as it
//! is.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::Path,
};

use rusqlite::{Connection, types::ValueRef};
use tempfile::TempDir;

use crate::log::Turn;

/// Rows that are durable.
#[derive(Default)]
pub(crate) struct Durable {
    /// Turns that were replied to.
    pub(crate) turns: BTreeSet<Turn>,
    /// Sessions that ended.
    pub(crate) ended: BTreeSet<String>,
    /// Sessions that ended and were scored.
    pub(crate) scored: BTreeSet<String>,
    /// Each row that may not change any more, by table and number.
    rows: BTreeMap<(&'static str, i64), u64>,
}

impl Durable {
    /// Nothing when the run has no database yet.
    pub(crate) fn read(run: &Path) -> Self {
        let (conn, _copy) = copy(run);
        let mut durable = Self::default();
        let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'session'";
        if conn
            .query_row(tables, [], |row| row.get::<_, i64>(0))
            .unwrap()
            == 1
        {
            durable.fill(&conn).unwrap();
        }
        durable
    }

    fn fill(&mut self, conn: &Connection) -> rusqlite::Result<()> {
        let keys = strings(conn, "SELECT id, key FROM session_key")?;
        let key = |id: i64| keys[&id].clone();
        let mut turns = conn.prepare("SELECT session, attempt, turn FROM turn")?;
        let mut turns = turns.query([])?;
        while let Some(row) = turns.next()? {
            self.turns.insert(Turn {
                key: key(row.get(0)?),
                attempt: row.get(1)?,
                turn: row.get(2)?,
            });
        }
        let ended = "SELECT id, passed FROM session WHERE status IS NOT NULL";
        let mut ended = conn.prepare(ended)?;
        let mut ended = ended.query([])?;
        while let Some(row) = ended.next()? {
            self.ended.insert(key(row.get(0)?));
            if row.get::<_, Option<i64>>(1)?.is_some() {
                self.scored.insert(key(row.get(0)?));
            }
        }
        self.keep(conn, "turn", "SELECT rowid, * FROM turn")?;
        self.keep(conn, "step", "SELECT rowid, * FROM step")?;
        let scored = "SELECT id, * FROM session WHERE status IS NOT NULL AND passed IS NOT NULL";
        self.keep(conn, "session", scored)
    }

    /// Takes down rows, each as a digest; its number stands first.
    fn keep(&mut self, conn: &Connection, table: &'static str, sql: &str) -> rusqlite::Result<()> {
        let mut rows = conn.prepare(sql)?;
        let columns = rows.column_count();
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let mut digest = DefaultHasher::new();
            for column in 0..columns {
                match row.get_ref(column)? {
                    ValueRef::Null => 0.hash(&mut digest),
                    ValueRef::Integer(value) => value.hash(&mut digest),
                    ValueRef::Real(value) => value.to_bits().hash(&mut digest),
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.hash(&mut digest),
                }
            }
            self.rows.insert((table, row.get(0)?), digest.finish());
        }
        Ok(())
    }

    /// Fails if a row of it is another, or gone, in `after`.
    pub(crate) fn is_kept_in(&self, after: &Self) {
        for (row, digest) in &self.rows {
            assert_eq!(after.rows.get(row), Some(digest), "{row:?} was durable");
        }
    }
}

/// A copy of the database of a run; it goes with the folder that it lies in.
pub(crate) fn copy(run: &Path) -> (Connection, TempDir) {
    let copy = tempfile::tempdir().unwrap();
    for name in ["farm.db", "farm.db-wal", "farm.db-journal"] {
        if run.join(name).exists() {
            fs::copy(run.join(name), copy.path().join(name)).unwrap();
        }
    }
    (Connection::open(copy.path().join("farm.db")).unwrap(), copy)
}

fn strings(conn: &Connection, sql: &str) -> rusqlite::Result<BTreeMap<i64, String>> {
    let mut rows = conn.prepare(sql)?;
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}
