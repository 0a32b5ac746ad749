use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one check says of a finished session. Its name is public, what it expects is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// The check's name.
    pub name: String,
    /// Whether it holds.
    pub passed: bool,
}

/// What the scorer says of a finished session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every check was judged; the session passes when all hold.
    Scored(Vec<CheckResult>),
    /// A check could not be judged: the session is errored.
    Failed(ScoreError),
}

impl Verdict {
    /// Whether the session passes; none when scoring failed.
    #[must_use]
    pub fn passed(&self) -> Option<bool> {
        match self {
            Self::Scored(checks) => Some(checks.iter().all(|c| c.passed)),
            Self::Failed(_) => None,
        }
    }
}

/// Why scoring failed. It holds numbers and no sealed value, by design.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScoreError {
    /// A check needs the cost, and the cost is unknown.
    #[error("check {0} needs the session's cost, which is unknown: set prices for the model")]
    CostUnknown(usize),
    /// A check panicked.
    #[error("check {0} panicked")]
    Panicked(usize),
    /// The model that was to grade a check did not: which one, and why, in farm's own words.
    #[error("check {0} was not graded: {1}")]
    Judge(usize, String),
    /// The session's case has no sealed half.
    #[error("the case has no sealed half")]
    NoSealedHalf,
}
