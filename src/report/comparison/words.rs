//! What a comparison says, in words.

use serde_json::Value;

use crate::{
    domain::{
        Reading,
        comparison::{SidePair, Verdict},
        shortened,
    },
    report::text::{self, Unit},
};

/// A p-value with three digits: `0.0412`, `1.66e-99`.
pub(super) fn p(p: Option<f64>) -> String {
    match p {
        None => "n/a".to_owned(),
        Some(p) if p >= 0.001 => text::number(p),
        Some(p) => format!("{p:.2e}"),
    }
}

/// A setting, cut to 40 characters; a SHA-256 by its first 8 digits.
pub(super) fn value(value: Option<&Value>) -> String {
    match value {
        None => "–".to_owned(),
        Some(Value::String(text)) if text.len() == 64 && is_hex(text) => {
            text.chars().take(8).collect()
        }
        Some(value) => shortened(&value.to_string(), 40),
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// The verdict as a sentence.
pub(super) fn verdict(pair: &SidePair, of: Reading, margin: Option<f64>) -> String {
    let (a, b) = (&pair.a, &pair.b);
    let rate = &pair.pass_rate;
    let by = text::bare(rate.first(of), Unit::Signed);
    let by = format!("{by} ({})", text::reading(of));
    let margin = margin.map_or_else(String::new, |margin| format!(" of {margin}"));
    match rate.verdict {
        Verdict::Better => format!("{b} is better than {a}: {by}"),
        Verdict::Worse => format!("{b} is worse than {a}: {by}"),
        Verdict::Equivalent => {
            format!("{b} and {a} are equivalent within the margin{margin}: {by}")
        }
        Verdict::NoDifferenceShown => format!("no difference between {b} and {a} is shown: {by}"),
        Verdict::InconclusiveMissing => {
            format!("inconclusive: what is missing of {a} or {b} could turn the verdict: {by}")
        }
    }
}

/// The verdict in a table.
pub(super) fn short(pair: &SidePair) -> String {
    let word = match pair.pass_rate.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equivalent",
        Verdict::NoDifferenceShown => "no difference shown",
        Verdict::InconclusiveMissing => "inconclusive (missing)",
    };
    let fragile = if pair.pass_rate.fragile {
        " (fragile)"
    } else {
        ""
    };
    format!("{word}{fragile}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_p_values_keep_their_digits() {
        for (given, want) in [
            (None, "n/a"),
            (Some(1.0), "1.000"),
            (Some(0.0412), "0.041"),
            (Some(0.000_412), "4.12e-4"),
            (Some(1.663e-99), "1.66e-99"),
        ] {
            assert_eq!(p(given), want);
        }
    }
}
