//! One line per case, session or step, for other tools: `farm report --format csv`.
//!
//! What is undefined or unknown is empty. Numbers are plain numbers. Text is what people, models
//! and tools wrote, so it is made safe to look at: nothing in it is unseen (see
//! [`visible`]); where a spreadsheet would take it for a formula, an
//! apostrophe stands before it; and after 32,000 characters, about what a spreadsheet's cell
//! holds, it is cut off with `…`. Traces have it as it was.

mod comparison;
mod sessions;
mod steps;

use std::io;

pub use comparison::comparison;
pub use sessions::sessions;
pub use steps::steps;

use super::{cases as listed, text::visible};
use crate::{
    domain::{CaseSummary, Figure, Label, Summary, VariantName, shortened},
    error::{Error, Result},
};

/// Characters of a text.
const LONGEST: usize = 32_000;

const HEAD: [&str; 36] = [
    "variant",
    "case",
    "planned",
    "passed",
    "failed",
    "errored",
    "killed",
    "not_run",
    "skipped",
    "unscored",
    "pass_rate",
    "pass_rate_lo",
    "pass_rate_hi",
    "method",
    "level",
    "label",
    "max_failure_rate",
    "flakiness",
    "verifier_score",
    "verifier_score_lo",
    "verifier_score_hi",
    "steps",
    "steps_lo",
    "steps_hi",
    "completed",
    "scored",
    "tokens_in",
    "tokens_in_lo",
    "tokens_in_hi",
    "tokens_out",
    "tokens_out_lo",
    "tokens_out_hi",
    "cost_usd",
    "cost_usd_lo",
    "cost_usd_hi",
    "failed_checks",
];

/// Writes a header and a line per variant and case, in the order of the summary. Scores, steps,
/// tokens and dollars are means per session; `failed_checks` holds `name k/n` (failed in k of n),
/// `; ` between them.
///
/// # Errors
/// When `out` cannot be written to; the source is then its [`io::Error`].
pub fn cases(summary: &Summary, out: &mut dyn io::Write) -> Result<()> {
    let mut lines = Lines::begin(out, &HEAD)?;
    for variant in &summary.variants {
        for case in &variant.cases {
            lines.add(&line(&variant.variant, case))?;
        }
    }
    lines.end()
}

/// Lines on their way out.
struct Lines<'a>(csv::Writer<&'a mut dyn io::Write>);

impl<'a> Lines<'a> {
    fn begin(out: &'a mut dyn io::Write, head: &[&str]) -> Result<Self> {
        let mut lines = Self(csv::Writer::from_writer(out));
        lines.0.write_record(head).map_err(refused)?;
        Ok(lines)
    }

    fn add(&mut self, line: &[String]) -> Result<()> {
        self.0.write_record(line).map_err(refused)
    }

    fn end(mut self) -> Result<()> {
        self.0.flush().map_err(lost)
    }
}

/// What is under the error of a row: its conversion would hide of which kind it is.
fn refused(error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => lost(error),
        kind => lost(io::Error::other(format!("{kind:?}"))),
    }
}

fn lost(error: io::Error) -> Error {
    Error::internal("the rows cannot be written").caused_by(error)
}

fn line(variant: &VariantName, case: &CaseSummary) -> Vec<String> {
    let mut line = vec![variant.to_string(), case.id.to_string()];
    line.push(case.ledger.planned.to_string());
    line.extend(case.ledger.rows().map(|(_, n)| n.to_string()));
    line.extend(limits(&case.pass_rate));
    line.push(case.pass_rate.method.clone());
    line.push(case.pass_rate.level.to_string());
    line.push(case.label.map_or("", Label::as_str).to_owned());
    line.push(optional(case.max_failure_rate));
    line.push(optional(case.flakiness));
    line.extend(limits(&case.verifier_score));
    line.extend(limits(&case.steps.mean));
    line.push(case.steps.completed.to_string());
    line.push(case.steps.scored.to_string());
    for mean in [&case.tokens_in, &case.tokens_out, &case.cost_usd] {
        line.extend(mean.as_ref().map(limits).unwrap_or_default());
    }
    line.push(text(&listed::failed_checks(case).join("; ")));
    line
}

fn limits(figure: &Figure) -> [String; 3] {
    [figure.estimate, figure.lo, figure.hi].map(optional)
}

fn optional<T: ToString>(x: Option<T>) -> String {
    x.map(|x| x.to_string()).unwrap_or_default()
}

/// What others wrote, safe to look at.
fn text(of: &str) -> String {
    let text = visible(&shortened(of, LONGEST));
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '＝', '＋', '－', '＠']);
    if is_formula && text.parse::<f64>().is_err() {
        format!("'{text}")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_reads_no_further_is_told_from_a_failure() {
        struct Closed;
        impl io::Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        // In the buffer, and more than it holds.
        for length in [1, 1_000_000] {
            let mut out = Closed;
            let mut lines = Lines::begin(&mut out, &["head"]).unwrap();
            let added = lines.add(&["x".repeat(length)]);
            let error = added.and_then(|()| lines.end()).unwrap_err();
            let source = error.source.unwrap().downcast::<io::Error>().unwrap();
            assert_eq!(source.kind(), io::ErrorKind::BrokenPipe, "{length}");
        }
    }

    #[test]
    fn what_models_write_is_no_formula() {
        for (of, want) in [
            ("19.5", "19.5"),
            ("-19.5", "-19.5"),
            ("+1e3", "+1e3"),
            ("-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"),
            ("=HYPERLINK(\"x\")", "'=HYPERLINK(\"x\")"),
            ("@SUM(1)", "'@SUM(1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "\\r=1"),
            ("－1", "'－1"),
            ("a\n=1\u{202e}", "a\n=1\\u{202e}"),
            ("", ""),
        ] {
            assert_eq!(text(of), want);
        }
        let long = text(&"=".repeat(40_000));
        assert_eq!(long.chars().count(), LONGEST + 2);
    }
}
