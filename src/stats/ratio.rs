//! B / A of costs, steps or times over paired cases, and the robust centre of differences.

use super::cases::{Case, Units};
use super::figure::{Counts, Figure, Interval, note};
use super::level::Level;
use super::method::Method;
use super::moments::{mean, median_of_sorted, sd};
use super::null_distribution::null_distribution;
use super::paired::{Pair, pair_counts};
use super::quantile::{t_quantile, t_two_sided_p};

/// Logarithms of ratios that differ by less are equal.
const EQUAL: f64 = 1e-12;

/// Most values of [`hodges_lehmann`]: half a million Walsh averages and their exact law.
const HODGES_LEHMANN_MAX: usize = 1000;

/// A ratio with its p-value.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    /// B / A and its interval.
    pub figure: Figure,
    /// Two-sided p-value of a ratio of 1.
    pub p: Option<f64>,
}

/// B / A: the geometric mean of the ratios b_i/a_i, with a Student interval on their logarithms:
/// with ℓ_i = ln(b_i/a_i), exp(mean ℓ ± t_{G-1}·sd(ℓ)/√G), p = 2P(T_{G-1} ≥ |mean ℓ|·√G/sd(ℓ)).
///
/// `a` and `b` hold one non-negative value per case (or per unit) each. Cases with a 0 on a side
/// have no ratio: they are left out, and a note counts them. Lists of unequal length, negative
/// values and no case at all are undefined; one case, and equal ratios (ℓ within 1e-12), have
/// neither interval nor p.
pub fn log_t_paired(a: &[f64], b: &[f64], level: Level) -> Ratio {
    let logs: Vec<f64> = a
        .iter()
        .zip(b)
        .filter_map(|(a, b)| log_ratio(*a, *b))
        .collect();
    let (g, pairs) = (logs.len() as f64, a.len().min(b.len()));
    let counts = Counts {
        n_cases: logs.len() as u64,
        n: logs.len() as u64,
        n_planned: pairs as u64,
    };
    let undefined = |note| Ratio {
        figure: Figure::undefined(Method::LogTPaired, level, counts, note),
        p: None,
    };
    let is_odd = |v: &f64| !(*v >= 0.0 && v.is_finite());
    if a.len() != b.len() || a.iter().chain(b).any(is_odd) {
        return undefined(note::OUT_OF_RANGE);
    }
    let Some(centre) = mean(&logs) else {
        return undefined(if pairs > 0 {
            note::ALL_ZERO
        } else {
            note::NOTHING_SHARED
        });
    };
    let least = logs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let error = match sd(&logs) {
        None => Err(note::ONE_CASE),
        Some(_) if most - least <= EQUAL => Err(note::NO_SPREAD),
        Some(sd) => Ok(sd / g.sqrt()),
    };
    let limits = error.and_then(|error| {
        // The lower tail of t is negative.
        let h = -t_quantile(level.tail(), g - 1.0).ok_or(note::OUT_OF_REACH)? * error;
        Ok(Interval {
            lo: (centre - h).exp(),
            hi: (centre + h).exp(),
        })
    });
    let figure = Figure::new(Method::LogTPaired, level, counts, centre.exp(), limits);
    let p = error.ok().and_then(|e| t_two_sided_p(centre / e, g - 1.0));
    let figure = match pairs - logs.len() {
        0 => figure,
        m => figure.with_note(format!("with 0 on a side, left out: {m}")),
    };
    Ratio { figure, p }
}

