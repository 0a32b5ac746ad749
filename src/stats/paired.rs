//! B - A over the cases of two runs: pass rates or mean scores in [0, 1].
//!
//! Cases are paired, sessions are not: whatever two sessions of one seed have in common is in the
//! difference of their case already. A case not scored on both sides is left out of both; naming
//! it is the caller's part. Differences are means within units first ([`Units`]).

use super::cases::{Case, Units, counts, unit_seeds};
use super::figure::{Counts, Figure, Interval, note};
use super::level::Level;
use super::method::Method;
use super::moments::{mean, variance};
use super::proportion::wilson_at;
use super::quantile::{normal_cdf, t_quantile, t_two_sided_p};
use super::strata;

/// Standard errors beyond which a p-value is smaller than any number.
const MOST_Z: f64 = 40.0;

/// One case under A and under B.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pair {
    /// Its scores in run (or variant) A.
    pub a: Case,
    /// Its scores in run (or variant) B.
    pub b: Case,
}

impl Pair {
    /// Whether both sides have a scored session.
    pub fn is_scored(&self) -> bool {
        self.a.n > 0 && self.b.n > 0
    }

    /// Mean of B less mean of A; `None` unless both sides are scored.
    pub fn difference(&self) -> Option<f64> {
        Some(self.b.value()? - self.a.value()?)
    }
}

/// A difference with its error and its p-value.
#[derive(Debug, Clone, PartialEq)]
pub struct Paired {
    /// B - A and its interval.
    pub figure: Figure,
    /// Standard error.
    pub se: Option<f64>,
    /// Two-sided p-value of no difference.
    pub p: Option<f64>,
}

/// B - A, **cases a sample**: mean of the unit differences d, with a Student interval whose error
/// holds some seed noise even where the cases show none.
///
/// SE² = s²/G + κ/G² with s² the sample variance of d and κ = 1/(4n_hA) + 1/(4n_hB); limits
/// d̄ ± t_{G-1}·SE clipped to [-1, 1]; p = 2P(T_{G-1} ≥ |d̄|/SE). n_h is the harmonic mean of the
/// scored seeds of the units on a side; a unit of J cases with n_i seeds counts J²/Σ(1/n_i), the
/// seeds of one case with as little seed noise: n_i itself where a unit is one case. κ is the seed
/// noise of one unit at its most (score ½): it keeps the interval open where both runs saturate
/// (d ≡ 0 has p = 1 and a finite width). (Paired, clustered error: Miller 2024; adding a
/// pseudo-observation: Agresti & Min 2005. κ is ours; its warrant is the coverage test.)
///
/// The counts are cases used, and the sessions of both sides together. No case scored on both
/// sides is undefined, and so is a mean outside [0, 1]; one unit has no error, interval or p.
pub fn reg_paired_t(pairs: &[Pair], units: &Units, level: Level) -> Paired {
    let (counts, d) = match differences(pairs, units) {
        Ok(found) => found,
        Err((counts, note)) => {
            let figure = Figure::undefined(Method::RegPairedT, level, counts, note);
            return Paired {
                figure,
                se: None,
                p: None,
            };
        }
    };
    let (estimate, g) = (mean(&d).unwrap_or(0.0), d.len() as f64);
    let se = variance(&d).map(|s2| (s2 / g + seed_noise(pairs, units, g) / (g * g)).sqrt());
    let limits = match (se, t_quantile(level.tail(), g - 1.0)) {
        (None, _) if counts.n_cases == 1 => Err(note::ONE_CASE),
        (None, _) => Err(note::ONE_CLUSTER),
        (Some(_), None) => Err(note::OUT_OF_REACH),
        // The lower tail of t is negative.
        (Some(se), Some(t)) => Ok(Interval {
            lo: estimate + t * se,
            hi: estimate - t * se,
        }
        .clipped_to(-1.0, 1.0)),
    };
    Paired {
        figure: Figure::new(Method::RegPairedT, level, counts, estimate, limits),
        se,
        p: se.and_then(|se| t_two_sided_p(estimate / se, g - 1.0)),
    }
}

