//! Quantiles of the normal, Student and beta laws, their probabilities, guarded.
//!
//! statrs is sound in the middle of its domain and not at its edges (panics, wrong values, one
//! endless loop). Each function here answers `None` where the library below must not be asked.

use std::f64::consts::PI;

use statrs::distribution::{Beta, ContinuousCDF, Normal, StudentsT};

/// Largest a + b for which [`beta_quantile`] answers. statrs never returns at (½, 1e7+½); up to
/// here its relative error is at most 2e-7.
pub const BETA_SHAPES_MAX: f64 = 1e5;

/// Smallest shape for which [`beta_quantile`] answers: below 0.15 statrs is wrong (its issue 435).
const BETA_SHAPE_MIN: f64 = 0.15;

/// Smallest tail for which [`beta_quantile`] answers: Newton's method in statrs was seen not to
/// return at a tail of 1e-16.
const BETA_TAIL_MIN: f64 = 1e-6;

/// Degrees of freedom above which the Student quantile is expanded around the normal one.
const T_SERIES_ABOVE: f64 = 1000.0;

/// Φ⁻¹(p), the standard normal quantile; `None` unless 0 < p < 1.
pub fn normal_quantile(p: f64) -> Option<f64> {
    (p > 0.0 && p < 1.0).then(|| Normal::standard().inverse_cdf(p))
}

/// Φ(z), the standard normal distribution function; NaN for NaN.
pub fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// Student quantile at `p` with `df` ≥ 1 degrees of freedom; `None` outside 0 < p < 1 or df ≥ 1.
///
/// One degree of freedom is the Cauchy law, -1/tan(πp). Above 1000 the Cornish-Fisher series to
/// ν⁻³ around z = Φ⁻¹(p): there statrs loses digits (9e-4 at a million).
pub fn t_quantile(p: f64, df: f64) -> Option<f64> {
    if !(p > 0.0 && p < 1.0 && df >= 1.0) {
        return None;
    }
    if p == 0.5 {
        return Some(0.0);
    }
    if df == 1.0 {
        // Both arms keep the digits of a small tail.
        return Some(if p < 0.5 {
            -1.0 / (PI * p).tan()
        } else {
            1.0 / (PI * (1.0 - p)).tan()
        });
    }
    if df > T_SERIES_ABOVE {
        let z = normal_quantile(p)?;
        let z2 = z * z;
        let g1 = z * (z2 + 1.0) / 4.0;
        let g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
        let g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
        return Some(z + (g1 + (g2 + g3 / df) / df) / df);
    }
    let t = StudentsT::new(0.0, 1.0, df).ok()?.inverse_cdf(p);
    t.is_finite().then_some(t)
}

/// Two-sided p-value 2·P(T ≥ |t|) of a Student statistic with `df` ≥ 1 degrees of freedom; `None`
/// for fewer, and for NaN. Never 0: below 2.2e-308 it is that.
///
/// Relative error at most 4e-10 up to 1e5 degrees of freedom.
pub fn t_two_sided_p(t: f64, df: f64) -> Option<f64> {
    if t.is_nan() || !(df >= 1.0 && df.is_finite()) {
        return None;
    }
    let p = 2.0 * StudentsT::new(0.0, 1.0, df).ok()?.sf(t.abs());
    Some(p.clamp(f64::MIN_POSITIVE, 1.0))
}

/// B⁻¹(p; a, b), the quantile of the beta law; `None` outside its domain:
/// 1e-6 ≤ p ≤ 1 - 1e-6, shapes from 0.15, a + b ≤ [`BETA_SHAPES_MAX`].
///
/// Relative error at most 5e-9 for shapes ≥ ½, tails ≥ 0.005 and a + b ≤ 1e4.
pub fn beta_quantile(p: f64, a: f64, b: f64) -> Option<f64> {
    let shapes = a >= BETA_SHAPE_MIN && b >= BETA_SHAPE_MIN && a + b <= BETA_SHAPES_MAX;
    if !(shapes && (BETA_TAIL_MIN..=1.0 - BETA_TAIL_MIN).contains(&p)) {
        return None;
    }
    let x = Beta::new(a, b).ok()?.inverse_cdf(p);
    (0.0..=1.0).contains(&x).then_some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_the_domain_is_none() {
        for p in [0.0, 1.0, -0.1, 1.1, f64::NAN] {
            assert_eq!(normal_quantile(p), None, "{p}");
            assert_eq!(t_quantile(p, 5.0), None, "{p}");
            assert_eq!(beta_quantile(p, 1.0, 1.0), None, "{p}");
        }
        for df in [0.0, 0.5, -1.0, f64::NAN] {
            assert_eq!(t_quantile(0.5, df), None, "{df}");
        }
        for (a, b) in [(0.1, 1.0), (1.0, 0.1), (0.5, 1e7 + 0.5), (f64::NAN, 1.0)] {
            assert_eq!(beta_quantile(0.5, a, b), None, "{a}, {b}");
        }
        assert_eq!(beta_quantile(1e-17, 1.0, 72_116.0), None);
    }

    #[test]
    fn p_is_never_0_nor_above_1() {
        assert_eq!(t_two_sided_p(0.0, 3.0), Some(1.0));
        for t in [1e6, 1e200, f64::INFINITY] {
            assert_eq!(t_two_sided_p(t, 999.0), Some(f64::MIN_POSITIVE), "{t}");
        }
        assert_eq!(t_two_sided_p(-2.0, 9.0), t_two_sided_p(2.0, 9.0));
        for (t, df) in [
            (f64::NAN, 3.0),
            (1.0, 0.0),
            (1.0, f64::NAN),
            (1.0, f64::INFINITY),
        ] {
            assert_eq!(t_two_sided_p(t, df), None, "{t} {df}");
        }
    }

    #[test]
    fn t_is_odd_and_joins_its_branches() {
        for df in [1.0, 2.0, 7.0, 1000.0, 1001.0] {
            for p in [1e-12, 1e-4, 0.025, 0.3] {
                let (lower, upper) = (t_quantile(p, df), t_quantile(1.0 - p, df));
                let (lower, upper) = (lower.unwrap(), upper.unwrap());
                assert!(
                    (lower + upper).abs() < 1e-4 * upper,
                    "{df} {p}: {lower} {upper}"
                );
            }
            assert_eq!(t_quantile(0.5, df), Some(0.0));
        }
        let (below, above) = (t_quantile(0.975, 1000.0), t_quantile(0.975, 1000.001));
        assert!((below.unwrap() - above.unwrap()).abs() < 1e-8);
        assert!((t_quantile(1e-9, 1.0).unwrap() + 318_309_886.183_790_7).abs() < 1e-3);
    }
}
