//! A small summary: two variants, four cases, twelve seeds; one variant misses sessions.

use std::collections::BTreeMap;

use crate::domain::{
    Amount, Bounds, CaseId, CaseSummary, CheckSummary, Figure, Label, Ledger, Overall, Rate,
    Reading, SUMMARY_SCHEMA, Steps, Summary, SummaryStatus, Variance, VariantName, VariantSummary,
};

fn figure(method: &str, estimate: f64, limits: Option<(f64, f64)>, n: u64, planned: u64) -> Figure {
    Figure {
        estimate: Some(estimate),
        lo: limits.map(|l| l.0),
        hi: limits.map(|l| l.1),
        level: 0.95,
        method: method.to_owned(),
        n_cases: 4,
        n,
        n_planned: planned,
        note: None,
    }
}

/// k of n passed, with its Wilson interval.
pub(super) fn rate(k: u32, n: u32, planned: u32) -> Figure {
    let (p, size, z) = (f64::from(k) / f64::from(n), f64::from(n), 1.959_964_f64);
    let d = 1.0 + z * z / size;
    let centre = (p + z * z / (2.0 * size)) / d;
    let half = z / d * (p * (1.0 - p) / size + z * z / (4.0 * size * size)).sqrt();
    let limits = (
        if k == 0 { 0.0 } else { centre - half },
        if k == n { 1.0 } else { centre + half },
    );
    figure("wilson", p, Some(limits), n.into(), planned.into())
}

/// Nothing scored of `planned`.
pub(super) fn nothing(planned: u64) -> Figure {
    Figure {
        estimate: None,
        note: Some("nothing scored".to_owned()),
        ..figure("wilson", 0.0, None, 0, planned)
    }
}

fn both(estimate: f64, fixed: (f64, f64), sample: (f64, f64), n: u64) -> Rate {
    let of = |method, limits| figure(method, estimate, Some(limits), n, 48);
    Rate {
        fixed: of("strat_wilson", fixed),
        sample: of("gen_jeffreys", sample),
        cluster_t: of("cluster_t", sample),
    }
}

fn amount(total: Option<f64>, mean: Figure) -> Amount {
    Amount { total, mean }
}

fn ledger(passed: u64, failed: u64, errored: u64, not_run: u64) -> Ledger {
    Ledger {
        planned: passed + failed + errored + not_run,
        passed,
        failed,
        errored,
        not_run,
        ..Ledger::default()
    }
}

fn case(id: &str, ledger: Ledger, steps: f64, checks: &[(&str, u64)]) -> CaseSummary {
    let (k, n) = (ledger.passed, ledger.scored());
    let pass_rate = match u32::try_from(n).unwrap() {
        0 => nothing(ledger.planned),
        n => rate(k as u32, n, ledger.planned as u32),
    };
    let spent = |mean| match n {
        0 => Some(nothing(ledger.planned)),
        _ => Some(figure("log_t", mean, None, n, ledger.planned)),
    };
    let label = (n > 0).then_some(match k {
        0 => Label::Never,
        k if k == n => Label::Always,
        _ => Label::Flaky,
    });
    CaseSummary {
        id: CaseId::new(id).unwrap(),
        ledger,
        label,
        max_failure_rate: pass_rate
            .lo
            .filter(|_| label == Some(Label::Always))
            .map(|l| 1.0 - l),
        flakiness: (n > 1).then(|| (2 * k * (n - k)) as f64 / (n * (n - 1)) as f64),
        verifier_score: match n {
            0 => nothing(ledger.planned),
            _ => figure("gen_jeffreys", 0.969, Some((0.9, 0.99)), n, ledger.planned),
        },
        steps: Steps {
            mean: match n {
                0 => nothing(ledger.planned),
                _ => figure("log_t", steps, None, n, ledger.planned),
            },
            completed: n,
            scored: n,
        },
        tokens_in: spent(384.0),
        tokens_out: None,
        cost_usd: spent(0.0123),
        checks: checks
            .iter()
            .map(|(name, failed)| CheckSummary {
                name: (*name).to_owned(),
                passed: n - failed,
                n,
            })
            .collect(),
        pass_rate,
    }
}

fn variant(name: &str, overall: Overall, cases: Vec<CaseSummary>) -> VariantSummary {
    let mut sum = Ledger::default();
    cases.iter().for_each(|c| sum.add(&c.ledger));
    VariantSummary {
        variant: VariantName::new(name).unwrap(),
        ledger: sum,
        overall,
        cases,
        served: Vec::new(),
    }
}

