//! Which number an answer names.

use std::sync::LazyLock;

use regex::{Match, Regex};

static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern, which a test runs")]
    Regex::new(r"-?[$€£]?[0-9][0-9,]*(\.[0-9]+)?|-?\.[0-9]+").expect("a valid pattern")
});

/// All numbers of a text in order, each with its spelling. Commas and currency signs are dropped,
/// and a `-` counts only at the start of the text or after a blank or an opening bracket: the
/// last number of `3-5` is 5.
pub(super) fn all(text: &str) -> impl Iterator<Item = (&str, f64)> {
    NUMBER.find_iter(text).filter_map(move |found| {
        let spelling = signed(text, &found);
        let digits: String = spelling
            .chars()
            .filter(|c| !matches!(c, ',' | '$' | '€' | '£'))
            .collect();
        let number: f64 = digits.parse().ok()?;
        Some((spelling, number))
    })
}

/// The number that an answer names: its last one.
pub(super) fn last(text: &str) -> Option<f64> {
    all(text).last().map(|(_, number)| number)
}

/// The match, without a `-` that is a hyphen or a subtraction.
fn signed<'a>(text: &'a str, found: &Match<'a>) -> &'a str {
    let is_sign = text[..found.start()]
        .chars()
        .next_back()
        .is_none_or(|before| before.is_whitespace() || matches!(before, '(' | '[' | '{' | '<'));
    match found.as_str().strip_prefix('-') {
        Some(unsigned) if !is_sign => unsigned,
        _ => found.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_number() {
        let table = [
            ("391", Some(391.0)),
            ("17 * 23 = 391", Some(391.0)),
            ("17 * 23 = 391.", Some(391.0)),
            ("$1,234.50", Some(1234.5)),
            ("€5", Some(5.0)),
            ("£.75", Some(0.75)),
            ("-$5.25", Some(-5.25)),
            ("$-5", Some(5.0)),
            ("-5", Some(-5.0)),
            ("it is -5", Some(-5.0)),
            ("it is\n-5", Some(-5.0)),
            ("3-5", Some(5.0)),
            ("3 - 5", Some(5.0)),
            ("3 -5", Some(-5.0)),
            ("x=-5", Some(5.0)),
            ("--5", Some(5.0)),
            ("(-5)", Some(-5.0)),
            ("[-5]", Some(-5.0)),
            ("f(x)-5", Some(5.0)),
            (".5", Some(0.5)),
            ("-.5", Some(-0.5)),
            ("1-.5", Some(0.5)),
            ("1,234,", Some(1234.0)),
            ("1,2,3", Some(123.0)),
            ("1, 2, 3", Some(3.0)),
            ("1.2.3", Some(0.3)),
            ("1e5", Some(5.0)),
            ("50 %", Some(50.0)),
            ("007", Some(7.0)),
            ("٣", None),
            ("no number", None),
            ("", None),
            ("-", None),
            ("$", None),
        ];
        for (text, number) in table {
            assert_eq!(last(text), number, "{text:?}");
        }
        assert_eq!(last(&"9".repeat(400)), Some(f64::INFINITY));
    }

    #[test]
    fn spellings() {
        let found: Vec<_> = all("3-5 costs $1,234.50").collect();
        assert_eq!(found, [("3", 3.0), ("5", 5.0), ("$1,234.50", 1234.5)]);
    }
}
