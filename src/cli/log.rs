//! `-v` and `--log`: what farm tells of its own work.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _},
    panic,
    path::{Path, PathBuf},
    sync::Mutex,
};

use jiff::Timestamp;
use tracing::{Level, level_filters::LevelFilter};
use tracing_subscriber::{
    filter::Targets, layer::SubscriberExt as _, util::SubscriberInitExt as _,
};

use super::{
    args::{Cli, Command, InputArgs},
    request,
};
use crate::{
    config,
    domain::absolute,
    error::{Context, Error, Result},
    store::folder,
};

/// Starts logging, and makes panics log lines: where, and nothing of what was at hand.
pub(super) fn init(cli: &Cli) -> Result<()> {
    let level = match cli.log.verbose {
        0 => Level::WARN,
        1 => Level::INFO,
        2 => Level::DEBUG,
        _ => Level::TRACE,
    };
    let builder = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        // A log that cannot be written is no reason to fill the terminal.
        .log_internal_errors(false);
    // What the MCP library tells is what clients and servers sent, secrets among it; what they did
    // wrong they are told, or a run is.
    let filter = Targets::new()
        .with_default(level)
        .with_target("rmcp", LevelFilter::OFF);
    match &cli.log.log {
        Some(path) => {
            let file = Mutex::new(open(path, &cli.command)?);
            builder.with_writer(file).finish().with(filter).init();
        }
        None => builder.with_writer(io::stderr).finish().with(filter).init(),
    }
    panic::set_hook(Box::new(|info| {
        let at = info.location().map(ToString::to_string).unwrap_or_default();
        tracing::warn!(at, "caught a panic");
    }));
    Ok(())
}

/// Opens the log to write at its end. Nothing that is not a log is ever touched.
fn open(path: &Path, command: &Command) -> Result<File> {
    let refused = |why: &str| {
        Error::input(format!("the log {} {why}", path.display()))
            .hint("name a new file, or a log that farm wrote; new lines go to its end")
    };
    let (inputs, out) = match command {
        Command::Run(args) => (inputs(&args.input), args.out.as_deref()),
        Command::Check(args) => (inputs(&args.input), None),
        Command::Demo(args) => (Vec::new(), args.out.as_deref()),
        _ => (Vec::new(), None),
    };
    let place = absolute(path);
    if inputs.iter().any(|input| absolute(input) == place) {
        return Err(refused("is an input"));
    }
    let in_out = out.is_some_and(|out| place.starts_with(absolute(out)));
    if in_out || folder::run_around(path).is_some() {
        return Err(refused("lies in the folder of a run"));
    }
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => return Err(refused("is not a regular file")),
        Ok(found) if found.len() > 0 && !is_log(path) => {
            return Err(refused("is a file that is not a log of farm"));
        }
        _ => {}
    }
    OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .input(|| format!("the log {} cannot be written", path.display()))
}

/// The files that are read, as far as the arguments tell. All others have content, and are told
/// from a log by it.
fn inputs(args: &InputArgs) -> Vec<PathBuf> {
    let config = Path::new(config::DEFAULT_FILE).to_owned();
    vec![
        args.cases.clone(),
        args.config.clone().unwrap_or(config),
        args.sealed
            .clone()
            .unwrap_or_else(|| request::sealed_of(&args.cases)),
    ]
}

/// Whether a file begins as a log does: with a time and a level.
fn is_log(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut head));
    read.is_ok() && begins_as_log(&String::from_utf8_lossy(&head))
}

fn begins_as_log(head: &str) -> bool {
    let Some((time, rest)) = head.split_once(' ') else {
        return false;
    };
    let is_level = |level: &str| level.parse::<Level>().is_ok();
    time.parse::<Timestamp>().is_ok() && rest.split_whitespace().next().is_some_and(is_level)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_known_by_its_first_line() {
        for (head, want) in [
            ("2026-12-01T00:52:38.123456Z  INFO store closed", true),
            ("2026-12-01T00:52:38.123456Z DEBUG step", true),
            ("2026-12-01T00:52:38Z hello", false),
            ("{\"id\":\"sum-1\"}", false),
            ("[run]\nseeds = 3", false),
            (" INFO x", false),
            ("", false),
        ] {
            assert_eq!(begins_as_log(head), want, "{head}");
        }
    }
}
