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
    report,
    run::WindDown,
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
            "{parked}{why}run {} is in {}{next}",
            self.run,
            self.folder.display()
        )
    }
}
