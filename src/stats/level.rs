//! The confidence level of an interval.

use super::quantile::normal_quantile;

/// Confidence level of a two-sided interval, strictly between 0 and 1; 0.95 by default.
///
/// Written `α = 1 - level` in the formulas; each tail holds α/2.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Level(f64);

/// A confidence level that is not strictly between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("confidence level {0} is not between 0 and 1 (both excluded); write 0.95 for 95 %")]
pub struct InvalidLevel(
    /// What was given.
    pub f64,
);

impl Level {
    /// Checks that `level` lies strictly between 0 and 1.
    ///
    /// # Errors
    /// [`InvalidLevel`] otherwise, also for NaN.
    pub fn new(level: f64) -> Result<Self, InvalidLevel> {
        if level > 0.0 && level < 1.0 {
            Ok(Self(level))
        } else {
            Err(InvalidLevel(level))
        }
    }

    /// The level as a number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Probability of one tail, α/2.
    pub fn tail(self) -> f64 {
        (1.0 - self.0) / 2.0
    }

    /// z = Φ⁻¹(1 - α/2), read off the lower tail, where it loses no digits.
    pub fn z(self) -> f64 {
        // The tail lies in (0, ½], inside the domain of the quantile.
        normal_quantile(self.tail()).map_or(0.0, |z| -z)
    }
}

impl Default for Level {
    fn default() -> Self {
        Self(0.95)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_levels_between_0_and_1() {
        for bad in [0.0, 1.0, -0.5, 95.0, f64::NAN, f64::INFINITY] {
            assert!(Level::new(bad).is_err(), "{bad}");
        }
        assert_eq!(
            Level::new(95.0).unwrap_err().to_string(),
            "confidence level 95 is not between 0 and 1 (both excluded); write 0.95 for 95 %"
        );
        assert_eq!(Level::new(0.95), Ok(Level::default()));
    }

    #[test]
    fn z_is_finite_at_the_ends() {
        for level in [1e-300, 1e-17, 1.0 - f64::EPSILON / 2.0] {
            let z = Level::new(level).unwrap().z();
            assert!((0.0..9.0).contains(&z), "{level}: {z}");
        }
        assert!((Level::default().z() - 1.959_963_984_540_054).abs() < 1e-12);
    }
}
