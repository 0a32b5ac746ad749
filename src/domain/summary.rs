use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Amount, CaseId, Figure, Grid, Ledger, Rate, Reading, Served, VariantName};

/// The version written to `summary.json`.
pub const SUMMARY_SCHEMA: &str = "farm.summary/1";

/// What came of a run: `summary.json`. It holds nothing that differs between two equal runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// The version of the format.
    #[schemars(extend("const" = SUMMARY_SCHEMA))]
    pub schema: String,
    /// Whether anything is still to be run or scored.
    pub status: SummaryStatus,
    /// Which reading of a rate comes first.
    pub reading: Reading,
    /// All planned sessions by state.
    pub ledger: Ledger,
    /// In the order of the run.
    pub variants: Vec<VariantSummary>,
    /// Models whose provider charged more for calls than was reserved for them, by name: the cap
    /// could not hold for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overcharges: Vec<Overcharge>,
}

/// What a provider charged beyond what was reserved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overcharge {
    /// The model's name in the config.
    pub model: String,
    /// Calls that cost more than was reserved for them.
    pub calls: u64,
    /// How much more, US dollars.
    pub usd: f64,
}

impl Summary {
    /// Whether it is of the variants and cases of this plan.
    #[must_use]
    pub fn is_of(&self, grid: &Grid) -> bool {
        let variants = self.variants.iter().map(|v| &v.variant);
        let is_of_cases = |v: &VariantSummary| v.cases.iter().map(|c| &c.id).eq(&grid.cases);
        variants.eq(&grid.variants) && self.variants.iter().all(is_of_cases)
    }

    /// What farm would not have written: a ledger that does not add up, or a rate that is none.
    #[must_use]
    pub fn flaw(&self) -> Option<String> {
        let mut all = Ledger::default();
        for variant in &self.variants {
            let name = &variant.variant;
            let mut sum = Ledger::default();
            for case in &variant.cases {
                if !case.ledger.adds_up() || !sum.checked_add(&case.ledger) {
                    return Some(format!(
                        "the ledger of {} under {name} does not add up",
                        case.id
                    ));
                }
                if !case.pass_rate.is_rate() {
                    return Some(format!("the pass rate of {} under {name} is none", case.id));
                }
            }
            let rate = &variant.overall.pass_rate;
            if ![&rate.fixed, &rate.sample]
                .iter()
                .all(|figure| figure.is_rate())
            {
                return Some(format!("the pass rate of {name} is none"));
            }
            if sum != variant.ledger || !all.checked_add(&sum) {
                return Some(format!("the ledger of {name} does not add up"));
            }
        }
        (all != self.ledger).then(|| "its ledger does not add up".to_owned())
    }
}

/// Whether anything is still to be run or scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SummaryStatus {
    /// Nothing is errored, not run or unscored.
    Complete,
    /// Something is.
    Partial,
}

/// One variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantSummary {
    /// Its name.
    pub variant: VariantName,
    /// Its sessions by state.
    pub ledger: Ledger,
    /// Figures over all its cases.
    pub overall: Overall,
    /// In the order of the case file.
    pub cases: Vec<CaseSummary>,
    /// Its sessions by what answered them, the largest share first; absent where no reply says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub served: Vec<Stratum>,
}

/// The sessions of a variant that the same answered: an endpoint may serve another model, or another
/// build of it, than was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stratum {
    /// All that answered turns of these sessions, mostly one; empty where their replies do not say.
    /// Where more than a hundred of these differ, fingerprints are left out.
    pub served: Vec<Served>,
    /// Sessions that ended.
    pub sessions: u64,
    /// Those of them with a verdict.
    pub scored: u64,
    /// Those whose checks all hold.
    pub passed: u64,
    /// Share of the scored ones that passed, for these cases and new seeds: as the pass rate of the
    /// variant, over the cases that have any.
    pub pass_rate: Figure,
}