/// [`log_t_paired`] of a quantity of each session: ratios of unit means over the cases scored on
/// both sides.
///
/// The counts are the cases of units that have a ratio, and the sessions of both sides together.
pub fn of_pairs(pairs: &[Pair], units: &Units, level: Level) -> Ratio {
    let means = |of: fn(&Pair) -> Case| {
        let value = |pair: &Pair| pair.is_scored().then(|| of(pair).mean);
        units.gather(pairs.iter().map(value))
    };
    let (a, b) = (means(|pair| pair.a), means(|pair| pair.b));
    let has_ratio = |unit: usize| {
        let sums = a.get(unit).zip(b.get(unit));
        sums.is_some_and(|((a, _), (b, _))| *a > 0.0 && *b > 0.0)
    };
    let used: Vec<Pair> = pairs
        .iter()
        .enumerate()
        .map(|(i, pair)| match has_ratio(units.of(i)) {
            true => *pair,
            false => Pair {
                a: Case { n: 0, ..pair.a },
                b: Case { n: 0, ..pair.b },
            },
        })
        .collect();
    let of_units = |sums: &[(f64, usize)]| -> Vec<f64> {
        let used = sums.iter().filter(|(_, cases)| *cases > 0);
        used.map(|(sum, cases)| sum / *cases as f64).collect()
    };
    let Ratio { figure, p } = log_t_paired(&of_units(&a), &of_units(&b), level);
    Ratio {
        figure: figure.with_counts(pair_counts(&used)),
        p,
    }
}

/// Hodges-Lehmann centre of differences (or logarithms of ratios) `d`, robust against outliers: the
/// median of the M = G(G+1)/2 Walsh averages w = (d_i + d_j)/2, i ≤ j, with limits w_(q) and
/// w_(M+1-q); q is the smallest integer with P(W⁺ ≤ q) ≥ α/2 under the exact law of the
/// signed-rank statistic \[Hodges & Lehmann 1963\].
///
/// No values, more than 1,000 (they have half a million averages) and one that is not finite are
/// undefined. Too few values for the level (q = 0; fewer than 6 at 95 %) and equal limits have no
/// interval.
pub fn hodges_lehmann(d: &[f64], level: Level) -> Figure {
    let counts = Counts {
        n_cases: d.len() as u64,
        ..Counts::one_case(d.len() as u64)
    };
    let undefined = |note| Figure::undefined(Method::HodgesLehmann, level, counts, note);
    if d.len() > HODGES_LEHMANN_MAX {
        return undefined(note::TOO_MANY);
    }
    if d.iter().any(|v| !v.is_finite()) {
        return undefined(note::OUT_OF_RANGE);
    }
    let upto = |(i, last): (usize, f64)| d.iter().take(i + 1).map(move |v| v.midpoint(last));
    let mut walsh: Vec<f64> = d.iter().copied().enumerate().flat_map(upto).collect();
    walsh.sort_unstable_by(f64::total_cmp);
    let Some(centre) = median_of_sorted(&walsh) else {
        return undefined(note::NOTHING);
    };
    let rank = signed_rank_limit(d.len(), level);
    let limits = rank.and_then(|q| {
        Some(Interval {
            lo: *walsh.get(q - 1)?,
            hi: *walsh.get(walsh.len() - q)?,
        })
    });
    let limits = limits.ok_or(note::TOO_FEW);
    Figure::new(Method::HodgesLehmann, level, counts, centre, limits)
}

/// The smallest q with P(W⁺ ≤ q) ≥ α/2, W⁺ the sum of those of the ranks 1..=g whose fair coin
/// falls on heads; `None` if that is 0.
fn signed_rank_limit(g: usize, level: Level) -> Option<usize> {
    let ranks: Vec<usize> = (1..=g).collect();
    // Half the law holds half the probability, which is at least α/2.
    let law = null_distribution(&ranks, g * (g + 1) / 4);
    let mut below = 0.0;
    let reaches = |chance: &f64| {
        below += chance;
        below >= level.tail()
    };
    law.iter().position(reaches).filter(|q| *q > 0)
}

