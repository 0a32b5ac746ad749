//! `farm report RUN --into FILE`: Markdown in a file of others.

use std::path::Path;

use crate::{
    cli::exit::say,
    error::{Error, Result},
    report, store,
};

/// Puts Markdown into its block of a file.
pub(super) fn put(file: &Path, block: Option<&str>, markdown: &str) -> Result<()> {
    let shown = file.display();
    let is_new = store::edit(file, |text| {
        report::into::replace(text, block, markdown)
            .map_err(|why| Error::input(format!("{shown}: {why}")).hint(why.hint()))
    })?;
    let what = match is_new {
        true => "rewritten",
        false => "up to date",
    };
    say(&format!("{shown} is {what}"));
    Ok(())
}
