//! What a run would take, before it runs: `farm.forecast/1`.

use schemars::JsonSchema;
use serde::Serialize;

use super::VariantName;

/// The version of what `farm run --dry-run --json` prints.
pub const SCHEMA: &str = "farm.forecast/1";

/// What a run would take.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Forecast {
    /// The version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Planned sessions.
    pub sessions: u64,
    /// In the order of the run.
    pub variants: Vec<VariantForecast>,
    /// Those of `session.judge` and `score.judge` that would be asked.
    pub judges: Vec<JudgeForecast>,
    /// US dollars of all variants and judges; `most` is not above the cap.
    pub cost_usd: Span<f64>,
    /// The most US dollars that the run may spend (`--max-cost`), if it is limited.
    pub max_cost_usd: Option<f64>,
    /// What was assumed, a sentence each.
    pub notes: Vec<String>,
}

/// What one variant would take.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct VariantForecast {
    /// Its name.
    pub variant: VariantName,
    /// Planned sessions.
    pub sessions: u64,
    /// What its model is asked in them.
    #[serde(flatten)]
    pub takes: Takes,
}

/// What one judge would take.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgeForecast {
    /// What it judges.
    pub judges: Judges,
    /// The name of its model in the config.
    pub model: String,
    /// What the model is asked for it.
    #[serde(flatten)]
    pub takes: Takes,
}

/// What a judge judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Judges {
    /// The steps of sessions, while they go on: `session.judge`.
    Steps,
    /// Finished sessions whose cases have checks of kind `model_graded`: `score.judge`.
    Sessions,
}

/// Calls, and what they take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Takes {
    /// Calls.
    pub calls: Span<u64>,
    /// Tokens of requests.
    pub tokens_in: Span<u64>,
    /// Tokens of replies.
    pub tokens_out: Span<u64>,
    /// US dollars.
    pub cost_usd: Span<f64>,
}

/// What is expected, and what it can come to. Null where nothing is known, such as a price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Span<T> {
    /// What is expected.
    pub likely: Option<T>,
    /// What it can come to.
    pub most: Option<T>,
}
