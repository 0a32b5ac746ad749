//! One case under A and under B: k passes in n sessions on each side.

use super::cases::Tally;
use super::figure::{Counts, Figure, note};
use super::level::Level;
use super::method::Method;
use super::paired::recovered;
use super::proportion::wilson;

/// Sessions of both sides together beyond which [`fisher`] gives up.
const FISHER_MAX: u64 = 1_000_000;

/// Two tables are as likely as each other within this relative error (as in R).
const TIE: f64 = 1e-7;

/// B - A of two pass rates with Newcombe's interval: with the Wilson limits [l, u] of each,
/// L = d - √((p_B-l_B)² + (u_A-p_A)²), U = d + √((u_B-p_B)² + (p_A-l_A)²) \[Newcombe 1998, method
/// 10\].
///
/// The counts are the sessions of both sides together. A side with nothing scored is undefined,
/// and so are more passes than sessions.
pub fn newcombe(a: Tally, b: Tally, level: Level) -> Figure {
    let counts = Counts {
        n_cases: u64::from(a.scored > 0 && b.scored > 0),
        n: a.scored.saturating_add(b.scored),
        n_planned: a.planned.saturating_add(b.planned),
    };
    let undefined = |note| Figure::undefined(Method::Newcombe, level, counts, note);
    if a.passed > a.scored || b.passed > b.scored {
        return undefined(note::OUT_OF_RANGE);
    }
    let side = |tally: Tally| wilson(tally.passed, tally.scored, level);
    let (a, b) = (side(a), side(b));
    let (Some(p_a), Some(p_b)) = (a.estimate, b.estimate) else {
        return undefined(note::NOTHING_SHARED);
    };
    let limits = a.interval().zip(b.interval());
    let limits = limits.map(|(of_a, of_b)| recovered((p_a, of_a), (p_b, of_b)));
    Figure::new(
        Method::Newcombe,
        level,
        counts,
        p_b - p_a,
        limits.ok_or(note::OUT_OF_REACH),
    )
}

/// Two-sided p-value of Fisher's exact test of equal pass rates: the probability, given all
/// margins, of the tables that are no likelier than this one (likelier by up to 1e-7 counts as
/// equal).
///
/// The hypergeometric weights are built by ratios from the likeliest table outwards, so that a
/// small p keeps its digits: statrs' `fishers_exact` takes the upper tail as 1 - cdf, which is 0
/// or dust below 1e-15, and calls tables within 1e-4 of each other ties. Never 0: below 2.2e-308
/// it is that. The cost is the number of tables with these margins.
///
/// A side with nothing scored says nothing: p = 1. `None` for more passes than sessions, and
/// beyond a million sessions.
pub fn fisher(a: Tally, b: Tally) -> Option<f64> {
    let sessions = a.scored.checked_add(b.scored)?;
    if a.passed > a.scored || b.passed > b.scored || sessions > FISHER_MAX {
        return None;
    }
    let passes = a.passed + b.passed;
    let (n_a, n_b) = (a.scored, b.scored);
    // Passes of A: all that the margins allow, and the likeliest.
    let (least, most) = (passes.saturating_sub(n_b), passes.min(n_a));
    let mode = ((passes + 1) * (n_a + 1) / (sessions + 2)).clamp(least, most);
    // P(k+1)/P(k)
    let step = |k: u64| {
        let up = (n_a - k) as f64 * (passes - k) as f64;
        up / ((k + 1) as f64 * (n_b + k + 1 - passes) as f64)
    };
    let mut weights = Vec::with_capacity((most - least + 1) as usize);
    let mut weight = 1.0;
    for k in (least..mode).rev() {
        weight /= step(k);
        weights.push((k, weight));
    }
    // The small ones first, here and in the sum.
    weights.reverse();
    weights.push((mode, 1.0));
    weight = 1.0;
    for k in mode..most {
        weight *= step(k);
        weights.push((k + 1, weight));
    }
    let (_, observed) = weights.get((a.passed - least) as usize)?;
    let likely = observed * (1.0 + TIE);
    let (mut tail, mut all) = (0.0, 0.0);
    for (_, weight) in &weights {
        all += weight;
        if *weight <= likely {
            tail += weight;
        }
    }
    Some((tail / all).clamp(f64::MIN_POSITIVE, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(passed: u64, scored: u64) -> Tally {
        Tally {
            passed,
            scored,
            planned: scored,
        }
    }

    #[test]
    fn fisher_by_hand() {
        // Margins 2, 2 | 2, 2: tables have 1, 4 and 1 sixths.
        let p = |a, b| fisher(tally(a, 2), tally(b, 2)).unwrap();
        assert!((p(0, 2) - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(p(1, 1), 1.0);
        // A tie counts in full: 7 of 10 against 3 of 10 are two equal tails.
        let (one, other) = (
            fisher(tally(7, 10), tally(3, 10)),
            fisher(tally(3, 10), tally(7, 10)),
        );
        assert!((one.unwrap() - other.unwrap()).abs() < 1e-15);
        assert!((one.unwrap() - 33_052.0 / 184_756.0).abs() < 1e-12);
    }

    #[test]
    fn fisher_keeps_the_digits_of_a_small_p() {
        // Two tables of C(60, 30) are as unlikely as this one.
        let p = fisher(tally(30, 30), tally(0, 30)).unwrap();
        let ways: f64 = (1..=30).map(|i| f64::from(30 + i) / f64::from(i)).product();
        assert!((p * ways / 2.0 - 1.0).abs() < 1e-12, "{p}");
        assert_eq!(
            fisher(tally(3000, 3000), tally(0, 3000)),
            Some(f64::MIN_POSITIVE)
        );
    }

    #[test]
    fn fisher_at_the_edges() {
        for (a, b) in [
            ((0, 0), (3, 5)),
            ((0, 7), (0, 12)),
            ((6, 6), (6, 6)),
            ((0, 0), (0, 0)),
        ] {
            assert_eq!(
                fisher(tally(a.0, a.1), tally(b.0, b.1)),
                Some(1.0),
                "{a:?} {b:?}"
            );
        }
        assert_eq!(fisher(tally(3, 2), tally(1, 2)), None);
        assert_eq!(fisher(tally(3, u64::MAX), tally(1, 2)), None);
        assert_eq!(fisher(tally(3, FISHER_MAX), tally(1, 2)), None);
    }

    #[test]
    fn newcombe_needs_both_sides() {
        let level = Level::default();
        let table = [
            (tally(0, 0), tally(1, 2), note::NOTHING_SHARED),
            (tally(1, 2), tally(3, 2), note::OUT_OF_RANGE),
        ];
        for (a, b, want) in table {
            let figure = newcombe(a, b, level);
            assert_eq!(
                (figure.estimate, figure.note.as_deref()),
                (None, Some(want))
            );
        }
        let figure = newcombe(tally(10, 10), tally(0, 13), level);
        assert_eq!((figure.estimate, figure.lo), (Some(-1.0), Some(-1.0)));
        assert_eq!((figure.n_cases, figure.n, figure.n_planned), (1, 23, 23));
    }
}
