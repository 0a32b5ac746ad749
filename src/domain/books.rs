use super::{BoxFuture, SessionId};

/// Where the money of calls is booked, so that it outlives the process: a reservation before the
/// call, what it cost after it. The store implements it.
pub trait Books: Send + Sync {
    /// Books what a call can cost; durable once this returns.
    fn reserve(&self, call: Reservation) -> BoxFuture<'_, Result<(), BooksLost>>;

    /// Books what a reserved call cost in the end. What is written after it is durable no earlier.
    fn settle(&self, call: Settlement) -> BoxFuture<'_, Result<(), BooksLost>>;
}

/// The books cannot be written: nothing that costs money may go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BooksLost(pub String);

/// A call that is about to be made.
#[derive(Debug, Clone, PartialEq)]
pub struct Reservation {
    /// Unique in the run.
    pub call: u64,
    /// On whose behalf.
    pub on_behalf: OnBehalf,
    /// The model's name in the config.
    pub model: String,
    /// What it stands at until it is over, US dollars: the most that it can cost, or where that is
    /// not known, what is.
    pub usd: f64,
    /// Whether that is the most that it can cost: who charges more has overcharged.
    pub is_most: bool,
    /// Unix seconds.
    pub ts: f64,
}

/// A call that is over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settlement {
    /// Of the reservation.
    pub call: u64,
    /// What it cost, US dollars; the reservation where nobody said.
    pub usd: f64,
    /// Whether its reply was of use: money of the others is lost.
    pub is_kept: bool,
}

/// On whose behalf a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnBehalf {
    /// The session; none for a probe.
    pub session: Option<SessionId>,
    /// Its attempt.
    pub attempt: u32,
    /// Its turn.
    pub turn: u32,
    /// To do what.
    pub purpose: Purpose,
}

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A turn of a session.
    Turn,
    /// To judge a session's step.
    Judge,
    /// To grade a finished session.
    Grade,
    /// Whether the endpoint of a variant or judge answers at all.
    Probe,
}

impl Purpose {
    /// The name in the store.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Turn => "turn",
            Self::Judge => "judge",
            Self::Grade => "grade",
            Self::Probe => "probe",
        }
    }
}
