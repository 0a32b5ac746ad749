//! One side against another.

use super::{Contender, STATS_SEED, Terms, cases};
use crate::{
    aggregate::{
        figures::{figure, round},
        matched::{Matched, matched, only},
    },
    domain::{
        CaseSummary, Figure, Reading,
        comparison::{PassRateDifference, Ratio, SidePair, Verdict},
    },
    stats::{
        self, Case, Level, Units, missing, multiple,
        paired::{self, Pair},
        planning::{self, Noise, POWER},
        ratio, signflip, strata,
    },
};

/// Two sides, paired by case.
pub(super) struct Pairing<'a> {
    a: &'a Contender<'a>,
    b: &'a Contender<'a>,
    matched: Vec<Matched<'a>>,
    /// The passes of each case on both sides.
    pairs: Vec<Pair>,
    units: Units,
}

/// The comparisons among which a verdict has to hold.
pub(super) struct Family {
    /// How many.
    pub size: u64,
    /// The p-value of this one, adjusted for that; none if it has none.
    pub p: Option<f64>,
}

impl<'a> Pairing<'a> {
    /// B against A.
    pub fn of(a: &'a Contender<'a>, b: &'a Contender<'a>, terms: &Terms<'_>) -> Self {
        let matched = matched(&a.summary.cases, &b.summary.cases);
        let clusters: Vec<_> = matched.iter().map(|m| (terms.cluster)(m.id())).collect();
        Self {
            a,
            b,
            pairs: matched.iter().map(Matched::pair).collect(),
            units: Units::new(clusters.iter().map(Option::as_deref)),
            matched,
        }
    }

    /// The p-value of the reading that gives the verdict.
    pub fn p(&self, terms: &Terms<'_>) -> Option<f64> {
        match terms.reading {
            Reading::Fixed => paired::mover_p(&self.pairs, &self.units),
            Reading::Sample => paired::reg_paired_t(&self.pairs, &self.units, terms.level).p,
        }
    }

    /// What there is to say of it. `label` names it among all, for random draws.
    pub fn compare(&self, terms: &Terms<'_>, family: Option<&Family>, label: &str) -> SidePair {
        let (a, b) = (self.a, self.b);
        let level = terms.level;
        SidePair {
            a: a.name.clone(),
            b: b.name.clone(),
            is_incomplete: [a, b].iter().any(|side| side.is_incomplete()),
            pass_rate: self.pass_rate(terms, family, label),
            steps: self.ratio(level, |case| Some(&case.steps.mean)),
            tokens_in: self.known_ratio(level, |case| case.tokens_in.as_ref()),
            tokens_out: self.known_ratio(level, |case| case.tokens_out.as_ref()),
            cost_usd: self.known_ratio(level, |case| case.cost_usd.as_ref()),
            cases: cases::differences(&self.matched, level),
            only_a: only(&a.summary.cases, &b.summary.cases),
            only_b: only(&b.summary.cases, &a.summary.cases),
        }
    }

    fn pass_rate(
        &self,
        terms: &Terms<'_>,
        family: Option<&Family>,
        label: &str,
    ) -> PassRateDifference {
        let (pairs, units, level) = (&self.pairs, &self.units, terms.level);
        let t = paired::reg_paired_t(pairs, units, level);
        let flips = signflip::sign_flip(pairs, units, STATS_SEED, label);
        let of = |pairs: &[Pair]| {
            let alone = verdict_of(&first(pairs, units, terms, level), terms);
            match family {
                None => alone,
                // Within the margin for all pairs at once.
                Some(family) if alone == stats::Verdict::Equivalent => {
                    let level = multiple::bonferroni(level, family.size);
                    verdict_of(&first(pairs, units, terms, level), terms)
                }
                Some(family) => alone.confirmed(family.p, level),
            }
        };
        let shown = of(pairs);
        let hinges = missing::shares_differ(pairs) && missing::hinges_on_missing(pairs, of);
        PassRateDifference {
            a: self.rate(terms, |pair| pair.a),
            b: self.rate(terms, |pair| pair.b),
            fixed: figure(paired::mover(pairs, units, level)),
            sample: figure(t.figure),
            simultaneous: family.map(|family| {
                let level = multiple::bonferroni(level, family.size);
                figure(first(pairs, units, terms, level))
            }),
            p: t.p.map(round),
            p_fixed: paired::mover_p(pairs, units).map(round),
            p_holm: family.and_then(|family| family.p).map(round),
            p_signflip: round(flips.p),
            signflip_exact: flips.exact,
            fragile: !hinges && shown.is_fragile(flips.p, flips.nonzero, level),
            verdict: match shown {
                _ if hinges => Verdict::InconclusiveMissing,
                stats::Verdict::Better => Verdict::Better,
                stats::Verdict::Worse => Verdict::Worse,
                stats::Verdict::Equivalent => Verdict::Equivalent,
                stats::Verdict::NoDifference => Verdict::NoDifferenceShown,
            },
            // A difference beyond 1 is none that there can be.
            mde: mde(pairs, units, t.se, level)
                .filter(|mde| *mde <= 1.0)
                .map(round),
        }
    }

