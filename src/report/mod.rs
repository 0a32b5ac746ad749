//! What people see: tables, plots, Markdown, CSV, sessions, progress and errors.
//!
//! Everything here makes text from plain data: it computes no figure, and the caller decides
//! where the text goes, whether it is coloured and how wide it is. Only [`Progress`] writes by
//! itself, to stderr, and [`Redraw`], to a terminal.
//!
//! - [`terminal`]: a summary for a person, after `farm run` and `farm report`;
//! - [`markdown`]: the same as `summary.md`, with what each figure means;
//! - [`into`]: where that stands in a file of others, such as a README;
//! - [`forest`]: pass rates with their intervals as a picture;
//! - [`csv`]: one line per case, session or step, for other tools;
//! - [`junit`]: cases as tests, for CI systems;
//! - [`comparison`]: which of two or more variants is better;
//! - [`html`]: all of it as one page, sessions and traces included;
//! - [`session`]: a trace, step by step;
//! - [`diff`]: how two traces differ;
//! - [`failures`]: why sessions failed;
//! - [`gates`]: what came of gates;
//! - [`plan`]: what it takes to tell two variants apart;
//! - [`runs`]: the list of runs;
//! - [`status`]: how a run stands while it is at work;
//! - [`problems`]: an error with its problems, causes and hint;
//! - [`Progress`]: how far a run is;
//! - [`warnings`]: what a reader should be careful about;
//! - [`text`]: figures, counts and money as text.

pub mod comparison;
pub mod csv;
pub mod diff;
pub mod failures;
pub mod forecast;
pub mod forest;
pub mod gates;
pub mod html;
pub mod into;
pub mod junit;
pub mod markdown;
pub mod plan;
pub mod problems;
pub mod runs;
pub mod session;
pub mod status;
pub mod terminal;
pub mod text;
pub mod warnings;

mod cases;
#[cfg(test)]
mod fixture;
mod overall;
mod progress;
mod redraw;
mod served;
#[cfg(test)]
mod snapshots;
mod speed;
mod style;
mod table;
mod wrap;

pub use progress::{Mode, Progress};
pub use redraw::Redraw;
pub use style::Style;

use serde::Serialize;

use crate::error::{Context, Result};

/// A document as JSON: indented, with a line break at its end.
///
/// # Errors
/// None that a document of farm can cause.
pub fn json(document: &impl Serialize) -> Result<String> {
    let text =
        serde_json::to_string_pretty(document).internal(|| "a document as JSON".to_owned())?;
    Ok(text + "\n")
}
