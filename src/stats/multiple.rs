//! Many comparisons at once: adjusted p-values and levels.
//!
//! The family is all comparisons asked of the one primary metric. The best of many configurations
//! is biased upwards whatever the adjustment: fresh seeds tell.

use super::level::Level;

/// Holm's adjusted p-values, in input order: the running maximum of (m - i + 1)·p_(i) over the
/// ascending p, at most 1 \[Holm 1979\]. They bound the chance of any false finding.
///
/// Each p lies in [0, 1]; a comparison that has none is given 1, and still counts.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut least = 0.0_f64;
    for (rank, (at, p)) in ascending(p).into_iter().enumerate() {
        least = least.max((adjusted.len() - rank) as f64 * p).min(1.0);
        if let Some(slot) = adjusted.get_mut(at) {
            *slot = least;
        }
    }
    adjusted
}

/// Benjamini and Hochberg's adjusted p-values (q), in input order: the running minimum of
/// m·p_(i)/i from the largest p down, at most 1 \[Benjamini & Hochberg 1995\]. They bound the share
/// of false findings among those listed.
///
/// Each p lies in [0, 1]; a comparison that has none is given 1, and still counts.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p.len()];
    let mut most = 1.0_f64;
    for (rank, (at, p)) in ascending(p).into_iter().enumerate().rev() {
        // The factor first: it is exactly 1 for the largest, which then stays as it is.
        most = most.min(p * (adjusted.len() as f64 / (rank + 1) as f64));
        if let Some(slot) = adjusted.get_mut(at) {
            *slot = most;
        }
    }
    adjusted
}

/// The level at which each of `m` intervals is to be made so that all hold together at `level`:
/// 1 - α/m. None at all count as one.
pub fn bonferroni(level: Level, m: u64) -> Level {
    let alpha = (1.0 - level.get()) / m.max(1) as f64;
    // Just below 1 where α/m is lost in rounding: always a level.
    Level::new((1.0 - alpha).min(1.0_f64.next_down())).unwrap_or(level)
}

/// Positions and values, values ascending, ties in input order.
fn ascending(p: &[f64]) -> Vec<(usize, f64)> {
    let mut sorted: Vec<(usize, f64)> = p.iter().copied().enumerate().collect();
    sorted.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        assert_eq!(holm(&[0.5, 0.125, 0.25]), [0.5, 0.375, 0.5]);
        assert_eq!(benjamini_hochberg(&[0.5, 0.125, 0.25]), [0.5, 0.375, 0.375]);
        assert_eq!(holm(&[0.75, 0.75]), [1.0, 1.0]);
        assert_eq!(benjamini_hochberg(&[0.75, 0.75]), [0.75, 0.75]);
        for adjust in [holm, benjamini_hochberg] {
            assert_eq!(adjust(&[]), [0.0; 0]);
            assert_eq!(adjust(&[0.25]), [0.25]);
        }
    }

    #[test]
    fn bonferroni_is_a_level() {
        let level = Level::default();
        assert!((bonferroni(level, 10).get() - 0.995).abs() < 1e-15);
        assert_eq!(bonferroni(level, 1), level);
        assert_eq!(bonferroni(level, 0), level);
        assert!(bonferroni(level, u64::MAX) > level);
    }
}
