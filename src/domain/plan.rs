//! What `farm plan` tells: `farm.plan/1`.
//!
//! Not the plan of a run, which says what sessions it has (`run::Plan`): this one is made before a
//! run, and says how large it should be.

use schemars::JsonSchema;
use serde::Serialize;

use super::{CaseId, Variance, VariantName};

/// The version of what `farm plan --json` prints.
pub const SCHEMA: &str = "farm.plan/1";

/// What it takes to tell two variants apart: how large a study is to be. Not the plan of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StudyPlan {
    /// The version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The variants that the noise is read off: A and B, one that stands for both, or none.
    pub pilot: Vec<Pilot>,
    /// Confidence level of the comparison.
    pub level: f64,
    /// Chance of seeing a difference that is there.
    pub power: f64,
    /// The difference in pass rate that is to be shown.
    pub difference: f64,
    /// What is counted: clusters, where cases of the pilot name one.
    pub unit: Unit,
    /// Seeds of each case.
    pub seeds: u64,
    /// Units, as asked for or as the pilot has them; null when neither says.
    pub units: Option<u64>,
    /// Where the noise of a comparison comes from.
    pub noise: Noise,
    /// The smallest difference that so many units and seeds show; null when there are fewer than
    /// two units.
    pub mde: Option<f64>,
    /// So many units and seeds.
    pub present: Option<Design>,
    /// What would show the difference, twice the difference, and the smallest one that is shown
    /// now; ascending.
    pub targets: Vec<Target>,
    /// What to do to show the difference.
    pub advice: Advice,
    /// What was assumed.
    pub notes: Vec<String>,
    /// What spoils the plan.
    pub warnings: Vec<String>,
}

/// A variant that has run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pilot {
    /// The run as a user names it: its folder or its id.
    pub run: String,
    /// The variant.
    pub variant: VariantName,
    /// Cases with a scored session.
    pub cases: u64,
    /// Planned seeds of each case.
    pub seeds: u64,
    /// Sessions scored.
    pub sessions: u64,
    /// Share of them whose checks all hold, as a mean over cases.
    pub pass_rate: Option<f64>,
    /// Where the spread of its pass or fail comes from.
    pub variance: Variance,
    /// Mean US dollars per session; null when they are not known.
    pub cost_usd: Option<f64>,
    /// Sessions that ended, a second, all variants of the run together; null when they are not known.
    pub sessions_per_s: Option<f64>,
    /// How many different sessions each case had; null for a run without a database.
    pub replies: Option<Vec<Replies>>,
}

/// How the sessions of a case differ: their thoughts, calls and answers, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Replies {
    /// The case.
    pub case: CaseId,
    /// Sessions that ended.
    pub sessions: u64,
    /// How many of them are different.
    pub distinct: u64,
}

/// What is counted when cases are.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Unit {
    /// Whether units are clusters of cases; else each case is one.
    pub is_cluster: bool,
    /// Cases in a unit, on average.
    pub cases: f64,
}

/// The variance of one unit's difference between A and B, in parts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Noise {
    /// Between units: how much the true differences differ.
    pub between: f64,
    /// Where that comes from.
    pub between_is: Source,
    /// Between the seeds of one unit under A.
    pub within_a: f64,
    /// The same under B.
    pub within_b: f64,
    /// Where those come from.
    pub within_is: Source,
    /// Of the difference over all seeds: between + (within_a + within_b) / seeds.
    pub total: f64,
    /// The share of it that more seeds would lower.
    pub seed_share: f64,
}

/// Where a variance comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The pilot.
    Measured,
    /// Nowhere: a guess.
    Guessed,
}

/// What would show a difference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Target {
    /// The difference in pass rate.
    pub difference: f64,
    /// More or fewer units with as many seeds; null when no number is enough.
    pub by_units: Option<Design>,
    /// As many units with more or fewer seeds; null when no number of seeds is enough, or units are
    /// not known.
    pub by_seeds: Option<Design>,
}

/// A comparison of two variants: how large it is and what it takes. Both are run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Design {
    /// Units.
    pub units: u64,
    /// Cases; more than units where those are clusters.
    pub cases: u64,
    /// Seeds of each case.
    pub seeds: u64,
    /// Sessions of A and B together.
    pub sessions: u64,
    /// US dollars, by the mean of the pilot; null when it is not known.
    pub cost_usd: Option<f64>,
    /// Seconds, at the speed of the pilot; null when it is not known.
    pub seconds: Option<f64>,
}

/// What to do to show the difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Advice {
    /// Nothing: the present units and seeds show the difference.
    Enough,
    /// More units: most of the noise is between them, or no number of seeds is enough.
    AddUnits,
    /// More seeds: most of the noise is between them.
    AddSeeds,
}
