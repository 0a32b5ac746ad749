//! Means, medians and ratios of the values of one case, or of case means.
//!
//! Each figure counts its values as the sessions of one case; over a suite give it unit means and
//! restate the counts with [`Figure::with_counts`], or use [`super::strata`].

use statrs::distribution::{Binomial, DiscreteCDF};

use super::figure::{Counts, Figure, Interval, note};
use super::level::Level;
use super::method::Method;
use super::moments::{mean, median_of_sorted, sd};
use super::proportion::beta_limits;
use super::quantile::t_quantile;

/// Mean of values in [0, 1] with the generalised Jeffreys interval.
///
/// The posterior of a mean under a Dirichlet process of mass 1, half of it on 0 and half on 1
/// (Ferguson 1973; Rubin 1981), moment-matched to a beta law: with W = m+1, μ̃ = (Σx+½)/W,
/// q = (Σx²+½)/W, v = (q-μ̃²)/(W+1) and ν = μ̃(1-μ̃)/v - 1, the shapes are a = μ̃ν, b = (1-μ̃)ν
/// and the limits its α/2 quantiles, widened to hold the mean. All 0: lo = 0; all 1: hi = 1.
/// Passes and failures give exactly the Jeffreys interval; equal values give a finite width.
///
/// No values, or one outside [0, 1], is undefined. Shapes beyond the beta quantile give Wilson
/// limits (`wilson_large`).
pub fn gen_jeffreys(x: &[f64], level: Level) -> Figure {
    let counts = Counts::one_case(x.len() as u64);
    let m = match unit_mean(x) {
        Ok(m) => m,
        Err(note) => return Figure::undefined(Method::GenJeffreys, level, counts, note),
    };
    let w = x.len() as f64 + 1.0;
    let mu = (x.iter().sum::<f64>() + 0.5) / w;
    // q - μ̃², written as a sum of squares around μ̃: nothing cancels.
    let around = |v: f64| (v - mu) * (v - mu);
    let spread =
        (x.iter().copied().map(around).sum::<f64>() + (around(0.0) + around(1.0)) / 2.0) / w;
    let nu = mu * (1.0 - mu) * (w + 1.0) / spread - 1.0;
    let shapes = (mu * nu, (1.0 - mu) * nu);
    let limits = beta_limits(
        (m > 0.0).then_some(shapes),
        (m < 1.0).then_some(shapes),
        level,
    );
    let (limits, large) = limits.unzip();
    let method = if large == Some(true) {
        Method::WilsonLarge
    } else {
        Method::GenJeffreys
    };
    Figure::new(method, level, counts, m, limits.ok_or(note::OUT_OF_REACH))
}

/// Mean of values in [0, 1] with the textbook interval x̄ ± t_{n-1}·sd/√n, clipped to [0, 1].
/// Narrower than [`gen_jeffreys`] for scores that never come near 0 or 1 (2.7 times at n = 12 and
/// sd 0.05), and badly off where they do.
///
/// No values, or one outside [0, 1], is undefined; one value and equal values have no interval.
pub fn t(x: &[f64], level: Level) -> Figure {
    let counts = Counts::one_case(x.len() as u64);
    let m = match unit_mean(x) {
        Ok(m) => m,
        Err(note) => return Figure::undefined(Method::T, level, counts, note),
    };
    let n = x.len() as f64;
    let limits = match (sd(x), t_quantile(level.tail(), n - 1.0)) {
        (None, _) => Err(note::ONE_VALUE),
        (Some(0.0), _) => Err(note::NO_SPREAD),
        (Some(_), None) => Err(note::OUT_OF_REACH),
        (Some(s), Some(t)) => {
            // The lower tail of t is negative.
            let half = -t * s / n.sqrt();
            Ok(Interval {
                lo: m - half,
                hi: m + half,
            }
            .clipped())
        }
    };
    Figure::new(Method::T, level, counts, m, limits)
}

/// Mean of non-negative values (steps, tokens, USD, seconds) with a Student interval on its
/// logarithm: h = t_{n-1}·s/(m√n), limits m·e^{∓h}.
///
/// No values, or a negative one, is undefined. One value, equal values and a mean of 0 have no
/// interval. A note says so when sd > mean: coverage then falls short.
pub fn log_t(x: &[f64], level: Level) -> Figure {
    let counts = Counts::one_case(x.len() as u64);
    let m = match positive_mean(x) {
        Ok(m) => m,
        Err(note) => return Figure::undefined(Method::LogT, level, counts, note),
    };
    let n = x.len() as f64;
    let s = sd(x).unwrap_or(0.0);
    let limits = if x.len() < 2 {
        Err(note::ONE_VALUE)
    } else if m == 0.0 {
        Err(note::ALL_ZERO)
    } else if s == 0.0 {
        Err(note::NO_SPREAD)
    } else {
        log_limits(m, s / (m * n.sqrt()), n - 1.0, level)
    };
    let figure = Figure::new(Method::LogT, level, counts, m, limits);
    if s > m && figure.lo.is_some() {
        figure.with_note(note::SKEWED)
    } else {
        figure
    }
}

