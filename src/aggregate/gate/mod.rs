//! Whether a run shows what it must: gates such as `pass_rate >= 0.8`, judged on the interval.

mod subject;
mod text;

pub use subject::Subject;
pub use text::{Gate, GateError, Relation};

use crate::{
    domain::{
        CaseId, Figure, GateOutcome, GateResult, GateValue, Reading, VariantSummary,
        comparison::SidePair,
    },
    stats::{Interval, Threshold},
};
use subject::Measured;

/// What a gate is judged on.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    /// Its name in the result.
    pub name: &'a str,
    /// The figures.
    pub variant: &'a VariantSummary,
    /// The reading of rates.
    pub reading: Reading,
    /// Against the baseline, for gates that compare.
    pub pair: Option<&'a SidePair>,
}

/// Judges a gate. Nothing passes of a variant, or of a comparison with a side, of which too much
/// is missing.
#[must_use]
pub fn judge(gate: &Gate, on: Evidence<'_>) -> GateResult {
    let result = on_figures(gate, on);
    let is_fact = matches!(result.value, Some(GateValue::Fact(_)));
    let is_too_much = gate.relation == Relation::AtMost && result.outcome == GateOutcome::Refuted;
    match incomplete(on) {
        // What is missing takes nothing off a total.
        Some(_) if is_fact && is_too_much => result,
        Some(why) => GateResult {
            outcome: GateOutcome::Undetermined,
            why: Some(why),
            cases: Vec::new(),
            ..result
        },
        None => GateResult {
            why: result.why.or_else(|| left_out(on.pair?)),
            ..result
        },
    }
}

/// Cases that a comparison does not rest on.
fn left_out(pair: &SidePair) -> Option<String> {
    let (both, all) = (pair.cases.len(), pair.cases.len() + pair.only_a.len());
    (both < all).then(|| format!("on {both} of the {all} cases of {}", pair.a))
}

fn on_figures(gate: &Gate, on: Evidence<'_>) -> GateResult {
    let result = GateResult {
        gate: gate.text.clone(),
        variant: on.name.to_owned(),
        outcome: GateOutcome::Undetermined,
        value: None,
        unit: gate.subject.unit(),
        cases: Vec::new(),
        why: None,
    };
    if let Some(of) = gate.subject.of_case() {
        let cases = on.variant.cases.iter();
        return worst(gate, cases.map(|case| (&case.id, of(case))), result);
    }
    match gate.subject.measured(on) {
        Measured::Figure(figure) => judged(gate, figure, result),
        Measured::Fact(Some(value)) => {
            let (lo, hi) = (value, value);
            GateResult {
                outcome: outcome(gate, Interval { lo, hi }),
                value: Some(GateValue::Fact(value)),
                ..result
            }
        }
        Measured::Fact(None) => GateResult {
            why: Some("not known for every session".to_owned()),
            ..result
        },
        Measured::Absent(why) => GateResult {
            why: Some(why),
            ..result
        },
    }
}

/// Too little was scored to judge anything.
fn incomplete(on: Evidence<'_>) -> Option<String> {
    let ledger = &on.variant.ledger;
    if ledger.unscored > 0 {
        let (unscored, planned) = (ledger.unscored, ledger.planned);
        return Some(format!("{unscored} of {planned} sessions are not scored"));
    }
    if on.variant.overall.incomplete {
        let (missing, planned) = (ledger.missing(), ledger.planned);
        return Some(format!(
            "incomplete: {missing} of {planned} sessions are missing"
        ));
    }
    let baseline = on.pair.filter(|pair| pair.is_incomplete);
    baseline.map(|pair| format!("{} is incomplete", pair.a))
}

fn judged(gate: &Gate, figure: &Figure, result: GateResult) -> GateResult {
    let value = figure.estimate.map(|_| GateValue::Figure(figure.clone()));
    let result = GateResult { value, ..result };
    match figure.lo.zip(figure.hi) {
        Some((lo, hi)) => GateResult {
            outcome: outcome(gate, Interval { lo, hi }),
            ..result
        },
        None => {
            let note = figure.note.as_deref().unwrap_or("undefined");
            GateResult {
                why: Some(format!("no interval: {note}")),
                ..result
            }
        }
    }
}

/// Of all cases the one that fares worst; those for which the gate is not shown, the worst first.
fn worst<'a>(
    gate: &Gate,
    cases: impl Iterator<Item = (&'a CaseId, Option<&'a Figure>)>,
    result: GateResult,
) -> GateResult {
    let mut judged: Vec<(f64, &CaseId, GateResult)> = cases
        .map(|(id, figure)| {
            let estimate = figure.and_then(|figure| figure.estimate).unwrap_or(0.0);
            let badness = match gate.relation {
                Relation::AtLeast => -estimate,
                Relation::AtMost => estimate,
            };
            let of_case = match figure {
                Some(figure) => judged(gate, figure, result.clone()),
                None => result.clone(),
            };
            (badness, id, of_case)
        })
        .collect();
    // Stable: of two that fare alike the file's order decides.
    judged.sort_by(|(x, _, a), (y, _, b)| b.outcome.cmp(&a.outcome).then(y.total_cmp(x)));
    let not_shown = judged
        .iter()
        .filter(|(.., r)| r.outcome != GateOutcome::Shown);
    let cases = not_shown.map(|(_, id, _)| (*id).clone()).collect();
    match judged.into_iter().next() {
        Some((.., worst)) => GateResult { cases, ..worst },
        None => GateResult {
            why: Some("no case".to_owned()),
            ..result
        },
    }
}

fn outcome(gate: &Gate, limits: Interval) -> GateOutcome {
    let found = match gate.relation {
        Relation::AtLeast => Threshold::at_least(limits, gate.threshold),
        Relation::AtMost => Threshold::at_most(limits, gate.threshold),
    };
    match found {
        Threshold::Shown => GateOutcome::Shown,
        Threshold::Refuted => GateOutcome::Refuted,
        Threshold::Undetermined => GateOutcome::Undetermined,
    }
}

#[cfg(test)]
mod tests;
