use std::{fs, path::Path};

use super::{
    args::{ReportArgs, ReportFormat, Rows},
    exit::{Exit, print, say, stream},
    gates::Gates,
    opened::{Opened, RUNS},
    screen,
    side::Loaded,
};
use crate::{
    domain::{Summary, input},
    error::{Context, Error, Result},
    report::{self, terminal::View},
    store::{atomic, manifest::RunStatus},
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
    match format(args)? {
        None => print(&terminal(&summary, &run, args.all))?,
        Some(ReportFormat::Md) => {
            let text = report::markdown::render(&summary);
            match &args.into {
                None => print(&text)?,
                Some(file) => put_into(file, args.block.as_deref(), &text)?,
            }
        }
        Some(ReportFormat::Json) => print(&report::json(&summary)?)?,
        Some(ReportFormat::Csv) => rows(&opened, &summary, args.rows.unwrap_or(Rows::Cases))?,
        Some(ReportFormat::Junit) => print(&report::junit::render(&summary)?)?,
        Some(ReportFormat::Svg) => {
            let marks = (!args.all).then_some(report::forest::MARKS);
            print(&report::forest::render(&summary, marks))?;
        }
    }
    gates.judge(|| Ok(Loaded { opened, summary }))
}

/// The format, which `--into` and `--rows` may imply.
fn format(args: &ReportArgs) -> Result<Option<ReportFormat>> {
    let implied = match (&args.into, args.rows) {
        (Some(_), _) => Some((ReportFormat::Md, "--into", "md")),
        (_, Some(_)) => Some((ReportFormat::Csv, "--rows", "csv")),
        _ => None,
    };
    match (implied, args.format) {
        (Some((of, flag, name)), Some(format)) if format != of => Err(Error::input(format!(
            "{flag} goes with --format {name} alone"
        ))
        .hint(format!("leave {flag} out, or say --format {name}"))),
        (Some((of, ..)), _) => Ok(Some(of)),
        (None, format) => Ok(format),
    }
}

fn rows(opened: &Opened, summary: &Summary, rows: Rows) -> Result<()> {
    use report::csv;
    match rows {
        Rows::Cases => stream(|out| csv::cases(summary, out)),
        Rows::Sessions => {
            opened.with_export(|export| stream(|out| csv::sessions(export, &opened.cases, out)))
        }
        Rows::Steps => opened.with_export(|export| stream(|out| csv::steps(export, out))),
    }
}

/// Puts Markdown into its block of a file.
fn put_into(file: &Path, block: Option<&str>, markdown: &str) -> Result<()> {
    let shown = file.display();
    // Through symbolic links: it is the file that they name which is to change.
    let unread = || format!("{shown} cannot be read");
    let path = fs::canonicalize(file).input(unread)?;
    let text = input::text(&path).input(unread)?;
    let new = report::into::replace(&text, block, markdown)
        .map_err(|why| Error::input(format!("{shown}: {why}")).hint(why.hint()))?;
    if new == text {
        say(&format!("{shown} is up to date"));
        return Ok(());
    }
    atomic::write(&path, new.as_bytes())?;
    say(&format!("{shown} is rewritten"));
    Ok(())
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
