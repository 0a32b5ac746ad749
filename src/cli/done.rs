//! What is shown of a run that is over, and the exit code that it gives.

use std::{path::PathBuf, rc::Rc};

use super::{
    args::ShowArgs,
    exit::{Exit, print, say},
    gates::{Gates, said},
    opened::Opened,
    report::terminal,
    side::Loaded,
};
use crate::{
    domain::{Summary, shell},
    error::Result,
    report::{self, text},
    run::WindDown,
    store::Totals,
};

/// A run that is over.
pub(super) struct Done {
    pub run: String,
    /// How the user names it.
    pub spec: String,
    pub folder: PathBuf,
    pub summary: Summary,
    pub wind_down: Option<WindDown>,
    /// Why some variants did not come to their end.
    pub parked: Vec<String>,
    /// Whether it had no scorer.
    pub unscored: bool,
    /// What its calls were and cost.
    pub totals: Totals,
}

impl Done {
    /// Shows what came of it, judges the gates, and gives the exit code.
    pub fn conclude(&self, args: &ShowArgs, gates: &Gates) -> Result<Exit> {
        self.show(args)?;
        if gates.is_empty() {
            return Ok(self.exit());
        }
        Ok(self.exit().or(said(&gates.judge(&self.loaded()?)?)))
    }

    fn loaded(&self) -> Result<Rc<Loaded>> {
        let opened = Opened::find(&self.spec)?;
        let summary = self.summary.clone();
        Ok(Rc::new(Loaded { opened, summary }))
    }

    /// Prints tables or the summary, and last what is to be done next.
    pub fn show(&self, args: &ShowArgs) -> Result<()> {
        if args.quiet {
            return Ok(());
        }
        if args.json {
            print(&report::json(&self.summary)?)?;
        } else {
            print(&terminal(&self.summary, &self.spec, false))?;
        }
        say(&self.last_words());
        Ok(())
    }

    /// 3 when something is left to do.
    pub fn exit(&self) -> Exit {
        if self.summary.ledger.left(!self.unscored) > 0 {
            Exit::Incomplete
        } else {
            Exit::Done
        }
    }

    fn last_words(&self) -> String {
        let why = match self.wind_down {
            None => "",
            Some(WindDown::Asked) => "the run was ended early; ",
            Some(WindDown::StopFile) => "the run was ended early by its STOP file; ",
            Some(WindDown::Deadline) => "the run was ended early, since its time was up; ",
            Some(WindDown::Breaker) => "the run was ended early, since too many sessions crashed; ",
            Some(WindDown::Money) => "the run was ended early, since it has spent what it may; ",
            Some(WindDown::Tools) => "the run was ended early, since its tools have changed; ",
        };
        let parked: String = self
            .parked
            .iter()
            .map(|why| format!("parked: {why}\n"))
            .collect();
        let next = match self.exit() {
            Exit::Incomplete => format!("\n`farm resume {}` goes on with it", shell(&self.spec)),
            _ => String::new(),
        };
        format!(
            "{parked}{}{why}run {} is in {}{next}",
            bill(&self.totals),
            self.run,
            self.folder.display()
        )
    }
}

/// What all calls of a run cost, as a line; nothing of one that cost nothing.
fn bill(totals: &Totals) -> String {
    if totals.booked_usd == 0.0 {
        return String::new();
    }
    let parts = [
        (totals.judges_cost_usd, "for judges"),
        (totals.probes_cost_usd, "for probes"),
        (
            totals.failed_calls_cost_usd,
            "for calls that came to nothing",
        ),
    ];
    let parts = parts.iter().filter(|(usd, _)| *usd > 0.0);
    let parts: Vec<String> = parts
        .map(|(usd, what)| format!("{} {what}", text::usd(*usd)))
        .collect();
    let of_these = match parts.is_empty() {
        true => String::new(),
        false => format!("; of these {}", parts.join(", ")),
    };
    let calls = text::plural(totals.calls, "call");
    format!(
        "{calls} booked at {}{of_these}\n",
        text::usd(totals.booked_usd)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bill() {
        assert_eq!(bill(&Totals::default()), "");
        let mut totals = Totals {
            calls: 1,
            booked_usd: 0.25,
            ..Totals::default()
        };
        assert_eq!(bill(&totals), "1 call booked at $0.250\n");
        totals.judges_cost_usd = 0.125;
        totals.probes_cost_usd = 0.025;
        let want = "1 call booked at $0.250; of these $0.125 for judges, $0.0250 for probes\n";
        assert_eq!(bill(&totals), want);
    }
}
