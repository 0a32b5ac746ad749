//! What a model said of the steps of a turn after they ran: a part of the steps that becomes durable
//! later than they do.

use rusqlite::Row;

use super::reader::{Reader, json};
use crate::{
    domain::{Judgment, SessionId, trace},
    error::Result,
};

const JUDGED: &str = "
SELECT turn, body, cost_usd, work_s, ts FROM judged
WHERE session = ?1 AND attempt = ?2 ORDER BY turn";

/// What a model said of the steps of a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedRow {
    /// Of which turn, from 0.
    pub turn: u32,
    /// One list for each step of the turn, in their order.
    pub of_steps: Vec<Vec<Judgment>>,
    /// US dollars that it cost; none if that is not known.
    pub cost_usd: Option<f64>,
    /// Seconds that the session had worked by then, waits left out.
    pub work_s: f64,
    /// Unix seconds.
    pub ts: f64,
}

impl Reader {
    /// What a model said of the steps of an attempt after they ran, by turn. [`Reader::steps`] has it
    /// too, where it belongs.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn judged(&self, session: SessionId, attempt: u32) -> Result<Vec<JudgedRow>> {
        self.rows(JUDGED, session, attempt, |r| {
            Ok(JudgedRow {
                turn: r.get(0)?,
                of_steps: json(r, 1)?,
                cost_usd: r.get(2)?,
                work_s: r.get(3)?,
                ts: r.get(4)?,
            })
        })
    }
}

/// A step with all its judgments, from the columns of [`super::reader::STEPS`].
pub(super) fn whole_step(row: &Row<'_>) -> rusqlite::Result<trace::Step> {
    let mut step: trace::Step = json(row, 3)?;
    if row.get_ref(5)?.as_str_or_null()?.is_some() {
        let of_steps: Vec<Vec<Judgment>> = json(row, 5)?;
        let at = usize::try_from(step.call).unwrap_or(usize::MAX);
        step.judgments
            .extend(of_steps.into_iter().nth(at).unwrap_or_default());
    }
    Ok(step)
}

#[cfg(test)]
mod tests;
