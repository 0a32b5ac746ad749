//! `farm demo`: one case that is made up, step by step.

use std::fs;

use jiff::Timestamp;

use super::{
    args::{DemoArgs, InputArgs},
    exit::{Exit, print, say},
    opened::Opened,
    run, setup, starter, trace,
};
use crate::{
    domain::shell,
    error::{Context, Result},
};

/// The case that is shown: it reads a file and computes with what is in it.
const CASE: &str = "file-001";

/// `farm demo`: one scripted case, and its trace as a person would read it.
pub(super) fn demo(args: &DemoArgs) -> Result<Exit> {
    let inputs = std::env::temp_dir().join(format!("farm-demo-{}", std::process::id()));
    let shown = show(args, &inputs);
    // The inputs are compiled in; nobody misses the copy.
    drop(fs::remove_dir_all(&inputs));
    shown
}

fn show(args: &DemoArgs, inputs: &std::path::Path) -> Result<Exit> {
    starter::write(inputs).input(|| format!("cannot write to {}", inputs.display()))?;
    let cases = inputs.join("eval/cases.jsonl");
    let input = InputArgs {
        cases: cases.clone(),
        config: Some(inputs.join("configs/farm.toml")),
        sealed: Some(inputs.join("configs/sealed/cases.jsonl")),
        case: vec![CASE.to_owned()],
        seeds: Some("1".to_owned()),
        ..InputArgs::default()
    };
    let ready = setup::prepare(&input.request()?)?;
    let done = run::execute(ready, &cases, args.out.as_deref(), Timestamp::now(), false)?;
    let folder = done.folder.display().to_string();
    print(&trace::shown(
        &Opened::find(&folder)?,
        &format!("scripted/{CASE}/0"),
        true,
    )?)?;
    say(&format!(
        "\nthis trace is {folder}/traces/scripted/{CASE}.jsonl"
    ));
    say(&format!(
        "see all of the run with `farm report {}`",
        shell(&folder)
    ));
    Ok(done.exit())
}
