//! Bootstrap intervals of values of cases, for comparison with other tools: no figure of farm's own
//! is drawn.

use super::figure::{Counts, Figure, Interval, note};
use super::level::Level;
use super::method::Method;
use super::moments::{mean, median_of_sorted};
use super::quantile::{normal_cdf, normal_quantile};
use super::random::Stream;

/// Resamples where nothing else is asked.
pub const RESAMPLES: usize = 9_999;

/// Two resampled statistics are equal within this share of max(1, |θ̂|).
const TIE: f64 = 1e-12;

/// What is resampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Statistic {
    /// The mean.
    Mean,
    /// The median; of an even number the mean of the middle two.
    Median,
}

impl Statistic {
    /// The statistic of `x`; `None` for no values.
    fn of(self, x: &[f64]) -> Option<f64> {
        match self {
            Self::Mean => mean(x),
            Self::Median => {
                let mut sorted = x.to_vec();
                sorted.sort_unstable_by(f64::total_cmp);
                median_of_sorted(&sorted)
            }
        }
    }
}

/// How limits are read off the resamples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Their α/2 and 1 - α/2 quantiles \[Efron 1979\].
    Percentile,
    /// Those quantiles shifted for bias and acceleration \[Efron 1987\].
    Bca,
}

/// A bootstrap interval and what shifted it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bootstrap {
    /// The statistic and its interval.
    pub figure: Figure,
    /// Bias correction z₀ of BCa.
    pub z0: Option<f64>,
    /// Acceleration a of BCa.
    pub acceleration: Option<f64>,
}

/// Statistic of `x` (values of cases or units, in the order of cases) with an interval from
/// `resamples` samples of its size drawn from it with replacement.
///
/// Limits are quantiles (type 7: linear between order statistics) at α/2 and 1 - α/2. BCa reads
/// them at Φ(z₀ + (z₀ + z)/(1 - a(z₀ + z))) for z = ∓z_{1-α/2}, where z₀ = Φ⁻¹ of the share of
/// resamples below the statistic (equal ones by half, clipped to [½/B, 1 - ½/B]) and
/// a = Σ(θ̄-θ_(i))³/(6(Σ(θ̄-θ_(i))²)^1.5) over the leave-one-out statistics, 0 if they are equal.
///
/// No values, and one that is not finite, are undefined; one value, no resamples, and equal limits
/// have no interval. The cost is resamples × values.
pub fn bootstrap(
    x: &[f64],
    statistic: Statistic,
    kind: Kind,
    resamples: usize,
    stream: &mut Stream,
    level: Level,
) -> Bootstrap {
    let method = match kind {
        Kind::Percentile => Method::Percentile,
        Kind::Bca => Method::Bca,
    };
    let counts = Counts {
        n_cases: x.len() as u64,
        ..Counts::one_case(x.len() as u64)
    };
    let plain = |figure| Bootstrap {
        figure,
        z0: None,
        acceleration: None,
    };
    let undefined = |note| plain(Figure::undefined(method, level, counts, note));
    if x.iter().any(|v| !v.is_finite()) {
        return undefined(note::OUT_OF_RANGE);
    }
    let Some(estimate) = statistic.of(x) else {
        return undefined(note::NOTHING);
    };
    if x.len() < 2 {
        let limits = Err(note::ONE_VALUE);
        return plain(Figure::new(method, level, counts, estimate, limits));
    }
    let found = resampled(x, statistic, resamples, stream);
    let shift = match kind {
        Kind::Percentile => None,
        Kind::Bca => bias(&found, estimate).zip(acceleration(x, statistic)),
    };
    let limits = limits(&found, shift, level).ok_or(note::OUT_OF_REACH);
    Bootstrap {
        figure: Figure::new(method, level, counts, estimate, limits),
        z0: shift.map(|(z0, _)| z0),
        acceleration: shift.map(|(_, a)| a),
    }
}

/// The statistic of so many resamples, ascending.
fn resampled(x: &[f64], statistic: Statistic, resamples: usize, stream: &mut Stream) -> Vec<f64> {
    let mut resample = || -> Option<f64> {
        let drawn = x.iter().filter_map(|_| x.get(stream.index(x.len())));
        statistic.of(&drawn.copied().collect::<Vec<f64>>())
    };
    let mut found: Vec<f64> = (0..resamples).filter_map(|_| resample()).collect();
    found.sort_unstable_by(f64::total_cmp);
    found
}

