//! What must hold of every interval, whatever the data.

mod comparison;
mod early;

use proptest::collection::vec;
use proptest::prelude::*;

use super::pass_k::{self, PassK, pass_k};
use super::round::DIGITS;
use super::variance::clustered_micro;
use super::{Case, Figure, Level, Tally, Units, mean, missing, proportion, round_sig, strata};

fn level() -> impl Strategy<Value = Level> {
    prop_oneof![Just(0.95), 0.5..0.999].prop_map(|level| Level::new(level).unwrap())
}

/// A score in [0, 1], often an end or a fraction that repeats.
fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(1.0),
        (0..=12u8).prop_map(|k| f64::from(k) / 12.0),
        0.0..=1.0
    ]
}

/// k passes in n sessions.
fn counts() -> impl Strategy<Value = (u64, u64)> {
    (1..2000u64).prop_flat_map(|n| (0..=n, Just(n)))
}

fn tally() -> impl Strategy<Value = Tally> {
    (0..=12u64, 0..=12u64).prop_map(|(k, scored)| Tally {
        passed: k.min(scored),
        scored,
        planned: 12,
    })
}

/// Cases as passes or scores, some with nothing scored, each with a cluster or without.
fn suite() -> impl Strategy<Value = Vec<(Case, Option<&'static str>)>> {
    let scores = vec(score(), 0..6).prop_map(|x| Case::new(&x, 6));
    let case = prop_oneof![tally().prop_map(Case::from), scores];
    let cluster = prop_oneof![3 => Just(None), 1 => Just(Some("a")), 1 => Just(Some("b"))];
    vec((case, cluster), 1..40)
}

