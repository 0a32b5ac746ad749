//! The command line: clap types, one file per command. The only place, with `report`, that prints.

mod afford;
mod args;
mod changed;
mod check;
mod compare;
mod compared;
mod completions;
mod demo;
mod differs;
mod done;
mod exit;
mod forecast;
mod gates;
mod hooks;
mod init;
mod keep;
mod keys;
mod leaks;
mod live;
mod log;
mod manifest;
mod mcp;
mod mock;
mod models;
mod opened;
mod plan;
mod probe;
mod published;
mod recordings;
mod report;
mod request;
mod resume;
mod rm;
mod run;
mod runs;
mod schema;
mod scoring;
mod screen;
mod setup;
mod side;
mod signals;
mod starter;
mod status;
mod summary;
mod tools;
mod trace;
mod work;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
pub use exit::Exit;

/// Parses the arguments, runs the command, says what went wrong.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nothing is left to tell it to when the terminal is gone.
            drop(error.print());
            return if error.use_stderr() {
                Exit::Input
            } else {
                Exit::Done
            }
            .into();
        }
    };
    match dispatch(cli) {
        Ok(exit) => exit,
        Err(error) => {
            exit::complain(&error);
            Exit::from(&error).into()
        }
    }
}

fn dispatch(cli: Cli) -> crate::error::Result<ExitCode> {
    // A keeper's streams are those of its program.
    if !matches!(cli.command, Command::Keep(_)) {
        log::init(&cli)?;
    }
    let exit = match cli.command {
        Command::Keep(args) => return Ok(keep::keep(&args)),
        Command::Run(args) => run::run(&args),
        Command::Resume(args) => resume::resume(&args),
        Command::Report(args) => report::report(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Check(args) => check::check(&args),
        Command::Demo(args) => demo::demo(&args),
        Command::Init(args) => init::init(&args),
        Command::Status(args) => status::status(&args),
        Command::Runs(args) => runs::runs(&args),
        Command::Rm(args) => rm::rm(&args),
        Command::Mock(args) => mock::mock(&args),
        Command::Mcp(args) => mcp::mcp(&args),
        Command::Schema(args) => schema::schema(&args),
        Command::Completions(args) => completions::completions(&args),
    };
    exit.map(ExitCode::from)
}
