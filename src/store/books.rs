//! The books of a run: what its calls can cost and what they did.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::{
    apply::int,
    reader::Reader,
    write::Write,
    writer::{Handle, StoreLost},
};
use crate::{
    domain::{Books, BooksLost, BoxFuture, Reservation, SessionId, Settlement},
    error::Result,
};

/// A call in flight stands at its reservation.
const MONEY: &str = "
WITH booked AS (
  SELECT id, model, purpose, kept, coalesce(cost_usd, reserved_usd) AS usd,
    CASE WHEN is_most THEN max(coalesce(cost_usd, 0.0) - reserved_usd, 0.0) ELSE 0.0 END AS above
  FROM call)
SELECT model, count(*), total(usd), total(usd) FILTER (WHERE kept = 0 AND purpose <> 'probe'),
  total(usd) FILTER (WHERE purpose IN ('judge', 'grade')),
  total(usd) FILTER (WHERE purpose = 'probe'),
  count(*) FILTER (WHERE above > 0.0), total(above), max(id)
FROM booked GROUP BY model";

/// Books calls that nobody will settle any more at their reservations, which is the most that they
/// can have cost: nobody has their replies. Nor has anybody those that were settled and then lost,
/// before the turn or the judgments were durable that were to be made of them, however their session
/// stands by now.
pub(super) fn settle_all(conn: &Connection) -> rusqlite::Result<()> {
    const SETTLE: &str = "
      UPDATE call SET cost_usd = reserved_usd, kept = 0 WHERE cost_usd IS NULL;
      UPDATE call SET kept = 0 WHERE kept = 1 AND purpose = 'turn'
        AND NOT EXISTS (SELECT 1 FROM turn WHERE turn.session = call.session
          AND turn.attempt = call.attempt AND turn.turn = call.turn);
      UPDATE call SET kept = 0 WHERE kept = 1 AND purpose = 'judge'
        AND NOT EXISTS (SELECT 1 FROM judged WHERE judged.session = call.session
          AND judged.attempt = call.attempt AND judged.turn = call.turn);";
    conn.execute_batch(SETTLE)
}

/// The books of a run, kept in its database. Cheap to clone.
#[derive(Debug, Clone)]
pub struct CallBooks(Handle);

impl CallBooks {
    /// The books behind this handle.
    #[must_use]
    pub fn new(store: Handle) -> Self {
        Self(store)
    }
}

impl From<StoreLost> for BooksLost {
    fn from(lost: StoreLost) -> Self {
        Self(lost.to_string())
    }
}

impl Books for CallBooks {
    fn reserve(&self, call: Reservation) -> BoxFuture<'_, Result<(), BooksLost>> {
        Box::pin(async move { Ok(self.0.commit(vec![Write::Reserve(call)]).await?) })
    }

    /// Writes are committed in the order in which they are queued, so what is written after it is
    /// durable no earlier.
    fn settle(&self, call: Settlement) -> BoxFuture<'_, Result<(), BooksLost>> {
        Box::pin(async move { Ok(self.0.post(vec![Write::Settle(call)]).await?) })
    }
}

/// What the calls of a run cost, as the books have it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Money {
    /// By the model's name in the config; those alone that were called.
    pub models: BTreeMap<String, Spent>,
    /// The first number that no call has.
    pub next_call: u64,
}

/// What the calls of one model cost, in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    /// Calls that were reserved.
    pub calls: u64,
    /// What they cost, and of those in flight what they can cost at most.
    pub booked_usd: f64,
    /// Of that, for calls whose reply was of no use, whatever they were for; probes apart, of which
    /// no reply is kept.
    pub failed_usd: f64,
    /// Of that, to judge steps and to grade sessions.
    pub judges_usd: f64,
    /// Of that, to probe endpoints.
    pub probes_usd: f64,
    /// Calls that cost more than was reserved for them, where that was the most that they could.
    pub overcharges: u64,
    /// How much more.
    pub overcharged_usd: f64,
}

impl Money {
    /// US dollars of all models.
    #[must_use]
    pub fn booked_usd(&self) -> f64 {
        let booked = self.models.values().map(|spent| spent.booked_usd);
        // A sum of nothing would be -0.
        booked.fold(0.0, |sum, usd| sum + usd)
    }
}

/// A call in flight stands at its reservation.
const OF_TURNS: &str = "
SELECT total(coalesce(cost_usd, reserved_usd)) FROM call
WHERE session = ?1 AND attempt = ?2 AND purpose = 'turn'";

impl Reader {
    /// US dollars of all calls for the turns of an attempt, those that came to nothing included: what
    /// they cost, or can cost at most where nobody said.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn spent_usd(&self, session: SessionId, attempt: u32) -> Result<f64> {
        self.cached(OF_TURNS)?
            .query_row((int(session), attempt), |r| r.get(0))
            .map_err(|e| self.fault(e))
    }

    /// What the calls of the run cost, as the books have it.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn money(&self) -> Result<Money> {
        let mut money = Money::default();
        let mut of_models = self.cached(MONEY)?;
        let mut rows = of_models.query([]).map_err(|e| self.fault(e))?;
        let mut next = || -> rusqlite::Result<Option<(String, Spent, i64)>> {
            let Some(r) = rows.next()? else {
                return Ok(None);
            };
            let spent = Spent {
                calls: r.get::<_, i64>(1)?.cast_unsigned(),
                booked_usd: r.get(2)?,
                failed_usd: r.get(3)?,
                judges_usd: r.get(4)?,
                probes_usd: r.get(5)?,
                overcharges: r.get::<_, i64>(6)?.cast_unsigned(),
                overcharged_usd: r.get(7)?,
            };
            Ok(Some((r.get(0)?, spent, r.get(8)?)))
        };
        while let Some((model, spent, last)) = next().map_err(|e| self.fault(e))? {
            let after = last.cast_unsigned().saturating_add(1);
            money.next_call = money.next_call.max(after);
            money.models.insert(model, spent);
        }
        Ok(money)
    }
}

#[cfg(test)]
mod tests;
