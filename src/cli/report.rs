//! `farm report RUN`: the figures of a run in every format, and why its sessions failed.

mod failures;
mod into;
mod page;

use std::rc::Rc;

use super::{
    args::{ReportArgs, ReportFormat, Rows},
    exit::{Exit, print, say, stream},
    gates::{Gates, said},
    opened::Opened,
    screen,
    side::Loaded,
};
use crate::{
    domain::{GateResult, Summary},
    error::{Error, Result},
    report::{self, terminal::View},
};

/// Rows of the per-case table, unless all are wanted.
const ROWS: usize = 30;

/// `farm report RUN`.
pub(super) fn report(args: &ReportArgs) -> Result<Exit> {
    let gates = Gates::parse(&args.gates)?;
    let format = format(args)?;
    let opened = Opened::find(&args.run)?;
    let summary = opened.summary()?;
    let run = Rc::new(Loaded { opened, summary });
    gates.check_run(&run)?;
    say_how_it_stands(&run.opened, &run.spec());
    let results = gates.judge(&run)?;
    match args.failures {
        true => print(&failures::shown(&run.opened, args)?)?,
        false => show(&run, format, args, &results)?,
    }
    Ok(said(&results))
}

fn show(
    run: &Loaded,
    format: Option<ReportFormat>,
    args: &ReportArgs,
    gates: &[GateResult],
) -> Result<()> {
    let Loaded { opened, summary } = run;
    match format {
        None => print(&terminal(summary, &run.spec(), args.all)),
        Some(ReportFormat::Md) => {
            let text = report::markdown::render(summary);
            match &args.into {
                None => print(&text),
                Some(file) => into::put(file, args.block.as_deref(), &text),
            }
        }
        Some(ReportFormat::Json) => print(&report::json(summary)?),
        Some(ReportFormat::Csv) => rows(opened, summary, args.rows.unwrap_or(Rows::Cases)),
        Some(ReportFormat::Junit) => print(&report::junit::render(summary, gates)?),
        Some(ReportFormat::Svg) => {
            let marks = (!args.all).then_some(report::forest::MARKS);
            print(&report::forest::render(summary, marks))
        }
        Some(ReportFormat::Html) => page::print(opened, summary, args.traces),
    }
}

/// The format, which `--into`, `--rows` and `--traces` imply.
fn format(args: &ReportArgs) -> Result<Option<ReportFormat>> {
    let implied = match (&args.into, args.rows, args.traces) {
        (Some(_), ..) => Some((ReportFormat::Md, "--into", "md")),
        (_, Some(_), _) => Some((ReportFormat::Csv, "--rows", "csv")),
        (.., Some(_)) => Some((ReportFormat::Html, "--traces", "html")),
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
    match rows {
        Rows::Cases => stream(|out| report::csv::cases(summary, out)),
        Rows::Sessions => opened
            .with_export(|export| stream(|out| report::csv::sessions(export, &opened.cases, out))),
        Rows::Steps => opened.with_export(|export| stream(|out| report::csv::steps(export, out))),
    }
}

/// Of a run that has not come to its end: that there is more to come.
pub(super) fn say_how_it_stands(opened: &Opened, run: &str) {
    if let Some(said) = report::warnings::unfinished(opened.manifest.status, run) {
        say(&said);
    }
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
