use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{
    CachedStatement, Connection, ErrorCode, OpenFlags, OptionalExtension, Row, config::DbConfig,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    apply::int,
    fault::fault,
    judged::whole_step,
    row::{SESSION, STATES, SessionRow, Standing, read_state, unreadable},
    schema,
};
use crate::{
    domain::{Grid, SessionId, trace},
    error::{Error, Result},
};

/// Turns of an attempt: `turn, work_s, ts, body, cost_usd`.
pub(super) const TURNS: &str = "
SELECT turn, work_s, ts, body, cost_usd FROM turn WHERE session = ?1 AND attempt = ?2 ORDER BY turn";

/// Steps of an attempt: `turn, call, ts, body, work_s, judged`. The last is what a model said of all
/// steps of the turn after they ran, if it did; [`whole_step`] adds it.
pub(super) const STEPS: &str = "
SELECT turn, call, ts, body, work_s, (SELECT body FROM judged AS j
  WHERE j.session = step.session AND j.attempt = step.attempt AND j.turn = step.turn)
FROM step WHERE session = ?1 AND attempt = ?2 ORDER BY step";

/// Reads a run's database, also beside a live writer, after a crash, and in a folder that may not
/// be written.
#[derive(Debug)]
pub struct Reader {
    conn: Connection,
    path: PathBuf,
}

/// A durable reply.
#[derive(Debug, Clone)]
pub struct TurnRow {
    /// From 0.
    pub turn: u32,
    /// Seconds that the session had worked by then, waits left out.
    pub work_s: f64,
    /// Unix seconds.
    pub ts: f64,
    /// The reply and what belongs to it.
    pub body: trace::Turn,
    /// US dollars that it cost; none if that is not known.
    pub cost_usd: Option<f64>,
}

/// A durable step.
#[derive(Debug, Clone)]
pub struct StepRow {
    /// Unix seconds.
    pub ts: f64,
    /// The step.
    pub body: trace::Step,
    /// Seconds that the session had worked by then, waits left out; none in files of an older farm.
    pub work_s: Option<f64>,
}

/// What infrastructure cost the run, and what its calls did: the fields of the latter are left out
/// where they are 0, as in runs without a price.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Sessions that went on after infrastructure broke them, counted each time.
    pub restarts: u64,
    /// Attempts that were given up.
    pub lost_attempts: u64,
    /// US dollars of those, as far as they are known.
    pub lost_cost_usd: f64,
    /// Calls of models that were made, tries that failed included.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls: u64,
    /// US dollars of all of them: what they cost, or could have cost at most where nobody said.
    #[serde(default, skip_serializing_if = "is_free")]
    pub booked_usd: f64,
    /// Of these, for calls whose reply was of no use, whatever they were for; probes apart.
    #[serde(default, skip_serializing_if = "is_free")]
    pub failed_calls_cost_usd: f64,
    /// Of these, to judge steps and to grade sessions.
    #[serde(default, skip_serializing_if = "is_free")]
    pub judges_cost_usd: f64,
    /// Of these, to probe endpoints before the run.
    #[serde(default, skip_serializing_if = "is_free")]
    pub probes_cost_usd: f64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_free(usd: &f64) -> bool {
    *usd == 0.0
}

impl Reader {
    /// Opens a run's `farm.db`.
    ///
    /// # Errors
    /// When it is missing, not farm's, or of a newer farm.
    pub fn open(path: &Path) -> Result<Self> {
        if !path.is_file() {
            return Err(
                Error::input(format!("{} is missing", path.display()))
                    .hint("a published run has a summary and no database; traces and sessions are read from one"),
            );
        }
        Self::checked(connect(path)?, path)
    }

    /// The same of a run that may not have begun: none while its database is not made.
    ///
    /// # Errors
    /// When it is not farm's, or of a newer farm.
    pub fn open_if_begun(path: &Path) -> Result<Option<Self>> {
        if !path.is_file() {
            return Ok(None);
        }
        let conn = connect(path)?;
        if schema::tables(&conn).map_err(|e| fault(path, e))? == 0 {
            return Ok(None);
        }
        Self::checked(conn, path).map(Some)
    }

    /// Itself, if this is the database of `run` with its `grid`.
    ///
    /// # Errors
    /// When it is another's.
    pub fn of(self, run: &str, grid: &Grid) -> Result<Self> {
        schema::check_owner(&self.conn, &self.path, run, grid)?;
        Ok(self)
    }

