//! One line per pair of sides and case: `farm compare --format csv`.

use std::io;

use super::{Lines, optional, text};
use crate::{
    domain::comparison::{Change, Comparison},
    error::Result,
};

const HEAD: [&str; 13] = [
    "a",
    "b",
    "case",
    "a_passed",
    "a_scored",
    "b_passed",
    "b_scored",
    "difference",
    "difference_lo",
    "difference_hi",
    "p",
    "q",
    "change",
];

/// Writes a header and a line per pair and case scored on both sides. What is undefined is empty.
///
/// # Errors
/// When `out` cannot be written to; the source is its [`io::Error`].
pub fn comparison(comparison: &Comparison, out: &mut dyn io::Write) -> Result<()> {
    let mut lines = Lines::begin(out, &HEAD)?;
    for pair in &comparison.pairs {
        for case in &pair.cases {
            let (d, counts) = (&case.difference, [case.a.0, case.a.1, case.b.0, case.b.1]);
            let mut line = vec![text(&pair.a), text(&pair.b), case.id.to_string()];
            line.extend(counts.map(|n| n.to_string()));
            line.extend([d.estimate, d.lo, d.hi, case.p, case.q].map(optional));
            line.push(optional(case.change.map(Change::as_str)));
            lines.add(&line)?;
        }
    }
    lines.end()
}
