//! Figures over a whole suite, with cases as strata or as a sample.
//!
//! Every case weighs the same within its unit, every unit the same overall (macro means): were
//! sessions the weights, cases that lose sessions would count less. A unit is a case, or all the
//! cases of one cluster ([`Units`]). Cases without a scored session are left out; naming them is
//! the caller's part.

use super::cases::{Case, Units, counts};
use super::figure::{Figure, note};
use super::level::Level;
use super::mean;
use super::method::Method;
use super::moments;
use super::proportion::wilson_limits;

/// Mean of case means, **cases a sample**: "new cases like these". The generalised Jeffreys
/// interval on unit means ([`mean::gen_jeffreys`]).
///
/// Nothing scored, or a mean outside [0, 1], is undefined; one unit has no interval.
pub fn gen_jeffreys(cases: &[Case], units: &Units, level: Level) -> Figure {
    of_unit_means(cases, &unit_means(cases, units), mean::gen_jeffreys, level)
}

/// Mean of case means of a non-negative quantity (steps, tokens, USD, seconds) with the log-delta
/// Student interval on unit means ([`mean::log_t`]).
///
/// Nothing scored, or a negative mean, is undefined; one unit has no interval.
pub fn log_t(cases: &[Case], units: &Units, level: Level) -> Figure {
    of_unit_means(cases, &unit_means(cases, units), mean::log_t, level)
}

/// Ratio of two macro means, such as cost per pass, over the cases scored on both sides, with
/// [`mean::log_t_ratio`] on unit means.
///
/// `numerators` and `denominators` are parallel: the same cases in the same order. Sessions are
/// counted on the side of the denominators.
pub fn log_t_ratio(
    numerators: &[Case],
    denominators: &[Case],
    units: &Units,
    level: Level,
) -> Figure {
    // A case scored on one side only keeps its plan and loses its sessions.
    let used: Vec<Case> = numerators
        .iter()
        .zip(denominators)
        .map(|(c, p)| Case {
            n: if c.n > 0 { p.n } else { 0 },
            ..*p
        })
        .collect();
    let above = units.means(
        used.iter()
            .zip(numerators)
            .map(|(p, c)| p.value().and(c.value())),
    );
    let below = unit_means(&used, units);
    let ratio = |below: &[f64], level| mean::log_t_ratio(&above, below, level);
    of_unit_means(&used, &below, ratio, level)
}

/// Mean of case means, **these cases only**: "these cases, new seeds". The stratified Wilson
/// interval: Wilson on the macro mean and [`effective_n`].
///
/// Nothing scored, or a mean outside [0, 1], is undefined.
pub fn strat_wilson(cases: &[Case], units: &Units, level: Level) -> Figure {
    let counts = counts(cases);
    match mean::unit_mean(&unit_means(cases, units)) {
        Err(note) => Figure::undefined(Method::StratWilson, level, counts, note),
        Ok(p) => {
            let limits = effective_n(cases, units).and_then(|n| wilson_limits(p, n, level));
            Figure::new(
                Method::StratWilson,
                level,
                counts,
                p,
                limits.ok_or(note::OUT_OF_RANGE),
            )
        }
    }
}

