//! A summary as Markdown: `summary.md`. The same summary gives the same bytes.

use std::fmt::Write;

use super::{
    cases,
    overall::{self, Form},
    served::{self, Strata},
    text::{self, Unit},
};
use crate::domain::{CaseSummary, Ledger, Summary, SummaryStatus, VariantSummary};

/// Cases listed of each variant; `summary.json` has all.
const CASES: usize = 200;

/// The whole document.
#[must_use]
pub fn render(summary: &Summary) -> String {
    let mut doc = String::from("# Summary\n\n");
    doc.push_str(&status(summary));
    ledger(&mut doc, summary);
    figures(&mut doc, summary);
    strata(&mut doc, summary);
    for variant in &summary.variants {
        case_table(&mut doc, variant);
    }
    meanings(&mut doc, summary);
    doc
}

fn status(summary: &Summary) -> String {
    let ledger = &summary.ledger;
    let mut words = vec![match summary.status {
        SummaryStatus::Complete => "Complete".to_owned(),
        SummaryStatus::Partial => "**Partial**".to_owned(),
    }];
    words.push(format!(
        "{} planned, {} scored",
        text::plural(ledger.planned, "session"),
        text::count(ledger.scored())
    ));
    if ledger.missing() > 0 {
        words.push(format!(
            "**{} missing** ({})",
            text::count(ledger.missing()),
            cases::missing(ledger)
        ));
    }
    format!("{}.\n", words.join("; "))
}

fn ledger(doc: &mut String, summary: &Summary) {
    let names = names(summary);
    let head: Vec<String> = std::iter::once("state".to_owned())
        .chain(names)
        .chain(["all".to_owned()])
        .collect();
    let ledgers: Vec<&Ledger> = summary
        .variants
        .iter()
        .map(|v| &v.ledger)
        .chain([&summary.ledger])
        .collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (i, (state, _)) in summary.ledger.present().enumerate() {
        let counts = ledgers
            .iter()
            .filter_map(|l| l.present_in(&summary.ledger).nth(i));
        rows.push(cells(state, counts.map(|(_, n)| text::count(n))));
    }
    let planned = ledgers
        .iter()
        .map(|l| format!("**{}**", text::count(l.planned)));
    rows.push(cells("**planned**", planned));
    doc.push_str("\n## Sessions\n\n");
    table(doc, &head, 1, &rows);
}

fn figures(doc: &mut String, summary: &Summary) {
    let names = names(summary);
    let head: Vec<String> = std::iter::once("figure".to_owned()).chain(names).collect();
    let mut rows = Vec::new();
    for group in overall::groups(summary) {
        for row in &group.rows {
            let variants = summary.variants.iter().zip(&row.values);
            let values = variants.map(|(v, value)| {
                let rate = v.overall.pass_rate.first(summary.reading);
                value.text(Form::Full, rate)
            });
            rows.push(cells(
                &format!("{}: {}", group.name, escape(&row.label)),
                values,
            ));
        }
    }
    doc.push_str("\n## Figures\n\n");
    table(doc, &head, usize::MAX, &rows);
    for left_out in summary.variants.iter().filter_map(cases::left_out) {
        let _ = writeln!(doc, "\n{}", escape(&left_out));
    }
    for (note, labels) in overall::notes(summary) {
        let _ = writeln!(doc, "\nNote: {note} ({}).", escape(&labels.join(", ")));
    }
}

