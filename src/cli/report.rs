use std::path::Path;

use super::{
    args::{ReportArgs, ReportFormat},
    exit::{Exit, print, say},
    gates::Gates,
    opened::{Opened, RUNS},
    screen,
    side::Loaded,
};
use crate::{
    domain::Summary,
    error::{Context, Result},
    report::{self, terminal::View},
    store::manifest::RunStatus,
};

/// Rows of the per-case table, unless all are wanted.
const ROWS: usize = 30;

/// `farm report RUN`.
pub(super) fn report(args: &ReportArgs) -> Result<Exit> {
    let gates = Gates::parse(&args.gates)?;
    let opened = Opened::find(&args.run)?;
    let summary = opened.summary()?;
    let run = opened.folder.spec(Path::new(RUNS));
    match opened.manifest.status {
        RunStatus::Finished => {}
        RunStatus::Running => say("the run is at work: these are its figures so far"),
        RunStatus::Interrupted => say(&format!(
            "the run was interrupted before all sessions had run: `farm resume {run}` goes on"
        )),
        RunStatus::Failed => say(&format!(
            "farm failed in this run: these are the figures of what was kept, \
             `farm resume {run}` goes on"
        )),
    }
    let text = match args.format {
        None => terminal(&summary, &run, args.all),
        Some(ReportFormat::Md) => report::markdown::render(&summary),
        Some(ReportFormat::Json) => report::json(&summary)?,
        Some(ReportFormat::Csv) => {
            let mut rows = Vec::new();
            report::csv::write(&summary, &mut rows).internal(|| "the rows".to_owned())?;
            String::from_utf8_lossy(&rows).into_owned()
        }
    };
    print(&text)?;
    gates.judge(|| Ok(Loaded { opened, summary }))
}

/// The tables that a person sees.
pub(super) fn terminal(summary: &Summary, run: &str, all: bool) -> String {
    let rows = (!all).then_some(ROWS);
    report::terminal::render(
        summary,
        &View {
            run,
            width: screen::width(),
            rows,
            style: screen::style(),
        },
    )
}
