//! The sign-flip test of paired differences: how often would chance signs do as much?
//!
//! p = P(|Σ±d_i| ≥ |Σd_i|), each sign a fair coin; differences of 0 are dropped, and sums within
//! 1e-9·Σ|d_i| count as equal. It assumes nothing but that A and B could be swapped in each unit.
//! On pass rates with one seed per case it is the exact McNemar test. Three ways lead there:
//! [`enumerated`] (every sign), [`convolved`] (the law of integer sums) and [`drawn`] (random
//! signs); [`sign_flip`] chooses.

use super::cases::{Case, Units};
use super::null_distribution::null_distribution;
use super::paired::{Pair, unit_differences};
use super::random::Stream;

/// Random signs of a large test: p is a multiple of 1/100,000.
pub const DRAWS: u64 = 99_999;

/// Most differences whose signs are enumerated: half a million sums.
const ENUMERATED_MAX: usize = 20;

/// Most additions that a convolution may cost: about a second.
const CONVOLVED_MAX: u128 = 1 << 29;

/// Most values of the law of a sum: 32 megabytes, held twice.
const LAW_MAX: u128 = 1 << 22;

/// A difference this small is the dust of sums taken in another order, and counts as 0.
const DUST: f64 = 1e-12;

/// Two sums within this share of Σ|d| are equal.
const TIE: f64 = 1e-9;

/// A sign-flip p-value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignFlip {
    /// Two-sided p-value. Never 0; 1 where nothing differs.
    pub p: f64,
    /// Units that differ.
    pub nonzero: u64,
    /// Computed, not drawn.
    pub exact: bool,
}

/// The sign-flip test of the unit differences ([`unit_differences`]).
///
/// Up to 20 that are not 0: exact, enumerated. More: exact by convolution where the differences are
/// whole numbers of sessions (every case its own unit and scored in the same number of sessions on
/// both sides, scores such that d·n is an integer, as pass rates have) and the law fits (9,000
/// cases of 12 seeds that all differ wholly, half of them each way; see [`convolved`]).
/// Else [`DRAWS`] draws from the stream of `stats_seed` and `label`, the name of the figure.
pub fn sign_flip(pairs: &[Pair], units: &Units, stats_seed: u64, label: &str) -> SignFlip {
    let d = not_zero(&unit_differences(pairs, units));
    let of = |p, exact| SignFlip {
        p,
        nonzero: d.len() as u64,
        exact,
    };
    if let Some(p) = enumerated(&d) {
        return of(p, true);
    }
    if let Some(p) = in_sessions(pairs, units).and_then(|d| convolved(&d)) {
        return of(p, true);
    }
    let (_, p) = drawn(&d, DRAWS, &mut Stream::new(stats_seed, label));
    of(p, false)
}

/// Exact p-value over all signs of the non-zero `d`; `None` for more than 20 of those.
pub fn enumerated(d: &[f64]) -> Option<f64> {
    let d = not_zero(d);
    let Some((first, rest)) = d.split_first() else {
        return Some(1.0);
    };
    if d.len() > ENUMERATED_MAX {
        return None;
    }
    // The first keeps its sign: the other half of the sums is this one mirrored.
    let mut sums = vec![*first];
    for d in rest {
        sums = sums.iter().flat_map(|sum| [sum + d, sum - d]).collect();
    }
    let least = least_sum(&d);
    let hits = sums.iter().filter(|sum| sum.abs() >= least).count();
    Some(hits as f64 / sums.len() as f64)
}

