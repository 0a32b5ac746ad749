//! How each case fares on one side and the other.

use crate::{
    aggregate::{
        figures::{figure, round},
        matched::Matched,
    },
    domain::comparison::{CaseDifference, Change},
    stats::{Level, multiple, two_cases},
};

/// The largest share of false alarms among the changes that are reported.
const FALSE_ALARMS: f64 = 0.10;

/// Every case scored on both sides.
pub(super) fn differences(matched: &[Matched<'_>], level: Level) -> Vec<CaseDifference> {
    let scored: Vec<_> = matched.iter().filter(|m| m.pair().is_scored()).collect();
    let p: Vec<Option<f64>> = scored
        .iter()
        .map(|m| two_cases::fisher(m.a_tally(), m.b_tally()))
        .collect();
    let known: Vec<f64> = p.iter().map(|p| p.unwrap_or(1.0)).collect();
    let q = multiple::benjamini_hochberg(&known);
    let tested = p.into_iter().zip(q);
    scored
        .into_iter()
        .zip(tested)
        .map(|(m, (p, q))| {
            let (a, b) = (m.a_tally(), m.b_tally());
            let difference = two_cases::newcombe(a, b, level);
            let is_shown = p.is_some() && q <= FALSE_ALARMS;
            let change = difference.estimate.filter(|_| is_shown).map(|d| match d {
                d if d < 0.0 => Change::Regression,
                _ => Change::Improvement,
            });
            CaseDifference {
                id: m.id().clone(),
                a: (a.passed, a.scored),
                b: (b.passed, b.scored),
                difference: figure(difference),
                p: p.map(round),
                q: p.map(|_| round(q)),
                change,
            }
        })
        .collect()
}
