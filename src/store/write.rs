use std::sync::Arc;

use serde::Serialize;

use super::activity::Doing;
use crate::domain::{Judgment, Outcome, Reservation, SessionId, Settlement, Verdict, Wait, trace};

/// One thing to keep. Texts are serialised where they arise, not on the writer's thread.
///
/// A write of an attempt that is no longer the session's, or that is there already, changes
/// nothing: the first one stands. [`super::Stats::fenced`] counts them.
#[derive(Debug, Clone)]
pub enum Write {
    /// A session begins, or begins anew with a higher attempt: over one that is open or errored.
    Begin {
        /// Whose.
        session: SessionId,
        /// From 0.
        attempt: u32,
        /// Unix seconds.
        ts: f64,
    },
    /// A reply of the model; see [`Write::turn`].
    Turn {
        /// Whose.
        session: SessionId,
        /// Of which attempt.
        attempt: u32,
        /// From 0.
        turn: u32,
        /// [`trace::Turn`] as a JSON object.
        body: Box<str>,
        /// US dollars that the reply cost, unknown if its price is.
        cost_usd: Option<f64>,
        /// Seconds that the session worked until here, waits left out.
        work_s: f64,
        /// Unix seconds.
        ts: f64,
    },
    /// A finished step; see [`Write::step`].
    Step {
        /// Whose.
        session: SessionId,
        /// Of which attempt.
        attempt: u32,
        /// From 0 over the session.
        step: u32,
        /// The turn that it came from.
        turn: u32,
        /// Its place in the turn.
        call: u32,
        /// [`trace::Step`] as a JSON object.
        body: Box<str>,
        /// Seconds that the session worked until here, waits left out.
        work_s: f64,
        /// Unix seconds.
        ts: f64,
    },
    /// The session ended: at most once an attempt.
    End {
        /// Whose.
        session: SessionId,
        /// Of which attempt.
        attempt: u32,
        /// How.
        outcome: Arc<Outcome>,
        /// Seconds that it worked, waits left out.
        work_s: f64,
        /// What it waited for after its last reply.
        waits: Vec<Wait>,
        /// Unix seconds.
        ts: f64,
    },
    /// What the scorer says of an ended session; a later score replaces it. See [`Write::score`].
    Score {
        /// Whose.
        session: SessionId,
        /// Of which attempt.
        attempt: u32,
        /// Whether all checks hold; none when scoring failed.
        passed: Option<bool>,
        /// The checks as a JSON array of [`crate::domain::CheckResult`].
        checks: Option<Box<str>>,
        /// Why scoring failed.
        error: Option<Box<str>>,
    },
    /// Infrastructure broke the session and it goes on; counted over the whole run.
    Restart {
        /// Whose.
        session: SessionId,
    },
    /// An attempt is given up: what it cost stays on record.
    LostAttempt {
        /// Whose.
        session: SessionId,
        /// The attempt that is lost.
        attempt: u32,
        /// Why.
        reason: Box<str>,
        /// US dollars that it cost, unknown if any call's price is.
        cost_usd: Option<f64>,
        /// Unix seconds.
        ts: f64,
    },
    /// What a model said of the steps of a turn after they ran; see [`Write::judged`].
    Judged {
        /// Whose.
        session: SessionId,
        /// Of which attempt.
        attempt: u32,
        /// The turn.
        turn: u32,
        /// A JSON array with one array of [`Judgment`] for each step of the turn, in their order.
        body: Box<str>,
        /// US dollars that it cost, unknown if its price is.
        cost_usd: Option<f64>,
        /// Seconds that the session worked until here, waits left out.
        work_s: f64,
        /// Unix seconds.
        ts: f64,
    },
    /// A call is about to be made. Its number is new: one that is there already ends the store, for
    /// its money would be booked nowhere.
    Reserve(Reservation),
    /// A reserved call is over: once.
    Settle(Settlement),
    /// For this no further call is made; the first reason stands until the run is gone on with.
    Parked {
        /// An endpoint, a model or the run, for people.
        what: Box<str>,
        /// Why.
        reason: Box<str>,
        /// Unix seconds.
        ts: f64,
    },
    /// What all sessions in flight are at; nothing is left of what they were at before.
    Activities {
        /// When that was seen, Unix seconds.
        at: f64,
        /// Each session once.
        list: Vec<Doing>,
    },
}

/// When something happened in a session.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct At {
    /// Seconds that it had worked by then, waits left out.
    pub work_s: f64,
    /// Unix seconds.
    pub ts: f64,
}

impl Write {
    /// A reply of the model, and the US dollars that it cost.
    #[must_use]
    pub fn turn(
        (session, attempt): (SessionId, u32),
        turn: u32,
        body: &trace::Turn,
        cost_usd: Option<f64>,
        at: At,
    ) -> Self {
        Self::Turn {
            session,
            attempt,
            turn,
            body: json(body),
            cost_usd,
            work_s: at.work_s,
            ts: at.ts,
        }
    }

    /// A finished step.
    #[must_use]
    pub fn step((session, attempt): (SessionId, u32), step: &trace::Step, at: At) -> Self {
        Self::Step {
            session,
            attempt,
            step: step.step,
            turn: step.turn,
            call: step.call,
            body: json(step),
            work_s: at.work_s,
            ts: at.ts,
        }
    }

    /// What a model said of the steps of a turn, one list for each, and the US dollars that it cost.
    #[must_use]
    pub fn judged(
        (session, attempt): (SessionId, u32),
        turn: u32,
        of_steps: &[Vec<Judgment>],
        cost_usd: Option<f64>,
        at: At,
    ) -> Self {
        Self::Judged {
            session,
            attempt,
            turn,
            body: json(of_steps),
            cost_usd,
            work_s: at.work_s,
            ts: at.ts,
        }
    }

    /// What the scorer says.
    #[must_use]
    pub fn score((session, attempt): (SessionId, u32), verdict: &Verdict) -> Self {
        let (checks, error) = match verdict {
            Verdict::Scored(checks) => (Some(json(checks)), None),
            Verdict::Failed(why) => (None, Some(why.to_string().into())),
        };
        Self::Score {
            session,
            attempt,
            passed: verdict.passed(),
            checks,
            error,
        }
    }
}

#[expect(
    clippy::expect_used,
    reason = "these types hold no map with keys other than strings, and no fallible serde"
)]
pub(super) fn json(value: &(impl Serialize + ?Sized)) -> Box<str> {
    serde_json::to_string(value)
        .expect("plain data is JSON")
        .into()
}
