//! One line per variant and case, for other tools: `farm report --format csv`.

use std::io;

use super::cases;
use crate::domain::{CaseSummary, Figure, Label, Summary, VariantName};

const HEAD: [&str; 27] = [
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
    "failed_checks",
];

/// Writes a header and a line per variant and case, in the order of the summary. What is
/// undefined is empty; `failed_checks` holds `name k/n` (failed in k of n), `; ` between them.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write(summary: &Summary, out: &mut dyn io::Write) -> io::Result<()> {
    let mut lines = csv::Writer::from_writer(out);
    lines.write_record(HEAD)?;
    for variant in &summary.variants {
        for case in &variant.cases {
            lines.write_record(line(&variant.variant, case))?;
        }
    }
    lines.flush()
}

fn line(variant: &VariantName, case: &CaseSummary) -> Vec<String> {
    let mut line = vec![variant.to_string(), case.id.to_string()];
    line.push(case.ledger.planned.to_string());
    line.extend(case.ledger.rows().map(|(_, n)| n.to_string()));
    line.extend(limits(&case.pass_rate));
    line.push(case.pass_rate.method.clone());
    line.push(case.pass_rate.level.to_string());
    line.push(case.label.map_or("", Label::as_str).to_owned());
    line.push(number(case.max_failure_rate));
    line.push(number(case.flakiness));
    line.extend(limits(&case.verifier_score));
    line.extend(limits(&case.steps.mean));
    line.push(case.steps.completed.to_string());
    line.push(case.steps.scored.to_string());
    line.push(cases::failed_checks(case).join("; "));
    line
}

fn limits(figure: &Figure) -> [String; 3] {
    [figure.estimate, figure.lo, figure.hi].map(number)
}

fn number(x: Option<f64>) -> String {
    x.map(|x| x.to_string()).unwrap_or_default()
}