/// B - A, **these cases only**: the same estimate, its limits recovered from the stratified Wilson
/// intervals [l, u] of the two runs (MOVER, Zou & Donner 2008):
/// L = d - √((p_B-l_B)² + (u_A-p_A)²), U = d + √((u_B-p_B)² + (p_A-l_A)²).
/// For one case this is Newcombe's interval ([`super::two_cases::newcombe`]).
///
/// Counts and what is undefined are as in [`reg_paired_t`]; one unit has an interval here.
pub fn mover(pairs: &[Pair], units: &Units, level: Level) -> Figure {
    let (counts, d) = match differences(pairs, units) {
        Ok(found) => found,
        Err((counts, note)) => return Figure::undefined(Method::Mover, level, counts, note),
    };
    let side = |of: fn(&Pair) -> Case| {
        let figure = strata::strat_wilson(&side(pairs, of), units, level);
        Some((figure.estimate?, figure.interval()?))
    };
    let limits = side(|pair| pair.a)
        .zip(side(|pair| pair.b))
        .map(|(a, b)| recovered(a, b))
        .ok_or(note::OUT_OF_REACH);
    Figure::new(
        Method::Mover,
        level,
        counts,
        mean(&d).unwrap_or(0.0),
        limits,
    )
}

/// The two-sided p-value of no difference, **these cases only**: the largest α whose
/// [`mover`] interval holds 0, so that p < α exactly where the interval at level 1 - α leaves 0 out.
/// 2Φ(-z) for the z at which the limits of that interval meet 0, by bisection; 1 where the estimates
/// are equal. Ours: the inversion of an interval that has no p-value of its own.
///
/// `None` where [`mover`] has no interval.
pub fn mover_p(pairs: &[Pair], units: &Units) -> Option<f64> {
    let of_side = |of: fn(&Pair) -> Case| {
        let cases = side(pairs, of);
        let p = mean(&strata::unit_means(&cases, units))?;
        Some((p, strata::effective_n(&cases, units)?))
    };
    let (a, b) = (of_side(|pair| pair.a)?, of_side(|pair| pair.b)?);
    // The lower one first: its upper limit and the other's lower one meet.
    let (low, high) = if a.0 <= b.0 { (a, b) } else { (b, a) };
    let d = high.0 - low.0;
    let reaches = |z: f64| {
        let (low_at, high_at) = (wilson_at(low.0, low.1, z)?, wilson_at(high.0, high.1, z)?);
        Some((high.0 - high_at.lo).hypot(low_at.hi - low.0) >= d)
    };
    reaches(0.0)?;
    if d == 0.0 {
        return Some(1.0);
    }
    let (mut inside, mut outside) = (MOST_Z, 0.0);
    while inside - outside > 1e-12 * inside {
        let z = (inside + outside) / 2.0;
        if z <= outside || z >= inside {
            break;
        }
        match reaches(z)? {
            true => inside = z,
            false => outside = z,
        }
    }
    Some((2.0 * normal_cdf(-inside)).clamp(f64::MIN_POSITIVE, 1.0))
}

/// Mean differences of the units that have a case scored on both sides, in order of first
/// appearance.
pub fn unit_differences(pairs: &[Pair], units: &Units) -> Vec<f64> {
    units.means(pairs.iter().map(Pair::difference))
}

/// MOVER limits of b - a from the estimates and limits of both.
pub(super) fn recovered((a, of_a): (f64, Interval), (b, of_b): (f64, Interval)) -> Interval {
    let d = b - a;
    Interval {
        lo: d - (b - of_b.lo).hypot(of_a.hi - a),
        hi: d + (of_b.hi - b).hypot(a - of_a.lo),
    }
    .clipped_to(-1.0, 1.0)
}

/// What a figure over `pairs` rests on: the cases scored on both sides, and the sessions of both.
pub(super) fn pair_counts(pairs: &[Pair]) -> Counts {
    Counts::both(
        counts(&side(pairs, |pair| pair.a)),
        counts(&side(pairs, |pair| pair.b)),
    )
}

