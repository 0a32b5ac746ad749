//! `farm completions SHELL`.

use clap::CommandFactory;

use super::{
    args::{Cli, CompletionsArgs},
    exit::{Exit, print},
};
use crate::error::Result;

/// `farm completions SHELL`.
pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "farm", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
