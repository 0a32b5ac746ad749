//! Which of two or more variants is better: paired by case, from their summaries alone.

mod cases;
mod groups;
pub(super) mod pair;

use crate::{
    domain::{
        CaseId, Reading, VariantSummary,
        comparison::{self, Comparison, Differs, Place, Side, SidePair, Verdict},
    },
    stats::{Level, multiple},
};

/// The seed of random draws in sign-flip tests.
const STATS_SEED: u64 = 0;

/// One side before it is compared.
pub struct Contender<'a> {
    /// Its name in the comparison.
    pub name: String,
    /// The run's id.
    pub run: String,
    /// Its figures.
    pub summary: &'a VariantSummary,
    /// What was run otherwise than on the first side.
    pub differs: Vec<Differs>,
}

/// How a comparison is made.
pub struct Terms<'a> {
    /// Which reading gives the verdict.
    pub reading: Reading,
    /// Confidence level of all intervals.
    pub level: Level,
    /// Differences within it count as none, if equivalence is asked for; above 0.
    pub margin: Option<f64>,
    /// The cluster of a case.
    pub cluster: &'a dyn Fn(&CaseId) -> Option<String>,
}

/// Compares each side with every one before it: of two, the second with the first.
#[must_use]
pub fn compare(sides: Vec<Contender<'_>>, terms: &Terms<'_>) -> Comparison {
    let before = |b: usize| (0..b).map(move |a| (a, b));
    let of: Vec<(usize, usize)> = (0..sides.len()).flat_map(before).collect();
    let family = (sides.len() > 2).then_some(of.len() as u64);
    let mut pairs: Vec<SidePair> = of
        .iter()
        .filter_map(|(a, b)| Some(pair::compare(sides.get(*a)?, sides.get(*b)?, terms, family)))
        .collect();
    let leaderboard = family.map(|_| {
        adjust(&mut pairs, terms.level);
        leaderboard(&sides, &of, &pairs, terms.reading)
    });
    Comparison {
        schema: comparison::SCHEMA.to_owned(),
        reading: terms.reading,
        level: terms.level.get(),
        margin: terms.margin,
        stats_seed: STATS_SEED,
        sides: sides.into_iter().map(side).collect(),
        pairs,
        leaderboard,
    }
}

/// All pairs are one family: to be better or worse takes the adjusted p as well as the interval.
fn adjust(pairs: &mut [SidePair], level: Level) {
    // Without a p there is nothing to adjust, and nothing is shown.
    let p: Vec<f64> = pairs
        .iter()
        .map(|pair| pair.pass_rate.p.unwrap_or(1.0))
        .collect();
    for (pair, adjusted) in pairs.iter_mut().zip(multiple::holm(&p)) {
        let of = &mut pair.pass_rate;
        of.p_holm = of.p.map(|_| super::figures::round(adjusted));
        if of.verdict.is_a_difference() && adjusted > 1.0 - level.get() {
            (of.verdict, of.fragile) = (Verdict::NoDifferenceShown, false);
        }
    }
}

/// The sides by pass rate; who shares a group cannot be told apart.
fn leaderboard(
    sides: &[Contender<'_>],
    of: &[(usize, usize)],
    pairs: &[SidePair],
    reading: Reading,
) -> Vec<Place> {
    let rate = |side: usize| {
        sides
            .get(side)
            .map(|s| s.summary.overall.pass_rate.first(reading))
    };
    let mut order: Vec<usize> = (0..sides.len()).collect();
    let estimate = |side: usize| rate(side).and_then(|f| f.estimate).unwrap_or(-1.0);
    order.sort_by(|a, b| estimate(*b).total_cmp(&estimate(*a)));
    let place = |side: usize| order.iter().position(|s| *s == side).unwrap_or(side);
    let apart: Vec<(usize, usize)> = of
        .iter()
        .zip(pairs)
        .filter(|(_, pair)| pair.pass_rate.verdict.is_a_difference())
        .map(|((a, b), _)| (place(*a), place(*b)))
        .collect();
    let groups = groups::of(sides.len(), &apart);
    order
        .iter()
        .enumerate()
        .filter_map(|(at, side)| {
            let is_in = |group: &Vec<usize>| group.contains(&at);
            Some(Place {
                name: sides.get(*side)?.name.clone(),
                pass_rate: rate(*side)?.clone(),
                groups: (0..groups.len()).filter(|g| is_in(&groups[*g])).collect(),
            })
        })
        .collect()
}

fn side(of: Contender<'_>) -> Side {
    let summary = of.summary;
    Side {
        name: of.name,
        run: of.run,
        variant: summary.variant.clone(),
        ledger: summary.ledger,
        incomplete: summary.overall.incomplete,
        pass_rate: summary.overall.pass_rate.clone(),
        differs: of.differs,
    }
}

#[cfg(test)]
mod tests;