/// Median with order statistics as limits: \[x_(r), x_(n+1-r)\] with r from [`median_rank`]. The
/// median of an even number of values is the mean of the middle two.
///
/// No values, or one that is not finite, is undefined. Too few values for the level (fewer than
/// 6 at 95 %) and equal limits have no interval.
pub fn median(x: &[f64], level: Level) -> Figure {
    let counts = Counts::one_case(x.len() as u64);
    let undefined = |note| Figure::undefined(Method::OrderStat, level, counts, note);
    if x.iter().any(|v| !v.is_finite()) {
        return undefined(note::OUT_OF_RANGE);
    }
    let mut sorted = x.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len();
    let Some(centre) = median_of_sorted(&sorted) else {
        return undefined(note::NOTHING);
    };
    let limits = median_rank(n as u64, level)
        .and_then(|r| {
            Some(Interval {
                lo: *sorted.get(r - 1)?,
                hi: *sorted.get(n - r)?,
            })
        })
        .ok_or(note::TOO_FEW);
    Figure::new(Method::OrderStat, level, counts, centre, limits)
}

/// Largest rank r ≤ n/2 with P(Bin(n, ½) ≤ r-1) ≤ α/2, counted from 1; `None` if there is none.
pub fn median_rank(n: u64, level: Level) -> Option<usize> {
    let law = Binomial::new(0.5, n).ok()?;
    let holds = |r: u64| law.cdf(r - 1) <= level.tail();
    // The probability grows with r: bisect for the last rank that holds.
    let (mut holding, mut failing) = (0, n / 2 + 1);
    while failing - holding > 1 {
        let middle = holding + (failing - holding) / 2;
        if holds(middle) {
            holding = middle;
        } else {
            failing = middle;
        }
    }
    usize::try_from(holding).ok().filter(|r| *r > 0)
}

/// Ratio of two means over the same cases, such as cost per pass: R = c̄/p̄ with a Student interval
/// on its logarithm: e_i = c_i/c̄ - p_i/p̄, h = t_{G-1}·sd(e)/√G, limits R·e^{∓h}.
///
/// `numerators` and `denominators` hold one non-negative value per case (or per unit) each; lists
/// of unequal length are undefined, and so are a negative value, no case, and p̄ = 0. One case,
/// c̄ = 0 and proportional values have no interval.
pub fn log_t_ratio(numerators: &[f64], denominators: &[f64], level: Level) -> Figure {
    let counts = Counts {
        n_cases: numerators.len() as u64,
        ..Counts::one_case(numerators.len() as u64)
    };
    let undefined = |note| Figure::undefined(Method::LogTRatio, level, counts, note);
    let (c, p) = match (positive_mean(numerators), positive_mean(denominators)) {
        (Ok(c), Ok(p)) if numerators.len() == denominators.len() => (c, p),
        (Err(note), _) | (_, Err(note)) => return undefined(note),
        _ => return undefined(note::OUT_OF_RANGE),
    };
    if p == 0.0 {
        return undefined(note::NO_PASS);
    }
    let pairs = numerators.iter().zip(denominators);
    let e: Vec<f64> = pairs.map(|(ci, pi)| ci / c - pi / p).collect();
    let g = e.len() as f64;
    let limits = match sd(&e) {
        None => Err(note::ONE_CASE),
        Some(_) if c == 0.0 => Err(note::ALL_ZERO),
        Some(0.0) => Err(note::NO_SPREAD),
        Some(s) => log_limits(c / p, s / g.sqrt(), g - 1.0, level),
    };
    Figure::new(Method::LogTRatio, level, counts, c / p, limits)
}

/// m·e^{∓h} with h = t·`relative_error`.
fn log_limits(
    m: f64,
    relative_error: f64,
    df: f64,
    level: Level,
) -> Result<Interval, &'static str> {
    // The lower tail of t is negative: h = -t.
    let h = -t_quantile(level.tail(), df).ok_or(note::OUT_OF_REACH)? * relative_error;
    Ok(Interval {
        lo: m * (-h).exp(),
        hi: m * h.exp(),
    })
}

/// Mean of values that must lie in [0, 1], or the note why there is none.
pub(super) fn unit_mean(x: &[f64]) -> Result<f64, &'static str> {
    if x.iter().any(|v| !(0.0..=1.0).contains(v)) {
        return Err(note::OUT_OF_RANGE);
    }
    mean(x).ok_or(note::NOTHING)
}

