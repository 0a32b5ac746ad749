//! What came of gates, one line each.

use super::text::{self, Unit};
use crate::domain::{GateOutcome, GateResult, GateUnit, GateValue};

/// Cases named, at most.
const CASES: usize = 5;

/// `gate pass_rate >= 0.8: shown for scripted: 0.905 [0.865, 0.940]`.
#[must_use]
pub fn line(result: &GateResult) -> String {
    let outcome = match result.outcome {
        GateOutcome::Shown => "shown",
        GateOutcome::Undetermined => "undetermined",
        GateOutcome::Refuted => "refuted",
    };
    let mut line = format!("gate {}: {outcome} for {}", result.gate, result.variant);
    if let Some(value) = &result.value {
        line.push_str(": ");
        line.push_str(&shown(value, result.unit));
    }
    if let Some(why) = &result.why {
        line.push_str(&format!(" ({why})"));
    }
    if !result.cases.is_empty() {
        let cases = text::plural(result.cases.len() as u64, "case");
        let names = text::named(&result.cases, CASES);
        line.push_str(&format!("; not shown for {cases}: {names}"));
    }
    line
}

fn shown(value: &GateValue, unit: GateUnit) -> String {
    match (value, unit) {
        (GateValue::Figure(figure), GateUnit::Usd) => text::bare(figure, Unit::Usd),
        (GateValue::Figure(figure), GateUnit::Difference) => text::bare(figure, Unit::Signed),
        (GateValue::Figure(figure), _) => text::bare(figure, Unit::Plain),
        (GateValue::Fact(usd), GateUnit::Usd) => text::usd(*usd),
        // Counts, which stay exact in f64 up to 2^53.
        (GateValue::Fact(count), _) => text::count(count.round() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::CaseId, report::fixture};

    fn of(outcome: GateOutcome, value: Option<GateValue>, cases: usize) -> GateResult {
        let id = |i| CaseId::new(format!("c{i}")).unwrap();
        GateResult {
            gate: "x >= 0.8".to_owned(),
            variant: "v".to_owned(),
            outcome,
            why: value.is_none().then(|| "incomplete".to_owned()),
            value,
            unit: GateUnit::Plain,
            cases: (0..cases).map(id).collect(),
        }
    }

    #[test]
    fn a_line_says_what_was_judged() {
        let figure = || Some(GateValue::Figure(fixture::rate(9, 10, 10)));
        let fact = |x| Some(GateValue::Fact(x));
        let usd = GateResult {
            unit: GateUnit::Usd,
            ..of(GateOutcome::Shown, fact(0.0003), 0)
        };
        for (result, want) in [
            (
                of(GateOutcome::Undetermined, figure(), 0),
                "undetermined for v: 0.900 [0.596, 0.982]",
            ),
            (
                of(GateOutcome::Shown, fact(1234.0), 0),
                "shown for v: 1,234",
            ),
            (usd, "shown for v: $0.000300"),
            (
                of(GateOutcome::Undetermined, None, 0),
                "undetermined for v (incomplete)",
            ),
            (
                of(GateOutcome::Refuted, figure(), 6),
                "refuted for v: 0.900 [0.596, 0.982]; not shown for 6 cases: c0, c1, c2, c3, c4 and 1 more",
            ),
        ] {
            assert_eq!(line(&result), format!("gate x >= 0.8: {want}"));
        }
    }
}
