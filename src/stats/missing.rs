//! What missing sessions could have said.

use super::cases::{Case, Units, total};
use super::moments;
use super::paired::Pair;

/// The overall rate if every missing session had failed, and if every one had passed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// All missing failed: (1/G)Σ k_i/N_i.
    pub lo: Option<f64>,
    /// All missing passed: (1/G)Σ (k_i + N_i - n_i)/N_i.
    pub hi: Option<f64>,
    /// Sessions planned and not scored.
    pub missing: u64,
    /// Sessions planned.
    pub planned: u64,
    /// More than 5 % of the sessions are missing, or more than half of one case's. No gate passes
    /// on an incomplete run.
    pub incomplete: bool,
}

/// Bounds of a rate or mean score in [0, 1] over all planned cases, those with nothing scored
/// included; means within units first. Sessions scored beyond the plan count as planned.
///
/// `lo` and `hi` are `None` if nothing was planned or a mean is outside [0, 1].
pub fn bounds(cases: &[Case], units: &Units) -> Bounds {
    let planned_of = |case: &Case| case.planned.max(case.n);
    let planned = total(cases.iter().map(planned_of));
    let missing = total(cases.iter().map(|case| planned_of(case) - case.n));
    let if_missing_score = |score: f64| {
        let value = |case: &Case| {
            let (n, all) = (case.n as f64, planned_of(case) as f64);
            (all > 0.0).then(|| (n * case.mean + (all - n) * score) / all)
        };
        let mean = moments::mean(&units.means(cases.iter().map(value)))?;
        (0.0..=1.0).contains(&mean).then_some(mean)
    };
    Bounds {
        lo: if_missing_score(0.0),
        hi: if_missing_score(1.0),
        missing,
        planned,
        incomplete: u128::from(missing) * 20 > u128::from(planned)
            || cases.iter().any(|case| case.n < case.planned.div_ceil(2)),
    }
}

/// The case as it would be had every missing session scored `score`.
pub fn imputed(case: &Case, score: f64) -> Case {
    let planned = case.planned.max(case.n);
    let (n, all) = (case.n as f64, planned as f64);
    let missing = all - n;
    if missing == 0.0 {
        return *case;
    }
    // Squares within both parts, and between them.
    let off = case.mean - score;
    let squares = case.variance.unwrap_or(0.0) * (n - 1.0).max(0.0) + n * missing / all * off * off;
    Case {
        n: planned,
        planned,
        mean: (n * case.mean + missing * score) / all,
        variance: (planned > 1).then(|| squares / (all - 1.0)),
    }
}

/// Whether A and B miss so different shares of their sessions (by more than 5 %) that what is
/// missing could have made the difference.
pub fn shares_differ(pairs: &[Pair]) -> bool {
    let share = |of: fn(&Pair) -> Case| {
        let cases = || pairs.iter().map(of);
        let planned = total(cases().map(|case| case.planned.max(case.n))) as f64;
        let scored = total(cases().map(|case| case.n)) as f64;
        if planned > 0.0 {
            1.0 - scored / planned
        } else {
            0.0
        }
    };
    // Exactly 5 % is not more, whatever the rounding.
    (share(|pair| pair.a) - share(|pair| pair.b)).abs() > 0.05 + 1e-12
}

