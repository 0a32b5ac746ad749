use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a session is at: exactly one of these at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// A model is at its reply.
    Thinking,
    /// Its tools run.
    Tool,
    /// It waits for one of its endpoint's slots, or for a server of its tools.
    Slot,
    /// It waits for the requests or tokens a minute that its endpoint allows.
    Rate,
    /// It waits before it asks again, or goes on after it broke.
    Backoff,
    /// It waits until the price of its next call fits under a cap.
    Money,
    /// It has ended and waits for its verdict.
    Scorer,
}

impl Activity {
    /// The name in formats.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Thinking => "thinking",
            Self::Tool => "tool",
            Self::Slot => "slot",
            Self::Rate => "rate",
            Self::Backoff => "backoff",
            Self::Money => "money",
            Self::Scorer => "scorer",
        }
    }
}

/// A span of time in which a session waited, Unix seconds. It is no working time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Wait {
    /// What for: `slot`, `rate`, `backoff` or `money`.
    #[serde(rename = "for")]
    pub what: Activity,
    /// When it began.
    pub began: f64,
    /// When it was over.
    pub ended: f64,
}

impl Wait {
    /// How long it was, in seconds: never less than 0, whatever a trace says.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        (self.ended - self.began).max(0.0)
    }
}
