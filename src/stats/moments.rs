//! Mean, variance and median, free of rounding dust where all values are equal.

/// Arithmetic mean; `None` for no values. Equal values give exactly that value, so that data
/// without spread is seen to have none.
pub fn mean(x: &[f64]) -> Option<f64> {
    let first = *x.first()?;
    if x.iter().all(|v| *v == first) {
        return Some(first);
    }
    Some(x.iter().sum::<f64>() / x.len() as f64)
}

/// Sample variance with divisor n - 1, in two passes; `None` for fewer than two values.
pub fn variance(x: &[f64]) -> Option<f64> {
    let m = mean(x)?;
    let squares: f64 = x.iter().map(|v| (v - m) * (v - m)).sum();
    (x.len() > 1).then(|| squares / (x.len() - 1) as f64)
}

/// Sample standard deviation, the root of [`variance`].
pub fn sd(x: &[f64]) -> Option<f64> {
    variance(x).map(f64::sqrt)
}

/// Median of ascending values: the middle one, or the mean of the middle two; `None` for none.
pub fn median_of_sorted(x: &[f64]) -> Option<f64> {
    let lower = x.get(x.len().saturating_sub(1) / 2)?;
    Some(lower.midpoint(*x.get(x.len() / 2)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_leave_no_dust() {
        let x = [0.1; 3];
        assert_eq!(mean(&x), Some(0.1));
        assert_eq!(variance(&x), Some(0.0));
    }

    #[test]
    fn few_values() {
        assert_eq!((mean(&[]), variance(&[])), (None, None));
        assert_eq!((mean(&[3.0]), variance(&[3.0])), (Some(3.0), None));
        assert_eq!(
            (mean(&[1.0, 3.0]), variance(&[1.0, 3.0])),
            (Some(2.0), Some(2.0))
        );
        assert_eq!(sd(&[1.0, 3.0]), Some(2.0_f64.sqrt()));
    }

    #[test]
    fn medians() {
        assert_eq!(median_of_sorted(&[]), None);
        assert_eq!(median_of_sorted(&[3.0]), Some(3.0));
        assert_eq!(median_of_sorted(&[1.0, 2.0, 4.0, 9.0]), Some(3.0));
    }
}
