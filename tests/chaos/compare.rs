//! An undisturbed run, and whether another came to the same.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use farm::domain::trace::FREE_FIELDS;
use serde_json::Value;

use crate::{
    process::{End, farm},
    run::Run,
    suite::Suite,
};

/// What an undisturbed run of a suite left.
pub(crate) struct Reference {
    folder: PathBuf,
    summary: String,
    scores: String,
    traces: BTreeMap<PathBuf, Vec<Value>>,
    /// How many commits it took.
    pub(crate) commits: u64,
}

impl Reference {
    /// Runs the suite.
    pub(crate) fn of(suite: &Suite, concurrency: u64) -> Self {
        let mut run = Run::new(suite, &format!("undisturbed-{concurrency}"), concurrency);
        let mut process = run.start(None);
        assert_eq!(process.wait(), End::Exit(0), "{}", process.stderr());
        let commits = process.log.commits.unwrap();
        run.end(process);
        assert_eq!(run.tally().redone, 0);
        run.is_tidy();
        Self {
            summary: text(&run.folder.join("summary.json")),
            scores: text(&run.folder.join("scores.jsonl")),
            traces: traces(&run.folder.join("traces")),
            folder: run.folder,
            commits,
        }
    }

    /// Fails unless `run` is over and came to the same.
    #[track_caller]
    pub(crate) fn is_met_by(&self, run: &Run<'_>) {
        run.is_tidy();
        let same = |name: &str, whole: &str| {
            let is_same = text(&run.folder.join(name)) == whole;
            assert!(is_same, "{name} of {} is another", run.folder.display());
        };
        same("summary.json", &self.summary);
        same("scores.jsonl", &self.scores);
        let theirs = traces(&run.folder.join("traces"));
        assert!(self.traces.keys().eq(theirs.keys()), "other trace files");
        for (name, trace) in &self.traces {
            assert_eq!(trace, &theirs[name], "{}", name.display());
        }
    }

    /// Fails unless `farm trace diff` calls the traces of `run` equal.
    #[track_caller]
    pub(crate) fn has_no_diff_to(&self, run: &Run<'_>) {
        let mut diff: Command = farm(run.suite);
        diff.args(["trace", "diff"])
            .args([&self.folder, &run.folder]);
        let said = diff.output().unwrap();
        let shown = String::from_utf8_lossy(&said.stdout);
        assert_eq!(said.status.code(), Some(0), "{shown}");
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All records under `traces/`, without what may differ between equal runs.
fn traces(folder: &Path) -> BTreeMap<PathBuf, Vec<Value>> {
    let mut found = BTreeMap::new();
    for variant in fs::read_dir(folder).unwrap() {
        for file in fs::read_dir(variant.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let records = text(&path).lines().map(without_free_fields).collect();
            found.insert(path.strip_prefix(folder).unwrap().to_owned(), records);
        }
    }
    found
}

fn without_free_fields(line: &str) -> Value {
    let mut record: Value = serde_json::from_str(line).unwrap();
    for field in FREE_FIELDS {
        let mut names = field.split('.').rev();
        let last = names.next().unwrap();
        let holder = names
            .rev()
            .try_fold(&mut record, |at, name| at.get_mut(name));
        if let Some(Value::Object(fields)) = holder {
            fields.remove(last);
        }
    }
    record
}
