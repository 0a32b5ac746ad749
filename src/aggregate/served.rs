//! The sessions of a variant by what answered them.

use std::collections::BTreeMap;

use super::figures::figure;
use crate::{
    domain::{Served, SessionState, Stratum},
    stats::{Case, Level, Tally, Units, strata},
    store::SessionRow,
};

/// Strata of one variant. An endpoint with a fingerprint for each reply has none to speak of, and
/// memory has an end.
const MOST: usize = 100;

/// The sessions of one variant, as its cases go by. The outcome does not depend on the order of the
/// sessions of a case.
#[derive(Default)]
pub(super) struct Strata {
    /// By all that answered, sorted.
    of: BTreeMap<Vec<Served>, Counts>,
    /// Whether fingerprints are left out.
    is_coarse: bool,
}

#[derive(Default)]
struct Counts {
    /// Sessions that ended.
    sessions: u64,
    /// Passed and scored ones by the place of their case, ascending.
    cases: Vec<(usize, u64, u64)>,
}

impl Strata {
    /// Takes a session that has begun, of the case in this place: places ascend.
    pub fn add(&mut self, case: usize, row: &SessionRow) {
        let Some(outcome) = &row.outcome else {
            return;
        };
        let state = row.state();
        let served = self.stratum(outcome.served.clone());
        let counts = self.of.entry(served).or_default();
        counts.sessions += 1;
        let passed = u64::from(state == SessionState::Passed);
        counts.add((case, passed, u64::from(state.is_scored())));
        if self.of.len() > MOST && !self.is_coarse {
            self.leave_fingerprints_out();
        }
    }

    /// What they say; nothing where no reply says what answered.
    pub fn figures(self, cases: usize, units: &Units, level: Level) -> Vec<Stratum> {
        if self.of.keys().all(Vec::is_empty) {
            return Vec::new();
        }
        let stratum = |(served, counts): (Vec<Served>, Counts)| {
            let (mut passed, mut scored) = (0, 0);
            let mut of_cases = vec![Case::default(); cases];
            for (case, k, n) in counts.cases {
                passed += k;
                scored += n;
                // Nobody planned what would answer: none of a stratum is missing.
                let tally = Tally {
                    passed: k,
                    scored: n,
                    planned: n,
                };
                if let Some(of) = of_cases.get_mut(case) {
                    *of = tally.into();
                }
            }
            Stratum {
                served,
                sessions: counts.sessions,
                scored,
                passed,
                pass_rate: figure(strata::strat_wilson(&of_cases, units, level)),
            }
        };
        let mut strata: Vec<Stratum> = self.of.into_iter().map(stratum).collect();
        // Stable: those of a size stand in the order of what answered.
        strata.sort_by_key(|stratum| std::cmp::Reverse(stratum.sessions));
        strata
    }

    /// Which stratum a session belongs to.
    fn stratum(&self, mut served: Vec<Served>) -> Vec<Served> {
        if self.is_coarse {
            served.iter_mut().for_each(|by| by.fingerprint = None);
            served.retain(|by| !by.is_unknown());
        }
        served.sort();
        served.dedup();
        served
    }

    fn leave_fingerprints_out(&mut self) {
        self.is_coarse = true;
        for (served, counts) in std::mem::take(&mut self.of) {
            let served = self.stratum(served);
            self.of.entry(served).or_default().join(counts);
        }
    }
}

impl Counts {
    /// Of a case that comes no earlier than all before it.
    fn add(&mut self, (case, passed, scored): (usize, u64, u64)) {
        match self.cases.last_mut() {
            Some((last, k, n)) if *last == case => {
                *k += passed;
                *n += scored;
            }
            _ => self.cases.push((case, passed, scored)),
        }
    }

    fn join(&mut self, other: Self) {
        self.sessions += other.sessions;
        let mut cases = std::mem::take(&mut self.cases);
        cases.extend(other.cases);
        cases.sort_by_key(|(case, ..)| *case);
        cases.into_iter().for_each(|case| self.add(case));
    }
}

#[cfg(test)]
mod tests;