/// Figures over all cases of a variant. Each case weighs the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Overall {
    /// Share of scored sessions whose checks all hold.
    pub pass_rate: Rate,
    /// The pass rate if all missing sessions had failed, and if all had passed; null when none is
    /// missing.
    pub pass_rate_bounds: Option<Bounds>,
    /// More than 5 % of the sessions are missing, or half of those of one case.
    pub incomplete: bool,
    /// Cases without a scored session, which no figure here includes.
    pub left_out: Vec<CaseId>,
    /// Share of scored sessions in which the agent ended by itself.
    pub completion_rate: Rate,
    /// Steps of completed sessions.
    pub steps_to_completion: Steps,
    /// Mean score of all judgments of a session.
    pub verifier_score: Rate,
    /// Steps that were blocked before they ran.
    pub blocked_steps: Amount,
    /// Share of scored sessions that ended `budget_exhausted`.
    pub budget_exhaustion_rate: Rate,
    /// Share of scored sessions that ended `fallback_stop`.
    pub fallback_stop_rate: Rate,
    /// Tokens of requests per session.
    pub tokens_in: Amount,
    /// Tokens of replies per session.
    pub tokens_out: Amount,
    /// US dollars per session, final attempts of scored sessions.
    pub cost_usd: Amount,
    /// US dollars per passed session: mean cost of cases over their mean pass rate. Absent in
    /// summaries of an older farm.
    #[serde(default)]
    pub cost_per_pass: Option<Figure>,
    /// Chance that at least one of k seeds passes, by k.
    pub pass_at_k: BTreeMap<u32, Figure>,
    /// Chance that all of k seeds pass, by k.
    pub pass_hat_k: BTreeMap<u32, Figure>,
    /// Where the spread of pass or fail comes from.
    pub variance: Variance,
    /// Hidden metrics by name.
    pub metrics: BTreeMap<String, Figure>,
}

/// A lower and an upper bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bounds {
    /// All missing sessions failed.
    pub lo: f64,
    /// All missing sessions passed.
    pub hi: f64,
}

/// Mean steps, of completed sessions only: those that ended otherwise would distort it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steps {
    /// The mean of case means.
    pub mean: Figure,
    /// Completed sessions.
    pub completed: u64,
    /// Scored sessions.
    pub scored: u64,
}

/// Variance components of pass or fail (one-way ANOVA).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variance {
    /// Between cases.
    pub between: Option<f64>,
    /// Between seeds of one case.
    pub within: Option<f64>,
    /// between / (between + within).
    pub icc: Option<f64>,
    /// By how much clustering in cases inflates the variance.
    pub deff: Option<f64>,
    /// The share of the pass rate's variance that more seeds would reduce.
    pub seed_share: Option<f64>,
}

/// One case under one variant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseSummary {
    /// The case.
    pub id: CaseId,
    /// Its sessions by state.
    pub ledger: Ledger,
    /// Share of its scored sessions whose checks all hold.
    pub pass_rate: Figure,
    /// Mean score of all judgments of a session.
    pub verifier_score: Figure,
    /// Steps of its completed sessions.
    pub steps: Steps,
    /// Tokens of requests per scored session; this and the next two are absent in summaries of an
    /// older farm.
    #[serde(default)]
    pub tokens_in: Option<Figure>,
    /// Tokens of replies per scored session.
    #[serde(default)]
    pub tokens_out: Option<Figure>,
    /// US dollars per scored session.
    #[serde(default)]
    pub cost_usd: Option<Figure>,
    /// Whether it passes always, never or sometimes; null when nothing was scored.
    pub label: Option<Label>,
    /// For `always`: the largest failure rate that is still plausible.
    pub max_failure_rate: Option<f64>,
    /// Chance that two of its seeds disagree.
    pub flakiness: Option<f64>,
    /// Its checks by name.
    pub checks: Vec<CheckSummary>,
}

/// Whether a case passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// Every scored session.
    Always,
    /// No scored session.
    Never,
    /// Some.
    Flaky,
}

