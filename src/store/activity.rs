//! What sessions in flight are at, and for what no further call is made: what `farm status` shows
//! while a run is at work.

use rusqlite::{OptionalExtension, Row, types::Type};

use super::{reader::Reader, row::word};
use crate::{
    domain::{Activity, SessionId},
    error::Result,
};

const LOOK: &str = "SELECT at FROM look";

const ACTIVITIES: &str = "SELECT session, activity, since, until FROM activity ORDER BY session";

const PARKED: &str = "SELECT what, reason, ts FROM parked ORDER BY ts, what";

/// What one session in flight is at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Doing {
    /// Which session.
    pub session: SessionId,
    /// What it is at.
    pub activity: Activity,
    /// Since when, Unix seconds.
    pub since: f64,
    /// Until when, Unix seconds, where that is known.
    pub until: Option<f64>,
}

/// What all sessions in flight were at when they were looked at last.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// When that was, Unix seconds.
    pub at: f64,
    /// By session.
    pub list: Vec<Doing>,
}

/// Something for which no further call is made.
#[derive(Debug, Clone, PartialEq)]
pub struct Parked {
    /// An endpoint, a model or the run.
    pub what: String,
    /// Why.
    pub reason: String,
    /// Since when, Unix seconds.
    pub ts: f64,
}

impl Reader {
    /// What sessions in flight are at: as of some second ago while somebody is at work, and of the
    /// last look of a process that died. None before the first look.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn look(&self) -> Result<Option<Look>> {
        let at = self.cached(LOOK)?.query_row([], |r| r.get(0)).optional();
        let Some(at) = at.map_err(|e| self.fault(e))? else {
            return Ok(None);
        };
        let list = self
            .cached(ACTIVITIES)?
            .query_map([], doing)
            .and_then(Iterator::collect)
            .map_err(|e| self.fault(e))?;
        Ok(Some(Look { at, list }))
    }

    /// For what no further call is made since the run was begun or gone on with, oldest first.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn parked(&self) -> Result<Vec<Parked>> {
        let parked = |r: &Row<'_>| {
            Ok(Parked {
                what: r.get(0)?,
                reason: r.get(1)?,
                ts: r.get(2)?,
            })
        };
        self.cached(PARKED)?
            .query_map([], parked)
            .and_then(Iterator::collect)
            .map_err(|e| self.fault(e))
    }
}

fn doing(row: &Row<'_>) -> rusqlite::Result<Doing> {
    let none = || rusqlite::Error::InvalidColumnType(1, "activity".to_owned(), Type::Null);
    let activity: Option<Activity> = word(row, 1)?;
    Ok(Doing {
        session: SessionId(row.get::<_, i64>(0)?.cast_unsigned()),
        activity: activity.ok_or_else(none)?,
        since: row.get(2)?,
        until: row.get(3)?,
    })
}

#[cfg(test)]
mod tests;
