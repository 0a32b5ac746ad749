use std::fmt::Write as _;

use super::{
    args::RunsArgs,
    exit::{Exit, print, say},
};
use crate::{
    error::{Context, Result},
    store::RunFolder,
};

/// `farm runs`.
pub(super) fn runs(args: &RunsArgs) -> Result<Exit> {
    let runs = RunFolder::list()?;
    if args.json {
        let manifests: Vec<_> = runs.iter().map(|run| &run.manifest).collect();
        let text = serde_json::to_string_pretty(&manifests).internal(|| "manifests as JSON".to_owned())?;
        print(&format!("{text}\n"))?;
        return Ok(Exit::Done);
    }
    if runs.is_empty() {
        say("no runs yet; `farm run CASES` makes one");
    }
    let mut text = String::new();
    for run in &runs {
        let manifest = &run.manifest;
        let variants: Vec<&str> = manifest.variants.iter().map(|v| v.name.as_str()).collect();
        drop(writeln!(text, "{}", manifest.run));
        let _ = variants;
    }
    print(&text)?;
    Ok(Exit::Done)
}
