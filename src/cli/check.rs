//! `farm check CASES`: what is wrong with the inputs of a run, without running it.

use std::collections::BTreeSet;

use super::{
    args::CheckArgs,
    exit::{Exit, say},
    leaks,
    recordings::Recordings,
    setup::{self, Inputs, Ready},
    tools,
};
use crate::{
    config::{ModelKind, Resolved, Variant},
    domain::{CaseId, Grid, ToolMode},
    error::{Error, Problem, Result, nearest},
    model::wire::TOOLS,
    report::text::plural,
    score::SealedSuite,
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
    warn_of_prompts(&inputs.config);
    let ready = setup::plan(&request, inputs)?;
    warn(&ready);
    if let Some(sealed) = &ready.sealed {
        for unknown in unknown_tools(&ready, sealed) {
            say(&format!("warning: {unknown}"));
        }
    }
    for (name, info) in &ready.servers {
        let of_server = |tool: &&String| tools::is_named(name, [*tool]);
        let tools: Vec<&str> = ready
            .tools
            .iter()
            .filter(of_server)
            .map(String::as_str)
            .collect();
        say(&format!(
            "server {name}: {}, MCP {}; {}: {}",
            info.program,
            info.protocol,
            plural(tools.len() as u64, "tool"),
            tools.join(", ")
        ));
    }
    let grid = &ready.plan.grid;
    for missing in unrecorded(&ready.config, grid, &request.recordings)? {
        say(&format!("warning: {missing}"));
    }
    say(&format!(
        "ok: {} × {} × {} = {}",
        plural(grid.cases.len() as u64, "case"),
        plural(grid.variants.len() as u64, "variant"),
        plural(grid.seeds.end - grid.seeds.start, "seed"),
        plural(grid.planned(), "session"),
    ));
    Ok(Exit::Done)
}

/// Says what of a run may not be meant so.
pub(super) fn warn(ready: &Ready) {
    for warning in &ready.warnings {
        say(&format!("warning: {warning}"));
    }
}

/// Checks on tools that there are not: they come out the same whatever a session does.
fn unknown_tools(ready: &Ready, sealed: &SealedSuite) -> Vec<Problem> {
    let known: Vec<&str> = ready.tools.iter().map(String::as_str).collect();
    let cases = ready.plan.cases.iter().map(|planned| &planned.case.id);
    let named = cases.flat_map(|case| sealed.tools(case).map(move |named| (case, named)));
    let unknown = named.filter(|(_, (_, tool))| !known.contains(tool));
    let problem = |(case, (check, tool)): (&CaseId, (&str, &str))| {
        let message =
            format!("case {case}: check `{check}` is about tool {tool:?}, which is not there");
        let problem = Problem::file(&ready.sealed_file, message);
        match nearest(tool, known.iter().copied()) {
            Some(near) => problem.hint(format!("did you mean {near:?}?")),
            None => problem,
        }
    };
    unknown.map(problem).collect()
}

/// Says which prompts leave a model without tools.
pub(super) fn warn_of_prompts(config: &Resolved) {
    for variant in config.variants.iter().filter(|v| hides_its_tools(v)) {
        say(&format!(
            "warning: the prompt of {} does not tell of its tools, and in json mode nothing else does: \
             put {TOOLS} into it, or leave session.prompt out, which has it",
            variant.name
        ));
    }
}

/// Whether a live model is not told what it may call.
fn hides_its_tools(variant: &Variant) -> bool {
    matches!(variant.model.kind, ModelKind::OpenAi(_))
        && variant.model.tool_mode == ToolMode::Json
        && !variant.tools.is_empty()
        && !variant.prompt.text.contains(TOOLS)
}

/// Sessions that a cassette cannot answer at all: they would be errored.
fn unrecorded(config: &Resolved, grid: &Grid, recordings: &Recordings) -> Result<Vec<String>> {
    let mut known = BTreeSet::new();
    let mut warnings = Vec::new();
    for model in config.variants.iter().map(|variant| &variant.model) {
        let ModelKind::Cassette(cassette) = &model.kind else {
            continue;
        };
        if !known.insert(&model.name) {
            continue;
        }
        let tape = recordings.of(cassette)?.tape;
        let seeds = || grid.seeds.clone();
        let sessions = grid
            .cases
            .iter()
            .flat_map(|case| seeds().map(move |seed| (case, seed)));
        let mut missing = sessions.filter(|(case, seed)| !tape.has(case, *seed));
        if let Some((case, seed)) = missing.next() {
            let (count, all) = (1 + missing.count(), grid.cases.len() * seeds().count());
            warnings.push(format!(
                "model {}: {count} of {all} sessions are not recorded, such as {case}, seed {seed}",
                model.name
            ));
        }
    }
    Ok(warnings)
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
