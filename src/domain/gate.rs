//! What came of gates.

use super::{CaseId, Figure};

/// What came of a gate for one variant, or for one side of a comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct GateResult {
    /// As it was written.
    pub gate: String,
    /// The variant or side that was judged.
    pub variant: String,
    /// What the interval, or the fact, says.
    pub outcome: GateOutcome,
    /// What was judged; of `case` gates the figure of the worst case. None when there is none.
    pub value: Option<GateValue>,
    /// What it is a quantity of.
    pub unit: GateUnit,
    /// The cases for which it is not shown.
    pub cases: Vec<CaseId>,
    /// Why it cannot be judged, or what it does not rest on.
    pub why: Option<String>,
}

/// What a gate judges.
#[derive(Debug, Clone, PartialEq)]
pub enum GateValue {
    /// On its interval.
    Figure(Figure),
    /// As it is.
    Fact(f64),
}

/// What a gate judges a quantity of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateUnit {
    /// A ratio, a count or a mean of counts.
    Plain,
    /// A rate or a score, from 0 to 1.
    Rate,
    /// US dollars.
    Usd,
    /// A difference of rates.
    Difference,
}

/// What an interval says of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GateOutcome {
    /// All of it is on the right side: the gate passes.
    Shown,
    /// It holds the threshold, or there is none: the gate does not pass.
    Undetermined,
    /// All of it is on the wrong side.
    Refuted,
}
