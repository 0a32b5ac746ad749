//! Cases as reports list them.

use std::{cmp::Ordering, collections::HashMap};

use super::text;
use crate::domain::{
    CaseId, CaseSummary, CheckSummary, Figure, Label, Ledger, Summary, VariantSummary,
};

/// Cells of [`error_bar`].
const BAR: usize = 11;

/// Cases named in [`left_out`]; `summary.json` has all.
const NAMES: usize = 10;

/// The worst first: cases without a scored session, then by pass rate. Of two that never pass the
/// surer one comes first, of two that always pass the less sure one. The file's order breaks ties.
pub(super) fn worst_first(variant: &VariantSummary) -> Vec<&CaseSummary> {
    let mut cases: Vec<&CaseSummary> = variant.cases.iter().collect();
    cases.sort_by(|a, b| worse(standing(&[Some(a)]), standing(&[Some(b)])));
    cases
}

/// A case with what came of it under each variant, in the order of the run.
pub(super) struct Group<'a> {
    pub id: &'a CaseId,
    pub of: Vec<Option<&'a CaseSummary>>,
}

/// The cases of all variants, in the order of [`worst_first`] by the mean over the variants.
pub(super) fn groups(summary: &Summary) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let mut at: HashMap<&CaseId, usize> = HashMap::new();
    for (v, variant) in summary.variants.iter().enumerate() {
        for case in &variant.cases {
            let at = *at.entry(&case.id).or_insert_with(|| {
                groups.push(Group {
                    id: &case.id,
                    of: vec![None; summary.variants.len()],
                });
                groups.len() - 1
            });
            if let Some(of) = groups.get_mut(at).and_then(|g| g.of.get_mut(v)) {
                *of = Some(case);
            }
        }
    }
    groups.sort_by(|a, b| worse(standing(&a.of), standing(&b.of)));
    groups
}

/// Estimate, upper and lower limit of a pass rate, each the mean of those that are known.
fn standing(of: &[Option<&CaseSummary>]) -> [f64; 3] {
    let parts: [fn(&Figure) -> Option<f64>; 3] = [|f| f.estimate, |f| f.hi, |f| f.lo];
    parts.map(|part| {
        let known = of.iter().flatten().filter_map(|c| part(&c.pass_rate));
        let (n, sum) = known.fold((0.0, 0.0), |(n, sum), x| (n + 1.0, sum + x));
        if n > 0.0 { sum / n } else { -1.0 }
    })
}

fn worse(a: [f64; 3], b: [f64; 3]) -> Ordering {
    let pairs = a.iter().zip(&b);
    pairs.fold(Ordering::Equal, |o, (a, b)| o.then(a.total_cmp(b)))
}

/// The checks that did not always hold, as `name k/n`: failed in k of n sessions. The most
/// frequent first.
pub(super) fn failed_checks(case: &CaseSummary) -> Vec<String> {
    let failed = |c: &CheckSummary| c.n.saturating_sub(c.passed);
    let mut checks: Vec<_> = case.checks.iter().filter(|c| failed(c) > 0).collect();
    checks.sort_by_key(|c| std::cmp::Reverse(failed(c)));
    checks
        .iter()
        .map(|c| format!("{} {}/{}", text::one_line(&c.name), failed(c), c.n))
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

/// What a state means for the figures; nothing for what was scored.
pub(super) fn mark(state: &str) -> &'static str {
    match state {
        "errored" | "killed" | "not_run" => "missing",
        "skipped" => "not needed",
        "unscored" => "no verdict yet",
        _ => "",
    }
}

/// Which cases are in no figure; none when all are.
pub(super) fn left_out(variant: &VariantSummary) -> Option<String> {
    let ids = &variant.overall.left_out;
    let named = text::named(ids, NAMES);
    let of = &variant.variant;
    (!ids.is_empty()).then(|| format!("No scored session, so in no figure of {of}: {named}."))
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
        let groups = groups(&summary);
        let ids: Vec<&str> = groups.iter().map(|g| g.id.as_str()).collect();
        assert_eq!(ids, ["web-003", "file-007", "file-002", "arith-001"]);
        assert!(groups.iter().all(|g| g.of.iter().all(Option::is_some)));
    }
}
