//! pass@k (any of k sessions passes), pass^k (all of k pass) and flakiness.

use super::cases::{Case, Tally, Units};
use super::figure::{Counts, Figure, Interval, note};
use super::level::Level;
use super::method::Method;
use super::proportion::wilson_limits;
use super::{mean, strata};

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PassK {
    /// pass@k: the chance that at least one of k sessions passes \[Chen et al. 2021\].
    AtK,
    /// pass^k: the chance that all of k sessions pass \[τ-bench 2024\].
    HatK,
}

impl PassK {
    /// Unbiased estimate from `c` passes in `n` sessions: pass@k = 1 - C(n-c,k)/C(n,k), pass^k =
    /// C(c,k)/C(n,k), as products of ratios. `None` if k = 0, n < k or c > n; never a guess of 1.
    pub fn estimate(self, k: u64, n: u64, c: u64) -> Option<f64> {
        if k == 0 || n < k || c > n {
            return None;
        }
        // C(m,k)/C(n,k); the chance that k sessions are all among m of the n.
        let all_among = |m: u64| {
            if m < k {
                return 0.0;
            }
            (0..k).map(|i| (m - i) as f64 / (n - i) as f64).product()
        };
        Some(match self {
            Self::AtK => 1.0 - all_among(n - c),
            Self::HatK => all_among(c),
        })
    }

    /// The chance itself where one session passes with chance `p`: 1 - (1-p)^k, or p^k.
    fn of_chance(self, k: u64, p: f64) -> f64 {
        match self {
            Self::AtK => -(k as f64 * (-p).ln_1p()).exp_m1(),
            Self::HatK => p.powf(k as f64),
        }
    }
}

/// pass@k or pass^k of one case with `c` passes in `n` sessions. Limits are the Wilson limits of
/// the pass rate, transformed, and widened to hold the estimate, which can fall outside.
///
/// n < k is undefined, and so are k = 0 and c > n.
pub fn pass_k(kind: PassK, k: u64, n: u64, c: u64, level: Level) -> Figure {
    let counts = Counts::one_case(n);
    let Some(estimate) = kind.estimate(k, n, c) else {
        let note = if c > n || k == 0 {
            note::OUT_OF_RANGE
        } else {
            note::FEWER_THAN_K
        };
        return Figure::undefined(Method::Wilson, level, counts, note);
    };
    let limits = wilson_limits(c as f64 / n as f64, n as f64, level)
        .map(|w| Interval {
            lo: kind.of_chance(k, w.lo),
            hi: kind.of_chance(k, w.hi),
        })
        .ok_or(note::OUT_OF_REACH);
    Figure::new(Method::Wilson, level, counts, estimate, limits)
}

/// pass@k or pass^k over a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct OverallPassK {
    /// Mean over the cases with at least k scored sessions.
    pub figure: Figure,
    /// Cases left out because they have fewer.
    pub n_excluded: u64,
}

/// Mean of the per-case estimates over cases with n_i ≥ k (means within units first), with the
/// generalised Jeffreys interval on them. A note counts the cases left out.
///
/// No case with k scored sessions is undefined; one unit has no interval.
pub fn overall(
    kind: PassK,
    k: u64,
    tallies: &[Tally],
    units: &Units,
    level: Level,
) -> OverallPassK {
    let values: Vec<Option<f64>> = tallies
        .iter()
        .map(|t| kind.estimate(k, t.scored, t.passed))
        .collect();
    // A case left out keeps its place and its plan, and loses its sessions.
    let counted: Vec<Case> = tallies
        .iter()
        .zip(&values)
        .map(|(t, value)| Case {
            n: if value.is_some() { t.scored } else { 0 },
            planned: t.planned,
            mean: value.unwrap_or(0.0),
            variance: None,
        })
        .collect();
    let n_excluded = values.iter().filter(|v| v.is_none()).count() as u64;
    let means = units.means(values);
    let figure = strata::of_unit_means(&counted, &means, mean::gen_jeffreys, level);
    let figure = match n_excluded {
        0 => figure,
        m => figure.with_note(format!(
            "cases with fewer than {k} scored seeds left out: {m}"
        )),
    };
    OverallPassK { figure, n_excluded }
}

/// Chance that two different sessions of a case with k passes in n disagree: 2k(n-k)/(n(n-1)).
/// `None` for fewer than two sessions or k > n.
pub fn flakiness(k: u64, n: u64) -> Option<f64> {
    if n < 2 || k > n {
        return None;
    }
    let (k, n) = (k as f64, n as f64);
    Some(2.0 * k * (n - k) / (n * (n - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_than_k_is_never_one() {
        for kind in [PassK::AtK, PassK::HatK] {
            assert_eq!(kind.estimate(3, 2, 2), None);
            assert_eq!(kind.estimate(0, 2, 2), None);
            assert_eq!(kind.estimate(1, 2, 3), None);
            let figure = pass_k(kind, 3, 2, 2, Level::default());
            assert_eq!(figure.note.as_deref(), Some(note::FEWER_THAN_K));
        }
    }

    #[test]
    fn k_of_one_is_the_pass_rate() {
        for kind in [PassK::AtK, PassK::HatK] {
            for c in 0..=7 {
                let figure = pass_k(kind, 1, 7, c, Level::default());
                let rate = crate::stats::proportion::wilson(c, 7, Level::default());
                let pairs = [
                    (figure.estimate, rate.estimate),
                    (figure.lo, rate.lo),
                    (figure.hi, rate.hi),
                ];
                for (got, want) in pairs {
                    assert!((got.unwrap() - want.unwrap()).abs() < 1e-15, "{kind:?} {c}");
                }
            }
        }
    }

    #[test]
    fn left_out_cases_are_counted() {
        let tally = |passed, scored| Tally {
            passed,
            scored,
            planned: 4,
        };
        let tallies = [tally(1, 4), tally(2, 2), tally(0, 0), tally(4, 4)];
        let overall = overall(
            PassK::HatK,
            3,
            &tallies,
            &Units::default(),
            Level::default(),
        );
        let figure = overall.figure;
        assert_eq!(overall.n_excluded, 2);
        assert_eq!((figure.n_cases, figure.n, figure.n_planned), (2, 8, 16));
        assert_eq!(figure.estimate, Some(0.5));
        assert_eq!(
            figure.note.as_deref(),
            Some("cases with fewer than 3 scored seeds left out: 2")
        );
    }

    #[test]
    fn flakiness_needs_two_sessions() {
        assert_eq!((flakiness(1, 1), flakiness(3, 2)), (None, None));
        assert_eq!((flakiness(1, 2), flakiness(2, 2)), (Some(1.0), Some(0.0)));
    }
}
