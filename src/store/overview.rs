//! How a run stands, in one scan of its sessions.

use std::ops::RangeInclusive;

use rusqlite::Row;

use super::{
    alike::{Alike, Groups},
    apply::int,
    reader::{Reader, Totals},
    row::{Standing, read_state},
};
use crate::{
    domain::{Cell, Grid, Ledger, SessionId, SessionState, Tally},
    error::Result,
};

/// Seconds whose sessions say how fast a run goes.
const RECENT_S: f64 = 60.0;

/// Its columns begin with those of [`super::row::STATES`]. What is wide stands behind `ended` and is
/// not touched; each column costs some 6 ms for 200,000 sessions, as much as a third of the pages.
const SCAN: &str = "
SELECT id, status, passed, score_error, attempt, restarts, cost_usd, ended
FROM session WHERE id >= ?1 AND id < ?2 ORDER BY id";

/// Of the few sessions that are errored: reading it of all would cost a column.
const ERROR: &str = "SELECT coalesce(score_error, error, status) FROM session WHERE id = ?1";

const LOST: &str = "SELECT count(*), total(cost_usd) FROM lost_attempt";

/// The last minute before `now`, from `began` on if that lies within it: Unix seconds. Who began
/// later than now has seen the clock set back; when it began is not known then.
#[must_use]
pub fn recently(now: f64, began: Option<f64>) -> RangeInclusive<f64> {
    let minute = now - RECENT_S;
    let began = began.filter(|began| *began <= now);
    began.map_or(minute, |began| began.max(minute))..=now
}

/// How a run stands.
#[derive(Debug)]
pub struct Overview {
    /// One for each variant, as though it were run alone: `cases` has one row, and what has begun
    /// and not ended is in flight.
    pub variants: Vec<Tally>,
    /// Sessions that ended, a second, in the span of time that was asked for; none when it is empty.
    pub per_s: Option<f64>,
    /// What infrastructure cost.
    pub totals: Totals,
    /// Why sessions are errored, most frequent first.
    pub errors: Vec<Alike>,
}

impl Overview {
    /// Before the first session.
    #[must_use]
    pub fn of(grid: &Grid) -> Self {
        let variants = grid.variants.len();
        let of_one = Tally {
            ledger: Ledger::planned(grid.planned().checked_div(variants as u64).unwrap_or(0)),
            cases: vec![vec![(0, 0); grid.cases.len()]],
            ..Tally::default()
        };
        Self {
            variants: vec![of_one; variants],
            per_s: None,
            totals: Totals::default(),
            errors: Vec::new(),
        }
    }

    /// All sessions by state.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        let mut ledger = Ledger::default();
        self.variants.iter().for_each(|v| ledger.add(&v.ledger));
        ledger
    }

    /// Sessions that have begun and not ended.
    #[must_use]
    pub fn open(&self) -> u64 {
        let open = self.variants.iter().map(|v| v.in_flight as u64);
        open.sum()
    }

    /// Seconds until all have run, at this speed; none when it stands still or is not known.
    #[must_use]
    pub fn eta_s(&self) -> Option<f64> {
        let eta = self.ledger().not_run as f64 / self.per_s?;
        eta.is_finite().then_some(eta)
    }
}

impl Reader {
    /// How the sessions of the grid stand; `recent` is a span of Unix seconds.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn overview(&self, grid: &Grid, recent: RangeInclusive<f64>) -> Result<Overview> {
        let mut overview = Overview::of(grid);
        let (mut ended, mut errored) = (0u32, Vec::new());
        let span = grid.span();
        let mut scan = self.cached(SCAN)?;
        let mut rows = scan
            .query([span.start, span.end].map(|id| int(SessionId(id))))
            .map_err(|e| self.fault(e))?;
        while let Some(row) = rows.next().map_err(|e| self.fault(e))? {
            let (of, at) = overview.add(grid, row).map_err(|e| self.fault(e))?;
            ended += u32::from(at.is_some_and(|at| recent.contains(&at)));
            if of.state == SessionState::Errored {
                errored.push(of.session);
            }
        }
        let seconds = recent.end() - recent.start();
        overview.per_s = (seconds > 0.0).then(|| f64::from(ended) / seconds);
        let mut groups = Groups::default();
        for id in errored {
            self.cached(ERROR)?
                .query_row([int(id)], |r| {
                    groups.add(r.get_ref(0)?.as_str()?, id);
                    Ok(())
                })
                .map_err(|e| self.fault(e))?;
        }
        overview.errors = groups.sorted();
        let (lost, cost): (i64, f64) = self
            .cached(LOST)?
            .query_row([], |r| Ok((r.get(0)?, r.get(1)?)))
            .map_err(|e| self.fault(e))?;
        overview.totals.lost_attempts = lost.cast_unsigned();
        overview.totals.lost_cost_usd = cost;
        Ok(overview)
    }

    /// How all sessions of the grid stand, for tests.
    #[cfg(test)]
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn ledger(&self, grid: &Grid) -> Result<Ledger> {
        Ok(self.overview(grid, 0.0..=0.0)?.ledger())
    }
}

impl Overview {
    /// Takes one session; says where it stands and when it ended.
    fn add(&mut self, grid: &Grid, row: &Row<'_>) -> rusqlite::Result<(Standing, Option<f64>)> {
        let of = read_state(row)?;
        let ended: Option<f64> = row.get(7)?;
        let restarts: u64 = row.get::<_, u32>(5)?.into();
        self.totals.restarts += restarts;
        let cell = grid.cell(of.session);
        if let Some(tally) = self.variants.get_mut(cell.variant) {
            tally.restarts += restarts;
            if ended.is_none() {
                tally.in_flight += 1;
            } else if of.state != SessionState::NotRun {
                tally.cost_usd += row.get::<_, Option<f64>>(6)?.unwrap_or(0.0);
                tally.settle(Cell { variant: 0, ..cell }, of.state);
            }
        }
        Ok((of, ended))
    }
}

#[cfg(test)]
mod tests;
