//! One side against another.

use std::collections::BTreeMap;

use super::{Contender, STATS_SEED, Terms, cases};
use crate::{
    aggregate::figures::{figure, round},
    domain::{
        CaseId, CaseSummary, Figure, Ledger, Reading,
        comparison::{PassRateDifference, Ratio, SidePair, Verdict},
    },
    stats::{
        self, Case, Level, Tally, Units, missing, multiple,
        paired::{self, Pair},
        planning::{self, Noise, POWER},
        ratio, signflip,
    },
};

/// The figure that sign-flip draws are made for.
const LABEL: &str = "compare.pass_rate";

/// A case that both sides have.
pub(in crate::aggregate) struct Matched<'a> {
    a: &'a CaseSummary,
    b: &'a CaseSummary,
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

/// B against A. `family` is how many comparisons are made, if a verdict has to hold among them.
pub(super) fn compare(
    a: &Contender<'_>,
    b: &Contender<'_>,
    terms: &Terms<'_>,
    family: Option<u64>,
) -> SidePair {
    let matched = matched(&a.summary.cases, &b.summary.cases);
    let clusters: Vec<_> = matched.iter().map(|m| (terms.cluster)(m.id())).collect();
    let units = Units::new(clusters.iter().map(Option::as_deref));
    let pairs: Vec<Pair> = matched.iter().map(Matched::pair).collect();
    let ratio = |of: fn(&CaseSummary) -> Option<&Figure>| {
        let value = |case| of(case).map_or_else(Case::default, as_case);
        let pairs: Vec<Pair> = matched
            .iter()
            .map(|m| Pair {
                a: value(m.a),
                b: value(m.b),
            })
            .collect();
        let ratio = ratio::of_pairs(&pairs, &units, terms.level);
        Ratio {
            ratio: figure(ratio.figure),
            p: ratio.p.map(round),
        }
    };
    SidePair {
        a: a.name.clone(),
        b: b.name.clone(),
        is_incomplete: [a, b].iter().any(|side| side.summary.overall.incomplete),
        pass_rate: pass_rate(&pairs, &units, terms, family),
        steps: ratio(|case| Some(&case.steps.mean)),
        tokens_in: ratio(|case| case.tokens_in.as_ref()),
        tokens_out: ratio(|case| case.tokens_out.as_ref()),
        cost_usd: ratio(|case| case.cost_usd.as_ref()),
        cases: cases::differences(&matched, terms.level),
        only_a: only(&a.summary.cases, &b.summary.cases),
        only_b: only(&b.summary.cases, &a.summary.cases),
    }
}

/// The cases of both sides, by id.
pub(in crate::aggregate) fn matched<'a>(
    a: &'a [CaseSummary],
    b: &'a [CaseSummary],
) -> Vec<Matched<'a>> {
    let of_b: BTreeMap<&CaseId, &CaseSummary> = b.iter().map(|case| (&case.id, case)).collect();
    let mut matched: Vec<Matched<'a>> = a
        .iter()
        .filter_map(|a| of_b.get(&a.id).map(|b| Matched { a, b }))
        .collect();
    matched.sort_by(|x, y| x.id().cmp(y.id()));
    matched
}

/// Cases scored here and not there, by id.
pub(in crate::aggregate) fn only(here: &[CaseSummary], there: &[CaseSummary]) -> Vec<CaseId> {
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

fn pass_rate(
    pairs: &[Pair],
    units: &Units,
    terms: &Terms<'_>,
    family: Option<u64>,
) -> PassRateDifference {
    let t = paired::reg_paired_t(pairs, units, terms.level);
    let flips = signflip::sign_flip(pairs, units, STATS_SEED, LABEL);
    let of = |pairs: &[Pair]| verdict_of(&first(pairs, units, terms, terms.level), terms);
    let shown = of(pairs);
    let verdict = match shown {
        _ if missing::shares_differ(pairs) && missing::hinges_on_missing(pairs, of) => {
            Verdict::InconclusiveMissing
        }
        stats::Verdict::Better => Verdict::Better,
        stats::Verdict::Worse => Verdict::Worse,
        stats::Verdict::Equivalent => Verdict::Equivalent,
        stats::Verdict::NoDifference => Verdict::NoDifferenceShown,
    };
    PassRateDifference {
        fixed: figure(paired::mover(pairs, units, terms.level)),
        sample: figure(t.figure),
        simultaneous: family.map(|m| {
            let level = multiple::bonferroni(terms.level, m);
            figure(first(pairs, units, terms, level))
        }),
        p: t.p.map(round),
        p_holm: None,
        p_signflip: round(flips.p),
        signflip_exact: flips.exact,
        fragile: verdict.is_a_difference() && shown.is_fragile(flips.p, flips.nonzero, terms.level),
        verdict,
        mde: mde(pairs, units, t.se, terms.level).map(round),
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

/// The smallest difference that a comparison of this size shows with the usual power: from what
/// seeds and cases add to its noise, or from its error where these cannot be told apart (one seed
/// each, clusters) or show no noise at all.
fn mde(pairs: &[Pair], units: &Units, se: Option<f64>, level: Level) -> Option<f64> {
    let count = paired::unit_differences(pairs, units).len();
    let scored: Vec<&Pair> = pairs.iter().filter(|pair| pair.is_scored()).collect();
    let halves = |pair: &&Pair| 0.5 / pair.a.n as f64 + 0.5 / pair.b.n as f64;
    let seeds = scored.len() as f64 / scored.iter().map(halves).sum::<f64>();
    let seeds = seeds.round() as u64;
    let noise = Noise::of(pairs).filter(|_| count == scored.len());
    match noise.filter(|noise| noise.variance(seeds) > 0.0) {
        Some(noise) => noise.mde(count as u64, seeds, level, POWER),
        None => planning::mde_of_error(se?, count as u64, level, POWER),
    }
}
