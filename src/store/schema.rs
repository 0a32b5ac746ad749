//! The tables of `farm.db`, and how older files are brought up to date.
//!
//! Turns and steps are only ever appended: dense rowids fill their pages to the end, and a small
//! unique index finds them by session. Clustering the rows by session instead costs twice the time
//! for half-empty pages (measured).

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::{books::settle_all, fault::fault};
use crate::{
    domain::Grid,
    error::{Error, Result},
};

/// `farm` in ASCII: says whose file it is.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"farm");

/// Step n brings a file of version n to version n + 1. Never edited, only added to.
const MIGRATIONS: [&str; 3] = [V1, V2, V3];

/// Step n makes a file of version n + 1 one of version n + 2 in the eyes of a reader, who may not
/// change it: with views that stand before its tables.
const READ_AS_NEXT: [&str; MIGRATIONS.len() - 1] = [V1_AS_V2, V2_AS_V3];

/// `session.status`, `lim` and the columns after them are null until the session ends, `passed`,
/// `checks` and `score_error` until it is scored. Wide columns stand last, so that a scan of the
/// states stays cheap. `variant`, `task` and `session_key` are for people.
const V1: &str = "
CREATE TABLE session (
  id INTEGER PRIMARY KEY,
  attempt INTEGER NOT NULL,
  restarts INTEGER NOT NULL DEFAULT 0,
  began REAL NOT NULL,
  status TEXT,
  passed INTEGER,
  score_error TEXT,
  lim TEXT,
  steps INTEGER,
  blocked INTEGER,
  mean_score REAL,
  tokens_in INTEGER,
  tokens_out INTEGER,
  cost_usd REAL,
  work_s REAL,
  ended REAL,
  checks TEXT,
  error TEXT,
  answer TEXT
) STRICT;
CREATE TABLE turn (
  session INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  work_s REAL NOT NULL,
  ts REAL NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (session, attempt, turn)
) STRICT;
CREATE TABLE step (
  session INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  call INTEGER NOT NULL,
  ts REAL NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (session, attempt, step)
) STRICT;
CREATE TABLE lost_attempt (
  session INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  reason TEXT NOT NULL,
  cost_usd REAL,
  ts REAL NOT NULL,
  UNIQUE (session, attempt)
) STRICT;
CREATE TABLE variant (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE task (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE VIEW session_key AS
  WITH size AS (SELECT (SELECT count(*) FROM variant) AS v, (SELECT count(*) FROM task) AS t)
  SELECT session.id, variant.name || '/' || task.name || '/' || (session.id / (v * t)) AS key
  FROM session, size
  JOIN variant ON variant.id = session.id % v
  JOIN task ON task.id = session.id % (v * t) / v;
";

/// What a turn cost is known when its reply comes; what it worked when its steps are over. The run's
/// id tells whose file it is.
const V2: &str = "
ALTER TABLE turn ADD COLUMN cost_usd REAL;
ALTER TABLE step ADD COLUMN work_s REAL;
CREATE TABLE run (id TEXT NOT NULL) STRICT;
";

/// What live models need. `session.waits` is what is left of its waits when a session ends. `call`
/// holds the books: `cost_usd` and `kept` are null while a call is in flight; `reserved_usd` is the
/// most that it can cost if `is_most`, else what is known of that. `activity` is what sessions in
/// flight were at when `look` says, and gone when nobody is at work. `judged` holds what a model said
/// of the steps of a turn after they ran.
const V3: &str = "
ALTER TABLE session ADD COLUMN served TEXT;
ALTER TABLE session ADD COLUMN waits TEXT;
CREATE TABLE call (
  id INTEGER PRIMARY KEY,
  session INTEGER,
  attempt INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  purpose TEXT NOT NULL,
  model TEXT NOT NULL,
  reserved_usd REAL NOT NULL,
  is_most INTEGER NOT NULL,
  cost_usd REAL,
  kept INTEGER,
  ts REAL NOT NULL
) STRICT;
CREATE INDEX call_of ON call (session, attempt);
CREATE TABLE activity (
  session INTEGER PRIMARY KEY,
  activity TEXT NOT NULL,
  since REAL NOT NULL,
  until REAL
) STRICT;
CREATE TABLE look (id INTEGER PRIMARY KEY CHECK (id = 0), at REAL NOT NULL) STRICT;
CREATE TABLE parked (what TEXT NOT NULL UNIQUE, reason TEXT NOT NULL, ts REAL NOT NULL) STRICT;
CREATE TABLE judged (
  session INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  body TEXT NOT NULL,
  cost_usd REAL,
  work_s REAL NOT NULL,
  ts REAL NOT NULL,
  UNIQUE (session, attempt, turn)
) STRICT;
";

const V1_AS_V2: &str = "
PRAGMA temp_store = MEMORY;
CREATE TEMP VIEW turn AS SELECT *, NULL AS cost_usd FROM main.turn;
CREATE TEMP VIEW step AS SELECT *, NULL AS work_s FROM main.step;
CREATE TEMP TABLE run (id TEXT NOT NULL);
";

const V2_AS_V3: &str = "
PRAGMA temp_store = MEMORY;
CREATE TEMP VIEW session AS SELECT *, NULL AS served, NULL AS waits FROM main.session;
CREATE TEMP TABLE call (
  id INTEGER, session INTEGER, attempt INTEGER, purpose TEXT, model TEXT, reserved_usd REAL,
  is_most INTEGER, cost_usd REAL, kept INTEGER);
CREATE TEMP TABLE activity (session INTEGER, activity TEXT, since REAL, until REAL);
CREATE TEMP TABLE look (at REAL);
CREATE TEMP TABLE parked (what TEXT, reason TEXT, ts REAL);
CREATE TEMP TABLE judged (
  session INTEGER, attempt INTEGER, turn INTEGER, body TEXT, cost_usd REAL, work_s REAL, ts REAL);
";

/// Makes the tables in an empty database and names the run and the grid's variants and cases.
pub(super) fn create(conn: &mut Connection, path: &Path, run: &str, grid: &Grid) -> Result<()> {
    if tables(conn).map_err(|e| fault(path, e))? > 0 {
        return Err(Error::internal(format!(
            "store: {} already holds a database",
            path.display()
        ))
        .hint("name another folder"));
    }
    build(conn, run, grid).map_err(|e| fault(path, e))
}

fn build(conn: &mut Connection, run: &str, grid: &Grid) -> rusqlite::Result<()> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.pragma_update(None, "application_id", APPLICATION_ID)?;
    upgrade(&tx, 0, &MIGRATIONS)?;
    tx.execute("INSERT INTO run VALUES (?1)", [run])?;
    for (id, name) in (0i64..).zip(&grid.variants) {
        tx.execute("INSERT INTO variant VALUES (?1, ?2)", (id, name.as_str()))?;
    }
    for (id, name) in (0i64..).zip(&grid.cases) {
        tx.execute("INSERT INTO task VALUES (?1, ?2)", (id, name.as_str()))?;
    }
    tx.commit()
}

/// How many tables, indices and views there are: none in a database of which nothing was committed.
pub(super) fn tables(conn: &Connection) -> rusqlite::Result<i64> {
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))
}