fn overall(n: u64) -> Overall {
    let mean = |estimate, limits| figure("log_t", estimate, Some(limits), n, 48);
    Overall {
        pass_rate: both(0.646, (0.548, 0.733), (0.199, 0.936), n),
        pass_rate_bounds: None,
        incomplete: false,
        left_out: Vec::new(),
        completion_rate: both(0.979, (0.891, 0.996), (0.8, 0.999), n),
        steps_to_completion: Steps {
            mean: figure("log_t", 2.512, Some((1.732, 3.644)), n - 1, 48),
            completed: n - 1,
            scored: n,
        },
        verifier_score: both(0.953, (0.88, 0.98), (0.7, 0.99), n),
        blocked_steps: amount(Some(3.0), mean(0.063, (0.012, 0.331))),
        budget_exhaustion_rate: both(0.021, (0.004, 0.109), (0.001, 0.2), n),
        fallback_stop_rate: both(0.0, (0.0, 0.074), (0.0, 0.3), n),
        tokens_in: amount(Some(18_432.0), mean(384.0, (301.2, 489.5))),
        tokens_out: amount(None, nothing(48)),
        cost_usd: amount(Some(0.5904), mean(0.0123, (0.0101, 0.0150))),
        cost_per_pass: Some(figure("log_t_ratio", 0.019, Some((0.0132, 0.0274)), n, 48)),
        pass_at_k: BTreeMap::from([
            (
                1,
                figure("gen_jeffreys", 0.646, Some((0.199, 0.936)), n, 48),
            ),
            (
                3,
                figure("gen_jeffreys", 0.748, Some((0.235, 0.977)), n, 48),
            ),
        ]),
        pass_hat_k: BTreeMap::from([
            (
                1,
                figure("gen_jeffreys", 0.646, Some((0.199, 0.936)), n, 48),
            ),
            (
                3,
                figure("gen_jeffreys", 0.523, Some((0.118, 0.905)), n, 48),
            ),
        ]),
        variance: Variance {
            between: Some(0.19),
            within: Some(0.07),
            icc: Some(0.73),
            deff: Some(9.0),
            seed_share: Some(0.031),
        },
        metrics: BTreeMap::from([("efficiency".to_owned(), mean(1.256, (0.9, 1.7)))]),
    }
}

/// The summary.
pub(super) fn summary() -> Summary {
    let baseline = variant(
        "baseline",
        overall(48),
        vec![
            case(
                "arith-001",
                ledger(12, 0, 0, 0),
                2.0,
                &[("answer_number", 0)],
            ),
            case(
                "file-002",
                ledger(11, 1, 0, 0),
                2.25,
                &[("answer_contains", 0), ("steps", 1)],
            ),
            case(
                "file-007",
                ledger(8, 4, 0, 0),
                3.0,
                &[("answer_number", 4), ("status", 1)],
            ),
            case(
                "web-003",
                ledger(0, 12, 0, 0),
                2.8,
                &[
                    ("status", 2),
                    ("answer_contains", 12),
                    ("tool_called web_fetch", 0),
                ],
            ),
        ],
    );
    let cautious = variant(
        "cautious",
        Overall {
            pass_rate: both(0.733, (0.55, 0.85), (0.2, 0.97), 31),
            pass_rate_bounds: Some(Bounds {
                lo: 0.479,
                hi: 0.833,
            }),
            incomplete: true,
            left_out: vec![CaseId::new("web-003").unwrap()],
            metrics: BTreeMap::new(),
            ..overall(31)
        },
        vec![
            case(
                "arith-001",
                ledger(11, 0, 1, 0),
                2.0,
                &[("answer_number", 0)],
            ),
            case(
                "file-002",
                ledger(12, 0, 0, 0),
                2.25,
                &[("answer_contains", 0), ("steps", 0)],
            ),
            case(
                "file-007",
                ledger(3, 5, 2, 2),
                3.0,
                &[("answer_number", 5), ("status", 0)],
            ),
            case("web-003", ledger(0, 0, 0, 12), 2.8, &[]),
        ],
    );
    let mut all = baseline.ledger;
    all.add(&cautious.ledger);
    Summary {
        schema: SUMMARY_SCHEMA.to_owned(),
        status: SummaryStatus::Partial,
        reading: Reading::Fixed,
        ledger: all,
        variants: vec![baseline, cautious],
        overcharges: Vec::new(),
    }
}