fn split(suite: &[(Case, Option<&'static str>)]) -> (Vec<Case>, Units) {
    let cases = suite.iter().map(|(case, _)| *case).collect();
    (cases, Units::new(suite.iter().map(|(_, cluster)| *cluster)))
}

type Overall = fn(&[Case], &Units, Level) -> Figure;
const OVERALL: [Overall; 3] = [
    strata::gen_jeffreys,
    strata::strat_wilson,
    strata::cluster_t,
];

/// Limits are finite, in order also as written, within the range and around the estimate; an
/// absent one is explained.
fn sound(figure: &Figure, least: f64, most: f64) -> Result<(), TestCaseError> {
    prop_assert_eq!(figure.lo.is_some(), figure.hi.is_some());
    if let Some(estimate) = figure.estimate {
        prop_assert!((least..=most).contains(&estimate), "{:?}", figure);
    }
    match (figure.estimate, figure.interval()) {
        (Some(estimate), Some(limits)) => {
            prop_assert!(least <= limits.lo && limits.hi <= most, "{:?}", figure);
            prop_assert!(
                limits.lo <= estimate && estimate <= limits.hi,
                "{:?}",
                figure
            );
            let written = round_sig(limits.lo, DIGITS) < round_sig(limits.hi, DIGITS);
            prop_assert!(written, "zero width: {:?}", figure);
        }
        (_, None) => prop_assert!(figure.note.is_some(), "unexplained: {:?}", figure),
        (None, Some(_)) => prop_assert!(false, "limits of nothing: {:?}", figure),
    }
    let text = format!("{figure:?}");
    prop_assert!(!text.contains("NaN") && !text.contains("inf"), "{}", text);
    Ok(())
}

/// The figure at the higher level holds the one at the lower.
fn nested(lower: &Figure, higher: &Figure) -> Result<(), TestCaseError> {
    if let (Some(inner), Some(outer)) = (lower.interval(), higher.interval()) {
        let dust = 1e-9 * outer.hi.abs();
        prop_assert!(outer.lo <= inner.lo + dust, "{:?} {:?}", lower, higher);
        prop_assert!(outer.hi >= inner.hi - dust, "{:?} {:?}", lower, higher);
        let wider = outer.hi - outer.lo > inner.hi - inner.lo;
        // At the ends of its range an interval cannot grow.
        prop_assert!(
            wider || (outer.lo <= 0.0 && outer.hi >= 1.0),
            "{:?} {:?}",
            lower,
            higher
        );
    }
    Ok(())
}

/// Equal but for the rounding of sums taken in another order.
fn same(a: &Figure, b: &Figure) -> Result<(), TestCaseError> {
    for (a, b) in [(a.estimate, b.estimate), (a.lo, b.lo), (a.hi, b.hi)] {
        prop_assert_eq!(a.is_some(), b.is_some());
        let (a, b) = (a.unwrap_or(0.0), b.unwrap_or(0.0));
        prop_assert!((a - b).abs() <= 1e-9 * a.abs() + 1e-12, "{} {}", a, b);
    }
    prop_assert_eq!((a.n_cases, a.n, a.n_planned), (b.n_cases, b.n, b.n_planned));
    Ok(())
}

fn higher(level: Level) -> Level {
    Level::new(1.0 - (1.0 - level.get()) / 2.0).unwrap()
}

proptest! {
    #[test]
    fn proportions((k, n) in counts(), level in level()) {
        for interval in [proportion::wilson, proportion::clopper_pearson, proportion::jeffreys] {
            let figure = interval(k, n, level);
            sound(&figure, 0.0, 1.0)?;
            prop_assert!(figure.interval().is_some());
            nested(&figure, &interval(k, n, higher(level)))?;
        }
    }

    #[test]
    fn scores_of_one_case(x in vec(score(), 1..60), level in level()) {
        let figure = mean::gen_jeffreys(&x, level);
        sound(&figure, 0.0, 1.0)?;
        prop_assert!(figure.interval().is_some());
        nested(&figure, &mean::gen_jeffreys(&x, higher(level)))?;
        let backwards: Vec<f64> = x.iter().rev().copied().collect();
        same(&figure, &mean::gen_jeffreys(&backwards, level))?;
    }

    #[test]
    fn textbook_t_of_scores(x in vec(score(), 1..60), level in level()) {
        let figure = mean::t(&x, level);
        sound(&figure, 0.0, 1.0)?;
        nested(&figure, &mean::t(&x, higher(level)))?;
        let backwards: Vec<f64> = x.iter().rev().copied().collect();
        same(&figure, &mean::t(&backwards, level))?;
    }

    #[test]
    fn equal_scores_still_have_width(x in 1e-6..=1.0 - 1e-6, n in 1..3000usize, level in level()) {
        let figure = mean::gen_jeffreys(&vec![x; n], level);
        sound(&figure, 0.0, 1.0)?;
        prop_assert!(figure.interval().is_some());
    }

    #[test]
    fn overall_figures(suite in suite(), level in level()) {
        let (cases, units) = split(&suite);
        let backwards: Vec<_> = suite.iter().rev().copied().collect();
        let (cases_back, units_back) = split(&backwards);
        let of_cases = OVERALL.map(|overall| overall(&cases, &units, level));
        for (figure, overall) in of_cases.iter().zip(OVERALL) {
            sound(figure, 0.0, 1.0)?;
            nested(figure, &overall(&cases, &units, higher(level)))?;
            same(figure, &overall(&cases_back, &units_back, level))?;
            prop_assert_eq!(figure.estimate, of_cases[0].estimate);
        }
        let [sample, fixed, _] = &of_cases;
        if let Some(p) = fixed.estimate {
            prop_assert!(fixed.interval().is_some());
            let one_unit = sample.note.as_deref().is_some_and(|note| note.starts_with("one "));
            prop_assert!(one_unit || sample.interval().is_some());
            let open = 0.0 < p && p < 1.0;
            prop_assert!(!open || (fixed.lo < fixed.estimate && fixed.estimate < fixed.hi));
        }
    }

    #[test]
    fn bounds_hold_the_rate(suite in suite()) {
        let (cases, units) = split(&suite);
        let bounds = missing::bounds(&cases, &units);
        let (lo, hi) = (bounds.lo.unwrap(), bounds.hi.unwrap());
        prop_assert!(0.0 <= lo && lo <= hi && hi <= 1.0);
        // A case with nothing scored is in the bounds and not in the figure.
        if cases.iter().all(|case| case.n > 0) {
            let rate = strata::strat_wilson(&cases, &units, Level::default()).estimate.unwrap();
            prop_assert!(lo <= rate + 1e-12 && rate <= hi + 1e-12);
        }
        prop_assert_eq!(bounds.missing == 0, cases.iter().all(|case| case.n == case.planned));
    }

    #[test]
    fn costs(x in vec(prop_oneof![Just(0.0), 1e-6..1e6], 0..40), level in level()) {
        for estimator in [mean::log_t, mean::median] {
            let figure = estimator(&x, level);
            sound(&figure, 0.0, f64::MAX)?;
            let backwards: Vec<f64> = x.iter().rev().copied().collect();
            same(&figure, &estimator(&backwards, level))?;
        }
        nested(&mean::log_t(&x, level), &mean::log_t(&x, higher(level)))?;
    }

    #[test]
    fn cost_per_pass(pairs in vec((prop_oneof![Just(0.0), 1e-6..1e3], score()), 0..30), level in level()) {
        let (cost, pass): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let figure = mean::log_t_ratio(&cost, &pass, level);
        sound(&figure, 0.0, f64::MAX)?;
        nested(&figure, &mean::log_t_ratio(&cost, &pass, higher(level)))?;
    }

    #[test]
    fn pass_at_and_hat_k((c, n) in (1..60u64).prop_flat_map(|n| (0..=n, Just(n))), k in 1..12u64, level in level()) {
        let mut estimates = Vec::new();
        for kind in [PassK::AtK, PassK::HatK] {
            let figure = pass_k(kind, k, n, c, level);
            sound(&figure, 0.0, 1.0)?;
            prop_assert_eq!(figure.estimate.is_some(), k <= n);
            nested(&figure, &pass_k(kind, k, n, c, higher(level)))?;
            estimates.push(figure.estimate);
        }
        // Equal at k = 1, but for rounding; undefined together.
        if let [Some(any), Some(all)] = estimates[..] {
            prop_assert!(any >= all - 1e-12);
        }
    }

    #[test]
    fn pass_k_over_a_suite(tallies in vec(tally(), 0..30), k in 1..6u64, level in level()) {
        for kind in [PassK::AtK, PassK::HatK] {
            let overall = pass_k::overall(kind, k, &tallies, &Units::default(), level);
            sound(&overall.figure, 0.0, 1.0)?;
            prop_assert_eq!(overall.figure.n_cases + overall.n_excluded, tallies.len() as u64);
        }
    }

    #[test]
    fn session_weights(suite in suite(), level in level()) {
        let (cases, units) = split(&suite);
        let micro = clustered_micro(&cases, &units, level);
        sound(&micro.figure, f64::MIN, f64::MAX)?;
    }
}
