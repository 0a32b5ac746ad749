//! The rows of the table of cases.

use serde::Serialize;

use crate::{
    domain::{CaseSummary, Summary},
    report::{
        cases,
        text::{self, Unit},
    },
};

/// A case under a variant. What is sorted by is a number, what is shown a text.
#[derive(Serialize)]
pub(super) struct CaseRow<'a> {
    /// Index of the variant.
    variant: usize,
    case: &'a str,
    /// Estimate, lower and upper limit.
    rate: [Option<f64>; 3],
    rate_text: String,
    /// Sessions that the rate rests on, `12` or `11/12`.
    n: String,
    label: Option<&'static str>,
    /// The largest plausible failure rate of a case that always passed.
    may_fail: Option<Number>,
    flakiness: Option<Number>,
    /// The mean of completed sessions.
    steps: Option<Number>,
    /// The sessions that it rests on, of those scored: `9/12`.
    completed: String,
    score: Option<Number>,
    cost: Option<Number>,
    /// `name k/n`: failed in k of n sessions.
    checks: Vec<String>,
    /// What is missing of its sessions, in words.
    missing: String,
}

/// A value and how it is written.
#[derive(Serialize)]
struct Number(f64, String);

/// All rows, in the order of the summary.
pub(super) fn rows(summary: &Summary) -> Vec<CaseRow<'_>> {
    let mut rows = Vec::new();
    for (variant, of) in summary.variants.iter().enumerate() {
        rows.extend(of.cases.iter().map(|case| row(variant, case)));
    }
    rows
}

fn row(variant: usize, case: &CaseSummary) -> CaseRow<'_> {
    let number = |x: Option<f64>| x.map(|x| Number(x, text::number(x)));
    let rate = &case.pass_rate;
    CaseRow {
        variant,
        case: case.id.as_str(),
        rate: [rate.estimate, rate.lo, rate.hi],
        rate_text: text::bare(rate, Unit::Plain),
        n: text::sessions(rate),
        label: case.label.map(|label| label.as_str()),
        may_fail: number(case.max_failure_rate),
        flakiness: number(case.flakiness),
        steps: number(case.steps.mean.estimate),
        completed: format!("{}/{}", case.steps.completed, case.steps.scored),
        score: number(case.verifier_score.estimate),
        cost: case
            .cost_usd
            .as_ref()
            .and_then(|cost| cost.estimate)
            .map(|cost| Number(cost, text::usd(cost))),
        checks: cases::failed_checks(case),
        missing: cases::missing(&case.ledger),
    }
}
