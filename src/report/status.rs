//! How a run stands while it is at work and afterwards: `farm status`.

mod view;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    domain::{Figure, Ledger, SessionKey, VariantName},
    error::{Context, Result},
    store::{Holder, Totals, manifest::RunStatus},
};

pub use view::render;

/// The version of what `farm status --json` prints.
pub const STATUS_SCHEMA: &str = "farm.status/1";

/// How a run stands: what `farm status --json` prints.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Status {
    /// The version of the format.
    #[schemars(extend("const" = STATUS_SCHEMA))]
    pub schema: String,
    /// The run's id.
    pub run: String,
    /// When it stood so: RFC 3339, UTC.
    pub at: String,
    /// Whether it is at work, came to its end, was interrupted or failed.
    pub state: RunStatus,
    /// Who is at work in it; null when nobody is.
    pub worker: Option<Holder>,
    /// All planned sessions by state. Those that have begun and not ended are `not_run`.
    pub ledger: Ledger,
    /// Sessions that have begun and not ended. In a resumed run those count too that an earlier
    /// process left open and this one has not come to yet. Null for a run without a database:
    /// nobody knows.
    pub open: Option<u64>,
    /// What sessions in flight are at, as of a second ago; null when nobody is at work, or has not
    /// been for a second.
    pub in_flight: Option<InFlight>,
    /// Sessions that ended, a second: over the last minute, or since who is at work began. Null
    /// when that is not known or nobody is at work.
    pub sessions_per_s: Option<f64>,
    /// Seconds until all have run, at this speed; null when it is not known.
    pub eta_s: Option<f64>,
    /// US dollars of all sessions that have ended and of lost attempts, as far as they are known;
    /// null for a run without a database in which some are not.
    pub cost_usd: Option<f64>,
    /// What infrastructure cost.
    pub totals: Totals,
    /// For what no further call is made since the run was begun or gone on with; empty too for a run
    /// without a database.
    pub parked: Vec<Parked>,
    /// In the order of the run.
    pub variants: Vec<VariantStatus>,
    /// Why sessions are errored: the most frequent reasons first, at most ten. Null for a run
    /// without a database: nobody knows.
    pub errors: Option<Vec<ErrorGroup>>,
    /// How many more reasons there are.
    pub more_errors: u64,
}

/// Sessions that have begun and are not done, by what they are at: each at one thing. Counts of what
/// only live models and servers of tools make wait are left out when they are 0.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct InFlight {
    /// They wait for a reply of the model.
    pub thinking: u64,
    /// They wait for their tools.
    pub tool: u64,
    /// They wait for one of their endpoint's slots.
    #[serde(skip_serializing_if = "is_zero")]
    pub slot: u64,
    /// They wait for the requests or tokens a minute that their endpoint allows.
    #[serde(skip_serializing_if = "is_zero")]
    pub rate: u64,
    /// They wait before they ask again, or go on after they broke.
    #[serde(skip_serializing_if = "is_zero")]
    pub backoff: u64,
    /// When the first of those goes on, where that is known: RFC 3339, UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_until: Option<String>,
    /// They wait until the price of their next call fits under a cap.
    #[serde(skip_serializing_if = "is_zero")]
    pub money: u64,
    /// They wait for a server of their tools.
    #[serde(skip_serializing_if = "is_zero")]
    pub server: u64,
    /// They have ended and wait for the scorer to take them.
    pub scorer: u64,
}

impl InFlight {
    /// Whether any of them does not wait for leave.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        self.thinking + self.tool + self.scorer > 0
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Something for which no further call is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Parked {
    /// An endpoint, a model or the run.
    pub what: String,
    /// Why.
    pub reason: String,
    /// Since when: RFC 3339, UTC.
    pub since: String,
}

/// How one variant stands.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct VariantStatus {
    /// Its name.
    pub variant: VariantName,
    /// Its sessions by state.
    pub ledger: Ledger,
    /// Share of its scored sessions that passed: these cases, new seeds.
    pub pass_rate: Figure,
}

/// Sessions that are errored for the same reason.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ErrorGroup {
    /// Why the example is. The others may differ in numbers and ids.
    pub message: String,
    /// How many sessions.
    pub count: u64,
    /// One of them: `VARIANT/CASE/SEED`.
    #[serde(serialize_with = "SessionKey::as_text")]
    #[schemars(with = "String")]
    pub example: SessionKey,
}

/// The whole as one line of JSON; indented over several if it is `pretty`. It ends in a line break.
///
/// # Errors
/// None that a status can cause.
pub fn json(status: &Status, pretty: bool) -> Result<String> {
    let text = match pretty {
        true => serde_json::to_string_pretty(status),
        false => serde_json::to_string(status),
    };
    Ok(text.internal(|| "a status as JSON".to_owned())? + "\n")
}

#[cfg(test)]
mod tests;
