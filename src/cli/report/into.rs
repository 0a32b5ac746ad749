//! `farm report RUN --into FILE`: Markdown in a file of others.

use std::{fs, path::Path};

use crate::{
    cli::exit::say,
    domain::input,
    error::{Context, Error, Result},
    report,
    store::atomic,
};

/// Puts Markdown into its block of a file.
pub(super) fn put(file: &Path, block: Option<&str>, markdown: &str) -> Result<()> {
    let shown = file.display();
    // Through symbolic links: it is the file that they name which is to change.
    let unread = || format!("{shown} cannot be read");
    let path = fs::canonicalize(file).input(unread)?;
    let text = input::text(&path).input(unread)?;
    let new = report::into::replace(&text, block, markdown)
        .map_err(|why| Error::input(format!("{shown}: {why}")).hint(why.hint()))?;
    if new == text {
        say(&format!("{shown} is up to date"));
        return Ok(());
    }
    atomic::write(&path, new.as_bytes())?;
    say(&format!("{shown} is rewritten"));
    Ok(())
}