/// Refuses the database of another run, or of one with other variants, cases or seeds.
pub(super) fn check_owner(conn: &Connection, path: &Path, run: &str, grid: &Grid) -> Result<()> {
    let names = |sql: &str| -> rusqlite::Result<Vec<String>> {
        conn.prepare(sql)?
            .query_map([], |r| r.get(0))?
            .collect::<rusqlite::Result<_>>()
    };
    let read = || {
        let ids = names("SELECT id FROM run")?;
        let variants = names("SELECT name FROM variant ORDER BY id")?;
        let cases = names("SELECT name FROM task ORDER BY id")?;
        let ends = conn.query_row("SELECT min(id), max(id) FROM session", [], |r| {
            Ok((r.get::<_, Option<i64>>(0)?, r.get::<_, Option<i64>>(1)?))
        })?;
        Ok((ids, variants, cases, ends))
    };
    let (ids, variants, cases, (first, last)) = read().map_err(|e| fault(path, e))?;
    let span = grid.span();
    let is_in_grid = |id: Option<i64>| id.is_none_or(|id| span.contains(&id.cast_unsigned()));
    // Files of an older farm do not say whose they are.
    let is_of_run = ids.iter().all(|id| id == run);
    let is_of_grid = variants.iter().eq(grid.variants.iter().map(|v| v.as_str()))
        && cases.iter().eq(grid.cases.iter().map(|c| c.as_str()))
        && is_in_grid(first)
        && is_in_grid(last);
    if is_of_run && is_of_grid {
        return Ok(());
    }
    let what = if is_of_run {
        "it has other sessions"
    } else {
        "it is another run's"
    };
    Err(Error::internal(format!(
        "{} does not belong to run {run}: {what}",
        path.display()
    ))
    .hint("put the folder's own farm.db, manifest.json and cases.jsonl back"))
}

