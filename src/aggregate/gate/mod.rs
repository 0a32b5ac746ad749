//! Whether a run shows what it must: gates such as `pass_rate >= 0.8`, judged on the interval.

mod subject;
mod text;

pub use subject::Subject;
pub use text::{Gate, GateError, Relation};

use crate::{
    domain::{
        CaseId, Figure, GateOutcome, GateResult, Reading, VariantSummary, comparison::SidePair,
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
    let result = GateResult {
        gate: gate.text.clone(),
        variant: on.name.to_owned(),
        outcome: GateOutcome::Undetermined,
        estimate: None,
        lo: None,
        hi: None,
        cases: Vec::new(),
        why: None,
    };
    if let Some(why) = incomplete(on) {
        return GateResult {
            why: Some(why),
            ..result
        };
    }
    if let Some(of) = gate.subject.of_case() {
        let cases = on.variant.cases.iter();
        return worst(gate, cases.map(|case| (&case.id, of(case))), result);
    }
    match gate.subject.measured(on) {
        Measured::Figure(figure) => judged(gate, figure, result),
        Measured::Fact(Some(value)) => GateResult {
            outcome: outcome(
                gate,
                Interval {
                    lo: value,
                    hi: value,
                },
            ),
            estimate: Some(value),
            ..result
        },
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
    let outcome = match (figure.lo, figure.hi) {
        (Some(lo), Some(hi)) => outcome(gate, Interval { lo, hi }),
        _ => GateOutcome::Undetermined,
    };
    GateResult {
        outcome,
        estimate: figure.estimate,
        lo: figure.lo,
        hi: figure.hi,
        why: figure.lo.is_none().then(|| {
            let note = figure.note.as_deref().unwrap_or("it has none");
            format!("no interval: {note}")
        }),
        ..result
    }
}

/// Of all cases the one that fares worst.
fn worst<'a>(
    gate: &Gate,
    cases: impl Iterator<Item = (&'a CaseId, Option<&'a Figure>)>,
    result: GateResult,
) -> GateResult {
    let mut ids = Vec::new();
    let mut worst: Option<GateResult> = None;
    for (id, figure) in cases {
        let of_case = match figure {
            Some(figure) => judged(gate, figure, result.clone()),
            None => result.clone(),
        };
        if of_case.outcome != GateOutcome::Shown {
            ids.push(id.clone());
        }
        let badness = |r: &GateResult| {
            let estimate = r.estimate.unwrap_or(0.0);
            (
                r.outcome,
                if gate.relation == Relation::AtLeast {
                    -estimate
                } else {
                    estimate
                },
            )
        };
        if worst
            .as_ref()
            .is_none_or(|w| badness(&of_case) > badness(w))
        {
            worst = Some(of_case);
        }
    }
    match worst {
        Some(worst) => GateResult {
            cases: ids,
            ..worst
        },
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