/// One side of the pairs. A case that the other side lacks keeps its plan and loses its sessions.
fn side(pairs: &[Pair], of: fn(&Pair) -> Case) -> Vec<Case> {
    let kept = |pair: &Pair| {
        let case = of(pair);
        Case {
            n: if pair.is_scored() { case.n } else { 0 },
            ..case
        }
    };
    pairs.iter().map(kept).collect()
}

/// Counts and unit differences, or why there are none.
fn differences(
    pairs: &[Pair],
    units: &Units,
) -> Result<(Counts, Vec<f64>), (Counts, &'static str)> {
    let counts = pair_counts(pairs);
    let in_range = |pair: &Pair| [pair.a, pair.b].map(|case| (0.0..=1.0).contains(&case.mean));
    let mut used = pairs.iter().filter(|pair| pair.is_scored());
    if used.any(|pair| in_range(pair).contains(&false)) {
        return Err((counts, note::OUT_OF_RANGE));
    }
    let d = unit_differences(pairs, units);
    if d.is_empty() {
        return Err((counts, note::NOTHING_SHARED));
    }
    Ok((counts, d))
}

/// κ over `g` units: 1/(4n_hA) + 1/(4n_hB), with n_h the harmonic mean of their [`unit_seeds`].
fn seed_noise(pairs: &[Pair], units: &Units, g: f64) -> f64 {
    let inverses = |side: fn(&Pair) -> Case| -> f64 {
        let of = |pair: &Pair| pair.is_scored().then(|| 1.0 / side(pair).n as f64);
        let gathered = units.gather(pairs.iter().map(of)).into_iter();
        let used = gathered.filter(|(_, cases)| *cases > 0);
        used.map(|(sum, cases)| 1.0 / unit_seeds(sum, cases)).sum()
    };
    (inverses(|pair| pair.a) + inverses(|pair| pair.b)) / (4.0 * g)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Tally;
    use crate::stats::two_cases::newcombe;

    fn tally(passed: u64, scored: u64) -> Tally {
        Tally {
            passed,
            scored,
            planned: 12,
        }
    }

    /// Pairs of [`passes of A`, `passes of B`] in 12 sessions each.
    fn pairs(passes: &[[u64; 2]]) -> Vec<Pair> {
        let pair = |&[a, b]: &[u64; 2]| Pair {
            a: tally(a, 12).into(),
            b: tally(b, 12).into(),
        };
        passes.iter().map(pair).collect()
    }

    #[test]
    fn one_case_is_newcombe_here_and_no_sample() {
        let (pairs, units, level) = (pairs(&[[3, 9]]), Units::default(), Level::default());
        let fixed = mover(&pairs, &units, level);
        let plain = newcombe(tally(3, 12), tally(9, 12), level);
        for (got, want) in [(fixed.lo, plain.lo), (fixed.hi, plain.hi)] {
            assert!((got.unwrap() - want.unwrap()).abs() < 1e-12);
        }
        let sample = reg_paired_t(&pairs, &units, level);
        assert_eq!(
            (sample.figure.estimate, sample.figure.lo),
            (Some(0.5), None)
        );
        assert_eq!((sample.se, sample.p), (None, None));
        assert_eq!(sample.figure.note.as_deref(), Some(note::ONE_CASE));
        let one = Units::new([Some("a"); 2]);
        let clustered = reg_paired_t(&self::pairs(&[[3, 9], [4, 5]]), &one, level);
        assert_eq!(clustered.figure.note.as_deref(), Some(note::ONE_CLUSTER));
    }

    /// The p-value and the interval say the same at every level.
    #[test]
    fn the_p_of_mover_is_where_its_interval_meets_zero() {
        let units = Units::default();
        for passes in [
            &[[3, 9], [5, 6]][..],
            &[[9, 3]],
            &[[0, 12], [1, 12]],
            &[[6, 7]],
        ] {
            let pairs = pairs(passes);
            let p = mover_p(&pairs, &units).unwrap();
            for level in [0.5, 0.8, 0.95, 0.99, 0.9999] {
                let figure = mover(&pairs, &units, Level::new(level).unwrap());
                let holds_zero = figure.lo <= Some(0.0) && Some(0.0) <= figure.hi;
                assert_eq!(holds_zero, p >= 1.0 - level, "{passes:?} {level}: p {p}");
            }
        }
        assert_eq!(mover_p(&pairs(&[[4, 4], [0, 0]]), &units), Some(1.0));
        assert_eq!(mover_p(&[], &units), None);
        // Beyond what a number holds it is small, not 0.
        let all: Vec<Pair> = pairs(&[[0, 12]].repeat(10_000));
        let p = mover_p(&all, &units).unwrap();
        assert!(p > 0.0 && p < 1e-300, "{p}");
    }

    #[test]
    fn cases_of_one_side_are_left_out() {
        let mut cases = pairs(&[[3, 9], [12, 0], [5, 6], [7, 7]]);
        cases[1].b = Case::new(&[], 12);
        let (units, level) = (Units::default(), Level::default());
        let shared = pairs(&[[3, 9], [5, 6], [7, 7]]);
        for estimator in [mover, |p: &[Pair], u: &Units, l| {
            reg_paired_t(p, u, l).figure
        }] {
            let (got, want) = (
                estimator(&cases, &units, level),
                estimator(&shared, &units, level),
            );
            assert_eq!(
                (got.estimate, got.lo, got.hi),
                (want.estimate, want.lo, want.hi)
            );
            assert_eq!((got.n_cases, got.n, got.n_planned), (3, 72, 96));
        }
        assert_eq!(unit_differences(&cases, &units).len(), 3);
    }

    #[test]
    fn nothing_shared_and_odd_scores_are_undefined() {
        let (units, level) = (Units::default(), Level::default());
        let odd = Pair {
            a: Case::new(&[2.0], 1),
            b: Case::new(&[0.5], 1),
        };
        let table = [
            (vec![], note::NOTHING_SHARED),
            (vec![Pair::default()], note::NOTHING_SHARED),
            (vec![odd], note::OUT_OF_RANGE),
        ];
        for (pairs, want) in table {
            let sample = reg_paired_t(&pairs, &units, level);
            assert_eq!((sample.se, sample.p), (None, None));
            for figure in [sample.figure, mover(&pairs, &units, level)] {
                assert_eq!(
                    (figure.estimate, figure.note.as_deref()),
                    (None, Some(want))
                );
            }
        }
    }

    #[test]
    fn a_cluster_is_one_difference() {
        let units = Units::new([Some("a"), None, Some("a"), None]);
        let cases = pairs(&[[3, 9], [5, 6], [2, 2], [7, 7]]);
        let d = unit_differences(&cases, &units);
        assert_eq!(d, [0.25, 6.0 / 12.0 - 5.0 / 12.0, 0.0]);
        // The cluster counts 4/(1/12 + 1/12) = 24 seeds, the others 12: 1/n_h = 5/72.
        let want = (variance(&d).unwrap() / 3.0 + 2.0 / 4.0 * (5.0 / 72.0) / 9.0).sqrt();
        let se = reg_paired_t(&cases, &units, Level::default()).se.unwrap();
        assert!((se - want).abs() < 1e-15, "{se} {want}");
    }

    #[test]
    fn swapping_the_runs_turns_the_sign() {
        let there = pairs(&[[3, 9], [5, 6], [2, 2], [12, 12]]);
        let back: Vec<Pair> = there.iter().map(|p| Pair { a: p.b, b: p.a }).collect();
        let (units, level) = (Units::default(), Level::default());
        let (one, other) = (
            reg_paired_t(&there, &units, level),
            reg_paired_t(&back, &units, level),
        );
        assert_eq!((one.p, one.se), (other.p, other.se));
        let (one, other) = (mover(&there, &units, level), mover(&back, &units, level));
        assert!((one.lo.unwrap() + other.hi.unwrap()).abs() < 1e-12);
    }
}
