//! Rounding of numbers as they are written.

/// Significant digits of every written number (DESIGN §6).
pub const DIGITS: usize = 10;

/// `x` rounded to `digits` significant decimal digits (1 to 17), correctly, ties to even.
///
/// `-0.0` becomes `0.0`. A value that is not finite, or whose rounding would not be, comes back
/// as it is.
pub fn round_sig(x: f64, digits: usize) -> f64 {
    if !x.is_finite() {
        return x;
    }
    let decimals = digits.clamp(1, 17) - 1;
    match format!("{x:.decimals$e}").parse::<f64>() {
        Ok(rounded) if rounded.is_finite() => rounded + 0.0, // -0.0 + 0.0 is 0.0
        _ => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_to_significant_digits() {
        let table = [
            (0.0, 10, 0.0),
            (1.0 / 3.0, 10, 0.333_333_333_3),
            (2.0 / 3.0, 10, 0.666_666_666_7),
            (123_456.789_012_345, 10, 123_456.789_0),
            (-1.000_000_000_04e-7, 10, -1e-7),
            (0.999_999_999_999, 10, 1.0),
            (12_345.0, 2, 12_000.0),
            (7.7, 0, 8.0),
            (f64::MAX, 10, f64::MAX),
        ];
        for (x, digits, want) in table {
            assert_eq!(round_sig(x, digits), want, "{x} to {digits}");
        }
    }

    #[test]
    fn zero_has_no_sign_and_odd_values_pass_through() {
        assert!(round_sig(-0.0, 10).is_sign_positive());
        assert!(round_sig(f64::NAN, 10).is_nan());
        assert_eq!(round_sig(f64::INFINITY, 10), f64::INFINITY);
    }
}
