//! What is written of sessions from outside: when their actor is gone, or never was.

use crate::{
    domain::{Outcome, SessionId, Status},
    session::StoredTurn,
    store::Write,
};

/// Puts a session on record, if it is not.
pub(super) fn begin(session: SessionId, attempt: u32, ts: f64) -> Write {
    Write::Begin {
        session,
        attempt,
        ts,
    }
}

/// What is kept of an attempt that is given up.
pub(super) fn lost_attempt(
    (session, attempt): (SessionId, u32),
    reason: &str,
    cost_usd: Option<f64>,
    ts: f64,
) -> Write {
    Write::LostAttempt {
        session,
        attempt,
        reason: reason.into(),
        cost_usd,
        ts,
    }
}

/// The end of a session that is ended from outside, after these durable turns.
pub(super) fn so_far(status: Status, turns: &[StoredTurn], why: &str) -> Outcome {
    let steps = turns.iter().flat_map(|turn| &turn.steps);
    let usages: Vec<_> = turns.iter().map(|turn| turn.reply.usage).collect();
    let mut outcome = Outcome::so_far(status, steps, &usages, cost(turns), Some(why.to_owned()));
    for turn in turns {
        Outcome::note(&mut outcome.served, &turn.reply.served);
    }
    outcome
}

/// US dollars of some turns, unknown if the price of any is.
pub(super) fn cost(turns: &[StoredTurn]) -> Option<f64> {
    turns.iter().map(|turn| turn.cost_usd).sum()
}

/// Seconds that a session worked for its durable turns.
pub(super) fn worked(turns: &[StoredTurn]) -> f64 {
    turns.last().map_or(0.0, StoredTurn::work_s)
}