/// Exact p-value of whole differences, by the law of their sum; `None` where that would cost more
/// than 2^29 additions or have more than 2^22 values.
///
/// With R = Σ|d| and T = |Σd|, a sum of signed d is R - 2Y, Y the sum of the |d| that turn
/// negative; p = 2P(Y ≤ (R - T)/2), or 1 if T = 0. Relative error about 1e-16 per difference down
/// to p = 1e-290; below 2.2e-308 p is that. (499 cases against 43: p = 1.66e-99.)
pub fn convolved(d: &[i64]) -> Option<f64> {
    let weights: Vec<u64> = d
        .iter()
        .map(|d| d.unsigned_abs())
        .filter(|d| *d > 0)
        .collect();
    let range: u128 = weights.iter().copied().map(u128::from).sum();
    let total = d
        .iter()
        .copied()
        .map(i128::from)
        .sum::<i128>()
        .unsigned_abs();
    if total == 0 {
        return Some(1.0);
    }
    let most = (range - total) / 2;
    let additions = (most + 1).saturating_mul(weights.len() as u128);
    if additions > CONVOLVED_MAX || most >= LAW_MAX {
        return None;
    }
    let weights: Option<Vec<usize>> = weights.into_iter().map(|w| w.try_into().ok()).collect();
    let tail: f64 = null_distribution(&weights?, most.try_into().ok()?)
        .iter()
        .sum();
    Some((2.0 * tail).clamp(f64::MIN_POSITIVE, 1.0))
}

/// Hits, how many of `draws` random signings of the non-zero `d` reach |Σd|, and
/// p = (hits + 1)/(draws + 1) \[Phipson & Smyth 2010\]. One coin per non-zero difference, in order:
/// the cost is draws × differences.
pub fn drawn(d: &[f64], draws: u64, stream: &mut Stream) -> (u64, f64) {
    let d = not_zero(d);
    let least = least_sum(&d);
    let mut signed = || {
        let sign = |d: &f64| if stream.minus() { -d } else { *d };
        d.iter().map(sign).sum::<f64>()
    };
    let hits = (0..draws).filter(|_| signed().abs() >= least).count() as u64;
    (hits, (hits + 1) as f64 / (draws + 1) as f64)
}

fn not_zero(d: &[f64]) -> Vec<f64> {
    d.iter().copied().filter(|d| d.abs() > DUST).collect()
}

/// The least |sum| that counts as large as that of `d`.
fn least_sum(d: &[f64]) -> f64 {
    let size: f64 = d.iter().map(|d| d.abs()).sum();
    d.iter().sum::<f64>().abs() - TIE * size
}

