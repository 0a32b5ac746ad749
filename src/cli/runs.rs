//! `farm runs`: the list of runs.

use std::path::Path;

use super::{
    args::RunsArgs,
    exit::{Exit, complain, print, say},
    opened::RUNS,
};
use crate::{
    error::{Context, Result},
    report,
    store::{Manifest, RunFolder},
};

/// `farm runs`.
pub(super) fn runs(args: &RunsArgs) -> Result<Exit> {
    let mut manifests: Vec<Manifest> = Vec::new();
    let all = RunFolder::list(Path::new(RUNS))?;
    let is_none = all.is_empty();
    for listed in all {
        match listed.manifest {
            Ok(manifest) => manifests.push(manifest),
            Err(error) => complain(&error),
        }
    }
    if args.json {
        let text =
            serde_json::to_string_pretty(&manifests).internal(|| "manifests as JSON".to_owned())?;
        print(&format!("{text}\n"))?;
    } else if is_none {
        say("no runs yet; `farm run CASES` makes one");
    } else if !manifests.is_empty() {
        print(&report::runs::render(&manifests))?;
    }
    Ok(Exit::Done)
}
