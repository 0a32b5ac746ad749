//! The noise that a pilot shows, and what of it has to be guessed.

use std::collections::BTreeMap;

use super::matched::{Matched, matched, only};
use crate::{
    domain::{
        CaseId, VariantSummary,
        plan::{Replies, Source, Unit},
    },
    stats::{
        Units,
        paired::Pair,
        planning::{self, Noise},
    },
};

/// A pilot of fewer units says little about the noise between them.
const FEW: usize = 10;

/// A variant that has run.
pub struct Pilot<'a> {
    /// The run as a user names it.
    pub run: String,
    /// What came of the variant.
    pub summary: &'a VariantSummary,
    /// Planned seeds of each case.
    pub seeds: u64,
    /// The cluster of each case that names one.
    pub clusters: BTreeMap<&'a CaseId, &'a str>,
    /// Sessions that ended, a second, in the whole run; none if that is not known.
    pub sessions_per_s: Option<f64>,
    /// How many different sessions each case had; none if that is not known.
    pub replies: Option<Vec<Replies>>,
}

/// What there is to know of the noise.
pub(super) struct Seen {
    pub noise: Noise,
    pub between_is: Source,
    pub within_is: Source,
    pub unit: Unit,
    /// Units with a scored session, on both sides if there are two; none without a pilot.
    pub units: Option<u64>,
    pub notes: Vec<String>,
    pub warnings: Vec<String>,
}

impl Pilot<'_> {
    /// `RUN/VARIANT`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.run, self.summary.variant)
    }
}

impl Seen {
    /// Of two sides, of one that stands for both, or of none.
    pub fn of(sides: &[Pilot<'_>]) -> Self {
        let Some(first) = sides.first() else {
            let note = "without a pilot all noise is guessed: name a run to plan from";
            return Self {
                noise: Noise::GUESS,
                between_is: Source::Guessed,
                within_is: Source::Guessed,
                unit: Unit {
                    is_cluster: false,
                    cases: 1.0,
                },
                units: None,
                notes: vec![note.to_owned()],
                warnings: Vec::new(),
            };
        };
        let second = sides.get(1);
        let mut seen = Self::pair(first, second);
        seen.warnings.extend(warnings(sides));
        seen
    }

    fn pair(a: &Pilot<'_>, b: Option<&Pilot<'_>>) -> Self {
        let (of_a, of_b) = (&a.summary.cases, &b.unwrap_or(a).summary.cases);
        let mut matched = matched(of_a, of_b);
        matched.retain(|case| case.pair().is_scored());
        let (mut notes, mut warnings) = (Vec::new(), Vec::new());
        let used = matched.len();
        if !only(of_a, of_b).is_empty() || !only(of_b, of_a).is_empty() {
            warnings.push(format!(
                "cases that are scored on one side only are left out (on both: {used})"
            ));
        }
        let clusters = matched.iter().map(|case| {
            let of_b = b.and_then(|b| b.clusters.get(case.id()));
            a.clusters.get(case.id()).or(of_b).copied()
        });
        let clusters = Units::new(clusters);
        let pairs: Vec<Pair> = matched.iter().map(Matched::pair).collect();
        let units = planning::joined(&pairs, &clusters);
        let unit = Unit {
            is_cluster: units.len() < used,
            cases: used as f64 / units.len().max(1) as f64,
        };
        let word = if unit.is_cluster { "cluster" } else { "case" };
        if unit.is_cluster {
            notes.push(format!(
                "the cases of one cluster count as one (cases: {used}, clusters: {})",
                units.len()
            ));
        }
        if units.len() < FEW {
            warnings.push(format!(
                "the pilot is small ({word}s: {}): the noise that it shows is rough",
                units.len()
            ));
        }
        let found = Found::of(&units, b.is_some(), word);
        let noise = found.noise;
        notes.extend(found.said);
        if noise.var_a + noise.var_b <= 0.0 {
            notes.push(format!(
                "no {word} passed at one seed and failed at another: more seeds show nothing more"
            ));
        }
        Self {
            noise,
            between_is: found.between_is,
            within_is: found.within_is,
            unit,
            units: Some(units.len() as u64),
            notes,
            warnings,
        }
    }
}

/// The noise of a pilot, and what is to be said of it.
struct Found {
    noise: Noise,
    between_is: Source,
    within_is: Source,
    said: Option<String>,
}

impl Found {
    fn guessed(noise: Noise, said: String) -> Self {
        Self {
            noise,
            between_is: Source::Guessed,
            within_is: Source::Guessed,
            said: Some(said),
        }
    }

    /// As far as the units show it; the rest is guessed.
    fn of(units: &[Pair], is_paired: bool, word: &str) -> Self {
        let measured = Noise::of(units).filter(|_| is_paired);
        let of_one_seed = Noise::of_one_seed(units).filter(|_| is_paired && measured.is_none());
        let is_still = |noise: Noise| noise.variance(1) <= 0.0;
        if units.is_empty() {
            let said = "no case is scored on both sides: all noise is guessed";
            return Self::guessed(Noise::GUESS, said.to_owned());
        }
        if measured.or(of_one_seed).is_some_and(is_still) {
            let said = format!(
                "all noise is guessed: every {word} did the same on both sides and at all seeds, \
                 which no run keeps up"
            );
            return Self::guessed(Noise::GUESS, said);
        }
        if let Some(noise) = measured {
            return Self {
                noise,
                between_is: Source::Measured,
                within_is: Source::Measured,
                said: None,
            };
        }
        if let Some(noise) = of_one_seed {
            let said = format!(
                "one seed does not tell the noise of seeds from that of {word}s: how it splits is \
                 guessed"
            );
            return Self::guessed(noise, said);
        }
        let Some(noise) = Noise::of_seeds(units) else {
            let said = "one seed shows no noise: all of it is guessed";
            return Self::guessed(Noise::GUESS, said.to_owned());
        };
        let said = match is_paired {
            true => format!(
                "one {word} does not show how the difference varies between {word}s: that is guessed"
            ),
            false => format!(
                "one variant stands for both sides, and how the difference varies between {word}s \
                 is guessed: name two variants to measure it"
            ),
        };
        Self {
            noise,
            between_is: Source::Guessed,
            within_is: Source::Measured,
            said: Some(said),
        }
    }
}

/// What spoils a pilot.
fn warnings(sides: &[Pilot<'_>]) -> Vec<String> {
    let mut warnings = Vec::new();
    for side in sides {
        let name = side.name();
        if side.summary.overall.incomplete {
            let ledger = &side.summary.ledger;
            warnings.push(format!(
                "{name} is incomplete: {} of {} sessions are missing",
                ledger.missing(),
                ledger.planned
            ));
        }
        let copies = side.replies.iter().flatten().filter(|r| r.sessions > 1);
        let (copies, others): (Vec<_>, Vec<_>) = copies.partition(|r| r.distinct == 1);
        if !copies.is_empty() && others.is_empty() {
            warnings.push(format!(
                "the seeds of {name} are copies of each other: all sessions of a case are the \
                 same. Count them as one seed"
            ));
        }
    }
    warnings
}

#[cfg(test)]
pub(super) mod tests;
