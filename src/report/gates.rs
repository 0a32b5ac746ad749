//! What came of gates, one line each.

use super::text;
use crate::domain::{GateOutcome, GateResult};

/// Cases named, at most.
const CASES: usize = 5;

/// `gate pass_rate >= 0.8 is shown for scripted: 0.905 [0.865, 0.940]`.
#[must_use]
pub fn line(result: &GateResult) -> String {
    let outcome = match result.outcome {
        GateOutcome::Shown => "shown",
        GateOutcome::Undetermined => "undetermined",
        GateOutcome::Refuted => "refuted",
    };
    let mut line = format!("gate {}: {outcome} for {}", result.gate, result.variant);
    let limits = result.lo.zip(result.hi);
    if let Some(estimate) = result.estimate {
        line.push_str(&format!(": {}", text::number(estimate)));
        if let Some((lo, hi)) = limits {
            line.push_str(&format!(" [{}, {}]", text::number(lo), text::number(hi)));
        }
    }
    if let Some(why) = &result.why {
        line.push_str(&format!(" ({why})"));
    }
    if !result.cases.is_empty() {
        let mut names: Vec<&str> = result
            .cases
            .iter()
            .take(CASES)
            .map(|id| id.as_str())
            .collect();
        if result.cases.len() > CASES {
            names.push("…");
        }
        let cases = text::plural(result.cases.len() as u64, "case");
        line.push_str(&format!("; not shown for {cases}: {}", names.join(", ")));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::CaseId;

    #[test]
    fn a_line_says_what_was_judged() {
        let of =
            |outcome, limits: Option<(f64, f64)>, cases: usize, why: Option<&str>| GateResult {
                gate: "pass_rate >= 0.8".to_owned(),
                variant: "v".to_owned(),
                outcome,
                estimate: why.is_none().then_some(0.85),
                lo: limits.map(|l| l.0),
                hi: limits.map(|l| l.1),
                cases: (0..cases)
                    .map(|i| CaseId::new(format!("c{i}")).unwrap())
                    .collect(),
                why: why.map(str::to_owned),
            };
        let limits = Some((0.81, 0.9));
        for (result, want) in [
            (
                of(GateOutcome::Shown, limits, 0, None),
                "gate pass_rate >= 0.8: shown for v: 0.850 [0.810, 0.900]",
            ),
            (
                of(GateOutcome::Shown, None, 0, None),
                "gate pass_rate >= 0.8: shown for v: 0.850",
            ),
            (
                of(GateOutcome::Undetermined, None, 0, Some("incomplete")),
                "gate pass_rate >= 0.8: undetermined for v (incomplete)",
            ),
            (
                of(GateOutcome::Refuted, limits, 6, None),
                "gate pass_rate >= 0.8: refuted for v: 0.850 [0.810, 0.900]; not shown for 6 cases: c0, c1, c2, c3, c4, …",
            ),
        ] {
            assert_eq!(line(&result), want);
        }
    }
}
