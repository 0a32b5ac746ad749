//! How two or more sides of a comparison differ: what `farm compare` says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{CaseId, Figure, Ledger, Rate, Reading, VariantName};

/// The version written to a comparison.
pub const SCHEMA: &str = "farm.comparison/1";

/// How the pass rates of two or more sides differ, paired by case: `farm compare`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// The version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// Which reading of a difference gives the verdict.
    pub reading: Reading,
    /// Confidence level of all intervals; 1 - level is the share of false alarms.
    pub level: f64,
    /// Differences within this margin count as none; null: no equivalence was asked for.
    pub margin: Option<f64>,
    /// The seed of random draws, where a sign-flip test needs them.
    pub stats_seed: u64,
    /// What was compared, as it was named.
    pub sides: Vec<Side>,
    /// B against A; of more than two sides, each against each one before it.
    pub pairs: Vec<SidePair>,
    /// Of more than two sides: the best first.
    pub leaderboard: Option<Vec<Place>>,
}

/// One side of a comparison: a variant of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// Its name here: the variant's, with its run where that is not enough.
    pub name: String,
    /// The run's id.
    pub run: String,
    /// The variant in that run.
    pub variant: VariantName,
    /// Its sessions by state.
    pub ledger: Ledger,
    /// Scored sessions in which the agent ended by itself: those that ratios of steps rest on.
    pub completed: u64,
    /// More than 5 % of its sessions are missing, or half of those of one case, or some are not
    /// scored yet.
    pub incomplete: bool,
    /// Over all its cases.
    pub pass_rate: Rate,
    /// What was run otherwise than on the first side.
    pub differs: Vec<Differs>,
}

/// Something that two sides do not have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Differs {
    /// What it is, such as `limits.max_steps` or `prompt_sha256`.
    pub what: String,
    /// On the first side; null: nothing.
    pub first: Option<Value>,
    /// On this one; null: nothing.
    pub this: Option<Value>,
}

/// Side B against side A.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SidePair {
    /// The name of A, the baseline.
    pub a: String,
    /// The name of B.
    pub b: String,
    /// Too much is missing of one of them for any gate to pass.
    pub is_incomplete: bool,
    /// B - A.
    pub pass_rate: PassRateDifference,
    /// Steps of completed sessions, B / A.
    pub steps: Ratio,
    /// Tokens of requests, B / A.
    pub tokens_in: Ratio,
    /// Tokens of replies, B / A.
    pub tokens_out: Ratio,
    /// US dollars, B / A.
    pub cost_usd: Ratio,
    /// The cases scored on both sides, by id.
    pub cases: Vec<CaseDifference>,
    /// Cases scored on A only.
    pub only_a: Vec<CaseId>,
    /// Cases scored on B only.
    pub only_b: Vec<CaseId>,
}

/// The difference of two pass rates over the cases scored on both sides. Each case weighs the
/// same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PassRateDifference {
    /// The pass rate of A over those cases, in the reading of the verdict.
    pub a: Figure,
    /// That of B.
    pub b: Figure,
    /// These cases, new seeds: MOVER.
    pub fixed: Figure,
    /// New cases like these: regularised paired t.
    pub sample: Figure,
    /// The reading of the verdict at the level that holds for all pairs at once (Bonferroni); null
    /// for one pair.
    pub simultaneous: Option<Figure>,
    /// Of no difference in new cases like these: the paired t test; null when there is one unit
    /// only.
    pub p: Option<f64>,
    /// Of no difference in these cases: the largest α whose MOVER interval holds 0.
    pub p_fixed: Option<f64>,
    /// That of the reading of the verdict, adjusted for the number of pairs (Holm); null for one
    /// pair.
    pub p_holm: Option<f64>,
    /// Of the sign-flip test, which assumes nothing of how differences are distributed. With one
    /// seed per case it is McNemar's exact test.
    pub p_signflip: f64,
    /// Whether that is exact; else it comes from random draws.
    pub signflip_exact: bool,
    /// What the interval says.
    pub verdict: Verdict,
    /// The sign-flip test does not bear the verdict out.
    pub fragile: bool,
    /// The minimum detectable effect for new cases like these: the smallest true difference that a
    /// comparison of this size shows with a chance of 80 %.
    pub mde: Option<f64>,
}

impl PassRateDifference {
    /// The reading that comes first.
    #[must_use]
    pub fn first(&self, reading: Reading) -> &Figure {
        match reading {
            Reading::Fixed => &self.fixed,
            Reading::Sample => &self.sample,
        }
    }
}

/// What a comparison says of B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// B passes more often.
    Better,
    /// B passes less often.
    Worse,
    /// The difference is within the margin.
    Equivalent,
    /// Neither is shown.
    NoDifferenceShown,
    /// More is missing on one side than on the other, and it decides.
    InconclusiveMissing,
}

impl Verdict {
    /// Whether B is better or worse.
    #[must_use]
    pub fn is_a_difference(self) -> bool {
        matches!(self, Self::Better | Self::Worse)
    }
}

/// A ratio B / A: geometric mean over the cases that have a value above 0 on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// The ratio with its interval.
    pub ratio: Figure,
    /// Of the paired t test on logarithms.
    pub p: Option<f64>,
}

/// One case on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseDifference {
    /// The case.
    pub id: CaseId,
    /// Passed and scored sessions of A.
    pub a: (u64, u64),
    /// Passed and scored sessions of B.
    pub b: (u64, u64),
    /// The difference of its pass rates, B - A (Newcombe).
    pub difference: Figure,
    /// Fisher's exact test, two-sided.
    pub p: Option<f64>,
    /// The same, adjusted for the number of cases (Benjamini-Hochberg).
    pub q: Option<f64>,
    /// `regression` or `improvement` if q is at most 0.10.
    pub change: Option<Change>,
}

/// A case that came to fare otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// B passes less often.
    Regression,
    /// B passes more often.
    Improvement,
}

impl Change {
    /// The name in formats.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Improvement => "improvement",
        }
    }
}

/// A place on the leaderboard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Place {
    /// The side.
    pub name: String,
    /// Its pass rate, in the reading of the verdict.
    pub pass_rate: Figure,
    /// The groups that it is in, from 0 for the best: sides that share one cannot be told apart.
    pub groups: Vec<usize>,
}