/// ln(b/a), `None` unless both are positive.
fn log_ratio(a: f64, b: f64) -> Option<f64> {
    (a > 0.0 && b > 0.0).then(|| b.ln() - a.ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note_of(figure: &Figure) -> Option<&str> {
        figure.note.as_deref()
    }

    #[test]
    fn ratios_that_do_not_exist_say_why() {
        let level = Level::default();
        let table: [(&[f64], &[f64], &str); 5] = [
            (&[], &[], note::NOTHING_SHARED),
            (&[0.0], &[1.0], note::ALL_ZERO),
            (&[1.0], &[1.0, 2.0], note::OUT_OF_RANGE),
            (&[-1.0, 2.0], &[1.0, 2.0], note::OUT_OF_RANGE),
            (&[1.0, f64::NAN], &[1.0, 2.0], note::OUT_OF_RANGE),
        ];
        for (a, b, want) in table {
            let ratio = log_t_paired(a, b, level);
            assert_eq!((ratio.figure.estimate, ratio.p), (None, None));
            assert_eq!(note_of(&ratio.figure), Some(want));
        }
        for (a, b, want) in [
            (vec![0.5], vec![1.0], note::ONE_CASE),
            (vec![0.1, 0.7], vec![0.2, 1.4], note::NO_SPREAD),
        ] {
            let ratio = log_t_paired(&a, &b, level);
            assert!((ratio.figure.estimate.unwrap() - 2.0).abs() < 1e-12);
            assert_eq!((ratio.figure.lo, ratio.p), (None, None));
            assert_eq!(note_of(&ratio.figure), Some(want));
        }
    }

    #[test]
    fn turning_the_ratio_round() {
        let (a, b) = ([0.2, 0.5, 0.9, 3.0], [0.3, 0.4, 1.2, 7.0]);
        let there = log_t_paired(&a, &b, Level::default());
        let back = log_t_paired(&b, &a, Level::default());
        assert!((there.p.unwrap() - back.p.unwrap()).abs() < 1e-12);
        assert!((there.figure.lo.unwrap() * back.figure.hi.unwrap() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn pairs_join_in_units() {
        let pair = |a: &[f64], b: &[f64]| Pair {
            a: Case::new(a, 2),
            b: Case::new(b, 2),
        };
        let pairs = [
            pair(&[1.0, 3.0], &[2.0]),
            pair(&[0.0], &[5.0]),
            pair(&[4.0], &[]),
            pair(&[4.0], &[8.0]),
            pair(&[6.0], &[4.0]),
        ];
        let alone = of_pairs(&pairs, &Units::default(), Level::default());
        let want = log_t_paired(&[2.0, 4.0, 6.0], &[2.0, 8.0, 4.0], Level::default());
        assert_eq!((alone.figure.lo, alone.p), (want.figure.lo, want.p));
        let counted = &alone.figure;
        assert_eq!((counted.n_cases, counted.n, counted.n_planned), (3, 7, 20));
        assert_eq!(note_of(counted), Some("with 0 on a side, left out: 1"));
        let units = Units::new([Some("a"), Some("a"), None, None, None]);
        let joined = of_pairs(&pairs, &units, Level::default());
        let want = log_t_paired(&[1.0, 4.0, 6.0], &[3.5, 8.0, 4.0], Level::default());
        assert_eq!((joined.figure.lo, joined.p), (want.figure.lo, want.p));
        assert_eq!((joined.figure.n_cases, joined.figure.note), (4, None));
    }

    #[test]
    fn ranks_of_the_walsh_averages() {
        // Tables of the signed-rank test: critical value + 1.
        let table = [
            (1, None),
            (5, None),
            (6, Some(1)),
            (7, Some(3)),
            (10, Some(9)),
            (20, Some(53)),
        ];
        for (g, want) in table {
            assert_eq!(signed_rank_limit(g, Level::default()), want, "{g}");
        }
        let level = Level::default();
        assert_eq!(note_of(&hodges_lehmann(&[], level)), Some(note::NOTHING));
        assert_eq!(
            note_of(&hodges_lehmann(&[1.0; 5], level)),
            Some(note::TOO_FEW)
        );
        assert_eq!(
            note_of(&hodges_lehmann(&[1.0; 9], level)),
            Some(note::NO_SPREAD)
        );
        assert_eq!(
            note_of(&hodges_lehmann(&[f64::NAN], level)),
            Some(note::OUT_OF_RANGE)
        );
        assert_eq!(
            note_of(&hodges_lehmann(&[1.0; 1001], level)),
            Some(note::TOO_MANY)
        );
    }
}
