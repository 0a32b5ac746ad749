//! What missing sessions could have said.

use super::cases::{Case, Units, total};
use super::moments;

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
}
