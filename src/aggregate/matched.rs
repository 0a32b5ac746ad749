//! The cases that two sides have in common.

use std::collections::BTreeMap;

use crate::{
    domain::{CaseId, CaseSummary, Ledger},
    stats::{Tally, paired::Pair},
};

/// A case that both sides have.
pub(super) struct Matched<'a> {
    pub a: &'a CaseSummary,
    pub b: &'a CaseSummary,
}

impl Matched<'_> {
    pub fn id(&self) -> &CaseId {
        &self.a.id
    }

    pub fn a_tally(&self) -> Tally {
        tally(&self.a.ledger)
    }

    pub fn b_tally(&self) -> Tally {
        tally(&self.b.ledger)
    }

    /// Its passes.
    pub fn pair(&self) -> Pair {
        Pair {
            a: self.a_tally().into(),
            b: self.b_tally().into(),
        }
    }
}

/// The cases of both sides, by id.
pub(super) fn matched<'a>(a: &'a [CaseSummary], b: &'a [CaseSummary]) -> Vec<Matched<'a>> {
    let of_b: BTreeMap<&CaseId, &CaseSummary> = b.iter().map(|case| (&case.id, case)).collect();
    let mut matched: Vec<Matched<'a>> = a
        .iter()
        .filter_map(|a| of_b.get(&a.id).map(|b| Matched { a, b }))
        .collect();
    matched.sort_by(|x, y| x.id().cmp(y.id()));
    matched
}

/// Cases scored here and not there, by id.
pub(super) fn only(here: &[CaseSummary], there: &[CaseSummary]) -> Vec<CaseId> {
    let scored = |cases: &'_ [CaseSummary]| -> BTreeMap<CaseId, bool> {
        let of = |case: &CaseSummary| (case.id.clone(), case.ledger.scored() > 0);
        cases.iter().map(of).collect()
    };
    let there = scored(there);
    scored(here)
        .into_iter()
        .filter(|(id, is_scored)| *is_scored && !there.get(id).copied().unwrap_or(false))
        .map(|(id, _)| id)
        .collect()
}

/// Skipped sessions and those that are still to be scored are not missing.
fn tally(ledger: &Ledger) -> Tally {
    Tally {
        passed: ledger.passed,
        scored: ledger.scored(),
        planned: ledger.scored() + ledger.missing(),
    }
}
