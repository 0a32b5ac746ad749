//! `farm __keep`: the process between farm and a program that it starts.

use std::process::ExitCode;

use super::{args::KeepArgs, exit::say};
use crate::fence;

/// Keeps a program to its end. Neither config nor log is looked at: this is another process than the
/// farm that started it, with the program's environment and in its folder.
pub(super) fn keep(args: &KeepArgs) -> ExitCode {
    match fence::keep(&args.command) {
        Ok(code) => code.into(),
        Err(error) => {
            say(&error.to_string());
            error.code.into()
        }
    }
}
