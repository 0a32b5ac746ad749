//! `farm check CASES`: what is wrong with the inputs of a run, without running it.

use std::collections::BTreeSet;

use super::{
    args::CheckArgs,
    exit::{Exit, say},
    leaks,
    setup::{self, Inputs},
};
use crate::{
    config::{ModelKind, Variant},
    domain::ToolMode,
    error::{Error, Problem, Result},
    report::text::plural,
    run::plan::TOOLS,
};

/// `farm check CASES`: everything that would stop a run, and what would spoil it.
pub(super) fn check(args: &CheckArgs) -> Result<Exit> {
    let request = args.input.request()?;
    let inputs = setup::read(&request)?;
    if let Some(sealed) = &inputs.sealed {
        for leak in leaks::answers(&args.input.cases, &inputs.cases, &inputs.config, sealed) {
            say(&format!("warning: {leak}"));
        }
    }
    if !inputs.problems.is_empty() {
        return Err(Error::problems(inputs.problems));
    }
    for unused in unused_scripts(&inputs) {
        say(&format!("warning: {unused}"));
    }
    for variant in inputs.config.variants.iter().filter(|v| hides_its_tools(v)) {
        say(&format!(
            "warning: the prompt of {} does not tell of its tools, and in json mode nothing else does: \
             put {TOOLS} into it",
            variant.name
        ));
    }
    let ready = setup::plan(&request, inputs)?;
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

/// Whether a live model is not told what it may call.
fn hides_its_tools(variant: &Variant) -> bool {
    matches!(variant.model.kind, ModelKind::OpenAi(_))
        && variant.model.tool_mode == ToolMode::Json
        && !variant.tools.is_empty()
        && !variant.prompt.text.contains(TOOLS)
}

/// Scripts of cases that are not in the case file: perhaps a typing error.
fn unused_scripts(inputs: &Inputs) -> Vec<Problem> {
    let files = inputs
        .config
        .models()
        .filter_map(|model| match &model.kind {
            ModelKind::Scripted { scripts, .. } => Some(scripts.as_ref()?.file.path.as_path()),
            _ => None,
        });
    let ids: BTreeSet<_> = inputs.cases.iter().map(|(_, case)| &case.id).collect();
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