/// Mean of values that must be finite and not negative, or the note why there is none.
fn positive_mean(x: &[f64]) -> Result<f64, &'static str> {
    if x.iter().any(|v| !(*v >= 0.0 && v.is_finite())) {
        return Err(note::OUT_OF_RANGE);
    }
    mean(x).ok_or(note::NOTHING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::proportion::jeffreys;

    fn note_of(figure: &Figure) -> Option<&str> {
        figure.note.as_deref()
    }

    #[test]
    fn passes_and_failures_give_jeffreys() {
        for (k, n) in [(0, 5), (5, 5), (1, 1), (3, 11), (190, 386)] {
            let x: Vec<f64> = (0..n).map(|i| f64::from(i < k)).collect();
            let (general, plain) = (
                gen_jeffreys(&x, Level::default()),
                jeffreys(k as u64, n as u64, Level::default()),
            );
            assert!(
                (general.lo.unwrap() - plain.lo.unwrap()).abs() < 1e-12,
                "{k}/{n}"
            );
            assert!(
                (general.hi.unwrap() - plain.hi.unwrap()).abs() < 1e-12,
                "{k}/{n}"
            );
        }
    }

    #[test]
    fn narrow_scores_are_narrower_with_t() {
        let x = [
            0.62, 0.55, 0.49, 0.52, 0.6, 0.57, 0.44, 0.5, 0.58, 0.53, 0.47, 0.56,
        ];
        let width = |figure: Figure| figure.hi.unwrap() - figure.lo.unwrap();
        let (plain, general) = (t(&x, Level::default()), gen_jeffreys(&x, Level::default()));
        assert_eq!(
            (plain.estimate, plain.method),
            (general.estimate, Method::T)
        );
        assert!(width(general) > 2.0 * width(plain));
        for (x, want) in [
            (vec![0.3], note::ONE_VALUE),
            (vec![0.3; 4], note::NO_SPREAD),
        ] {
            let figure = t(&x, Level::default());
            assert_eq!((figure.lo, note_of(&figure)), (None, Some(want)));
        }
    }

    #[test]
    fn many_equal_values_need_the_wilson_guard() {
        let figure = gen_jeffreys(&[0.5; 1000], Level::default());
        assert_eq!(figure.method, Method::WilsonLarge);
        assert!(figure.hi.unwrap() - figure.lo.unwrap() < 0.01);
    }

    #[test]
    fn values_out_of_range_are_undefined() {
        for bad in [-0.1, f64::NAN, f64::INFINITY] {
            let x = [0.5, bad];
            for figure in [
                gen_jeffreys(&x, Level::default()),
                log_t(&x, Level::default()),
                log_t_ratio(&x, &x, Level::default()),
            ] {
                assert_eq!(
                    (figure.estimate, note_of(&figure)),
                    (None, Some(note::OUT_OF_RANGE))
                );
            }
        }
        assert_eq!(gen_jeffreys(&[1.1], Level::default()).estimate, None);
        assert_eq!(median(&[f64::NAN], Level::default()).estimate, None);
        assert_eq!(
            log_t_ratio(&[1.0], &[1.0, 1.0], Level::default()).estimate,
            None
        );
    }

    #[test]
    fn intervals_that_do_not_exist_say_why() {
        let level = Level::default();
        let table = [
            (log_t(&[3.0], level), note::ONE_VALUE),
            (log_t(&[0.1; 3], level), note::NO_SPREAD),
            (log_t(&[0.0; 3], level), note::ALL_ZERO),
            (
                log_t(&[0.0, 1e9], Level::new(0.9999).unwrap()),
                note::OUT_OF_REACH,
            ),
            (median(&[1.0, 2.0, 3.0], level), note::TOO_FEW),
            (median(&[2.0; 9], level), note::NO_SPREAD),
            (log_t_ratio(&[1.0], &[0.5], level), note::ONE_CASE),
            (log_t_ratio(&[0.0; 2], &[0.5, 1.0], level), note::ALL_ZERO),
            (
                log_t_ratio(&[0.1, 0.3], &[0.2, 0.6], level),
                note::NO_SPREAD,
            ),
        ];
        for (figure, want) in table {
            assert!(
                figure.estimate.is_some() && figure.lo.is_none(),
                "{want}: {figure:?}"
            );
            assert_eq!(note_of(&figure), Some(want));
        }
        assert_eq!(
            note_of(&log_t_ratio(&[1.0; 2], &[0.0; 2], level)),
            Some(note::NO_PASS)
        );
        assert_eq!(note_of(&log_t(&[], level)), Some(note::NOTHING));
    }

    #[test]
    fn wide_spread_is_said() {
        assert_eq!(
            note_of(&log_t(&[1.0, 1.0, 9.0], Level::default())),
            Some(note::SKEWED)
        );
        assert_eq!(note_of(&log_t(&[1.0, 2.0, 3.0], Level::default())), None);
    }

    #[test]
    fn ranks_of_the_median() {
        let table = [
            (0, None),
            (5, None),
            (6, Some(1)),
            (12, Some(3)),
            (25, Some(8)),
        ];
        for (n, want) in table {
            assert_eq!(median_rank(n, Level::default()), want, "{n}");
        }
        // About n/2 - z√n/2 for large n.
        assert_eq!(median_rank(1_000_000, Level::default()), Some(499_020));
    }
}
