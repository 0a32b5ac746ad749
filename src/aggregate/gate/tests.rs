use super::*;
use crate::aggregate::fixture::variant;

fn judged(gate: &str, variant: &VariantSummary) -> GateResult {
    let on = Evidence {
        name: variant.variant.as_str(),
        variant,
        reading: Reading::Fixed,
        pair: None,
    };
    judge(&gate.parse().unwrap(), on)
}

#[test]
fn a_gate_is_judged_on_the_interval_and_a_fact_on_its_value() {
    // 0.75 [0.685, 0.805]
    let run = variant("v", &[("a", 12, 12, 12), ("b", 6, 12, 12)]);
    for (gate, want) in [
        ("pass_rate >= 0.5", GateOutcome::Shown),
        ("pass_rate >= 0.75", GateOutcome::Undetermined),
        ("pass_rate >= 0.95", GateOutcome::Refuted),
        ("pass_rate <= 0.95", GateOutcome::Shown),
        ("pass_rate <= 0.5", GateOutcome::Refuted),
        ("completion_rate >= 0.8", GateOutcome::Shown),
        ("cost_usd <= 0.24", GateOutcome::Shown),
        ("cost_usd <= 0.23", GateOutcome::Refuted),
        ("blocked_steps <= 0", GateOutcome::Shown),
        ("missing <= 0", GateOutcome::Shown),
        ("pass@3 >= 0.3", GateOutcome::Shown),
        // All costs are equal: an interval of no width is no interval.
        ("cost_usd.mean <= 1", GateOutcome::Undetermined),
        ("tokens_in <= 1", GateOutcome::Undetermined),
        ("pass@7 >= 0.5", GateOutcome::Undetermined),
        ("metrics.none >= 0", GateOutcome::Undetermined),
        ("diff.pass_rate >= 0", GateOutcome::Undetermined),
    ] {
        let result = judged(gate, &run);
        assert_eq!(result.outcome, want, "{gate}: {result:?}");
    }
}

#[test]
fn each_case_is_judged() {
    let run = variant(
        "v",
        &[("a", 12, 12, 12), ("b", 9, 12, 12), ("c", 0, 12, 12)],
    );
    for (gate, want, cases) in [
        (
            "case.pass_rate >= 0.5",
            GateOutcome::Refuted,
            &["c", "b"][..],
        ),
        ("case.pass_rate >= 0", GateOutcome::Shown, &[]),
        (
            "case.pass_rate <= 0.9",
            GateOutcome::Undetermined,
            &["a", "b"],
        ),
    ] {
        let result = judged(gate, &run);
        assert_eq!(result.outcome, want, "{gate}");
        let ids: Vec<&str> = result.cases.iter().map(CaseId::as_str).collect();
        assert_eq!(ids, cases, "{gate}");
    }
    let worst = judged("case.pass_rate >= 0.5", &run).value;
    assert!(matches!(worst, Some(GateValue::Figure(figure)) if figure.estimate == Some(0.0)));
}

#[test]
fn an_incomplete_run_passes_nothing() {
    let run = variant("v", &[("a", 5, 5, 12), ("b", 12, 12, 12)]);
    for gate in ["pass_rate >= 0", "cost_usd <= 100", "case.pass_rate >= 0"] {
        let result = judged(gate, &run);
        assert_eq!(result.outcome, GateOutcome::Undetermined, "{gate}");
        assert_eq!(
            result.why.as_deref(),
            Some("incomplete: 7 of 24 sessions are missing")
        );
    }
    // More sessions make no fact smaller.
    for gate in ["cost_usd <= 0.1", "missing <= 6"] {
        assert_eq!(judged(gate, &run).outcome, GateOutcome::Refuted, "{gate}");
    }
}
