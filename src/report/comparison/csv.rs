//! One line per pair of sides and case, for other tools: `farm compare --format csv`.

use std::io;

use crate::domain::comparison::{Change, Comparison};

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
/// When `out` cannot be written to.
pub fn write(comparison: &Comparison, out: &mut dyn io::Write) -> io::Result<()> {
    let mut lines = csv::Writer::from_writer(out);
    lines.write_record(HEAD)?;
    let number = |x: Option<f64>| x.map(|x| x.to_string()).unwrap_or_default();
    for pair in &comparison.pairs {
        for case in &pair.cases {
            let (d, counts) = (&case.difference, [case.a.0, case.a.1, case.b.0, case.b.1]);
            let mut line = vec![pair.a.clone(), pair.b.clone(), case.id.to_string()];
            line.extend(counts.map(|n| n.to_string()));
            line.extend([d.estimate, d.lo, d.hi, case.p, case.q].map(number));
            line.push(case.change.map_or("", Change::as_str).to_owned());
            lines.write_record(line)?;
        }
    }
    lines.flush()
}
