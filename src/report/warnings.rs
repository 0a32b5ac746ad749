//! What a reader of figures should be careful about, in sentences.

use super::{cases, text};
use crate::{
    domain::{Summary, shell},
    store::manifest::RunStatus,
};

/// What is missing or damaged, with backticks around commands. `run` as the user may name it.
pub(super) fn of(summary: &Summary, run: &str) -> Vec<String> {
    let ledger = &summary.ledger;
    let mut warnings = Vec::new();
    if !ledger.adds_up() {
        warnings.push(
            "The states do not add up to the sessions planned: the summary is damaged.".to_owned(),
        );
    }
    if ledger.missing() > 0 {
        let again = match ledger.errored + ledger.not_run {
            0 => String::new(),
            _ => format!(" `farm resume {}` runs them.", shell(run)),
        };
        warnings.push(format!(
            "{} missing from every figure: {}.{again}",
            text::plural(ledger.missing(), "session"),
            cases::missing(ledger),
        ));
    }
    if ledger.unscored > 0 {
        warnings.push(format!(
            "{} without a verdict: a run with sealed halves gives one, at the latest when it goes on: \
             `farm resume {}`.",
            text::plural(ledger.unscored, "session"),
            shell(run)
        ));
    }
    warnings.extend(summary.overcharges.iter().map(|over| {
        format!(
            "Model {}: {} cost {} more than was reserved for them: no cap holds what a provider \
             charges beyond its price.",
            text::visible(&over.model),
            text::plural(over.calls, "call"),
            text::usd(over.usd)
        )
    }));
    warnings.extend(summary.variants.iter().filter_map(cases::left_out));
    warnings
}

/// Of a run that has not come to its end: that there is more to come. A clause without a full
/// stop, with backticks around commands; `run` as the user may name it.
#[must_use]
pub fn unfinished(status: RunStatus, run: &str) -> Option<String> {
    let run = shell(run);
    match status {
        RunStatus::Finished => None,
        RunStatus::Running => Some("the run is at work: these are its figures so far".to_owned()),
        RunStatus::Interrupted => Some(format!(
            "the run was interrupted before all sessions had run: `farm resume {run}` goes on"
        )),
        RunStatus::Failed => Some(format!(
            "farm failed in this run: these are the figures of what was kept, \
             `farm resume {run}` goes on"
        )),
    }
}
