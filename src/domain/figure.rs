use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An estimate with its interval and what they rest on, as written. `null` is undefined, and
/// `note` says why. Numbers are rounded to ten significant digits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Point estimate.
    pub estimate: Option<f64>,
    /// Lower limit.
    pub lo: Option<f64>,
    /// Upper limit.
    pub hi: Option<f64>,
    /// Confidence level of the limits, such as 0.95.
    pub level: f64,
    /// How the limits were made: a method tag of the statistics specification.
    pub method: String,
    /// Cases used.
    pub n_cases: u64,
    /// Sessions scored.
    pub n: u64,
    /// Sessions planned.
    pub n_planned: u64,
    /// Why something is undefined, or a warning.
    pub note: Option<String>,
}

impl Figure {
    /// Whether what is defined of it is ordered, within [0, 1], and rests on no more sessions than
    /// were planned.
    #[must_use]
    pub fn is_rate(&self) -> bool {
        let known: Vec<f64> = [self.lo, self.estimate, self.hi]
            .into_iter()
            .flatten()
            .collect();
        known.iter().all(|x| (0.0..=1.0).contains(x))
            && known.is_sorted()
            && self.n <= self.n_planned
    }
}

/// A rate or a mean in [0, 1] in its two readings, with the textbook interval beside them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// These cases, new seeds: stratified Wilson.
    pub fixed: Figure,
    /// New cases like these: generalised Jeffreys on unit means.
    pub sample: Figure,
    /// Student's t on unit means (CR1), for comparison with other tools.
    pub cluster_t: Figure,
}

impl Rate {
    /// The reading that comes first.
    #[must_use]
    pub fn first(&self, reading: Reading) -> &Figure {
        match reading {
            Reading::Fixed => &self.fixed,
            Reading::Sample => &self.sample,
        }
    }
}

/// A total, which is a fact, and the mean per session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Amount {
    /// The sum over scored sessions; null when it is not known for all of them.
    pub total: Option<f64>,
    /// The mean of case means.
    pub mean: Figure,
}

/// Which reading of a rate comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// These cases, new seeds.
    #[default]
    Fixed,
    /// New cases like these.
    Sample,
}
