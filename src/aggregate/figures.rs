//! From what `stats` computes to what is written.

use crate::{
    domain::{Amount, Bounds, Figure, Rate, Tally, Variance},
    stats::{self, Case, DIGITS, Level, Units, round_sig, strata, variance},
};

/// As written.
pub(super) fn round(x: f64) -> f64 {
    round_sig(x, DIGITS)
}

/// As written: rounded, with the method's tag.
pub(super) fn figure(figure: stats::Figure) -> Figure {
    Figure {
        estimate: figure.estimate.map(round),
        lo: figure.lo.map(round),
        hi: figure.hi.map(round),
        level: figure.level.get(),
        method: figure.method.tag().to_owned(),
        n_cases: figure.n_cases,
        n: figure.n,
        n_planned: figure.n_planned,
        note: figure.note.map(String::from),
    }
}

/// The pass rate of a run while it goes on, of all its variants together: these cases, new seeds.
pub struct PassRateSoFar {
    units: Units,
    level: Level,
}

impl PassRateSoFar {
    /// For a run of `variants` variants over cases with these clusters.
    #[must_use]
    pub fn new(clusters: &[Option<String>], variants: usize, level: Level) -> Self {
        let of_variant = |v: usize| {
            clusters
                .iter()
                .map(move |c| Some(format!("{v}/{}", c.as_ref()?)))
        };
        let names: Vec<Option<String>> = (0..variants).flat_map(of_variant).collect();
        Self {
            units: Units::new(names.iter().map(Option::as_deref)),
            level,
        }
    }

    /// As the counts stand now.
    #[must_use]
    pub fn figure(&self, tally: &Tally) -> Figure {
        let of_case = |(passed, scored): &(u32, u32)| {
            Case::from(stats::Tally {
                passed: u64::from(*passed),
                scored: u64::from(*scored),
                planned: u64::from(*scored),
            })
        };
        let cases: Vec<Case> = tally.cases.iter().flatten().map(of_case).collect();
        figure(strata::strat_wilson(&cases, &self.units, self.level))
    }
}

/// A value in [0, 1] in its two readings.
pub(super) fn rate(cases: &[Case], units: &Units, level: Level) -> Rate {
    Rate {
        fixed: figure(strata::strat_wilson(cases, units, level)),
        sample: figure(strata::gen_jeffreys(cases, units, level)),
        cluster_t: figure(strata::cluster_t(cases, units, level)),
    }
}

/// A non-negative quantity: its total, if it is known for every scored session, and its mean.
pub(super) fn amount(
    values: &[&[f64]],
    cases: &[Case],
    scored: u64,
    units: &Units,
    level: Level,
) -> Amount {
    let known = values.iter().map(|v| v.len() as u64).sum::<u64>();
    let total =
        (known == scored && scored > 0).then(|| round(values.iter().flat_map(|v| v.iter()).sum()));
    let mean = known_of(strata::log_t(cases, units, level), known, scored);
    Amount { total, mean }
}

/// A figure of values that `known` of `scored` sessions reported: who reports is no random sample,
/// and the mean of those alone would mislead.
pub(super) fn known_of(of: stats::Figure, known: u64, scored: u64) -> Figure {
    let figure = figure(of);
    if known == scored {
        return figure;
    }
    Figure {
        estimate: None,
        lo: None,
        hi: None,
        note: Some(format!("known for {known} of {scored} sessions")),
        ..figure
    }
}

/// The pass rate if all missing sessions had failed, and if all had passed.
pub(super) fn bounds(bounds: &stats::missing::Bounds) -> Option<Bounds> {
    match (bounds.missing, bounds.lo, bounds.hi) {
        (0, ..) => None,
        (_, Some(lo), Some(hi)) => Some(Bounds {
            lo: round(lo),
            hi: round(hi),
        }),
        _ => None,
    }
}

/// Where the spread of pass or fail comes from.
pub(super) fn components(cases: &[Case]) -> Variance {
    let v = variance::variance_components(cases);
    Variance {
        between: v.as_ref().map(|v| round(v.between)),
        within: v.as_ref().map(|v| round(v.within)),
        icc: v.as_ref().and_then(|v| v.icc).map(round),
        deff: v.as_ref().and_then(|v| v.deff).map(round),
        seed_share: v.as_ref().and_then(|v| v.seed_share).map(round),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_written_rounded_and_with_its_fields_in_order() {
        let level = Level::default();
        let written = |f: stats::Figure| serde_json::to_string(&figure(f)).unwrap();
        let third = stats::mean::log_t(&[1.0 / 3.0; 2], level).with_planned(3);
        assert_eq!(
            written(third),
            r#"{"estimate":0.3333333333,"lo":null,"hi":null,"level":0.95,"method":"log_t","n_cases":1,"n":2,"n_planned":3,"note":"no spread"}"#
        );
        let nothing = stats::mean::log_t(&[], level);
        assert_eq!(
            written(nothing),
            r#"{"estimate":null,"lo":null,"hi":null,"level":0.95,"method":"log_t","n_cases":0,"n":0,"n_planned":0,"note":"nothing scored"}"#
        );
    }
}
