use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CaseId;

/// What came of a gate for one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateResult {
    /// As it was written.
    pub gate: String,
    /// The variant, or the side of a comparison, that was judged.
    pub variant: String,
    /// What the interval says.
    pub outcome: GateOutcome,
    /// The figure that was judged, of `case` gates that of the worst case; null when it is
    /// undefined.
    pub estimate: Option<f64>,
    /// Its lower limit; null for a fact.
    pub lo: Option<f64>,
    /// Its upper limit; null for a fact.
    pub hi: Option<f64>,
    /// The cases for which it is not shown.
    pub cases: Vec<CaseId>,
    /// Why it cannot be judged.
    pub why: Option<String>,
}

/// What an interval says of a threshold.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GateOutcome {
    /// The whole interval is on the right side: the gate passes.
    Shown,
    /// The interval holds the threshold, or there is none: the gate does not pass.
    Undetermined,
    /// The whole interval is on the wrong side.
    Refuted,
}