impl Label {
    /// The name in formats.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Never => "never",
            Self::Flaky => "flaky",
        }
    }
}

/// How often one check held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckSummary {
    /// Its name.
    pub name: String,
    /// Sessions in which it held.
    pub passed: u64,
    /// Sessions in which it was judged.
    pub n: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A summary of one case under one variant.
    fn summary() -> Value {
        let figure = |lo: f64, estimate: f64, hi: f64| {
            json!({"estimate": estimate, "lo": lo, "hi": hi, "level": 0.95, "method": "m",
                   "n_cases": 1, "n": 4, "n_planned": 4, "note": null})
        };
        let rate = json!({"fixed": figure(0.1, 0.5, 0.9), "sample": figure(0.1, 0.5, 0.9), "cluster_t": figure(0.1, 0.5, 0.9)});
        let amount = json!({"total": 1.0, "mean": figure(0.1, 0.5, 0.9)});
        let steps = json!({"mean": figure(1.0, 2.0, 3.0), "completed": 4, "scored": 4});
        let ledger = json!({"planned": 4, "passed": 2, "failed": 2, "errored": 0, "killed": 0,
                            "not_run": 0, "skipped": 0, "unscored": 0});
        json!({
            "schema": SUMMARY_SCHEMA, "status": "complete", "reading": "fixed", "ledger": ledger,
            "variants": [{
                "variant": "v", "ledger": ledger,
                "overall": {
                    "pass_rate": rate, "pass_rate_bounds": null, "incomplete": false, "left_out": [],
                    "completion_rate": rate, "steps_to_completion": steps, "verifier_score": rate,
                    "blocked_steps": amount, "budget_exhaustion_rate": rate,
                    "fallback_stop_rate": rate, "tokens_in": amount, "tokens_out": amount,
                    "cost_usd": amount, "pass_at_k": {}, "pass_hat_k": {},
                    "variance": {"between": null, "within": null, "icc": null, "deff": null, "seed_share": null},
                    "metrics": {},
                },
                "cases": [{
                    "id": "x", "ledger": ledger, "pass_rate": figure(0.1, 0.5, 0.9),
                    "verifier_score": figure(0.1, 0.5, 0.9), "steps": steps, "label": "flaky",
                    "max_failure_rate": null, "flakiness": 0.5, "checks": [],
                }],
            }],
        })
    }

    #[test]
    fn what_farm_would_not_have_written_is_seen() {
        let read = |value: Value| serde_json::from_value::<Summary>(value).unwrap();
        assert_eq!(read(summary()).flaw(), None);
        for (place, value, want) in [
            ("/ledger/passed", json!(3), "its ledger"),
            (
                "/variants/0/ledger/failed",
                json!(3),
                "the ledger of v does",
            ),
            (
                "/variants/0/cases/0/ledger/passed",
                json!(u64::MAX),
                "the ledger of x under v",
            ),
            (
                "/variants/0/cases/0/pass_rate/estimate",
                json!(-5),
                "the pass rate of x under v",
            ),
            (
                "/variants/0/cases/0/pass_rate/n",
                json!(5),
                "the pass rate of x under v",
            ),
            (
                "/variants/0/overall/pass_rate/sample/lo",
                json!(0.6),
                "the pass rate of v",
            ),
        ] {
            let mut damaged = summary();
            *damaged.pointer_mut(place).unwrap() = value;
            let flaw = read(damaged).flaw().unwrap_or_default();
            assert!(flaw.starts_with(want), "{place}: {flaw}");
        }
    }

    #[test]
    fn a_summary_is_of_one_plan() {
        let summary: Summary = serde_json::from_value(summary()).unwrap();
        let grid = |variant: &str, case: &str| {
            Grid::new(
                vec![variant.parse().unwrap()],
                vec![case.parse().unwrap()],
                0..4,
            )
            .unwrap()
        };
        assert!(summary.is_of(&grid("v", "x")));
        assert!(!summary.is_of(&grid("w", "x")) && !summary.is_of(&grid("v", "y")));
    }
}
