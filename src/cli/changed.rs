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
    score,
};

/// Refuses to go on with a run of which something changed that gives it its meaning. `cases` is
/// where its case file was read from.
///
/// # Errors
/// Names all that changed, and how.
pub(super) fn refuse(before: &Opened, ready: &Ready, cases: &Path) -> Result<()> {
    let manifest = &before.manifest;
    let mut problems = of_config(before, ready)?;
    problems.extend(of_cases(before, ready, cases));
    let digests = [&manifest.inputs.sha256, &ready.inputs];
    for name in names(digests) {
        let [from, to] = digests.map(|d| d.get(name).map(|sha256| json!(sha256)));
        let file = match name {
            "sealed" => &ready.sealed_file,
            _ if name.starts_with("tools of server ") => Path::new("config"),
            _ => cases,
        };
        // A run may gain a scorer. Cases are told one by one, prompts with the config.
        let is_told = name == "cases" || name.starts_with("prompt ");
        let is_gain = name == "sealed" && from.is_none();
        if from != to && !is_told && !is_gain {
            let path = name.to_owned();
            let difference = Difference { path, from, to };
            problems.push(Problem::file(file, difference.to_string()));
        }
    }
    let (was, is) = (manifest.inputs.rules, score::RULES);
    if was != is {
        let message = format!("checks judge by rules {is} now, and judged by rules {was}");
        problems.push(Problem::file(&before.folder.manifest(), message));
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

/// What differs in the config.
fn of_config(before: &Opened, ready: &Ready) -> Result<Vec<Problem>> {
    let manifest = &before.manifest;
    let meaning = ready.meaning();
    let config = Path::new("config");
    if let Some(was) = &manifest.meaning {
        let mut problems: Vec<Problem> = config::differences(was, &meaning)
            .iter()
            .map(|d| Problem::file(config, d.to_string()))
            .collect();
        if problems.is_empty() && before.grid.variants != ready.plan.grid.variants {
            let message = "its variants are not those of the config";
            problems.push(Problem::file(&before.folder.manifest(), message));
        }
        return Ok(problems);
    }
    // Of a run of an older farm, the digest alone tells.
    let inputs = &manifest.inputs.sha256;
    let digest = config::digest(&json!({"config": meaning, "inputs": inputs}))?;
    let is_same = digest == manifest.digest;
    let problem = || Problem::file(config, "it does not mean what it meant");
    Ok((!is_same).then(problem).into_iter().collect())
}

/// What differs in the cases, or in the copy of them in the run folder.
fn of_cases(before: &Opened, ready: &Ready, file: &Path) -> Vec<Problem> {
    let [was, is] = [&before.manifest.inputs.sha256, &ready.inputs].map(|d| d.get("cases"));
    let now: Vec<&Case> = ready.plan.cases.iter().map(|c| &c.case).collect();
    let found = config::differences(&json!(before.cases), &json!(now));
    let copy = before.folder.cases();
    if was == is {
        let differs = |d: &Difference| {
            Problem::file(&copy, format!("not what the run was made from: {}", d.path))
        };
        return found.iter().map(differs).collect();
    }
    if found.is_empty() {
        let message = "the scripts of the cases have changed, or their order in the run folder";
        return vec![Problem::file(file, message)];
    }
    found
        .iter()
        .map(|d| Problem::file(file, d.to_string()))
        .collect()
}

fn names(digests: [&BTreeMap<String, String>; 2]) -> BTreeSet<&str> {
    digests
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect()
}
