//! `farm rm RUN…`.

use std::path::Path;

use super::{
    args::RmArgs,
    exit::{Exit, say},
    opened::RUNS,
};
use crate::{error::Result, store::RunFolder};

/// `farm rm RUN…`: all are found before the first is removed.
pub(super) fn rm(args: &RmArgs) -> Result<Exit> {
    let mut folders: Vec<RunFolder> = Vec::new();
    for run in &args.runs {
        let folder = RunFolder::open_to_remove(run, Path::new(RUNS))?;
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    let host = gethostname::gethostname();
    for folder in folders {
        let path = shown(folder.path());
        let left = folder.remove(&host.to_string_lossy())?;
        if left.is_empty() {
            say(&format!("removed {path}"));
        } else {
            say(&format!(
                "removed the run in {path}; the folder stays, since it holds {}",
                left.join(", ")
            ));
        }
    }
    Ok(Exit::Done)
}

/// From where farm stands, if it is below.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    match path.strip_prefix(here) {
        Ok(below) if !below.as_os_str().is_empty() => below.display().to_string(),
        _ => path.display().to_string(),
    }
}
