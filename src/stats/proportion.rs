//! Intervals for one proportion: k passes in n sessions of one case.

use super::figure::{Counts, Figure, Interval, note};
use super::level::Level;
use super::method::Method;
use super::quantile::{BETA_SHAPES_MAX, beta_quantile};

/// Wilson score limits of a proportion `p` in [0, 1] observed on `n` > 0, which may be fractional
/// (an effective size). `None` outside that domain.
///
/// d = 1 + z²/n; centre (p + z²/2n)/d; half (z/d)√(p(1-p)/n + z²/4n²). At p = 0 the lower limit
/// is exactly 0, at p = 1 the upper exactly 1. \[Wilson 1927; Brown, Cai & DasGupta 2001\]
pub fn wilson_limits(p: f64, n: f64, level: Level) -> Option<Interval> {
    wilson_at(p, n, level.z())
}

/// The same at z standard errors.
pub(super) fn wilson_at(p: f64, n: f64, z: f64) -> Option<Interval> {
    if !((0.0..=1.0).contains(&p) && n > 0.0 && n.is_finite()) {
        return None;
    }
    let z2_n = z * z / n;
    let d = 1.0 + z2_n;
    let centre = (p + z2_n / 2.0) / d;
    let half = z / d * (p * (1.0 - p) / n + z2_n / (4.0 * n)).sqrt();
    let lo = if p == 0.0 { 0.0 } else { centre - half };
    let hi = if p == 1.0 { 1.0 } else { centre + half };
    Some(Interval { lo, hi }.clipped())
}

/// Pass rate k/n with [`wilson_limits`]. n = 0 is undefined, and so is k > n.
pub fn wilson(k: u64, n: u64, level: Level) -> Figure {
    rate(k, n, level, Method::Wilson, |k, n| {
        Some((wilson_limits(k / n, n, level)?, false))
    })
}

/// Pass rate k/n with Clopper-Pearson limits: lo = B⁻¹(α/2; k, n-k+1), 0 if k = 0;
/// hi = B⁻¹(1-α/2; k+1, n-k), 1 if k = n. n = 0 is undefined, and so is k > n.
///
/// Beyond n = 1e5 Wilson limits of the same beta laws stand in (`wilson_large`).
pub fn clopper_pearson(k: u64, n: u64, level: Level) -> Figure {
    rate(k, n, level, Method::ClopperPearson, |k, n| {
        let lower = (k > 0.0).then_some((k, n - k + 1.0));
        let upper = (k < n).then_some((k + 1.0, n - k));
        beta_limits(lower, upper, level)
    })
}

/// Pass rate k/n with Jeffreys limits B⁻¹(·; k+½, n-k+½); lo = 0 if k = 0, hi = 1 if k = n
/// \[Brown, Cai & DasGupta 2001\]. Widened to hold k/n, which matters at low levels only.
/// n = 0 is undefined, and so is k > n.
///
/// Beyond n = 1e5 Wilson limits of the same beta law stand in (`wilson_large`).
pub fn jeffreys(k: u64, n: u64, level: Level) -> Figure {
    rate(k, n, level, Method::Jeffreys, |k, n| {
        let shapes = (k + 0.5, n - k + 0.5);
        beta_limits(
            (k > 0.0).then_some(shapes),
            (k < n).then_some(shapes),
            level,
        )
    })
}

/// Equal-tailed limits from beta laws: the lower tail of `lower` (`None`: exactly 0), the upper
/// tail of `upper` (`None`: exactly 1), each given as shapes (a, b).
///
/// Where a + b is too large for the beta quantile the limit is that of Wilson(a/(a+b), a+b), and
/// the flag is true. `None` if a quantile is out of reach.
pub(super) fn beta_limits(
    lower: Option<(f64, f64)>,
    upper: Option<(f64, f64)>,
    level: Level,
) -> Option<(Interval, bool)> {
    let mut large = false;
    let mut limit = |(a, b): (f64, f64), p: f64| {
        if a + b <= BETA_SHAPES_MAX {
            return beta_quantile(p, a, b);
        }
        large = true;
        let Interval { lo, hi } = wilson_limits(a / (a + b), a + b, level)?;
        Some(if p < 0.5 { lo } else { hi })
    };
    let tail = level.tail();
    let lo = match lower {
        Some(shapes) => limit(shapes, tail)?,
        None => 0.0,
    };
    let hi = match upper {
        Some(shapes) => limit(shapes, 1.0 - tail)?,
        None => 1.0,
    };
    Some((Interval { lo, hi }, large))
}

/// k/n of one case with the limits that `limits` makes of (k, n).
fn rate(
    k: u64,
    n: u64,
    level: Level,
    method: Method,
    limits: impl FnOnce(f64, f64) -> Option<(Interval, bool)>,
) -> Figure {
    let counts = Counts::one_case(n);
    if n == 0 || k > n {
        let note = if n == 0 {
            note::NOTHING
        } else {
            note::OUT_OF_RANGE
        };
        return Figure::undefined(method, level, counts, note);
    }
    let (k, n) = (k as f64, n as f64);
    let (limits, large) = limits(k, n).unzip();
    let method = if large == Some(true) {
        Method::WilsonLarge
    } else {
        method
    };
    Figure::new(
        method,
        level,
        counts,
        k / n,
        limits.ok_or(note::OUT_OF_REACH),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_exact() {
        for interval in [wilson, clopper_pearson, jeffreys] {
            for n in [1, 2, 7, 1000, 200_000] {
                assert_eq!(interval(0, n, Level::default()).lo, Some(0.0));
                assert_eq!(interval(n, n, Level::default()).hi, Some(1.0));
            }
        }
    }

    #[test]
    fn what_cannot_be_is_undefined() {
        for interval in [wilson, clopper_pearson, jeffreys] {
            let nothing = interval(0, 0, Level::default());
            assert_eq!((nothing.estimate, nothing.n_cases), (None, 0));
            assert_eq!(nothing.note.as_deref(), Some(note::NOTHING));
            let absurd = interval(3, 2, Level::default());
            assert_eq!(absurd.note.as_deref(), Some(note::OUT_OF_RANGE));
        }
        for (p, n) in [
            (-0.1, 5.0),
            (1.1, 5.0),
            (0.5, 0.0),
            (f64::NAN, 5.0),
            (0.5, f64::INFINITY),
        ] {
            assert_eq!(wilson_limits(p, n, Level::default()), None, "{p} {n}");
        }
    }

    #[test]
    fn large_samples_fall_back_to_wilson() {
        let small = jeffreys(30_000, 90_000, Level::default());
        let large = jeffreys(40_000, 120_000, Level::default());
        assert_eq!(
            (small.method, large.method),
            (Method::Jeffreys, Method::WilsonLarge)
        );
        let half = 1.96 * (2.0 / 9.0 / 120_000.0_f64).sqrt();
        assert!((large.hi.unwrap() - 1.0 / 3.0 - half).abs() < 1e-5);
        let exact = clopper_pearson(10_000_000, 10_000_000, Level::default());
        assert_eq!((exact.method, exact.hi), (Method::WilsonLarge, Some(1.0)));
    }

    #[test]
    fn levels_out_of_reach_give_no_limits() {
        let level = Level::new(1.0 - 1e-9).unwrap();
        assert_eq!(
            jeffreys(3, 7, level).note.as_deref(),
            Some(note::OUT_OF_REACH)
        );
        assert!(wilson(3, 7, level).interval().is_some());
        let hair = Level::new(1e-17).unwrap();
        assert_eq!(wilson(3, 7, hair).note.as_deref(), Some(note::NO_SPREAD));
    }
}
