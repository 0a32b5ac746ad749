//! Figures, counts and money as text: three decimals, never more than is known.

use std::{fmt::Display, time::Duration};

use crate::{
    domain::{Figure, Limit, Reading, Status, is_unseen},
    stats::Method,
};

/// Said wherever intervals of several variants stand side by side.
pub(super) const OVERLAP: &str =
    "Overlapping intervals do not compare variants: `farm compare` does, case by case.";

/// How the numbers of a figure are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Three decimals.
    Plain,
    /// US dollars: below one dollar, three digits of the estimate.
    Usd,
    /// Differences: three decimals, with a sign when they are above 0.
    Signed,
}

/// A figure in full: `0.833 [0.552, 0.953] n=12 Wilson 95 %`; with missing sessions `n=11/12`;
/// without an interval `7.000 [n/a] n=1`; without an estimate `n/a n=0`.
#[must_use]
pub fn figure(figure: &Figure, unit: Unit) -> String {
    let counted = counted(figure, unit);
    match (figure.estimate, figure.lo, figure.hi) {
        (Some(_), Some(_), Some(_)) => {
            format!("{counted} {} {}", method(&figure.method), level(figure))
        }
        _ => counted,
    }
}

/// A figure without its method: `0.833 [0.552, 0.953] n=12`.
#[must_use]
pub fn counted(figure: &Figure, unit: Unit) -> String {
    format!("{} n={}", bare(figure, unit), sessions(figure))
}

/// Estimate and interval alone: `0.833 [0.552, 0.953]`, `7.000 [n/a]` or `n/a`.
#[must_use]
pub fn bare(figure: &Figure, unit: Unit) -> String {
    let Some(estimate) = figure.estimate else {
        return "n/a".to_owned();
    };
    let places = places(estimate, unit);
    let number = |x: f64| match decimals(x, places) {
        text if unit == Unit::Signed && x > 0.0 && !is_zero(&text) => format!("+{text}"),
        text => text,
    };
    match (figure.lo, figure.hi) {
        (Some(lo), Some(hi)) => {
            format!("{} [{}, {}]", number(estimate), number(lo), number(hi))
        }
        _ => format!("{} [n/a]", number(estimate)),
    }
}

/// As [`bare`], with whole numbers from 100 on: `384 [301, 490]`.
#[must_use]
pub fn tight(figure: &Figure, unit: Unit) -> String {
    match (figure.estimate, figure.lo, figure.hi) {
        (Some(estimate), Some(lo), Some(hi)) if estimate >= 100.0 => {
            format!("{estimate:.0} [{lo:.0}, {hi:.0}]")
        }
        _ => bare(figure, unit),
    }
}

/// Sessions that a figure rests on: `12`, or `11/12` when some are missing.
#[must_use]
pub fn sessions(figure: &Figure) -> String {
    if figure.n == figure.n_planned {
        figure.n.to_string()
    } else {
        format!("{}/{}", figure.n, figure.n_planned)
    }
}

/// The confidence level of a figure: `95 %`.
#[must_use]
pub fn level(figure: &Figure) -> String {
    percent(figure.level)
}