/// Whether `verdict` would be another if all that is missing had passed for A and failed for B, or
/// the reverse. Asked where [`shares_differ`]; a verdict that hinges on it is inconclusive.
pub fn hinges_on_missing<V: PartialEq>(pairs: &[Pair], verdict: impl Fn(&[Pair]) -> V) -> bool {
    let with = |a: f64, b: f64| {
        let pair = |pair: &Pair| Pair {
            a: imputed(&pair.a, a),
            b: imputed(&pair.b, b),
        };
        verdict(&pairs.iter().map(pair).collect::<Vec<_>>())
    };
    let seen = verdict(pairs);
    seen != with(1.0, 0.0) || seen != with(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Tally;

    fn of(tallies: &[(u64, u64, u64)]) -> Bounds {
        let case = |&(passed, scored, planned)| {
            Tally {
                passed,
                scored,
                planned,
            }
            .into()
        };
        bounds(
            &tallies.iter().map(case).collect::<Vec<Case>>(),
            &Units::default(),
        )
    }

    #[test]
    fn whole_runs_have_equal_bounds() {
        let whole = of(&[(3, 4, 4), (4, 4, 4)]);
        assert_eq!((whole.lo, whole.hi), (Some(0.875), Some(0.875)));
        assert_eq!(
            (whole.missing, whole.planned, whole.incomplete),
            (0, 8, false)
        );
    }

    #[test]
    fn cases_with_nothing_scored_count() {
        let half = of(&[(4, 4, 4), (0, 0, 4)]);
        assert_eq!((half.lo, half.hi, half.missing), (Some(0.5), Some(1.0), 4));
        let empty = of(&[]);
        assert_eq!((empty.lo, empty.hi, empty.incomplete), (None, None, false));
    }

    #[test]
    fn when_a_run_is_incomplete() {
        let table = [
            (vec![(0, 19, 20)], false),              // exactly 5 %
            (vec![(0, 18, 20)], true),               // 10 %
            (vec![(0, 1, 2), (0, 100, 100)], false), // half of a case
            (vec![(0, 1, 3), (0, 100, 100)], true),  // less than half of a case
            (vec![(0, 0, 1), (0, 100, 100)], true),
        ];
        for (tallies, want) in table {
            assert_eq!(of(&tallies).incomplete, want, "{tallies:?}");
        }
    }

    #[test]
    fn clusters_first() {
        let cases = [
            Case::new(&[1.0], 1),
            Case::new(&[0.0], 1),
            Case::new(&[0.0], 1),
        ];
        let bounds = bounds(&cases, &Units::new([Some("a"), Some("a"), None]));
        assert_eq!(bounds.lo, Some(0.25));
    }

    #[test]
    fn imputed_scores_count_like_seen_ones() {
        let seen = Case::new(&[0.2, 0.7, 0.9], 5);
        let whole = Case::new(&[0.2, 0.7, 0.9, 1.0, 1.0], 5);
        let got = imputed(&seen, 1.0);
        assert_eq!((got.n, got.planned), (5, 5));
        assert!((got.mean - whole.mean).abs() < 1e-15);
        assert!((got.variance.unwrap() - whole.variance.unwrap()).abs() < 1e-15);
        assert_eq!(imputed(&whole, 0.0), whole);
        assert_eq!(imputed(&Case::new(&[], 2), 1.0), Case::new(&[1.0, 1.0], 2));
        assert_eq!(imputed(&Case::new(&[], 1), 1.0), Case::new(&[1.0], 1));
    }

    #[test]
    fn missing_sessions_can_make_the_verdict() {
        let pair = |a: &[f64], b: &[f64]| Pair {
            a: Case::new(a, 4),
            b: Case::new(b, 4),
        };
        let whole = vec![pair(&[0.0; 4], &[1.0; 4]); 5];
        let mut holed = whole.clone();
        holed[0] = pair(&[0.0], &[1.0; 4]);
        assert!(!shares_differ(&whole) && shares_differ(&holed));
        // 1 of 20 against none: exactly 5 %.
        holed[0] = pair(&[0.0; 3], &[1.0; 4]);
        assert!(!shares_differ(&holed));
        assert!(!shares_differ(&[]));

        let is_better = |pairs: &[Pair]| {
            let d = crate::stats::paired::unit_differences(pairs, &Units::default());
            moments::mean(&d).unwrap() > 0.9
        };
        assert!(!hinges_on_missing(&whole, is_better));
        assert!(hinges_on_missing(&vec![pair(&[0.0], &[1.0]); 5], is_better));
    }
}