    /// The pass rate of one side over the cases scored on both.
    fn rate(&self, terms: &Terms<'_>, of: fn(&Pair) -> Case) -> Figure {
        let scored = |pair: &Pair| match pair.is_scored() {
            true => of(pair),
            false => Case::default(),
        };
        let cases: Vec<Case> = self.pairs.iter().map(scored).collect();
        figure(match terms.reading {
            Reading::Fixed => strata::strat_wilson(&cases, &self.units, terms.level),
            Reading::Sample => strata::gen_jeffreys(&cases, &self.units, terms.level),
        })
    }

    /// The ratio of a quantity over the cases that have it on both sides.
    fn ratio(&self, level: Level, of: fn(&CaseSummary) -> Option<&Figure>) -> Ratio {
        let value = |case: &CaseSummary| of(case).map_or_else(Case::default, as_case);
        let pair = |m: &Matched<'_>| Pair {
            a: value(m.a),
            b: value(m.b),
        };
        let pairs: Vec<Pair> = self.matched.iter().map(pair).collect();
        let found = ratio::of_pairs(&pairs, &self.units, level);
        Ratio {
            ratio: figure(found.figure),
            p: found.p.map(round),
        }
    }

    /// The same of a quantity that is reported or not: who reports is no random sample.
    fn known_ratio(&self, level: Level, of: fn(&CaseSummary) -> Option<&Figure>) -> Ratio {
        let is_known =
            |case: &CaseSummary| of(case).is_some_and(|figure| figure.estimate.is_some());
        let scored = self.matched.iter().filter(|m| m.pair().is_scored());
        let unknown = scored.filter(|m| !is_known(m.a) || !is_known(m.b)).count();
        let all = self.ratio(level, of);
        if unknown == 0 {
            return all;
        }
        Ratio {
            ratio: Figure {
                estimate: None,
                lo: None,
                hi: None,
                note: Some(format!("not known for {unknown} cases")),
                ..all.ratio
            },
            p: None,
        }
    }
}

/// A mean as written, without its spread.
fn as_case(figure: &Figure) -> Case {
    match figure.estimate {
        Some(mean) => Case {
            n: figure.n,
            planned: figure.n_planned,
            mean,
            variance: None,
        },
        None => Case::default(),
    }
}

/// The difference in the reading of the verdict.
fn first(pairs: &[Pair], units: &Units, terms: &Terms<'_>, level: Level) -> stats::Figure {
    match terms.reading {
        Reading::Fixed => paired::mover(pairs, units, level),
        Reading::Sample => paired::reg_paired_t(pairs, units, level).figure,
    }
}

fn verdict_of(figure: &stats::Figure, terms: &Terms<'_>) -> stats::Verdict {
    match figure.interval() {
        Some(limits) => stats::Verdict::of(limits, terms.margin),
        None => stats::Verdict::NoDifference,
    }
}

/// The minimum detectable effect: from what seeds and cases add to the noise, or from the error where
/// these cannot be told apart (one seed each) or show no noise at all.
fn mde(pairs: &[Pair], units: &Units, se: Option<f64>, level: Level) -> Option<f64> {
    let units = planning::joined(pairs, units);
    let count = units.len() as u64;
    let inverses = units
        .iter()
        .map(|unit| 0.5 / unit.a.n as f64 + 0.5 / unit.b.n as f64);
    let seeds = (count as f64 / inverses.sum::<f64>()).round() as u64;
    match Noise::of(&units).filter(|noise| noise.variance(seeds) > 0.0) {
        Some(noise) => noise.mde(count, seeds, level, POWER),
        None => planning::mde_of_error(se?, count, level, POWER),
    }
}
