use std::{fs::File, io, panic, sync::Mutex};

use tracing::Level;

use super::args::LogArgs;
use crate::error::{Context, Result};

/// Starts logging, and makes panics log lines: where, and nothing of what was at hand.
pub(super) fn init(args: &LogArgs) -> Result<()> {
    let level = match args.verbose {
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
    match &args.log {
        Some(path) => {
            let file = File::create(path)
                .input(|| format!("the log {} cannot be written", path.display()))?;
            builder.with_writer(Mutex::new(file)).init();
        }
        None => builder.with_writer(io::stderr).init(),
    }
    panic::set_hook(Box::new(|info| {
        let at = info.location().map(ToString::to_string).unwrap_or_default();
        tracing::warn!(at, "caught a panic");
    }));
    Ok(())
}
