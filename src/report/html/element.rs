//! What is written into the page.

use std::io;

use serde::Serialize;

use super::escape;
use crate::error::{Context, Result};

/// Data for the script: an element that the browser neither runs nor shows.
pub(super) fn data(out: &mut dyn io::Write, id: &str, value: &impl Serialize) -> Result<()> {
    put(
        out,
        format!("<script type=\"application/json\" id=\"{id}\">"),
    )?;
    checked(escape::json(out, value))?;
    put(out, "</script>\n")
}

/// Text as it is.
pub(super) fn put(out: &mut dyn io::Write, text: impl AsRef<[u8]>) -> Result<()> {
    checked(out.write_all(text.as_ref()))
}

/// Writes out what is held back.
pub(super) fn flush(out: &mut dyn io::Write) -> Result<()> {
    checked(out.flush())
}

fn checked(written: io::Result<()>) -> Result<()> {
    written.internal(|| "the page cannot be written".to_owned())
}
