//! `farm init DIR`: a suite to start from.

use super::{
    args::InitArgs,
    exit::{Exit, say},
    starter::{self, Written},
};
use crate::{
    domain::shell,
    error::{Context, Result},
};

/// `farm init DIR`.
pub(super) fn init(args: &InitArgs) -> Result<Exit> {
    let files =
        starter::write(&args.dir).input(|| format!("cannot write to {}", args.dir.display()))?;
    for file in files {
        match file {
            Written::New(path) => say(&format!("wrote {}", path.display())),
            Written::Kept(path) => say(&format!("kept  {} (it was there)", path.display())),
        }
    }
    let enter = if args.dir.as_os_str() == "." {
        String::new()
    } else {
        format!("cd {} && ", shell(&args.dir.to_string_lossy()))
    };
    say(&format!("\nnext: {enter}farm run eval/cases.jsonl"));
    Ok(Exit::Done)
}