/// Differences in sessions, d·n, if every case is a unit with the same n on both sides and all
/// are whole.
fn in_sessions(pairs: &[Pair], units: &Units) -> Option<Vec<i64>> {
    let scored: Vec<(usize, &Pair)> = pairs
        .iter()
        .enumerate()
        .filter(|(_, pair)| pair.is_scored())
        .collect();
    let sizes = units.gather(pairs.iter().map(Pair::difference));
    let (_, first) = scored.first()?;
    let n = first.a.n;
    let whole = |case: &Case| {
        let sum = case.mean * n as f64;
        let rounded = sum.round();
        let fits = case.n == n && (sum - rounded).abs() <= TIE && rounded.abs() < 1e15;
        fits.then_some(rounded as i64)
    };
    let difference = |(i, pair): &(usize, &Pair)| {
        let (_, cases) = sizes.get(units.of(*i))?;
        (*cases == 1).then_some(whole(&pair.b)? - whole(&pair.a)?)
    };
    scored.iter().map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Tally;

    /// One case with `a` and `b` passes in `n` sessions.
    fn pair(a: u64, b: u64, n: u64) -> Pair {
        let side = |passed| {
            Case::from(Tally {
                passed,
                scored: n,
                planned: n,
            })
        };
        Pair {
            a: side(a),
            b: side(b),
        }
    }

    fn close(got: f64, want: f64, relative: f64) {
        assert!((got / want - 1.0).abs() <= relative, "{got} {want}");
    }

    #[test]
    fn the_three_ways_agree() {
        let d: Vec<i64> = vec![3, -1, 2, 5, -4, 2, 2, -1, 1, 6, 0, 3, -2, 4, 1];
        let real: Vec<f64> = d.iter().map(|d| *d as f64 / 12.0).collect();
        let exact = enumerated(&real).unwrap();
        close(convolved(&d).unwrap(), exact, 1e-12);
        let (hits, p) = drawn(&real, DRAWS, &mut Stream::new(0, "test"));
        assert_eq!(p, (hits + 1) as f64 / 100_000.0);
        let error = (exact * (1.0 - exact) / 1e5).sqrt();
        assert!((p - exact).abs() < 4.0 * error, "{p} {exact}");
    }

    #[test]
    fn many_cases_and_tiny_p() {
        // Worth 1.66e-99, the exact McNemar p of 499 against 43.
        let discordant = |b: i64, c: i64| {
            let sides = [(b, 1_i64), (c, -1)];
            let d: Vec<i64> = sides
                .iter()
                .flat_map(|&(times, d)| (0..times).map(move |_| d))
                .collect();
            convolved(&d).unwrap()
        };
        // 2·Σ_{k≤43} C(542, k)/2^542, summed from the last term down.
        let (mut term, mut sum) = (1.0, 0.0);
        for k in (1..=43).rev() {
            sum += term;
            term *= f64::from(k) / f64::from(542 - k + 1);
        }
        let top: f64 = (1..=43)
            .map(|k| (f64::from(542 - k + 1) / f64::from(k)).log2())
            .sum();
        let want = 2.0 * (sum + term) * (top - 542.0).exp2();
        close(discordant(499, 43), want, 1e-8);
        close(discordant(499, 43), 1.66e-99, 3e-3);
        assert!((0.57..0.6).contains(&discordant(670, 649)));
        assert_eq!(discordant(1319, 0), f64::MIN_POSITIVE);
        assert_eq!(discordant(700, 700), 1.0);
    }

    #[test]
    fn which_way_is_chosen() {
        let (none, label) = (Units::default(), "test");
        let many: Vec<Pair> = (0..40).map(|i| pair(i % 5, (i * 7) % 11, 12)).collect();
        let whole = sign_flip(&many, &none, 0, label);
        assert!(whole.exact && whole.nonzero > 20, "{whole:?}");
        // Another seed count somewhere, a cluster, a score between: drawn, and close to it.
        let mut uneven = many.clone();
        uneven[3] = pair(1, 5, 11);
        let mut scored = many.clone();
        scored[3].a.mean = 0.123;
        let clusters = Units::new([Some("a"), Some("a")]);
        for (pairs, units) in [(&uneven, &none), (&scored, &none), (&many, &clusters)] {
            let drawn = sign_flip(pairs, units, 0, label);
            assert!(!drawn.exact && drawn.nonzero > 20);
            assert_eq!(drawn, sign_flip(pairs, units, 0, label));
            assert!((drawn.p - whole.p).abs() < 0.1, "{drawn:?} {whole:?}");
        }
        let few = sign_flip(&many[..10], &clusters, 0, label);
        assert!(few.exact && few.nonzero <= 9);
    }

    #[test]
    fn no_difference_is_p_1() {
        let same: Vec<Pair> = (0..30).map(|i| pair(i % 4, i % 4, 3)).collect();
        let nothing = SignFlip {
            p: 1.0,
            nonzero: 0,
            exact: true,
        };
        assert_eq!(sign_flip(&same, &Units::default(), 0, ""), nothing);
        assert_eq!(sign_flip(&[], &Units::default(), 0, ""), nothing);
        // One mean summed in two orders.
        let dust = Pair {
            a: Case::new(&[0.1, 0.2, 0.3], 3),
            b: Case::new(&[0.3, 0.2, 0.1], 3),
        };
        assert_ne!(dust.difference(), Some(0.0));
        assert_eq!(sign_flip(&[dust], &Units::default(), 0, ""), nothing);
    }

    #[test]
    fn too_large_a_range_is_not_convolved() {
        assert_eq!(convolved(&[i64::MAX, 1 - i64::MAX, i64::MIN]), None);
        assert_eq!(convolved(&[i64::MAX]), Some(1.0));
        let few = [10_000_000, 10_000_000, -5_000_000];
        assert_eq!(convolved(&few), None);
        let far: Vec<i64> = (0..30)
            .map(|i| {
                if i % 3 == 0 {
                    -100_000_000
                } else {
                    100_000_000
                }
            })
            .collect();
        assert_eq!(convolved(&far), None);
    }
}