/// A share as `95 %` or `99.5 %`, with four decimals at most.
#[must_use]
pub fn percent(share: f64) -> String {
    let percent = format!("{:.4}", share * 100.0);
    format!("{} %", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// The display name of a method tag; an unknown tag stands for itself.
#[must_use]
pub fn method(tag: &str) -> &str {
    Method::by_tag(tag).map_or(tag, |method| method.name())
}

/// US dollars: `$1.250`, `$0.000412`, `$0.000`.
#[must_use]
pub fn usd(amount: f64) -> String {
    format!("${}", decimals(amount, places(amount, Unit::Usd)))
}

/// A number with three decimals: `0.969`.
#[must_use]
pub fn number(x: f64) -> String {
    decimals(x, 3)
}

/// A count with its thousands set apart: `1,234,567`.
#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count with its noun: `1 session`, `2 sessions`.
#[must_use]
pub fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

/// What the interval of a rate is for: `these cases, new seeds` or `new cases like these`.
#[must_use]
pub fn reading(reading: Reading) -> &'static str {
    match reading {
        Reading::Fixed => "these cases, new seeds",
        Reading::Sample => "new cases like these",
    }
}

/// How a session ended: `completed`, `budget_exhausted (steps)`.
#[must_use]
pub fn ended(status: Status, limit: Option<Limit>) -> String {
    let status = status.as_str();
    match limit {
        Some(limit) => format!("{status} ({})", limit.as_str()),
        None => status.to_owned(),
    }
}

/// At most `most` of these: `a, b and 3 more`.
#[must_use]
pub fn named(ids: &[impl Display], most: usize) -> String {
    let shown = ids.get(..most).unwrap_or(ids);
    and_more(shown, (ids.len() - shown.len()) as u64)
}

/// All of these, and that there are more: `a, b and 3 more`.
#[must_use]
pub fn and_more(shown: &[impl Display], more: u64) -> String {
    let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
    let shown = shown.join(", ");
    match more {
        0 => shown,
        more => format!("{shown} and {} more", count(more)),
    }
}

/// A time to wait: `42 s`, `3 min 05 s`, `2 h 07 min`.
#[must_use]
pub fn span(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil().clamp(0.0, 1e9);
    let seconds = Duration::from_secs_f64(seconds).as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

/// Text in which nothing is unseen: control characters, marks that turn the direction of writing,
/// characters without a width and line or paragraph separators stand as `\u{202e}`. So what a
/// model or a file says can neither steer the terminal nor look like something else. Line breaks
/// and tabs stay.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unseen(c) && c != '\n' && c != '\t' {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// The same in one line.
#[must_use]
pub fn one_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// Decimals that show `estimate`: three, or in dollars enough for three digits, at most nine.
fn places(estimate: f64, unit: Unit) -> usize {
    let size = estimate.abs();
    if unit != Unit::Usd || size == 0.0 || size >= 0.1 {
        return 3;
    }
    let zeros = -size.log10().floor(); // 2 for 0.012
    (zeros + 2.0).clamp(3.0, 9.0) as usize
}

/// Without `-0.000`.
fn decimals(x: f64, places: usize) -> String {
    let text = format!("{x:.places$}");
    match text.strip_prefix('-') {
        Some(digits) if is_zero(digits) => digits.to_owned(),
        _ => text,
    }
}

fn is_zero(digits: &str) -> bool {
    digits.chars().all(|c| c == '0' || c == '.')
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn of(estimate: Option<f64>, limits: Option<(f64, f64)>, n: u64, n_planned: u64) -> Figure {
        Figure {
            estimate,
            lo: limits.map(|l| l.0),
            hi: limits.map(|l| l.1),
            level: 0.95,
            method: "wilson".to_owned(),
            n_cases: 1,
            n,
            n_planned,
            note: None,
        }
    }

    /// The rows of `stats.json` that say how a figure is printed.
    #[test]
    fn golden_stats_text() {
        let table: Value = serde_json::from_str(&crate::golden::read("stats.json")).unwrap();
        let rows = table["cases"].as_array().unwrap();
        let mut ran = 0;
        for row in rows.iter().filter(|row| row["method"] == "format") {
            let given = &row["inputs"];
            let limits = given["lo"].as_f64().zip(given["hi"].as_f64());
            let n = given["n"].as_u64().unwrap();
            let figure = Figure {
                level: given["level"].as_f64().unwrap(),
                // No tag, so it stands for itself.
                method: given["name"].as_str().unwrap().to_owned(),
                ..of(given["est"].as_f64(), limits, n, n)
            };
            assert_eq!(
                super::figure(&figure, Unit::Plain),
                row["expected"]["value"]
            );
            ran += 1;
        }
        // Another table may have none of these.
        if std::env::var_os("FARM_GOLDEN").is_none() {
            crate::golden::check_count("stats.json, format", ran, 4);
        }
    }

    #[test]
    fn the_forms_of_a_figure() {
        let limits = Some((0.552, 0.953));
        for (figure, want) in [
            (
                of(Some(0.8333), limits, 12, 12),
                "0.833 [0.552, 0.953] n=12 Wilson 95 %",
            ),
            (
                of(Some(0.8333), limits, 11, 12),
                "0.833 [0.552, 0.953] n=11/12 Wilson 95 %",
            ),
            (of(Some(7.0), None, 1, 1), "7.000 [n/a] n=1"),
            (of(None, None, 0, 0), "n/a n=0"),
            (
                of(Some(-1e-9), Some((-1.0, 1.0)), 2, 2),
                "0.000 [-1.000, 1.000] n=2 Wilson 95 %",
            ),
        ] {
            assert_eq!(super::figure(&figure, Unit::Plain), want);
        }
    }

    #[test]
    fn differences_have_signs() {
        for (d, limits, want) in [
            (0.25, (0.1, 0.4), "+0.250 [+0.100, +0.400]"),
            (0.0, (-0.0001, 0.1), "0.000 [0.000, +0.100]"),
            (-0.25, (-0.5, 0.0001), "-0.250 [-0.500, 0.000]"),
        ] {
            assert_eq!(bare(&of(Some(d), Some(limits), 2, 2), Unit::Signed), want);
        }
    }

    #[test]
    fn lists_of_names_end() {
        assert_eq!(named(&["a", "b"], 2), "a, b");
        assert_eq!(named(&["a", "b", "c"], 2), "a, b and 1 more");
    }

    #[test]
    fn small_money_is_not_zero() {
        let cost = of(Some(0.000_412_3), Some((0.000_2, 0.001_1)), 12, 12);
        assert_eq!(bare(&cost, Unit::Usd), "0.000412 [0.000200, 0.001100]");
        for (amount, want) in [
            (0.0, "$0.000"),
            (0.25, "$0.250"),
            (0.012_34, "$0.0123"),
            (12.5, "$12.500"),
            (1e-12, "$0.000000000"),
        ] {
            assert_eq!(usd(amount), want);
        }
    }

    #[test]
    fn large_numbers_may_be_tight() {
        let tokens = of(Some(384.04), Some((301.2, 489.5)), 12, 12);
        assert_eq!(tight(&tokens, Unit::Plain), "384 [301, 490]");
        let rate = of(Some(0.5), Some((0.25, 0.75)), 12, 12);
        assert_eq!(tight(&rate, Unit::Plain), bare(&rate, Unit::Plain));
    }

    #[test]
    fn levels_have_no_idle_digits() {
        for (level, want) in [(0.95, "95 %"), (0.9, "90 %"), (0.995, "99.5 %")] {
            let figure = Figure {
                level,
                ..of(None, None, 0, 0)
            };
            assert_eq!(super::level(&figure), want);
        }
    }

    #[test]
    fn counts_read_well() {
        for (n, want) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(count(n), want);
        }
        assert_eq!(plural(1, "session"), "1 session");
        assert_eq!(plural(2000, "session"), "2,000 sessions");
    }

    #[test]
    fn long_lists_have_an_end() {
        let ids = ["a", "b", "c"];
        for (most, want) in [(2, "a, b and 1 more"), (3, "a, b, c"), (9, "a, b, c")] {
            assert_eq!(named(&ids, most), want);
        }
        assert_eq!(named(&[""; 0], 2), "");
        assert_eq!(and_more(&ids, 1234), "a, b, c and 1,234 more");
    }

    #[test]
    fn ends_name_their_limit() {
        assert_eq!(ended(Status::Completed, None), "completed");
        assert_eq!(
            ended(Status::BudgetExhausted, Some(Limit::Steps)),
            "budget_exhausted (steps)"
        );
    }

    #[test]
    fn spans_read_well() {
        for (seconds, want) in [
            (0.2, "1 s"),
            (59.0, "59 s"),
            (185.0, "3 min 05 s"),
            (7620.0, "2 h 07 min"),
        ] {
            assert_eq!(span(Duration::from_secs_f64(seconds)), want);
        }
    }

    #[test]
    fn nothing_steers_the_terminal() {
        assert_eq!(visible("a\x1b[31mb\r\n\tc"), "a\\u{1b}[31mb\\r\n\tc");
        assert_eq!(
            visible("\u{202e}live\u{2028}\u{200b}\u{feff}x"),
            "\\u{202e}live\\u{2028}\\u{200b}\\u{feff}x"
        );
    }
}
