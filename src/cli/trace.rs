//! `farm trace show|diff|export`.

mod compare;

use std::{
    fs,
    path::{self, Path},
};

use super::{
    args::{TraceArgs, TraceCommand},
    exit::{Exit, print, say},
    opened::Opened,
    screen,
};
use crate::{
    error::{Error, Result},
    report::session::{self, View},
    store::{Held, RunFolder, Score},
};

/// Lines of an observation, unless all are wanted.
const LINES: usize = 12;

/// `farm trace show|diff|export`.
pub(super) fn trace(args: &TraceArgs) -> Result<Exit> {
    match &args.command {
        TraceCommand::Show { session, run, full } => show(session, run, *full),
        TraceCommand::Diff { a, b, session } => compare::compare(a, b, session.as_deref()),
        TraceCommand::Export { run, session, to } => export(run, session.as_deref(), to.as_deref()),
    }
}

fn show(session: &str, run: &str, full: bool) -> Result<Exit> {
    let opened = Opened::find(run)?;
    print(&shown(&opened, session, full)?)?;
    Ok(Exit::Done)
}

/// One session as a person would read it.
pub(super) fn shown(opened: &Opened, session: &str, full: bool) -> Result<String> {
    let id = opened.session(session)?;
    let records = opened.records(id)?;
    let lines = (!full).then_some(LINES);
    let style = screen::style();
    let text = session::render(&records, &View { lines, style });
    Ok(text + &verdict(opened.score(id)?.as_ref()))
}

/// What the scorer said, by the names of checks.
fn verdict(score: Option<&Score>) -> String {
    match score {
        None => "not scored\n".to_owned(),
        Some(Score::Failed(why)) => format!("scoring failed: {why}\n"),
        Some(Score::Judged(checks)) => {
            let failed: Vec<&str> = checks
                .iter()
                .filter(|c| !c.passed)
                .map(|c| c.name.as_str())
                .collect();
            match failed[..] {
                [] => "passed\n".to_owned(),
                _ => format!("failed: {}\n", failed.join(", ")),
            }
        }
    }
}

fn export(run: &str, session: Option<&str>, to: Option<&Path>) -> Result<Exit> {
    let opened = Opened::find(run)?;
    let Some(session) = session else {
        let folder = to.map_or_else(|| opened.folder.traces(), Path::to_owned);
        let _held = hold(&folder)?;
        opened.with_export(|export| export.traces(&folder))?;
        say(&format!("wrote {}", folder.display()));
        return Ok(Exit::Done);
    };
    let id = opened.session(session)?;
    let mut lines = Vec::new();
    if !opened.with_export(|export| export.session(id, &mut lines))? {
        return Err(Error::input(format!("{session} has not begun")));
    }
    print(&String::from_utf8_lossy(&lines))?;
    Ok(Exit::Done)
}

/// The lock of the run whose `traces/` this folder is, if it is: a run that is at work writes them
/// itself.
fn hold(folder: &Path) -> Result<Option<Held>> {
    let folder = fs::canonicalize(folder)
        .or_else(|_| path::absolute(folder))
        .unwrap_or_else(|_| folder.to_owned());
    let run = folder.parent().and_then(RunFolder::at);
    run.filter(|run| run.traces() == folder)
        .map(|run| run.lock(&gethostname::gethostname().to_string_lossy()))
        .transpose()
}
