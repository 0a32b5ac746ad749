//! Number literals, spelled as in Python.

use num_bigint::BigInt;

use super::Number;
use super::error::Fault;

/// The longest literal that `text` starts with and what follows it; `None` if it starts with none.
///
/// The value may be beyond the limits (an infinite float for `1e400`): a literal counts only once
/// it is evaluated.
///
/// # Errors
/// An integer other than zero that starts with 0.
pub(super) fn literal(text: &str) -> Result<Option<(Number, &str)>, Fault> {
    let (whole, mut rest) = digits(text);
    let mut is_float = false;
    if let Some(tail) = rest.strip_prefix('.') {
        let (fraction, after) = digits(tail);
        if whole.is_empty() && fraction.is_empty() {
            return Ok(None);
        }
        (rest, is_float) = (after, true);
    } else if whole.is_empty() {
        return Ok(None);
    }
    if let Some(after) = exponent(rest) {
        (rest, is_float) = (after, true);
    }
    let spelled = text.strip_suffix(rest).unwrap_or(text).replace('_', "");
    if is_float {
        // Rust reads all that Python's spelling allows, and rounds correctly, as Python does.
        return Ok(spelled
            .parse()
            .ok()
            .map(|value| (Number::Float(value), rest)));
    }
    let significant = spelled.trim_start_matches('0');
    if spelled.starts_with('0') && !significant.is_empty() {
        return Err(Fault::syntax(
            "integer with leading zeros",
            format!("write `{}`", super::explain::shortened(significant)),
        ));
    }
    Ok(spelled
        .parse::<BigInt>()
        .ok()
        .map(|value| (Number::Int(value), rest)))
}

/// Splits off a run of digits, in which single underscores may stand between two digits.
fn digits(text: &str) -> (&str, &str) {
    let mut end = 0;
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'0'..=b'9' => end = index + 1,
            b'_' if index > 0 && end == index => {}
            _ => break,
        }
    }
    text.split_at(end)
}

/// What follows the exponent that `text` starts with, if it starts with one.
fn exponent(text: &str) -> Option<&str> {
    let tail = text.strip_prefix(['e', 'E'])?;
    let (exponent, rest) = digits(tail.strip_prefix(['+', '-']).unwrap_or(tail));
    (!exponent.is_empty()).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn takes_the_longest_literal() {
        for (text, value, rest) in [
            ("12+3", "12", "+3"),
            ("1_000_0", "10000", ""),
            ("1__0", "1", "__0"),
            ("1_", "1", "_"),
            ("00_0", "0", ""),
            ("0_7.5", "7.5", ""),
            ("08e1", "80.0", ""),
            ("1.", "1.0", ""),
            ("1._5", "1.0", "_5"),
            ("1_.5", "1", "_.5"),
            ("1.2.3", "1.2", ".3"),
            (".5e-1_0x", "5e-11", "x"),
            ("1e", "1", "e"),
            ("1e+", "1", "e+"),
            ("1e_5", "1", "e_5"),
            ("1e400", "inf", ""),
        ] {
            let (number, after) = literal(text).unwrap().unwrap();
            assert_eq!(
                (number.to_string().as_str(), after),
                (value, rest),
                "{text}"
            );
        }
    }

    #[test]
    fn leaves_what_is_no_literal() {
        for text in ["", ".", "..5", "_1", "e5", "-1", " 1", "\u{ff12}"] {
            assert_eq!(literal(text).unwrap(), None, "{text}");
        }
        assert!(literal("0_7").is_err());
    }
}