/// What answered: a line for each variant, and a table where that changed.
fn strata(doc: &mut String, summary: &Summary) {
    let told = summary.variants.iter();
    let told = told.filter_map(|v| Some((&v.variant, Strata::of(v)?)));
    for (n, (name, strata)) in told.enumerate() {
        if n == 0 {
            doc.push_str("\n## Served\n");
        }
        let common = match &*strata.common {
            "" => "not all by the same",
            common => common,
        };
        let _ = writeln!(doc, "\n{}: {}", escape(name.as_str()), escape(common));
        if strata.rows.is_empty() {
            continue;
        }
        let head = [
            &*strata.differing,
            "sessions",
            "passed",
            "scored",
            "pass rate",
        ];
        let row = |row: &served::Row| {
            // An interval is not broken over lines.
            let rate = row.pass_rate.replace(' ', "\u{a0}");
            let counts = [&row.sessions, &row.passed, &row.scored].map(Clone::clone);
            let row = [escape(&row.served)]
                .into_iter()
                .chain(counts)
                .chain([rate]);
            row.collect::<Vec<String>>()
        };
        let rows: Vec<Vec<String>> = strata.rows.iter().map(row).collect();
        doc.push('\n');
        table(doc, &head.map(str::to_owned), 1, &rows);
        if strata.more > 0 {
            let _ = writeln!(
                doc,
                "\n{} more in `summary.json`.",
                text::count(strata.more)
            );
        }
        let _ = writeln!(doc, "\n{}", served::MIXED);
    }
}

/// What matters most stands first: a page as narrow as GitHub's shows the rest when it is scrolled.
fn case_table(doc: &mut String, variant: &VariantSummary) {
    let all = cases::worst_first(variant);
    let shown = all.get(..CASES).unwrap_or(&all);
    let is_missing = shown.iter().any(|case| case.ledger.missing() > 0);
    let mut head = vec!["case", "pass rate", "n", "failed checks"];
    if is_missing {
        head.push("missing");
    }
    head.extend([
        "label",
        "may fail",
        "flakiness",
        "steps",
        "completed",
        "verifier score",
    ]);
    let head: Vec<String> = head.into_iter().map(str::to_owned).collect();
    let number = |x: Option<f64>| x.map_or_else(|| "–".to_owned(), text::number);
    let row = |case: &&CaseSummary| {
        let mut row = vec![
            escape(case.id.as_str()),
            // An interval is not broken over lines.
            text::bare(&case.pass_rate, Unit::Plain).replace(' ', "\u{a0}"),
            text::sessions(&case.pass_rate),
            escape(&cases::failed_checks(case).join(", ")),
        ];
        if is_missing {
            row.push(cases::missing(&case.ledger));
        }
        row.extend([
            cases::label(case).to_owned(),
            number(case.max_failure_rate),
            number(case.flakiness),
            number(case.steps.mean.estimate),
            format!("{}/{}", case.steps.completed, case.steps.scored),
            number(case.verifier_score.estimate),
        ]);
        row
    };
    let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
    let _ = write!(
        doc,
        "\n## Cases of {}, worst first\n\n",
        escape(variant.variant.as_str())
    );
    if let Some(case) = variant.cases.first() {
        let method = text::method(&case.pass_rate.method);
        let level = text::level(&case.pass_rate);
        let _ = writeln!(
            doc,
            "Pass rates with {method} intervals, {level}; n: sessions scored (/ planned).\n"
        );
    }
    table(doc, &head, usize::MAX, &rows);
    if all.len() > shown.len() {
        let more = text::plural((all.len() - shown.len()) as u64, "case");
        let _ = writeln!(doc, "\n{more} more in `summary.json`.");
    }
}

fn meanings(doc: &mut String, summary: &Summary) {
    let head = ["figure", "what it means"].map(str::to_owned);
    let mut rows = Vec::new();
    for group in overall::groups(summary) {
        for row in &group.rows {
            rows.push(vec![
                format!("{}: {}", group.name, escape(&row.label)),
                format!("{}.", row.meaning),
            ]);
        }
    }
    let of_cases = [
        (
            "case: label",
            "Whether its scored sessions passed always, never or sometimes (flaky)",
        ),
        (
            "case: may fail",
            "For always: the largest failure rate that is still plausible",
        ),
        (
            "case: flakiness",
            "Chance that two seeds of the case disagree",
        ),
        (
            "case: failed checks",
            "NAME k/n: the check failed in k of the n sessions it judged",
        ),
    ];
    rows.extend(of_cases.map(|(name, meaning)| vec![name.to_owned(), format!("{meaning}.")]));
    doc.push_str("\n## What it means\n\n");
    table(doc, &head, usize::MAX, &rows);
    let _ = writeln!(
        doc,
        "\nA figure reads: estimate, interval in brackets, n = sessions scored (/ planned, when \
         some are missing), method and level. Each case weighs the same, and the cases of one \
         cluster count as one. Rates other than the pass rate are given in its first reading. A \
         figure without an interval is a fact, or says why it has none. {}",
        text::OVERLAP
    );
}

