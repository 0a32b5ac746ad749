use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Limit, Served, Usage, add_tokens, trace::Step};

/// How a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The model answered.
    Completed,
    /// A limit of the session was reached.
    BudgetExhausted,
    /// Three failed turns in a row.
    FallbackStop,
    /// An operator ended this session.
    Killed,
    /// The endpoint served no valid reply, after retries.
    ModelError,
    /// The session crashed beyond its restarts.
    Crashed,
    /// Never stored: how an export closes a session that has not ended.
    Interrupted,
}

impl Status {
    /// The name in formats.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::BudgetExhausted => "budget_exhausted",
            Self::FallbackStop => "fallback_stop",
            Self::Killed => "killed",
            Self::ModelError => "model_error",
            Self::Crashed => "crashed",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether the agent ended it by itself or by its own fault: then the checks decide.
    #[must_use]
    pub fn is_scored(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::BudgetExhausted | Self::FallbackStop
        )
    }
}

/// All that is kept of a session's end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// The limit that ended it, with `budget_exhausted`.
    pub limit: Option<Limit>,
    /// The final answer.
    pub answer: Option<String>,
    /// Steps taken.
    pub steps_used: u32,
    /// Steps whose pre-act judgment failed.
    pub blocked: u32,
    /// Mean score of all judgments; none when there was no step.
    pub mean_score: Option<f64>,
    /// Tokens of all requests, unknown if any is.
    pub tokens_in: Option<u64>,
    /// Tokens of all replies, unknown if any is.
    pub tokens_out: Option<u64>,
    /// US dollars, unknown if any call's price is.
    pub cost_usd: Option<f64>,
    /// Why it failed, for `model_error` and `crashed`.
    pub error: Option<String>,
    /// What answered its turns, each once, in the order in which they came; empty when no reply
    /// says.
    #[serde(default)]
    pub served: Vec<Served>,
}

impl Outcome {
    /// Notes what answered a turn.
    pub fn note(served: &mut Vec<Served>, by: &Served) {
        if !by.is_unknown() && !served.contains(by) {
            served.push(by.clone());
        }
    }

    /// Of a session that did not end by itself: what its durable steps and replies say.
    #[must_use]
    pub fn so_far<'a>(
        status: Status,
        steps: impl IntoIterator<Item = &'a Step>,
        usages: &[Option<Usage>],
        cost_usd: Option<f64>,
        error: Option<String>,
    ) -> Self {
        let (mut steps_used, mut blocked, mut scores) = (0, 0, Vec::new());
        for step in steps {
            steps_used += 1;
            blocked += u32::from(step.is_blocked());
            scores.extend(step.judgments.iter().map(|j| j.score));
        }
        let tokens = |of: fn(Usage) -> Option<u64>| {
            usages
                .iter()
                .map(|u| u.and_then(of))
                .fold(Some(0), add_tokens)
        };
        Self {
            status,
            limit: None,
            answer: None,
            steps_used,
            blocked,
            mean_score: (!scores.is_empty())
                .then(|| scores.iter().sum::<f64>() / scores.len() as f64),
            tokens_in: tokens(|u| u.tokens_in),
            tokens_out: tokens(|u| u.tokens_out),
            cost_usd,
            error,
            served: Vec::new(),
        }
    }
}
