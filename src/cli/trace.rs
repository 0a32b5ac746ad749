use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    args::{TraceArgs, TraceCommand},
    exit::{Exit, print, say},
    opened::{Opened, RUNS},
    screen,
};
use crate::{
    domain::jsonl::{self, Secrecy},
    error::{Context, Error, Result},
    report::{
        diff,
        session::{self, View},
    },
    store::RunFolder,
};

/// Lines of an observation, unless all are wanted.
const LINES: usize = 12;
/// Differences that are shown of one session.
const DIFFERENCES: usize = 20;
/// Sessions whose differences are shown.
const SESSIONS: usize = 20;

/// `farm trace show|diff|export`.
pub(super) fn trace(args: &TraceArgs) -> Result<Exit> {
    match &args.command {
        TraceCommand::Show { session, run, full } => show(session, run, *full),
        TraceCommand::Diff { a, b, session } => compare(a, b, session.as_deref()),
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
    let records = opened.records(opened.session(session)?)?;
    let lines = (!full).then_some(LINES);
    Ok(session::render(
        &records,
        &View {
            lines,
            style: screen::style(),
        },
    ))
}

fn export(run: &str, session: Option<&str>, to: Option<&Path>) -> Result<Exit> {
    let opened = Opened::find(run)?;
    let Some(session) = session else {
        let folder = to.map_or_else(|| opened.folder.traces(), Path::to_owned);
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

/// The records of sessions, by key.
type Sessions = BTreeMap<String, Vec<Value>>;

fn compare(a: &str, b: &str, session: Option<&str>) -> Result<Exit> {
    if Path::new(a).is_file() != Path::new(b).is_file() {
        return Err(Error::input(format!(
            "{a} and {b} cannot be compared: one is a trace file, the other is not"
        ))
        .hint(
            "name two runs, or two trace files; those of a run are RUN/traces/VARIANT/CASE.jsonl",
        ));
    }
    let (files_a, files_b) = (files(a)?, files(b)?);
    let names: BTreeSet<&String> = files_a.keys().chain(files_b.keys()).collect();
    let (mut differing, mut compared) = (0, 0);
    let mut text = String::new();
    // File by file, so that memory stays bounded by the seeds of one case.
    for name in names {
        let (a, b) = (read(files_a.get(name))?, read(files_b.get(name))?);
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        for key in keys
            .into_iter()
            .filter(|key| session.is_none_or(|s| s == key.as_str()))
        {
            compared += 1;
            let of = |sessions: &Sessions| sessions.get(key).cloned().unwrap_or_default();
            let found = diff::compare(&of(&a), &of(&b));
            differing += usize::from(!found.is_empty());
            if !found.is_empty() && differing <= SESSIONS {
                text.push_str(&diff::render(key, &found, DIFFERENCES));
            }
        }
    }
    if compared == 0 {
        return Err(match session {
            Some(key) => Error::input(format!("neither has the session {key}"))
                .hint("a session is VARIANT/CASE/SEED"),
            None => Error::input("there is no session to compare")
                .hint("`farm trace export RUN` writes the traces of a run"),
        });
    }
    print(&text)?;
    say(&format!("{differing} of {compared} sessions differ"));
    Ok(if differing == 0 {
        Exit::Done
    } else {
        Exit::Differs
    })
}

/// The trace files of a run by `variant/case`; a trace file alone has no name.
fn files(spec: &str) -> Result<BTreeMap<String, PathBuf>> {
    let path = Path::new(spec);
    if path.is_file() {
        return Ok(BTreeMap::from([(String::new(), path.to_owned())]));
    }
    let traces = RunFolder::open(spec, Path::new(RUNS))?.traces();
    let mut files = BTreeMap::new();
    let list = |dir: &Path| -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(dir).input(|| format!("{} cannot be read", dir.display()))?;
        entries
            .map(|entry| {
                Ok(entry
                    .input(|| format!("{} cannot be read", dir.display()))?
                    .path())
            })
            .collect()
    };
    for folder in list(&traces)? {
        for file in list(&folder)? {
            let name = file
                .strip_prefix(&traces)
                .unwrap_or(&file)
                .display()
                .to_string();
            files.insert(name, file);
        }
    }
    Ok(files)
}

fn read(file: Option<&PathBuf>) -> Result<Sessions> {
    let Some(file) = file else {
        return Ok(Sessions::new());
    };
    let lines = jsonl::read::<Value>(file, Secrecy::Public);
    if !lines.problems.is_empty() {
        return Err(Error::problems(lines.problems));
    }
    let mut sessions = Sessions::new();
    let mut key = String::new();
    for (_, record) in lines.values {
        if record["type"] == "run_start" {
            let text = |field: &str| record[field].as_str().unwrap_or_default().to_owned();
            key = format!("{}/{}/{}", text("variant"), text("case"), record["seed"]);
        }
        sessions.entry(key.clone()).or_default().push(record);
    }
    Ok(sessions)
}
