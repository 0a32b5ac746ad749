//! How long a reply takes.

use std::{f64::consts::TAU, str::FromStr, time::Duration};

/// The longest that a reply is drawn to take, and that one may be told to: one hour.
const LONGEST: Duration = Duration::from_secs(3600);

/// How long replies take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Latency {
    /// All the same.
    Fixed(Duration),
    /// Their logarithms are normal: half of them take longer than the median, and with a larger
    /// sigma some take very long. No reply is drawn to take more than an hour.
    LogNormal {
        /// The median.
        median: Duration,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
}

/// Why a text is no [`Latency`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LatencyError {
    /// Neither form.
    #[error(
        "{0:?} is no latency: write a time such as 200ms or 1.5s, or lognormal:200ms:0.5 (median \
         and sigma)"
    )]
    Shape(String),
    /// A time that no reply takes.
    #[error("{0:?} is more than an hour")]
    TooLong(String),
    /// A sigma that is no spread.
    #[error(
        "the sigma {0:?} is not from 0 to 10; with 0.5 one reply in six takes 1.65 times the median"
    )]
    Sigma(String),
}

impl Default for Latency {
    fn default() -> Self {
        Self::Fixed(Duration::ZERO)
    }
}

impl Latency {
    /// Whether it differs from reply to reply.
    pub(super) fn is_drawn(self) -> bool {
        matches!(self, Self::LogNormal { .. })
    }

    /// How long the reply takes for which these numbers from 0 to below 1 were drawn.
    pub(super) fn of(self, [u, v]: [f64; 2]) -> Duration {
        match self {
            Self::Fixed(latency) => latency,
            Self::LogNormal { median, sigma } => {
                // Box and Muller: two uniform numbers make a normal one.
                let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (TAU * v).cos();
                let seconds = median.as_secs_f64() * (sigma * normal).exp();
                Duration::from_secs_f64(seconds.min(LONGEST.as_secs_f64()))
            }
        }
    }
}

impl FromStr for Latency {
    type Err = LatencyError;

    fn from_str(text: &str) -> Result<Self, LatencyError> {
        let shape = || LatencyError::Shape(text.to_owned());
        let Some(rest) = text.strip_prefix("lognormal:") else {
            return time(text).ok_or_else(shape)?.map(Self::Fixed);
        };
        let (median, sigma) = rest.split_once(':').ok_or_else(shape)?;
        let median = time(median).ok_or_else(shape)??;
        match number(sigma).ok_or_else(shape)? {
            sigma if sigma <= 10.0 => Ok(Self::LogNormal { median, sigma }),
            _ => Err(LatencyError::Sigma(sigma.to_owned())),
        }
    }
}

/// A number with a unit; none when it is not.
fn time(text: &str) -> Option<Result<Duration, LatencyError>> {
    // `ms` before `s`, which it ends in.
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0)];
    let (digits, unit) = units
        .into_iter()
        .find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)))?;
    let seconds = number(digits)? * unit;
    Some(match seconds <= LONGEST.as_secs_f64() {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err(LatencyError::TooLong(text.to_owned())),
    })
}

/// Digits with at most one point among them.
fn number(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    text.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let fixed = |ms| Ok(Latency::Fixed(Duration::from_micros(ms)));
        let drawn = |ms, sigma| {
            let median = Duration::from_millis(ms);
            Ok(Latency::LogNormal { median, sigma })
        };
        let shape = |text: &str| Err(LatencyError::Shape(text.to_owned()));
        let table = [
            ("200ms", fixed(200_000)),
            ("0ms", fixed(0)),
            ("0.5ms", fixed(500)),
            ("1.5s", fixed(1_500_000)),
            ("2m", fixed(120_000_000)),
            ("3600s", fixed(3_600_000_000)),
            ("lognormal:200ms:0.5", drawn(200, 0.5)),
            ("lognormal:1s:0", drawn(1000, 0.0)),
            ("3601s", Err(LatencyError::TooLong("3601s".to_owned()))),
            (
                "lognormal:61m:1",
                Err(LatencyError::TooLong("61m".to_owned())),
            ),
            ("lognormal:1s:11", Err(LatencyError::Sigma("11".to_owned()))),
            ("", shape("")),
            ("200", shape("200")),
            ("ms", shape("ms")),
            ("-1s", shape("-1s")),
            ("1e3s", shape("1e3s")),
            ("1.2.3s", shape("1.2.3s")),
            ("nans", shape("nans")),
            ("200 ms", shape("200 ms")),
            ("normal:1s:1", shape("normal:1s:1")),
            ("lognormal:1s", shape("lognormal:1s")),
            ("lognormal:1:1", shape("lognormal:1:1")),
            ("lognormal:1s:-1", shape("lognormal:1s:-1")),
            ("lognormal:1s:x", shape("lognormal:1s:x")),
        ];
        for (text, want) in table {
            assert_eq!(text.parse::<Latency>(), want, "{text:?}");
        }
    }

    #[test]
    fn times_are_drawn_around_the_median() {
        let median = Duration::from_millis(200);
        let drawn = Latency::LogNormal { median, sigma: 0.5 };
        let ms = |u, v| drawn.of([u, v]).as_secs_f64() * 1e3;
        // One standard deviation up and down: e^0.5 times as long, and as short.
        let one = 1.0 - (-0.5f64).exp();
        let table = [(0.0, 0.3, 200.0), (one, 0.0, 329.744), (one, 0.5, 121.306)];
        for (u, v, want) in table {
            assert!((ms(u, v) - want).abs() < 1e-3, "{u} {v}: {}", ms(u, v));
        }
        let wild = Latency::LogNormal {
            median,
            sigma: 10.0,
        };
        assert_eq!(wild.of([1.0 - f64::EPSILON, 0.0]), LONGEST);
        let fixed = Latency::Fixed(median);
        assert_eq!(fixed.of([0.9, 0.9]), median);
    }
}
