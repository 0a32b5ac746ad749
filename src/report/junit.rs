//! Cases as tests, for CI systems: `farm report --format junit`.
//!
//! A suite for each variant and a test for each case, all its seeds together; gates are a suite of
//! their own, in which one that is not shown is a failure. What the test of a case is:
//!
//! - `failure`: some scored session failed. The message holds rate, interval and failed checks;
//! - `error`: none failed, and infrastructure failed some beyond its restarts, or their scoring;
//! - `skipped`: neither, and some session has no verdict (not run, killed, unscored), or none has;
//! - else it passes: every session that counts was scored and passed.
//!
//! So infrastructure never looks like a wrong answer, and nothing that is missing looks like a
//! pass. The message always says how all sessions of the case stand. There is no time and no run
//! id: the same summary gives the same bytes.

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::{
    cases, gates,
    text::{self, Unit},
};
use crate::{
    domain::{
        CaseSummary, Figure, GateOutcome, GateResult, Label, Ledger, Summary, VariantSummary,
    },
    error::{Context, Result},
};

/// What a case is as a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Passed,
    Failure,
    Error,
    Skipped,
}

/// The whole document.
///
/// # Errors
/// None that a summary can cause.
pub fn render(summary: &Summary, gates: &[GateResult]) -> Result<String> {
    let mut report = Report::new("farm");
    for variant in &summary.variants {
        report.add_test_suite(suite(variant, summary));
    }
    if !gates.is_empty() {
        let mut suite = TestSuite::new("gates");
        suite.add_test_cases(gates.iter().map(gate));
        report.add_test_suite(suite);
    }
    report
        .to_string()
        .internal(|| "a summary as JUnit XML".to_owned())
}

fn gate(result: &GateResult) -> TestCase {
    let line = gates::line(result);
    let status = match result.outcome {
        GateOutcome::Shown => TestCaseStatus::success(),
        GateOutcome::Undetermined | GateOutcome::Refuted => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type("gate");
            status.set_message(text::one_line(&line));
            status
        }
    };
    let name = text::one_line(&format!("{} for {}", result.gate, result.variant));
    let mut test = TestCase::new(name, status);
    test.set_classname("gates");
    test
}

fn suite(variant: &VariantSummary, summary: &Summary) -> TestSuite {
    let mut suite = TestSuite::new(variant.variant.as_str());
    let rate = variant.overall.pass_rate.first(summary.reading);
    properties(rate, &variant.ledger, |p| {
        suite.add_property(p);
    });
    suite.add_test_cases(variant.cases.iter().map(|case| {
        let mut test = TestCase::new(case.id.as_str(), status(case));
        test.set_classname(variant.variant.as_str());
        properties(&case.pass_rate, &case.ledger, |p| {
            test.add_property(p);
        });
        if let Some(label) = case.label {
            test.add_property(Property::new("label", Label::as_str(label)));
        }
        test
    }));
    suite
}

fn status(case: &CaseSummary) -> TestCaseStatus {
    let mut status = match kind(&case.ledger) {
        Kind::Passed => return TestCaseStatus::success(),
        Kind::Failure => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_type("checks");
            status
        }
        Kind::Error => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_type("infrastructure");
            status
        }
        Kind::Skipped => TestCaseStatus::skipped(),
    };
    let rate = text::figure(&case.pass_rate, Unit::Plain);
    let states = case.ledger.present();
    let states: Vec<String> = states.map(|(s, n)| format!("{n} {s}")).collect();
    let mut parts = vec![format!("pass rate {rate}"), states.join(", ")];
    let checks = cases::failed_checks(case);
    if !checks.is_empty() {
        parts.push(format!("failed checks: {}", checks.join(", ")));
    }
    status.set_message(parts.join("; "));
    status
}

fn kind(ledger: &Ledger) -> Kind {
    let without_verdict = ledger.killed + ledger.not_run + ledger.unscored;
    if ledger.failed > 0 {
        Kind::Failure
    } else if ledger.errored > 0 {
        Kind::Error
    } else if without_verdict > 0 || ledger.passed == 0 {
        Kind::Skipped
    } else {
        Kind::Passed
    }
}

/// A rate with its interval, and how sessions stand. What is undefined is left out.
fn properties(rate: &Figure, ledger: &Ledger, mut add: impl FnMut(Property)) {
    let numbers = [
        ("pass_rate", rate.estimate),
        ("pass_rate_lo", rate.lo),
        ("pass_rate_hi", rate.hi),
        ("level", Some(rate.level)),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            add(Property::new(name, number.to_string()));
        }
    }
    add(Property::new("method", rate.method.as_str()));
    add(Property::new("planned", ledger.planned.to_string()));
    for (state, n) in ledger.present() {
        add(Property::new(state, n.to_string()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

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

    #[test]
    fn infrastructure_is_not_wrong_and_missing_is_no_pass() {
        let killed = Ledger {
            planned: 2,
            passed: 1,
            killed: 1,
            ..Ledger::default()
        };
        let stopped = Ledger {
            planned: 3,
            passed: 1,
            skipped: 2,
            ..Ledger::default()
        };
        let unscored = Ledger {
            planned: 1,
            unscored: 1,
            ..Ledger::default()
        };
        for (ledger, want) in [
            (ledger(12, 0, 0, 0), Kind::Passed),
            (ledger(11, 1, 0, 0), Kind::Failure),
            (ledger(3, 5, 2, 2), Kind::Failure),
            (ledger(11, 0, 1, 0), Kind::Error),
            (ledger(0, 0, 1, 11), Kind::Error),
            (ledger(11, 0, 0, 1), Kind::Skipped),
            (ledger(0, 0, 0, 12), Kind::Skipped),
            (ledger(0, 0, 0, 0), Kind::Skipped),
            (killed, Kind::Skipped),
            (stopped, Kind::Passed),
            (unscored, Kind::Skipped),
        ] {
            assert_eq!(kind(&ledger), want, "{ledger:?}");
        }
    }

    #[test]
    fn it_can_be_read_again_and_the_counts_add_up() {
        let mut summary = fixture::summary();
        summary.variants[0].cases[3].checks[1].name = "<a&\"'\0\u{1b}\n]]>".to_owned();
        let text = render(&summary, &[]).unwrap();
        let report = Report::deserialize_from_str(&text).unwrap();
        let counts = |r: &Report| (r.tests, r.failures, r.errors, r.skipped);
        assert_eq!(counts(&report), (8, 4, 1, 1));
        let suites = report.test_suites.iter();
        let sum = suites.fold((0, 0, 0, 0), |(t, f, e, s), suite| {
            assert_eq!(suite.tests, suite.test_cases.len());
            (
                t + suite.tests,
                f + suite.failures,
                e + suite.errors,
                s + suite.skipped,
            )
        });
        assert_eq!(sum, counts(&report));
    }
}
