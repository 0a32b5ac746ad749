use std::path::Path;

use super::{
    args::RmArgs,
    exit::{Exit, say},
    opened::RUNS,
};
use crate::{error::Result, store::RunFolder};

/// `farm rm RUN…`: all are found before the first is removed.
pub(super) fn rm(args: &RmArgs) -> Result<Exit> {
    let folders = args
        .runs
        .iter()
        .map(|run| RunFolder::open(run, Path::new(RUNS)))
        .collect::<Result<Vec<_>>>()?;
    let host = gethostname::gethostname();
    for folder in folders {
        let path = folder.path().display().to_string();
        folder.remove(&host.to_string_lossy())?;
        say(&format!("removed {path}"));
    }
    Ok(Exit::Done)
}