/// The quantiles of `found` at both ends of the level, shifted by (z₀, a) if those are given.
fn limits(found: &[f64], shift: Option<(f64, f64)>, level: Level) -> Option<Interval> {
    let at = |p: f64| {
        let Some((z0, a)) = shift else {
            return Some(p);
        };
        let z = z0 + normal_quantile(p)?;
        let shrink = 1.0 - a * z;
        // Beyond the pole of the shift there is no quantile to read.
        (shrink > 0.0).then(|| normal_cdf(z0 + z / shrink))
    };
    Some(Interval {
        lo: quantile(found, at(level.tail())?)?,
        hi: quantile(found, at(1.0 - level.tail())?)?,
    })
}

/// z₀: Φ⁻¹ of the share of resamples below the estimate.
fn bias(found: &[f64], estimate: f64) -> Option<f64> {
    let (b, tie) = (found.len() as f64, TIE * estimate.abs().max(1.0));
    let count =
        |is: &dyn Fn(f64) -> bool| found.iter().filter(|v| is(**v - estimate)).count() as f64;
    let share = (count(&|off| off < -tie) + 0.5 * count(&|off| off.abs() <= tie)) / b;
    normal_quantile(share.max(0.5 / b).min(1.0 - 0.5 / b))
}

/// a: skewness of the leave-one-out statistics, over 6.
fn acceleration(x: &[f64], statistic: Statistic) -> Option<f64> {
    let without = |left_out: usize| {
        let rest = x.iter().enumerate().filter(|(i, _)| *i != left_out);
        statistic.of(&rest.map(|(_, v)| *v).collect::<Vec<f64>>())
    };
    let all: Option<Vec<f64>> = (0..x.len()).map(without).collect();
    let all = all?;
    let centre = mean(&all)?;
    let power = |p: i32| all.iter().map(|v| (centre - v).powi(p)).sum::<f64>();
    let spread = power(2);
    Some(if spread > 0.0 {
        power(3) / (6.0 * spread.powf(1.5))
    } else {
        0.0
    })
}

/// Quantile of type 7 of ascending values: at position (B - 1)p, linear between neighbours.
fn quantile(sorted: &[f64], p: f64) -> Option<f64> {
    let at = sorted.len().checked_sub(1)? as f64 * p.clamp(0.0, 1.0);
    let below = *sorted.get(at.floor() as usize)?;
    let above = *sorted.get(at.ceil() as usize)?;
    Some(below + (above - below) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(x: &[f64], kind: Kind, resamples: usize) -> Bootstrap {
        let mut stream = Stream::new(0, "test");
        bootstrap(
            x,
            Statistic::Mean,
            kind,
            resamples,
            &mut stream,
            Level::default(),
        )
    }

    #[test]
    fn what_has_no_interval() {
        for kind in [Kind::Percentile, Kind::Bca] {
            let table: [(&[f64], usize, Option<f64>, &str); 5] = [
                (&[], 99, None, note::NOTHING),
                (&[1.0, f64::NAN], 99, None, note::OUT_OF_RANGE),
                (&[2.0], 99, Some(2.0), note::ONE_VALUE),
                (&[2.0; 5], 99, Some(2.0), note::NO_SPREAD),
                (&[1.0, 3.0], 0, Some(2.0), note::OUT_OF_REACH),
            ];
            for (x, resamples, estimate, want) in table {
                let figure = of(x, kind, resamples).figure;
                assert_eq!((figure.estimate, figure.lo), (estimate, None), "{x:?}");
                assert_eq!(figure.note.as_deref(), Some(want));
            }
        }
    }

    #[test]
    fn symmetric_values_are_not_shifted() {
        let x: Vec<f64> = (-10..=10).map(f64::from).collect();
        let found = of(&x, Kind::Bca, RESAMPLES);
        assert!(found.z0.unwrap().abs() < 0.05);
        assert!(found.acceleration.unwrap().abs() < 1e-12);
        // sd of the mean: √(770/21)/√21.
        let half = 1.96 * 770.0_f64.sqrt() / 21.0;
        assert!((found.figure.hi.unwrap() - half).abs() < 0.15 * half);
    }

    #[test]
    fn quantiles_of_type_7() {
        let x = [1.0, 2.0, 4.0, 8.0];
        let table = [
            (0.0, 1.0),
            (0.5, 3.0),
            (1.0 / 3.0, 2.0),
            (1.0, 8.0),
            (2.0, 8.0),
        ];
        for (p, want) in table {
            assert!((quantile(&x, p).unwrap() - want).abs() < 1e-12, "{p}");
        }
        assert_eq!(quantile(&[], 0.5), None);
    }
}
