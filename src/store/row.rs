use rusqlite::{
    Row,
    types::{Type, ValueRef},
};
use serde::de::{DeserializeOwned, IntoDeserializer, value::Error as WordError};

use crate::domain::{CheckResult, Outcome, SessionId, SessionState, Status, Wait};

/// What is kept of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRow {
    /// Whose.
    pub session: SessionId,
    /// The attempt that counts, from 0.
    pub attempt: u32,
    /// How often it went on after infrastructure broke it, over all attempts.
    pub restarts: u32,
    /// Unix seconds, of this attempt.
    pub began: f64,
    /// Unix seconds; none while it is open.
    pub ended: Option<f64>,
    /// Seconds that it worked, waits left out; none while it is open.
    pub work_s: Option<f64>,
    /// What it waited for after its last reply; nothing while it is open.
    pub waits: Vec<Wait>,
    /// How it ended; none while it is open.
    pub outcome: Option<Outcome>,
    /// What the scorer said, if it did.
    pub score: Option<Score>,
}

/// Where a session that has begun stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Which.
    pub session: SessionId,
    /// The attempt that counts, from 0.
    pub attempt: u32,
    /// `not_run` while it is open.
    pub state: SessionState,
}

/// A verdict as it was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Score {
    /// Every check was judged.
    Judged(Vec<CheckResult>),
    /// Scoring failed, and why.
    Failed(String),
}

/// One session, with the columns in the order of [`SessionRow::read`].
pub(super) const SESSION: &str = "
SELECT id, attempt, restarts, began, ended, work_s, status, lim, answer, steps, blocked,
  mean_score, tokens_in, tokens_out, cost_usd, error, checks, score_error, served, waits
FROM session WHERE id = ?1";

/// The states alone, with the columns in the order of [`read_state`].
pub(super) const STATES: &str = "
SELECT id, status, passed, score_error, attempt FROM session ORDER BY id";

impl SessionRow {
    /// Why it is errored: of its scoring, or of its own end.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        match &self.score {
            Some(Score::Failed(why)) => Some(why),
            _ => self.outcome.as_ref()?.error.as_deref(),
        }
    }

    /// How it ended; `interrupted` while it is open, as its trace says.
    #[must_use]
    pub fn status(&self) -> Status {
        let outcome = self.outcome.as_ref();
        outcome.map_or(Status::Interrupted, |outcome| outcome.status)
    }

    /// Where the session stands.
    #[must_use]
    pub fn state(&self) -> SessionState {
        let Some(outcome) = &self.outcome else {
            return SessionState::NotRun;
        };
        let verdict = match &self.score {
            None => Verdict::None,
            Some(Score::Failed(_)) => Verdict::Broken,
            Some(Score::Judged(checks)) => Verdict::Passed(checks.iter().all(|c| c.passed)),
        };
        state(outcome.status, verdict)
    }

    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let status: Option<Status> = word(row, 6)?;
        let outcome = match status {
            None => None,
            Some(status) => Some(Outcome {
                status,
                limit: word(row, 7)?,
                answer: row.get(8)?,
                steps_used: row.get(9)?,
                blocked: row.get(10)?,
                mean_score: row.get(11)?,
                tokens_in: count(row, 12)?,
                tokens_out: count(row, 13)?,
                cost_usd: row.get(14)?,
                error: row.get(15)?,
                served: json(row, 18)?.unwrap_or_default(),
            }),
        };
        let checks: Option<Vec<CheckResult>> = json(row, 16)?;
        let failed: Option<String> = row.get(17)?;
        Ok(Self {
            session: SessionId(row.get::<_, i64>(0)?.cast_unsigned()),
            attempt: row.get(1)?,
            restarts: row.get(2)?,
            began: row.get(3)?,
            ended: row.get(4)?,
            work_s: row.get(5)?,
            waits: json(row, 19)?.unwrap_or_default(),
            outcome,
            score: checks.map(Score::Judged).or(failed.map(Score::Failed)),
        })
    }
}

/// What is known of a verdict when only the state is asked for.
#[derive(Debug, Clone, Copy)]
enum Verdict {
    None,
    Passed(bool),
    Broken,
}

fn state(status: Status, verdict: Verdict) -> SessionState {
    match (status, verdict) {
        (Status::Interrupted, _) => SessionState::NotRun,
        (Status::Killed, _) => SessionState::Killed,
        (Status::ModelError | Status::Crashed, _) | (_, Verdict::Broken) => SessionState::Errored,
        (_, Verdict::None) => SessionState::Unscored,
        (_, Verdict::Passed(true)) => SessionState::Passed,
        (_, Verdict::Passed(false)) => SessionState::Failed,
    }
}

pub(super) fn read_state(row: &Row<'_>) -> rusqlite::Result<Standing> {
    let session = SessionId(row.get::<_, i64>(0)?.cast_unsigned());
    let verdict = match (row.get(2)?, row.get_ref(3)?) {
        (None, ValueRef::Null) => Verdict::None,
        (Some(passed), ValueRef::Null) => Verdict::Passed(passed),
        _ => Verdict::Broken,
    };
    let status = match verdict {
        // Only what ended by itself is judged: there is no need to read how, of most sessions.
        Verdict::Passed(_) => Some(Status::Completed),
        _ => word(row, 1)?,
    };
    Ok(Standing {
        session,
        attempt: row.get(4)?,
        state: status.map_or(SessionState::NotRun, |s| state(s, verdict)),
    })
}

/// A name out of a closed set, such as a status.
pub(super) fn word<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
) -> rusqlite::Result<Option<T>> {
    let Some(text) = row.get_ref(column)?.as_str_or_null()? else {
        return Ok(None);
    };
    T::deserialize(text.into_deserializer())
        .map(Some)
        .map_err(|e: WordError| unreadable(column, e))
}

/// What is kept as JSON; none where there is nothing.
fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    let value = text.map(serde_json::from_str).transpose();
    value.map_err(|e| unreadable(column, e))
}

fn count(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(i64::cast_unsigned))
}

pub(super) fn unreadable(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
}