/// Says whose file it is, where an older farm did not.
pub(super) fn claim(conn: &Connection, path: &Path, run: &str) -> Result<()> {
    let claim = "INSERT INTO run SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM run)";
    let claimed = conn.execute(claim, [run]);
    claimed.map(drop).map_err(|e| fault(path, e))
}

/// Brings the database of an older farm up to date.
pub(super) fn migrate(conn: &mut Connection, path: &Path) -> Result<()> {
    let version = version(conn, path)?;
    if version < MIGRATIONS.len() {
        let run = |conn: &mut Connection| {
            let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
            upgrade(&tx, version, &MIGRATIONS)?;
            tx.commit()
        };
        run(conn).map_err(|e| fault(path, e))?;
    }
    Ok(())
}

/// Makes a database readable as one of today's, whatever its version; the file stays as it is.
pub(super) fn read_as_today(conn: &Connection, path: &Path) -> Result<()> {
    let version = version(conn, path)?;
    let mut steps = READ_AS_NEXT.iter().skip(version.saturating_sub(1));
    steps.try_for_each(|views| conn.execute_batch(views).map_err(|e| fault(path, e)))
}

/// Settles what an earlier process left in flight: what its sessions were at and could not ask is of
/// no meaning any more.
pub(super) fn go_on(conn: &mut Connection, path: &Path) -> Result<()> {
    const LEFT: &str = "
      DELETE FROM activity;
      DELETE FROM look;
      DELETE FROM parked;";
    let settle = |conn: &mut Connection| {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        settle_all(&tx)?;
        tx.execute_batch(LEFT)?;
        tx.commit()
    };
    settle(conn).map_err(|e| fault(path, e))
}

fn upgrade(conn: &Connection, version: usize, steps: &[&str]) -> rusqlite::Result<()> {
    for step in steps.iter().skip(version) {
        conn.execute_batch(step)?;
    }
    conn.pragma_update(None, "user_version", steps.len().cast_signed())
}

/// The version of a database that farm made and knows.
fn version(conn: &Connection, path: &Path) -> Result<usize> {
    let pragma = |name: &str| {
        conn.pragma_query_value(None, name, |r| r.get::<_, i32>(0))
            .map_err(|e| fault(path, e))
    };
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    if application == 0 && version == 0 && tables(conn).map_err(|e| fault(path, e))? == 0 {
        return Err(Error::input(format!(
            "{} is empty: the run had not begun",
            path.display()
        ))
        .hint("nothing is lost: remove the folder and run again"));
    }
    let known = MIGRATIONS.len();
    match usize::try_from(version) {
        _ if application != APPLICATION_ID => Err(Error::internal(format!(
            "{} is not a database of farm",
            path.display()
        ))
        .hint("put the run's own farm.db back")),
        Ok(version) if (1..=known).contains(&version) => Ok(version),
        _ => Err(Error::internal(format!(
            "{} was written by a newer farm: its schema is {version}, this farm knows up to {known}",
            path.display()
        ))
        .hint("use the farm that wrote it, or a newer one")),
    }
}

#[cfg(test)]
mod tests;
