//! The tables of `farm.db`, and how older files are brought up to date.
//!
//! Turns and steps are only ever appended: dense rowids fill their pages to the end, and a small
//! unique index finds them by session. Clustering the rows by session instead costs twice the time
//! for half-empty pages (measured).

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::fault::fault;
use crate::{
    domain::Grid,
    error::{Error, Result},
};

/// `farm` in ASCII: says whose file it is.
const APPLICATION_ID: i32 = i32::from_be_bytes(*b"farm");

/// Step n brings a file of version n to version n + 1. Never edited, only added to.
const MIGRATIONS: [&str; 2] = [V1, V2];

/// What gives a file of an older version, item n for version n, the columns of today in the eyes of
/// a reader, who may not change it: views that stand before its tables.
const READ_AS_TODAY: [&str; MIGRATIONS.len()] = ["", V1_AS_TODAY];

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

const V1_AS_TODAY: &str = "
PRAGMA temp_store = MEMORY;
CREATE TEMP VIEW turn AS SELECT *, NULL AS cost_usd FROM main.turn;
CREATE TEMP VIEW step AS SELECT *, NULL AS work_s FROM main.step;
CREATE TEMP TABLE run (id TEXT NOT NULL);
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
    match READ_AS_TODAY.get(version(conn, path)?) {
        Some(views) => conn.execute_batch(views).map_err(|e| fault(path, e)),
        None => Ok(()),
    }
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
mod tests {
    use super::*;

    fn grid() -> Grid {
        Grid {
            variants: vec!["v".parse().unwrap(), "w".parse().unwrap()],
            cases: vec![
                "a".parse().unwrap(),
                "b".parse().unwrap(),
                "c".parse().unwrap(),
            ],
            seeds: 0..3,
        }
    }

    fn made() -> Connection {
        let mut conn = Connection::open_in_memory().unwrap();
        create(&mut conn, Path::new("farm.db"), "r", &grid()).unwrap();
        conn
    }

    #[test]
    fn a_session_finds_its_name() {
        let conn = made();
        let grid = grid();
        for id in grid.ids() {
            let row = (id.0 as i64, 0, 1.0);
            conn.execute(
                "INSERT INTO session (id, attempt, began) VALUES (?1, ?2, ?3)",
                row,
            )
            .unwrap();
            let key: String = conn
                .query_row("SELECT key FROM session_key WHERE id = ?1", [row.0], |r| {
                    r.get(0)
                })
                .unwrap();
            assert_eq!(key, grid.key(id).to_string());
        }
    }

    #[test]
    fn only_known_versions_open() {
        let path = Path::new("farm.db");
        let mut conn = made();
        read_as_today(&conn, path).unwrap();
        migrate(&mut conn, path).unwrap();
        let again = create(&mut conn, path, "r", &grid()).unwrap_err();
        assert!(again.message.contains("already holds"), "{again}");

        conn.pragma_update(None, "user_version", 99).unwrap();
        let newer = migrate(&mut conn, path).unwrap_err();
        assert_eq!(
            newer.message,
            "farm.db was written by a newer farm: its schema is 99, this farm knows up to 2"
        );
        assert!(read_as_today(&conn, path).is_err());

        conn.pragma_update(None, "application_id", 7).unwrap();
        let other = read_as_today(&conn, path).unwrap_err();
        assert!(other.message.contains("not a database of farm"), "{other}");

        let empty = read_as_today(&Connection::open_in_memory().unwrap(), path).unwrap_err();
        assert!(empty.message.contains("had not begun"), "{empty}");
    }

    #[test]
    fn an_older_file_gains_the_missing_steps() {
        let conn = made();
        let steps = [V1, "CREATE TABLE later (id INTEGER PRIMARY KEY)"];
        upgrade(&conn, 1, &steps).unwrap();
        conn.execute("INSERT INTO later VALUES (1)", []).unwrap();
        let version: i32 = conn
            .pragma_query_value(None, "user_version", |r| r.get(0))
            .unwrap();
        assert_eq!(version, 2);
    }

    #[test]
    fn a_file_of_another_run_is_refused() {
        let path = Path::new("farm.db");
        let conn = made();
        let check = |run: &str, grid: &Grid| check_owner(&conn, path, run, grid).is_ok();
        assert!(check("r", &grid()));
        assert!(!check("s", &grid()));
        let with = |change: fn(&mut Grid)| {
            let mut grid = grid();
            change(&mut grid);
            check("r", &grid)
        };
        assert!(!with(|grid| grid.variants.swap(0, 1)));
        assert!(!with(|grid| drop(grid.cases.pop())));
        assert!(with(|grid| grid.seeds = 1..3));
        conn.execute(
            "INSERT INTO session (id, attempt, began) VALUES (5, 0, 1.0)",
            [],
        )
        .unwrap();
        assert!(!with(|grid| grid.seeds = 1..3), "seed 0 is there");
        // A file of an older farm takes the first name that it is given.
        conn.execute("DELETE FROM run", []).unwrap();
        assert!(check("s", &grid()));
        claim(&conn, path, "s").unwrap();
        claim(&conn, path, "r").unwrap();
        assert!(check("s", &grid()) && !check("r", &grid()));
    }
}
