//! Floats as Python prints them.

/// Python's `repr` of a finite float: the fewest digits that read back as the same float, with an
/// exponent below 1e-4 and from 1e16 on.
///
/// Rust's `Debug` has the same rule and thresholds, but for two things. Where two shortest texts lie
/// equally near, Rust takes the upper and Python the even one (900719925472999.25 is `….2` in
/// Python): printing as many digits exactly gives Python's choice, which counts if it reads back as
/// the same float. And Python's exponent has a sign and two digits.
pub(super) fn repr(value: f64) -> String {
    let shortest = format!("{value:?}");
    let (mantissa, has_exponent) = match shortest.split_once('e') {
        Some((mantissa, _)) => (mantissa, true),
        None => (shortest.as_str(), false),
    };
    let decimals = mantissa
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let exact = if has_exponent {
        format!("{value:.decimals$e}")
    } else {
        format!("{value:.decimals$}")
    };
    let text = if exact.parse() == Ok(value) {
        exact
    } else {
        shortest
    };
    match text.split_once('e') {
        None => text,
        Some((mantissa, exponent)) => {
            let (sign, digits) = match exponent.strip_prefix('-') {
                Some(digits) => ('-', digits),
                None => ('+', exponent),
            };
            format!("{mantissa}e{sign}{digits:0>2}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::repr;

    #[test]
    fn prints_what_python_prints() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-2.5, "-2.5"),
            (0.1 + 0.2, "0.30000000000000004"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (9999999999999998.0, "9999999999999998.0"),
            (1e16, "1e+16"),
            (1.2345e100, "1.2345e+100"),
            (-1e23, "-1e+23"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(repr(value), text);
        }
    }

    #[test]
    fn breaks_ties_to_the_even_digit() {
        assert_eq!(repr(900719925472999.0 + 0.25), "900719925472999.2");
        assert_eq!(repr(900719925472999.0 + 0.75), "900719925472999.8");
        assert_eq!(repr(-900719925472999.0 - 0.25), "-900719925472999.2");
    }
}
