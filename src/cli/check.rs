use std::{collections::BTreeSet, fs, path::Path};

use super::{
    args::CheckArgs,
    exit::{Exit, say},
    setup::{self, Inputs},
};
use crate::{
    config::ModelKind,
    domain::Case,
    error::{Error, Problem, Result},
    report::text::plural,
    score::SealedSuite,
};

/// `farm check CASES`: everything that would stop a run, and what would spoil it.
pub(super) fn check(args: &CheckArgs) -> Result<Exit> {
    let inputs = setup::read(&args.input)?;
    if let Some(sealed) = &inputs.sealed {
        for leak in leaks(&args.input.cases, &inputs.cases, sealed) {
            say(&format!("warning: {leak}"));
        }
    }
    if !inputs.problems.is_empty() {
        return Err(Error::problems(inputs.problems));
    }
    for unused in unused_scripts(&inputs) {
        say(&format!("warning: {unused}"));
    }
    let ready = setup::plan(&args.input, inputs)?;
    let grid = &ready.plan.grid;
    say(&format!(
        "ok: {} × {} × {} = {}",
        plural(grid.cases.len() as u64, "case"),
        plural(grid.variants.len() as u64, "variant"),
        plural(grid.seeds.end - grid.seeds.start, "seed"),
        plural(grid.planned(), "session"),
    ));
    Ok(Exit::Done)
}

/// Where a sealed answer stands word for word in what the agent sees.
fn leaks(file: &Path, cases: &[Case], sealed: &SealedSuite) -> Vec<Problem> {
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut problems = Vec::new();
    for case in cases {
        let mut texts = vec![("task".to_owned(), case.task.clone())];
        texts.extend(case.tags.iter().map(|tag| ("tags".to_owned(), tag.clone())));
        if let Some(files) = &case.files {
            texts.extend(
                crate::config::list_files(&folder.join(files))
                    .into_iter()
                    .flatten()
                    .filter_map(|(name, path)| {
                        Some((format!("{files}/{name}"), fs::read_to_string(path).ok()?))
                    }),
            );
        }
        let texts: Vec<(String, &str)> = texts
            .iter()
            .map(|(at, text)| (at.clone(), text.as_str()))
            .collect();
        for place in sealed.leaks(&case.id, &texts) {
            let message = format!("case {}: {place}", case.id);
            problems.push(Problem::file(file, message));
        }
    }
    problems
}

/// Scripts of cases that are not in the case file: perhaps a typing error.
fn unused_scripts(inputs: &Inputs) -> Vec<Problem> {
    let files = inputs.config.variants.iter().filter_map(|v| {
        let ModelKind::Scripted { scripts: from, .. } = &v.model.kind;
        Some(from.as_ref()?.file.path.as_path())
    });
    let ids: BTreeSet<_> = inputs.cases.iter().map(|case| &case.id).collect();
    let mut problems = Vec::new();
    for file in files.collect::<BTreeSet<_>>() {
        for script in inputs.scripts.get(file).into_iter().flatten() {
            if !ids.contains(&script.case) {
                problems.push(Problem::file(
                    file,
                    format!("no case has the id {}", script.case),
                ));
            }
        }
    }
    problems
}