fn names(summary: &Summary) -> impl Iterator<Item = String> {
    let variants = summary.variants.iter();
    variants.map(|v| escape(v.variant.as_str()))
}

fn cells(first: &str, rest: impl Iterator<Item = String>) -> Vec<String> {
    std::iter::once(first.to_owned()).chain(rest).collect()
}

/// A table; columns from `right` on are aligned to the right.
pub(super) fn table(doc: &mut String, head: &[String], right: usize, rows: &[Vec<String>]) {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    doc.push_str(&line(head));
    let rule: Vec<&str> = (0..head.len())
        .map(|i| if i < right { "---" } else { "---:" })
        .collect();
    let _ = writeln!(doc, "| {} |", rule.join(" | "));
    for row in rows {
        doc.push_str(&line(row));
    }
}

/// Names that others gave: one line, nothing unseen, no markup, and nothing that GitHub links: it
/// looks for `@user` and `#12` in what is shown, where an entity for the mark would be the mark
/// again, so an entity without a width stands behind it. A `_` within a word is no markup.
pub(super) fn escape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let name = text::visible(name);
    let mut chars = name.chars().peekable();
    // The last character that is no `_`.
    let mut before = None;
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        match c {
            '_' => {
                let mut run = 1;
                while chars.next_if_eq(&'_').is_some() {
                    run += 1;
                }
                let around = [before, chars.peek().copied()];
                let is_inside = around.iter().all(|c| c.is_some_and(char::is_alphanumeric));
                out.push_str(&if is_inside { "_" } else { "\\_" }.repeat(run));
            }
            // `pass@3` names nobody.
            '@' if next.is_some_and(char::is_alphanumeric)
                && !before.is_some_and(|c| c.is_ascii_alphanumeric()) =>
            {
                out.push_str("@&#8203;")
            }
            '#' if next.is_some_and(|c| c.is_ascii_digit()) => out.push_str("#&#8203;"),
            '\n' | '\t' => out.push(' '),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '|' | '*' | '`' | '~' => out.extend(['\\', c]),
            // A link; other brackets are those of an interval.
            ']' if next == Some('(') => out.push_str("\\]"),
            _ => out.push(c),
        }
        before = Some(c).filter(|c| *c != '_');
    }
    out
}

/// Texts of models and tools: a code span, in which nothing is markup. Its fence is longer than any
/// run of backticks within.
pub(super) fn code(text: &str) -> String {
    let text = text::one_line(text);
    let runs = text.split(|c| c != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or(0) + 1);
    match text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() {
        true => format!("{fence} {text} {fence}"),
        false => format!("{fence}{text}{fence}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_a_code_span() {
        for (text, want) in [
            ("plain <b> [a](b) | *c*", "`plain <b> [a](b) | *c*`"),
            ("a\n# b\u{202e}", "`a # b\\u{202e}`"),
            ("`a`", "`` `a` ``"),
            ("a ``` b", "````a ``` b````"),
            ("", "`  `"),
        ] {
            assert_eq!(code(text), want);
        }
    }

    #[test]
    fn names_are_plain_text() {
        for (name, want) in [
            ("a|b\n<c\u{202e}", r"a\|b &lt;c\\u{202e}"),
            ("![x](y) [1, 2] ~~z~~", r"![x\](y) [1, 2] \~\~z\~\~"),
            ("&lt;b>", "&amp;lt;b>"),
            (
                "_em_ a_b __init__ a__b x._y_",
                r"\_em\_ a_b \_\_init\_\_ a__b x.\_y\_",
            ),
            ("_", r"\_"),
            (
                "@user (@a) pass@3 @ #12 o/r#3 #x C#",
                "@&#8203;user (@&#8203;a) pass@3 @ #&#8203;12 o/r#&#8203;3 #x C#",
            ),
        ] {
            assert_eq!(escape(name), want);
        }
    }
}