/// Number of sessions of a simple sample that would say as much as these strata do; `None` when
/// nothing was scored.
///
/// With p the macro mean, s_i² the variance in case i (p(1-p) if n_i = 1), V = G⁻²Σs_i²/n_i,
/// n_h = G/Σ(1/n_i) and N = G·n_h: N if p(1-p) = 0; else N·n_h if V = 0; else
/// min(max(p(1-p)/V, G·min n_i), N·n_h). The lower clamp holds by concavity; the upper says that
/// n seeds cannot show a variance within cases below 1/n of the binomial.
/// (Effective-size Wilson: Kott & Carr 1997; Franco et al. 2019.)
///
/// With clusters a case weighs w_i = 1/(G·its cluster's cases) in place of 1/G, and each term is
/// written with its weights: V = Σw_i²s_i²/n_i, N = 1/Σ(w_i²/n_i), n_h = N·Σw_i², min n_i/w_i.
pub fn effective_n(cases: &[Case], units: &Units) -> Option<f64> {
    let p = moments::mean(&unit_means(cases, units))?;
    let binomial = p * (1.0 - p);
    let sizes = units.gather(cases.iter().map(Case::value));
    let g = sizes.iter().filter(|(_, cases)| *cases > 0).count() as f64;
    let (mut v, mut inverse_n, mut weights, mut least) = (0.0, 0.0, 0.0, f64::INFINITY);
    for (i, case) in cases.iter().enumerate().filter(|(_, case)| case.n > 0) {
        let in_unit = sizes.get(units.of(i)).map_or(1, |(_, cases)| *cases);
        let share = g * in_unit as f64; // 1/w
        let n = case.n as f64;
        v += case.variance.unwrap_or(binomial) / n / (share * share);
        inverse_n += 1.0 / n / (share * share);
        weights += 1.0 / (share * share);
        least = f64::min(least, n * share);
    }
    let n = 1.0 / inverse_n;
    let most = n * n * weights;
    Some(if binomial == 0.0 {
        n
    } else if v == 0.0 {
        most
    } else {
        (binomial / v).max(least).min(most)
    })
}

/// Mean of case means with the textbook interval: x̄ ± t_{G-1}·sd/√G on unit means, clipped to
/// [0, 1]. In a balanced design that is the CR1 (and CR2) cluster-robust interval.
///
/// Given beside the others because readers know it; it covers badly near 0 and 1. Nothing scored,
/// or a mean outside [0, 1], is undefined; one unit and equal means have no interval.
pub fn cluster_t(cases: &[Case], units: &Units, level: Level) -> Figure {
    let figure = of_unit_means(cases, &unit_means(cases, units), mean::t, level);
    Figure {
        method: Method::ClusterT,
        ..figure
    }
}

/// Means within units of the case means.
pub(super) fn unit_means(cases: &[Case], units: &Units) -> Vec<f64> {
    units.means(cases.iter().map(Case::value))
}

