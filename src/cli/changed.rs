//! Whether a run that is to go on still means what it meant.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde_json::json;

use super::{opened::Opened, setup::Ready};
use crate::{
    config::{self, Difference},
    domain::Case,
    error::{Error, Problem, Result},
};

/// Refuses to go on with a run of which something changed that gives it its meaning. `cases` is
/// where its case file was read from.
///
/// # Errors
/// Names all that changed, and how.
pub(super) fn refuse(before: &Opened, ready: &Ready, cases: &Path) -> Result<()> {
    let meaning = ready.config.meaning();
    let manifest = &before.manifest;
    let mut problems = Vec::new();
    let config = Path::new("config");
    if let Some(was) = &manifest.meaning {
        let found = config::differences(was, &meaning);
        problems.extend(found.iter().map(|d| Problem::file(config, d.to_string())));
    }
    let digests = [&manifest.inputs.sha256, &ready.inputs];
    for name in names(digests) {
        let [from, to] = digests.map(|d| d.get(name).map(|sha256| json!(sha256)));
        if from != to {
            match name {
                "cases" => problems.extend(of_cases(before, ready, cases)),
                // A run may gain a scorer, or do without it for a while.
                "sealed" if digests.iter().any(|d| !d.contains_key(name)) => {}
                // Told with the config.
                name if name.starts_with("prompt ") => {}
                name => {
                    let file = if name == "sealed" {
                        &ready.sealed_file
                    } else {
                        cases
                    };
                    let path = name.to_owned();
                    let difference = Difference { path, from, to };
                    problems.push(Problem::file(file, difference.to_string()));
                }
            }
        }
    }
    if problems.is_empty() && manifest.meaning.is_none() {
        // Of the config of a run of an older farm, the digest alone tells.
        let inputs = &manifest.inputs.sha256;
        let digest = config::digest(&json!({"config": meaning, "inputs": inputs}))?;
        if digest != manifest.digest {
            problems.push(Problem::file(config, "it does not mean what it meant"));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Error {
        message: "the run cannot go on, for it would not mean the same any more".to_owned(),
        ..Error::problems(problems)
    }
    .hint("undo these changes, or begin a new run with `farm run`"))
}

fn names(digests: [&BTreeMap<String, String>; 2]) -> BTreeSet<&str> {
    digests
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect()
}

/// What differs in the cases themselves.
fn of_cases(before: &Opened, ready: &Ready, file: &Path) -> Vec<Problem> {
    let now: Vec<&Case> = ready.plan.cases.iter().map(|c| &c.case).collect();
    let found = config::differences(&json!(before.cases), &json!(now));
    if found.is_empty() {
        return vec![Problem::file(file, "the scripts of the cases have changed")];
    }
    found
        .iter()
        .map(|d| Problem::file(file, d.to_string()))
        .collect()
}
