//! `farm trace diff`: two runs, or two trace files, session by session.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::super::{
    exit::{Exit, print, say},
    opened::{Opened, RUNS},
};
use crate::{
    domain::{
        Cell, SessionId,
        jsonl::{self, Secrecy},
    },
    error::{Context, Error, Result},
    report::diff,
    store::{Export, RunFolder},
};

/// Differences that are shown of one session.
const DIFFERENCES: usize = 20;
/// Sessions whose differences are shown.
const SESSIONS: usize = 20;

/// Where sessions are read from.
enum Source<'a> {
    /// A run's database: what is true, whatever files were written of it.
    Store(&'a Export<'a>),
    /// Trace files by `variant/case`, of a run without a database; a file alone has no name.
    Files(BTreeMap<String, PathBuf>),
}

/// The sessions of one case under one variant, by key.
enum Group<'a> {
    /// Read one at a time.
    Store(&'a Export<'a>, BTreeMap<String, SessionId>),
    /// Read.
    Read(BTreeMap<String, Vec<Value>>),
}

pub(super) fn compare(a: &str, b: &str, session: Option<&str>) -> Result<Exit> {
    if Path::new(a).is_file() != Path::new(b).is_file() {
        return Err(Error::input(format!(
            "{a} and {b} cannot be compared: one is a trace file, the other is not"
        ))
        .hint(
            "name two runs, or two trace files; those of a run are RUN/traces/VARIANT/CASE.jsonl",
        ));
    }
    with_source(a, |a| with_source(b, |b| sources(a, b, session)))
}

/// Opens a run or a trace file.
fn with_source<T>(spec: &str, then: impl FnOnce(&Source<'_>) -> Result<T>) -> Result<T> {
    let path = Path::new(spec);
    if path.is_file() {
        let file = BTreeMap::from([(String::new(), path.to_owned())]);
        return then(&Source::Files(file));
    }
    let folder = RunFolder::open(spec, Path::new(RUNS))?;
    if folder.database().exists() {
        return Opened::at(folder)?.with_export(|export| then(&Source::Store(export)));
    }
    then(&Source::Files(files(&folder)?))
}

fn sources(a: &Source<'_>, b: &Source<'_>, session: Option<&str>) -> Result<Exit> {
    let (mut differing, mut compared) = (0, 0);
    let mut text = String::new();
    let names: BTreeSet<String> = a.names().into_iter().chain(b.names()).collect();
    let is_asked = |name: &String| session.is_none_or(|key| key.starts_with(name.as_str()));
    for name in names.iter().filter(|name| is_asked(name)) {
        let (a, b) = (a.group(name)?, b.group(name)?);
        let keys: BTreeSet<&String> = a.keys().into_iter().chain(b.keys()).collect();
        for key in keys
            .into_iter()
            .filter(|key| session.is_none_or(|s| s == key.as_str()))
        {
            compared += 1;
            let found = diff::compare(&a.records(key)?, &b.records(key)?);
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
                .hint("no session of either had begun; `farm runs` lists the runs"),
        });
    }
    print(&text)?;
    say(&format!("{differing} of {compared} sessions differ"));
    Ok(if differing == 0 {
        Exit::Done
    } else {
        Exit::Unmet
    })
}

impl<'a> Source<'a> {
    /// The names of all groups.
    fn names(&self) -> Vec<String> {
        match self {
            Self::Files(files) => files.keys().cloned().collect(),
            Self::Store(Export { grid, .. }) => {
                let of = |variant| {
                    grid.cases
                        .iter()
                        .map(move |case| format!("{variant}/{case}"))
                };
                grid.variants.iter().flat_map(of).collect()
            }
        }
    }

    fn group(&self, name: &str) -> Result<Group<'a>> {
        match self {
            Self::Files(files) => Ok(Group::Read(match files.get(name) {
                Some(file) => read(file)?,
                None => BTreeMap::new(),
            })),
            Self::Store(export) => Ok(Group::Store(export, begun(export, name)?)),
        }
    }
}

impl Group<'_> {
    fn keys(&self) -> Vec<&String> {
        match self {
            Self::Store(_, ids) => ids.keys().collect(),
            Self::Read(sessions) => sessions.keys().collect(),
        }
    }

    /// The records of a session; none when it is not there.
    fn records(&self, key: &str) -> Result<Vec<Value>> {
        match self {
            Self::Read(sessions) => Ok(sessions.get(key).cloned().unwrap_or_default()),
            Self::Store(export, ids) => {
                let Some(id) = ids.get(key) else {
                    return Ok(Vec::new());
                };
                let mut lines = Vec::new();
                export.session(*id, &mut lines)?;
                serde_json::Deserializer::from_slice(&lines)
                    .into_iter::<diff::Line>()
                    .map(|line| line.map(|diff::Line(record)| record))
                    .collect::<Result<Vec<Value>, _>>()
                    .internal(|| format!("the trace of {key} cannot be read"))
            }
        }
    }
}

/// The sessions of a group that have begun.
fn begun(export: &Export<'_>, name: &str) -> Result<BTreeMap<String, SessionId>> {
    let grid = export.grid;
    let place = name.split_once('/').and_then(|(variant, case)| {
        let variant = grid.variants.iter().position(|v| v.as_str() == variant)?;
        let case = grid.cases.iter().position(|c| c.as_str() == case)?;
        Some(Cell {
            variant,
            case,
            seed: 0,
        })
    });
    let Some(Cell { variant, case, .. }) = place else {
        return Ok(BTreeMap::new());
    };
    let mut ids = BTreeMap::new();
    for row in export.reader.rows_of(grid, variant, case) {
        if let (id, Some(_)) = row? {
            ids.insert(grid.key(id).to_string(), id);
        }
    }
    Ok(ids)
}

/// The trace files of a run by `variant/case`.
fn files(run: &RunFolder) -> Result<BTreeMap<String, PathBuf>> {
    let traces = run.traces();
    if !traces.is_dir() {
        let path = run.path().display();
        return Err(Error::input(format!(
            "{path} has no sessions: neither farm.db nor traces/"
        ))
        .hint("name the folder of a run, or one that its traces were copied to"));
    }
    let list = |dir: &Path| -> Result<Vec<PathBuf>> {
        let unreadable = || format!("{} cannot be read", dir.display());
        let entries = fs::read_dir(dir).input(unreadable)?;
        entries
            .map(|entry| Ok(entry.input(unreadable)?.path()))
            .collect()
    };
    let mut files = BTreeMap::new();
    for folder in list(&traces)? {
        for file in list(&folder)? {
            let name = file.strip_prefix(&traces).unwrap_or(&file);
            files.insert(name.with_extension("").display().to_string(), file);
        }
    }
    Ok(files)
}

fn read(file: &Path) -> Result<BTreeMap<String, Vec<Value>>> {
    let lines = jsonl::read::<diff::Line>(file, Secrecy::Public);
    if !lines.problems.is_empty() {
        return Err(Error::problems(lines.problems));
    }
    let mut sessions: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut key = String::new();
    for (_, diff::Line(record)) in lines.values {
        if record["type"] == "run_start" {
            let text = |field: &str| record[field].as_str().unwrap_or_default().to_owned();
            key = format!("{}/{}/{}", text("variant"), text("case"), record["seed"]);
        }
        sessions.entry(key.clone()).or_default().push(record);
    }
    Ok(sessions)
}
