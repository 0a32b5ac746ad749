//! JSON files that farm writes for itself and others: each names its format and version.

use std::path::Path;

use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::atomic;
use crate::{
    domain::input,
    error::{Error, Result},
};

/// A moment as farm writes it: RFC 3339, UTC.
#[must_use]
pub fn rfc3339(moment: Timestamp) -> String {
    moment.to_string()
}

/// The version that a file names, if it is a file of `schema` in any version.
pub(super) fn version<'a>(value: &'a Value, schema: &str) -> Option<&'a str> {
    let version = value.get("schema")?.as_str()?;
    let (family, _) = schema.rsplit_once('/')?;
    version
        .strip_prefix(family)?
        .starts_with('/')
        .then_some(version)
}

/// Reads a file of `schema`; fields that this farm does not know are ignored.
///
/// # Errors
/// When it is missing, damaged or of a newer farm.
pub(super) fn read<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<T> {
    let text = input::text(path).map_err(|e| {
        Error::input(format!("{} cannot be read: {e}", path.display()))
            .hint("name a run folder, its id or `latest`")
            .caused_by(e)
    })?;
    let damaged = |e: serde_json::Error| {
        let place = format!("{}:{}:{}", path.display(), e.line(), e.column());
        Error::input(format!("{place}: not valid as {schema}: {e}"))
            .hint("restore the file from a copy")
            .caused_by(e)
    };
    let value: Value = serde_json::from_str(&text).map_err(damaged)?;
    match version(&value, schema) {
        None => Err(Error::input(format!(
            "{}: not a {} of farm: its `schema` is not {schema}",
            path.display(),
            schema.trim_start_matches("farm.").trim_end_matches("/1"),
        ))
        .hint("name the folder of a run; `farm runs` lists the runs")),
        Some(version) if version != schema => Err(Error::input(format!(
            "{}: its schema is {version}, this farm knows {schema}",
            path.display(),
        ))
        .hint("use the farm that wrote it, or a newer one")),
        // From the text, for its lines and columns.
        Some(_) => serde_json::from_str(&text).map_err(damaged),
    }
}

/// Writes a file whole or not at all.
///
/// # Errors
/// When the disk refuses.
pub(super) fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|e| {
        Error::internal(format!("{} cannot be written: {e}", path.display())).caused_by(e)
    })?;
    text.push(b'\n');
    atomic::write(path, &text)
}