/// `estimator` on the unit means, counted over `cases`; one unit keeps its estimate but no
/// interval, whatever the estimator says of one value.
pub(super) fn of_unit_means(
    cases: &[Case],
    means: &[f64],
    estimator: impl FnOnce(&[f64], Level) -> Figure,
    level: Level,
) -> Figure {
    let counts = counts(cases);
    let figure = estimator(means, level).with_counts(counts);
    match figure.estimate {
        Some(estimate) if means.len() == 1 => {
            let note = if counts.n_cases == 1 {
                note::ONE_CASE
            } else {
                note::ONE_CLUSTER
            };
            Figure::new(figure.method, level, counts, estimate, Err(note))
        }
        _ => figure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::{Tally, proportion::wilson};

    fn tallies(kn: &[(u64, u64)]) -> Vec<Case> {
        let case = |&(passed, scored): &(u64, u64)| {
            Tally {
                passed,
                scored,
                planned: 12,
            }
            .into()
        };
        kn.iter().map(case).collect()
    }

    fn close(a: Option<f64>, b: Option<f64>) -> bool {
        (a.unwrap() - b.unwrap()).abs() < 1e-12
    }

    #[test]
    fn one_case_is_plain_wilson_here_and_no_sample() {
        let (cases, units, level) = (
            tallies(&[(5, 12), (0, 0)]),
            Units::default(),
            Level::default(),
        );
        let (fixed, plain) = (strat_wilson(&cases, &units, level), wilson(5, 12, level));
        assert!(close(fixed.lo, plain.lo) && close(fixed.hi, plain.hi));
        assert_eq!((fixed.n_cases, fixed.n, fixed.n_planned), (1, 12, 24));
        for sample in [gen_jeffreys, cluster_t, log_t] {
            let figure = sample(&cases, &units, level);
            assert_eq!((figure.estimate, figure.lo), (fixed.estimate, None));
            assert_eq!(figure.note.as_deref(), Some(note::ONE_CASE));
        }
    }

    #[test]
    fn nothing_scored_is_undefined() {
        let (cases, units, level) = (tallies(&[(0, 0); 3]), Units::default(), Level::default());
        for overall in [gen_jeffreys, cluster_t, log_t, strat_wilson] {
            let figure = overall(&cases, &units, level);
            assert_eq!((figure.estimate, figure.n, figure.n_planned), (None, 0, 36));
            assert_eq!(figure.note.as_deref(), Some(note::NOTHING));
        }
    }

    #[test]
    fn cluster_t_is_textbook_and_clipped() {
        let (units, level) = (Units::default(), Level::default());
        let figure = cluster_t(&tallies(&[(3, 12), (6, 12), (9, 12)]), &units, level);
        // mean ½, sd ¼, t_2 = 4.302653: half width .62104, clipped on both sides.
        assert_eq!((figure.lo, figure.hi), (Some(0.0), Some(1.0)));
        let figure = cluster_t(&tallies(&[(5, 12), (6, 12), (7, 12)]), &units, level);
        let half = 4.302_652_729_749_464 / 12.0 / 3.0_f64.sqrt();
        assert!(close(figure.lo, Some(0.5 - half)) && close(figure.hi, Some(0.5 + half)));
        let figure = cluster_t(&tallies(&[(6, 12); 4]), &units, level);
        assert_eq!(
            (figure.lo, figure.note.as_deref()),
            (None, Some(note::NO_SPREAD))
        );
    }

    #[test]
    fn a_cluster_weighs_as_one_unit() {
        let cases = tallies(&[(12, 12), (6, 12), (0, 12), (3, 12)]);
        let units = Units::new([Some("a"), Some("a"), Some("a"), None]);
        let level = Level::default();
        let joined = tallies(&[(6, 12), (3, 12)]);
        for overall in [gen_jeffreys, cluster_t] {
            let figure = overall(&cases, &units, level);
            let want = overall(&joined, &Units::default(), level);
            assert_eq!(
                (figure.estimate, figure.lo, figure.hi),
                (want.estimate, want.lo, want.hi)
            );
            assert_eq!((figure.n_cases, figure.n), (4, 48));
        }
        let fixed = strat_wilson(&cases, &units, level);
        assert_eq!(fixed.estimate, Some(0.375));
        // Weights 1/6, 1/6, 1/6, 1/2 and 12 seeds each; only cases 2 and 4 vary.
        let v = (3.0 / 11.0) / 12.0 / 36.0 + (9.0 / 44.0) / 12.0 / 4.0;
        assert!(close(effective_n(&cases, &units), Some(0.375 * 0.625 / v)));
        let one = Units::new([Some("a"); 4]);
        let figure = gen_jeffreys(&cases, &one, level);
        assert_eq!(figure.note.as_deref(), Some(note::ONE_CLUSTER));
    }

    #[test]
    fn clusters_of_one_change_nothing() {
        let cases = tallies(&[(12, 12), (6, 9), (0, 1), (3, 11)]);
        let named = Units::new([Some("a"), Some("b"), None, Some("c")]);
        assert_eq!(
            effective_n(&cases, &named),
            effective_n(&cases, &Units::default())
        );
    }

    #[test]
    fn ratio_uses_cases_scored_on_both_sides() {
        let costs = [
            Case::new(&[2.0, 4.0], 2),
            Case::new(&[], 2),
            Case::new(&[1.0], 2),
        ];
        let passes = [
            Case::new(&[1.0, 0.0], 2),
            Case::new(&[1.0], 2),
            Case::new(&[1.0], 2),
        ];
        let figure = log_t_ratio(&costs, &passes, &Units::default(), Level::default());
        assert_eq!(figure.estimate, Some(2.0 / 0.75));
        assert_eq!((figure.n_cases, figure.n, figure.n_planned), (2, 3, 6));
        assert!(figure.lo.is_some());
    }
}
