//! Which of two or more variants is better: paired by case, from their summaries alone.

mod cases;
mod groups;
pub(super) mod pair;

use pair::{Family, Pairing};

use crate::{
    domain::{
        CaseId, Reading, VariantSummary,
        comparison::{self, Comparison, Differs, Place, Side, SidePair},
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

impl Contender<'_> {
    /// Whether too much is missing, or still to be scored, to rely on its figures.
    fn is_incomplete(&self) -> bool {
        self.summary.overall.incomplete || self.summary.ledger.unscored > 0
    }
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
    let pairings: Vec<Pairing<'_>> = of
        .iter()
        .filter_map(|(a, b)| Some(Pairing::of(sides.get(*a)?, sides.get(*b)?, terms)))
        .collect();
    let families = (sides.len() > 2).then(|| families(&pairings, terms));
    let pair = |(at, pairing): (usize, &Pairing<'_>)| {
        let family = families.as_ref().and_then(|families| families.get(at));
        // Figures do not share their draws.
        let label = match at {
            0 => "compare.pass_rate".to_owned(),
            at => format!("compare.pass_rate.{at}"),
        };
        pairing.compare(terms, family, &label)
    };
    let pairs: Vec<SidePair> = pairings.iter().enumerate().map(pair).collect();
    let leaderboard = (sides.len() > 2).then(|| leaderboard(&sides, &of, &pairs, terms.reading));
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
fn families(pairings: &[Pairing<'_>], terms: &Terms<'_>) -> Vec<Family> {
    let p: Vec<Option<f64>> = pairings.iter().map(|pairing| pairing.p(terms)).collect();
    // One without a p shows nothing, as one with p = 1.
    let known: Vec<f64> = p.iter().map(|p| p.unwrap_or(1.0)).collect();
    let adjusted = p.iter().zip(multiple::holm(&known));
    adjusted
        .map(|(p, adjusted)| Family {
            size: pairings.len() as u64,
            p: p.map(|_| adjusted),
        })
        .collect()
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
    let (summary, incomplete) = (of.summary, of.is_incomplete());
    Side {
        name: of.name,
        run: of.run,
        variant: summary.variant.clone(),
        ledger: summary.ledger,
        completed: summary.overall.steps_to_completion.completed,
        incomplete,
        pass_rate: summary.overall.pass_rate.clone(),
        differs: of.differs,
    }
}

#[cfg(test)]
mod tests;