    /// Reads as the database stands now, whatever is written meanwhile; and faster, since it is
    /// looked at for changes once and not at each statement.
    ///
    /// # Errors
    /// When the database cannot be read, and those of `read`.
    pub fn at_once<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        let transaction = self
            .conn
            .unchecked_transaction()
            .map_err(|e| self.fault(e))?;
        let value = read()?;
        transaction.commit().map_err(|e| self.fault(e))?;
        Ok(value)
    }

    /// What is kept of a session; none when it never began.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn session(&self, session: SessionId) -> Result<Option<SessionRow>> {
        self.cached(SESSION)?
            .query_row([int(session)], SessionRow::read)
            .optional()
            .map_err(|e| self.fault(e))
    }

    /// The sessions of one case under one variant, seeds ascending, one at a time.
    pub fn rows_of<'a>(
        &'a self,
        grid: &'a Grid,
        variant: usize,
        case: usize,
    ) -> impl Iterator<Item = Result<(SessionId, Option<SessionRow>)>> + 'a {
        grid.ids_of(variant, case)
            .map(|id| Ok((id, self.session(id)?)))
    }

    /// Where every session that has begun stands, by number.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn states(&self) -> Result<Vec<Standing>> {
        self.cached(STATES)?
            .query_map([], read_state)
            .and_then(Iterator::collect)
            .map_err(|e| self.fault(e))
    }

    /// The durable replies of an attempt, in order.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn turns(&self, session: SessionId, attempt: u32) -> Result<Vec<TurnRow>> {
        self.rows(TURNS, session, attempt, |r| {
            Ok(TurnRow {
                turn: r.get(0)?,
                work_s: r.get(1)?,
                ts: r.get(2)?,
                body: json(r, 3)?,
                cost_usd: r.get(4)?,
            })
        })
    }

    /// The durable steps of an attempt, in order.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn steps(&self, session: SessionId, attempt: u32) -> Result<Vec<StepRow>> {
        self.rows(STEPS, session, attempt, |r| {
            Ok(StepRow {
                ts: r.get(2)?,
                body: whole_step(r)?,
                work_s: r.get(4)?,
            })
        })
    }

    /// US dollars of the sessions that ended, as far as they are known.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn cost_usd(&self) -> Result<f64> {
        self.cached("SELECT total(cost_usd) FROM session")?
            .query_row([], |r| r.get(0))
            .map_err(|e| self.fault(e))
    }

    /// What infrastructure cost the run, and what its calls did.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn totals(&self) -> Result<Totals> {
        const TOTALS: &str = "SELECT (SELECT coalesce(sum(restarts), 0) FROM session),
            count(*), total(cost_usd) FROM lost_attempt";
        let mut totals = self
            .cached(TOTALS)?
            .query_row([], |r| {
                Ok(Totals {
                    restarts: r.get::<_, i64>(0)?.cast_unsigned(),
                    lost_attempts: r.get::<_, i64>(1)?.cast_unsigned(),
                    lost_cost_usd: r.get(2)?,
                    ..Totals::default()
                })
            })
            .map_err(|e| self.fault(e))?;
        for spent in self.money()?.models.values() {
            totals.calls += spent.calls;
            totals.booked_usd += spent.booked_usd;
            totals.failed_calls_cost_usd += spent.failed_usd;
            totals.judges_cost_usd += spent.judges_usd;
            totals.probes_cost_usd += spent.probes_usd;
        }
        Ok(totals)
    }

    fn checked(conn: Connection, path: &Path) -> Result<Self> {
        schema::read_as_today(&conn, path)?;
        Ok(Self {
            conn,
            path: path.to_owned(),
        })
    }

    pub(super) fn rows<T>(
        &self,
        sql: &str,
        session: SessionId,
        attempt: u32,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.cached(sql)?
            .query_map((int(session), attempt), read)
            .and_then(Iterator::collect)
            .map_err(|e| self.fault(e))
    }

    pub(super) fn conn(&self) -> &Connection {
        &self.conn
    }

    pub(super) fn cached(&self, sql: &str) -> Result<CachedStatement<'_>> {
        self.conn.prepare_cached(sql).map_err(|e| self.fault(e))
    }

    pub(super) fn fault(&self, error: rusqlite::Error) -> Error {
        fault(&self.path, error)
    }
}

pub(super) fn json<T: serde::de::DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|e| unreadable(column, e))
}

/// Opens read-only. Where SQLite cannot have its `-shm` file beside the database, because the
/// folder may not be written, a database without a WAL is read as one that cannot change.
fn connect(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(path, flags).and_then(settle);
    let refused = |e: &rusqlite::Error| {
        matches!(
            e.sqlite_error_code(),
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly)
        )
    };
    match opened {
        Err(e) if refused(&e) => {
            let mut wal = path.as_os_str().to_owned();
            wal.push("-wal");
            if fs::metadata(wal).is_ok_and(|m| m.len() > 0) {
                return Err(fault(path, e).hint(
                    "part of the run still stands in farm.db-wal: copy the folder to where it may be written",
                ));
            }
            connect_immutable(path)
        }
        opened => opened.map_err(|e| fault(path, e)),
    }
}

fn connect_immutable(path: &Path) -> Result<Connection> {
    let mut uri = "file:".to_owned();
    for c in path.to_string_lossy().chars() {
        match c {
            '%' => uri.push_str("%25"),
            '?' => uri.push_str("%3f"),
            '#' => uri.push_str("%23"),
            c => uri.push(c),
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(uri, flags)
        .and_then(settle)
        .map_err(|e| fault(path, e))
}

/// Sets a connection up and touches the file, so that what is wrong with it shows here.
fn settle(conn: Connection) -> rusqlite::Result<Connection> {
    conn.busy_timeout(Duration::from_secs(10))?;
    conn.pragma_update(None, "cache_size", -8192)?;
    // Without it SQLite plans a cached statement anew for every set of parameters.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(conn)
}

#[cfg(test)]
mod tests;
