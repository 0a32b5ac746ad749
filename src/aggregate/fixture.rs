//! Figures for tests, from counts.

use std::collections::BTreeMap;

use super::{case::CaseData, summary::of_variant};
use crate::{
    domain::{Grid, SessionState, VariantSummary},
    stats::{Level, Units},
};

/// A variant with these cases: id, passed, scored and planned sessions. Each scored session takes
/// two steps and costs a cent.
pub(super) fn variant(name: &str, cases: &[(&str, u64, u64, u64)]) -> VariantSummary {
    let ids = cases.iter().map(|case| case.0.parse().unwrap()).collect();
    let seeds = cases.iter().map(|case| case.3).max().unwrap_or(0);
    let grid = Grid::new(vec![name.parse().unwrap()], ids, 0..seeds).unwrap();
    let data: Vec<CaseData> = cases.iter().map(|of| case(of.1, of.2, of.3)).collect();
    let by_id: Vec<usize> = (0..cases.len()).collect();
    let (name, metrics) = (grid.variants[0].clone(), BTreeMap::new());
    let (units, level) = (Units::default(), Level::default());
    of_variant(name, &grid, &by_id, &data, &metrics, &units, level)
}

fn case(passed: u64, scored: u64, planned: u64) -> CaseData {
    let mut data = CaseData::new(planned);
    for i in 0..scored {
        data.ledger.settle(match i < passed {
            true => SessionState::Passed,
            false => SessionState::Failed,
        });
        data.completed += 1;
        data.scores.push(1.0);
        data.steps.push(2.0);
        data.blocked.push(0.0);
        data.cost_usd.push(0.01);
    }
    data.passed = passed;
    data
}
