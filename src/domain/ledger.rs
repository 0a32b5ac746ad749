use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The one state that a planned session is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Ended and scored: all checks hold.
    Passed,
    /// Ended and scored: some check does not hold.
    Failed,
    /// Infrastructure failed it beyond its restarts, or its scoring failed.
    Errored,
    /// Ended by an operator's kill of that session; final.
    Killed,
    /// Never begun, or begun and interrupted.
    NotRun,
    /// Planned, not needed after a rule-based stop.
    Skipped,
    /// Ended, not scored yet.
    Unscored,
}

impl SessionState {
    /// The name in formats.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Errored => "errored",
            Self::Killed => "killed",
            Self::NotRun => "not_run",
            Self::Skipped => "skipped",
            Self::Unscored => "unscored",
        }
    }

    /// Whether it has a verdict.
    #[must_use]
    pub fn is_scored(self) -> bool {
        matches!(self, Self::Passed | Self::Failed)
    }
}

/// How many planned sessions are in each state. They always add up to `planned`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Ledger {
    /// All sessions of the plan.
    pub planned: u64,
    /// Ended and scored: all checks hold.
    pub passed: u64,
    /// Ended and scored: some check does not hold.
    pub failed: u64,
    /// Infrastructure failed them beyond their restarts, or their scoring failed.
    pub errored: u64,
    /// Ended by an operator's kill of that session.
    pub killed: u64,
    /// Never begun, or begun and interrupted.
    pub not_run: u64,
    /// Not needed after a rule-based stop.
    pub skipped: u64,
    /// Ended, not scored yet.
    pub unscored: u64,
}

impl Ledger {
    /// A ledger of `planned` sessions, none of which has run.
    #[must_use]
    pub fn planned(planned: u64) -> Self {
        Self {
            planned,
            not_run: planned,
            ..Self::default()
        }
    }

    /// Moves one session out of `not_run` into `state`.
    pub fn settle(&mut self, state: SessionState) {
        self.change(SessionState::NotRun, state);
    }

    /// Moves one session out of one state into another.
    pub fn change(&mut self, from: SessionState, to: SessionState) {
        let count = self.count(from);
        debug_assert!(*count > 0, "more sessions left {from:?} than were there");
        *count = count.saturating_sub(1);
        *self.count(to) += 1;
    }

    /// Adds another ledger, state by state.
    pub fn add(&mut self, other: &Self) {
        self.planned += other.planned;
        self.passed += other.passed;
        self.failed += other.failed;
        self.errored += other.errored;
        self.killed += other.killed;
        self.not_run += other.not_run;
        self.skipped += other.skipped;
        self.unscored += other.unscored;
    }

    /// Adds another ledger whose counts may be anything; false when a sum is larger than a count can
    /// be.
    pub fn checked_add(&mut self, other: &Self) -> bool {
        let sums = |x: &Self| x.planned.checked_add(other.planned);
        // No state of ledgers that add up is larger than what is planned.
        let fits = other.adds_up() && self.adds_up() && sums(self).is_some();
        if fits {
            self.add(other);
        }
        fits
    }

    /// Sessions with a verdict.
    #[must_use]
    pub fn scored(&self) -> u64 {
        self.passed + self.failed
    }

    /// Sessions missing from the figures: errored, killed and not run.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.errored + self.killed + self.not_run
    }

    /// Sessions that a resume would bring to their end; unscored ones only where there is a scorer.
    #[must_use]
    pub fn left(&self, is_scored: bool) -> u64 {
        self.errored + self.not_run + if is_scored { self.unscored } else { 0 }
    }

    /// Whether `planned` equals the sum of the states.
    #[must_use]
    pub fn adds_up(&self) -> bool {
        let counts = self.rows().map(|(_, n)| n);
        let sum = counts.iter().try_fold(0_u64, |sum, n| sum.checked_add(*n));
        sum == Some(self.planned)
    }

    /// The states with their counts, in the order of reports.
    #[must_use]
    pub fn rows(&self) -> [(&'static str, u64); 7] {
        [
            ("passed", self.passed),
            ("failed", self.failed),
            ("errored", self.errored),
            ("killed", self.killed),
            ("not_run", self.not_run),
            ("skipped", self.skipped),
            ("unscored", self.unscored),
        ]
    }

    /// The states that any session is in, with their counts, in the same order.
    pub fn present(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.present_in(self)
    }

    /// The counts of the states that any session of `all` is in: a part of it, beside it.
    pub fn present_in(&self, all: &Self) -> impl Iterator<Item = (&'static str, u64)> {
        let both = self.rows().into_iter().zip(all.rows());
        both.filter(|(_, (_, all))| *all > 0).map(|(row, _)| row)
    }

    fn count(&mut self, state: SessionState) -> &mut u64 {
        match state {
            SessionState::Passed => &mut self.passed,
            SessionState::Failed => &mut self.failed,
            SessionState::Errored => &mut self.errored,
            SessionState::Killed => &mut self.killed,
            SessionState::NotRun => &mut self.not_run,
            SessionState::Skipped => &mut self.skipped,
            SessionState::Unscored => &mut self.unscored,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_keeps_the_sum() {
        let mut ledger = Ledger::planned(8);
        for state in [
            SessionState::Passed,
            SessionState::Failed,
            SessionState::Errored,
            SessionState::Killed,
            SessionState::NotRun,
            SessionState::Skipped,
            SessionState::Unscored,
        ] {
            ledger.settle(state);
            assert!(ledger.adds_up(), "{state:?}");
        }
        assert_eq!(
            (ledger.scored(), ledger.missing(), ledger.not_run),
            (2, 4, 2)
        );
    }

    #[test]
    fn a_session_that_is_scored_late_is_in_one_state_at_a_time() {
        let mut ledger = Ledger::planned(2);
        ledger.settle(SessionState::Unscored);
        ledger.change(SessionState::Unscored, SessionState::Failed);
        assert!(ledger.adds_up(), "{ledger:?}");
        assert_eq!((ledger.unscored, ledger.failed, ledger.not_run), (0, 1, 1));
    }

    #[test]
    fn absent_states_are_left_out() {
        let (mut part, mut all) = (Ledger::planned(1), Ledger::planned(3));
        part.settle(SessionState::Failed);
        all.settle(SessionState::Killed);
        all.add(&part);
        let present =
            |rows: &mut dyn Iterator<Item = (&'static str, u64)>| rows.collect::<Vec<_>>();
        assert_eq!(present(&mut part.present()), [("failed", 1)]);
        let beside = [("failed", 1), ("killed", 0), ("not_run", 0)];
        assert_eq!(present(&mut part.present_in(&all)), beside);
    }
}
