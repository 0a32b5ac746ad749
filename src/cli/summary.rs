//! Figures on the way to a person.

use crate::{
    aggregate::{self, Metric},
    domain::{SessionRecord, Tally},
    error::{Context, Result},
    report::text::{self, Unit},
    stats::Level,
};

/// Asks the scorer for the values of hidden metrics.
pub(super) type Measure<'a> = &'a dyn Fn(Vec<SessionRecord>) -> Result<Vec<Metric>>;

/// The confidence level of a config or manifest.
pub(super) fn level(level: f64) -> Result<Level> {
    Level::new(level).input(|| "suite.level".to_owned())
}

/// The pass rate so far, as progress shows it.
pub(super) fn pass_rate(tally: &Tally, level: Level) -> String {
    text::figure(&aggregate::pass_rate_so_far(tally, level), Unit::Plain)
}
