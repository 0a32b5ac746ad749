//! What the figures need of one case under one variant.

use crate::{
    domain::{CaseId, CaseSummary, CheckSummary, Label, Ledger, SessionState, Status, Steps},
    stats::{Case, Level, Tally, mean, pass_k, proportion},
    store::{Score, SessionRow},
};

use super::figures::{figure, known_of, round};

/// The scored sessions of one case, condensed; its ledger counts all planned ones.
#[derive(Debug, Default)]
pub(super) struct CaseData {
    pub ledger: Ledger,
    /// Seeds ascending, as everything here.
    pub passed: u64,
    pub completed: u64,
    pub exhausted: u64,
    pub fell_back: u64,
    pub scores: Vec<f64>,
    pub steps: Vec<f64>,
    pub blocked: Vec<f64>,
    pub tokens_in: Vec<f64>,
    pub tokens_out: Vec<f64>,
    pub cost_usd: Vec<f64>,
    pub checks: Vec<CheckSummary>,
}

impl CaseData {
    pub fn new(planned: u64) -> Self {
        Self {
            ledger: Ledger::planned(planned),
            ..Self::default()
        }
    }

    /// Takes one session that has begun.
    pub fn add(&mut self, row: &SessionRow) {
        let state = row.state();
        self.ledger.settle(state);
        let Some(outcome) = row.outcome.as_ref().filter(|_| state.is_scored()) else {
            return;
        };
        self.passed += u64::from(state == SessionState::Passed);
        match outcome.status {
            Status::Completed => {
                self.completed += 1;
                self.steps.push(f64::from(outcome.steps_used));
            }
            Status::BudgetExhausted => self.exhausted += 1,
            Status::FallbackStop => self.fell_back += 1,
            _ => {}
        }
        self.scores.extend(outcome.mean_score);
        self.blocked.push(f64::from(outcome.blocked));
        self.tokens_in.extend(outcome.tokens_in.map(|t| t as f64));
        self.tokens_out.extend(outcome.tokens_out.map(|t| t as f64));
        self.cost_usd.extend(outcome.cost_usd);
        let checks = match &row.score {
            Some(Score::Judged(checks)) => checks.as_slice(),
            _ => &[],
        };
        for check in checks {
            let at = self
                .checks
                .iter()
                .position(|c| c.name == check.name)
                .unwrap_or_else(|| {
                    self.checks.push(CheckSummary {
                        name: check.name.clone(),
                        passed: 0,
                        n: 0,
                    });
                    self.checks.len() - 1
                });
            self.checks[at].passed += u64::from(check.passed);
            self.checks[at].n += 1;
        }
    }

    /// Counts of a rate of this case.
    pub fn tally(&self, k: u64) -> Tally {
        Tally {
            passed: k,
            scored: self.ledger.scored(),
            planned: self.planned(),
        }
    }

    /// Values of a mean of this case.
    pub fn values(&self, values: &[f64]) -> Case {
        Case::new(values, self.planned())
    }

    pub fn summary(&self, id: &CaseId, level: Level) -> CaseSummary {
        let (k, n) = (self.passed, self.ledger.scored());
        let pass_rate = proportion::wilson(k, n, level).with_planned(self.planned());
        let label = match (k, n) {
            (_, 0) => None,
            (k, n) if k == n => Some(Label::Always),
            (0, _) => Some(Label::Never),
            _ => Some(Label::Flaky),
        };
        let max_failure_rate = pass_rate
            .lo
            .filter(|_| label == Some(Label::Always))
            .map(|lo| round(1.0 - lo));
        let known = |values: &[f64]| {
            let mean = mean::log_t(values, level).with_planned(self.planned());
            Some(known_of(mean, values.len() as u64, n))
        };
        CaseSummary {
            id: id.clone(),
            ledger: self.ledger,
            verifier_score: figure(
                mean::gen_jeffreys(&self.scores, level).with_planned(self.planned()),
            ),
            steps: Steps {
                mean: figure(mean::log_t(&self.steps, level).with_planned(self.planned())),
                completed: self.completed,
                scored: n,
            },
            tokens_in: known(&self.tokens_in),
            tokens_out: known(&self.tokens_out),
            cost_usd: known(&self.cost_usd),
            label,
            max_failure_rate,
            flakiness: pass_k::flakiness(k, n).map(round),
            checks: self.checks.clone(),
            pass_rate: figure(pass_rate),
        }
    }

    /// Skipped sessions and those whose scoring is still to come are not missing: they do not
    /// count as planned here.
    fn planned(&self) -> u64 {
        self.ledger.planned - self.ledger.skipped - self.ledger.unscored
    }
}
