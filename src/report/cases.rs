//! Cases as reports list them.

use std::cmp::Ordering;

use super::text;
use crate::domain::{CaseSummary, CheckSummary, Figure, Label, Ledger, VariantSummary};

/// Cells of [`error_bar`].
const BAR: usize = 11;

/// The worst first: cases without a scored session, then by pass rate. Of two that never pass the
/// surer one comes first, of two that always pass the less sure one. The file's order breaks ties.
pub(super) fn worst_first(variant: &VariantSummary) -> Vec<&CaseSummary> {
    let mut cases: Vec<&CaseSummary> = variant.cases.iter().collect();
    let key = |f: &Figure| [f.estimate, f.hi, f.lo].map(|x| x.unwrap_or(-1.0));
    cases.sort_by(|a, b| {
        let (a, b) = (key(&a.pass_rate), key(&b.pass_rate));
        let pairs = a.iter().zip(&b);
        pairs.fold(Ordering::Equal, |o, (a, b)| o.then(a.total_cmp(b)))
    });
    cases
}

/// The checks that did not always hold, as `name k/n`: failed in k of n sessions. The most
/// frequent first.
pub(super) fn failed_checks(case: &CaseSummary) -> Vec<String> {
    let failed = |c: &CheckSummary| c.n.saturating_sub(c.passed);
    let mut checks: Vec<_> = case.checks.iter().filter(|c| failed(c) > 0).collect();
    checks.sort_by_key(|c| std::cmp::Reverse(failed(c)));
    checks
        .iter()
        .map(|c| {
            let name = text::visible(&c.name).replace(['\n', '\t'], " ");
            format!("{name} {}/{}", failed(c), c.n)
        })
        .collect()
}

/// The word for how a case fares.
pub(super) fn label(case: &CaseSummary) -> &'static str {
    case.label.map_or("–", Label::as_str)
}

/// What is missing of sessions, as `3 errored, 2 not_run`; empty when nothing is.
pub(super) fn missing(ledger: &Ledger) -> String {
    let states = [
        (ledger.errored, "errored"),
        (ledger.killed, "killed"),
        (ledger.not_run, "not_run"),
    ];
    let present = states.iter().filter(|(n, _)| *n > 0);
    let words: Vec<String> = present
        .map(|(n, state)| format!("{} {state}", text::count(*n)))
        .collect();
    words.join(", ")
}

/// An estimate in [0, 1] with its interval, drawn: `··├──●─┤···`.
pub(super) fn error_bar(figure: &Figure) -> String {
    let Some(estimate) = figure.estimate else {
        return " ".repeat(BAR);
    };
    let (lo, at, hi) = (
        cell(figure.lo.unwrap_or(estimate)),
        cell(estimate),
        cell(figure.hi.unwrap_or(estimate)),
    );
    let draw = |i| match i {
        _ if i == at => '●',
        _ if i == lo => '├',
        _ if i == hi => '┤',
        _ if (lo..hi).contains(&i) => '─',
        _ => '·',
    };
    (0..BAR).map(draw).collect()
}

fn cell(x: f64) -> usize {
    (x.clamp(0.0, 1.0) * (BAR - 1) as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn bars_show_the_interval() {
        for (k, n, want) in [
            (0, 12, "●─┤········"),
            (9, 12, "·····├──●┤·"),
            (12, 12, "········├─●"),
        ] {
            assert_eq!(error_bar(&fixture::rate(k, n, n)), want, "{k}/{n}");
        }
        assert_eq!(error_bar(&fixture::nothing(4)), "           ");
    }

    #[test]
    fn the_worst_come_first() {
        let summary = fixture::summary();
        let order = |v: usize| -> Vec<&str> {
            let cases = worst_first(&summary.variants[v]);
            cases.iter().map(|c| c.id.as_str()).collect()
        };
        assert_eq!(order(0), ["web-003", "file-007", "file-002", "arith-001"]);
        assert_eq!(order(1), ["web-003", "file-007", "arith-001", "file-002"]);
    }
}
