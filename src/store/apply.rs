//! Each write as a prepared statement.

use rusqlite::{Connection, Statement};

use super::{
    activity::Doing,
    write::{Write, json},
};
use crate::domain::{Reservation, SessionId, Settlement};

const BEGIN: &str = "
INSERT INTO session (id, attempt, began) VALUES (?1, ?2, ?3)
ON CONFLICT (id) DO UPDATE SET attempt = excluded.attempt, began = excluded.began,
  status = NULL, passed = NULL, score_error = NULL, lim = NULL, steps = NULL, blocked = NULL,
  mean_score = NULL, tokens_in = NULL, tokens_out = NULL, cost_usd = NULL, work_s = NULL,
  ended = NULL, checks = NULL, error = NULL, answer = NULL, served = NULL,
  waits = NULL
WHERE excluded.attempt > attempt
  AND (status IS NULL OR status IN ('model_error', 'crashed') OR score_error IS NOT NULL)";

const TURN: &str = "
INSERT INTO turn (session, attempt, turn, cost_usd, work_s, ts, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (session, attempt, turn) DO NOTHING";

const STEP: &str = "
INSERT INTO step (session, attempt, step, turn, call, work_s, ts, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (session, attempt, step) DO NOTHING";

const END: &str = "
UPDATE session SET status = ?3, lim = ?4, steps = ?5, blocked = ?6, mean_score = ?7,
  tokens_in = ?8, tokens_out = ?9, cost_usd = ?10, work_s = ?11, ended = ?12, error = ?13,
  answer = ?14, served = ?15, waits = ?16
WHERE id = ?1 AND attempt = ?2 AND status IS NULL";

const SCORE: &str = "
UPDATE session SET passed = ?3, checks = ?4, score_error = ?5
WHERE id = ?1 AND attempt = ?2 AND status IN ('completed', 'budget_exhausted', 'fallback_stop')";

const RESTART: &str = "
UPDATE session SET restarts = restarts + 1 WHERE id = ?1";

const LOST_ATTEMPT: &str = "
INSERT INTO lost_attempt (session, attempt, reason, cost_usd, ts) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (session, attempt) DO NOTHING";

const JUDGED: &str = "
INSERT INTO judged (session, attempt, turn, cost_usd, work_s, ts, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
ON CONFLICT (session, attempt, turn) DO NOTHING";

const RESERVE: &str = "
INSERT INTO call (id, session, attempt, turn, purpose, model, reserved_usd, is_most, ts)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

const SETTLE: &str = "
UPDATE call SET cost_usd = ?2, kept = ?3 WHERE id = ?1 AND cost_usd IS NULL";

const PARKED: &str = "
INSERT INTO parked (what, reason, ts) VALUES (?1, ?2, ?3) ON CONFLICT (what) DO NOTHING";

const LOOK: &str = "
INSERT INTO look (id, at) VALUES (0, ?1) ON CONFLICT (id) DO UPDATE SET at = excluded.at";

const NO_ACTIVITY: &str = "
DELETE FROM activity";

const ACTIVITY: &str = "
INSERT INTO activity (session, activity, since, until) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (session) DO NOTHING";

/// The statements of the writer, prepared once.
pub(super) struct Statements<'c> {
    begin: Statement<'c>,
    turn: Statement<'c>,
    step: Statement<'c>,
    end: Statement<'c>,
    score: Statement<'c>,
    restart: Statement<'c>,
    lost_attempt: Statement<'c>,
    judged: Statement<'c>,
    reserve: Statement<'c>,
    settle: Statement<'c>,
    parked: Statement<'c>,
    look: Statement<'c>,
    no_activity: Statement<'c>,
    activity: Statement<'c>,
}

impl<'c> Statements<'c> {
    pub(super) fn prepare(conn: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            begin: conn.prepare(BEGIN)?,
            turn: conn.prepare(TURN)?,
            step: conn.prepare(STEP)?,
            end: conn.prepare(END)?,
            score: conn.prepare(SCORE)?,
            restart: conn.prepare(RESTART)?,
            lost_attempt: conn.prepare(LOST_ATTEMPT)?,
            judged: conn.prepare(JUDGED)?,
            reserve: conn.prepare(RESERVE)?,
            settle: conn.prepare(SETTLE)?,
            parked: conn.prepare(PARKED)?,
            look: conn.prepare(LOOK)?,
            no_activity: conn.prepare(NO_ACTIVITY)?,
            activity: conn.prepare(ACTIVITY)?,
        })
    }

    /// Applies one write; gives how many rows it changed: 0 when it was fenced off.
    pub(super) fn apply(&mut self, write: &Write) -> rusqlite::Result<usize> {
        match write {
            Write::Begin {
                session,
                attempt,
                ts,
            } => self.begin.execute((int(*session), attempt, ts)),
            Write::Turn {
                session,
                attempt,
                turn,
                body,
                cost_usd,
                work_s,
                ts,
            } => self
                .turn
                .execute((int(*session), attempt, turn, cost_usd, work_s, ts, &**body)),
            Write::Step {
                session,
                attempt,
                step,
                turn,
                call,
                body,
                work_s,
                ts,
            } => self.step.execute((
                int(*session),
                attempt,
                step,
                turn,
                call,
                work_s,
                ts,
                &**body,
            )),
            Write::End {
                session,
                attempt,
                outcome,
                work_s,
                waits,
                ts,
            } => self.end.execute((
                int(*session),
                attempt,
                outcome.status.as_str(),
                outcome.limit.map(|l| l.as_str()),
                outcome.steps_used,
                outcome.blocked,
                outcome.mean_score,
                outcome.tokens_in.map(capped),
                outcome.tokens_out.map(capped),
                outcome.cost_usd,
                work_s,
                ts,
                outcome.error.as_deref(),
                outcome.answer.as_deref(),
                (!outcome.served.is_empty()).then(|| json(&outcome.served)),
                (!waits.is_empty()).then(|| json(waits)),
            )),
            Write::Score {
                session,
                attempt,
                passed,
                checks,
                error,
            } => self.score.execute((
                int(*session),
                attempt,
                passed,
                checks.as_deref(),
                error.as_deref(),
            )),
            Write::Restart { session } => self.restart.execute([int(*session)]),
            Write::LostAttempt {
                session,
                attempt,
                reason,
                cost_usd,
                ts,
            } => self
                .lost_attempt
                .execute((int(*session), attempt, &**reason, cost_usd, ts)),
            Write::Judged {
                session,
                attempt,
                turn,
                body,
                cost_usd,
                work_s,
                ts,
            } => self
                .judged
                .execute((int(*session), attempt, turn, cost_usd, work_s, ts, &**body)),
            Write::Reserve(call) => self.reserve(call),
            Write::Settle(Settlement { call, usd, is_kept }) => {
                self.settle.execute((call.cast_signed(), usd, is_kept))
            }
            Write::Parked { what, reason, ts } => self.parked.execute((&**what, &**reason, ts)),
            Write::Activities { at, list } => self.activities(*at, list),
        }
    }

    fn reserve(&mut self, call: &Reservation) -> rusqlite::Result<usize> {
        let of = &call.on_behalf;
        self.reserve.execute((
            call.call.cast_signed(),
            of.session.map(int),
            of.attempt,
            of.turn,
            of.purpose.as_str(),
            &call.model,
            call.usd,
            call.is_most,
            call.ts,
        ))
    }

    fn activities(&mut self, at: f64, list: &[Doing]) -> rusqlite::Result<usize> {
        self.no_activity.execute([])?;
        for of in list {
            let row = (int(of.session), of.activity.as_str(), of.since, of.until);
            self.activity.execute(row)?;
        }
        self.look.execute([at])
    }
}

/// A session's number as SQLite holds it; bit by bit, as all 64 may be used.
pub(super) fn int(session: SessionId) -> i64 {
    session.0.cast_signed()
}

/// A count as SQLite holds it.
fn capped(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
