//! `timing.json`: where and how long a run was at work.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::document;
use crate::error::Result;

/// The version written to `schema` of `timing.json`.
pub const SCHEMA: &str = "farm.timing/1";

/// Where and how long a run was at work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// The version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The run's id.
    pub run: String,
    /// One for the run and one for each resume; a process that was killed leaves none.
    pub spans: Vec<Span>,
}

/// One process at work.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The machine's name.
    pub host: String,
    /// RFC 3339, UTC.
    pub began: String,
    /// Seconds from begin to end.
    pub wall_s: f64,
    /// Sessions that ended in it.
    pub sessions: u64,
    /// Seconds that those worked, all together and also in earlier processes, waits left out.
    pub work_s: f64,
}

impl Timing {
    /// Reads `timing.json`.
    ///
    /// # Errors
    /// When it is missing, damaged or of a newer farm.
    pub fn read(path: &Path) -> Result<Self> {
        document::read(path, SCHEMA)
    }

    /// Writes it whole or not at all.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, path: &Path) -> Result<()> {
        document::write(path, self)
    }
}
