//! Figures on the way to a person.

use crate::{
    aggregate::{Metric, PassRateSoFar},
    domain::{Case, SessionRecord, Tally},
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
pub(super) fn pass_rate(so_far: &PassRateSoFar, tally: &Tally) -> String {
    text::bare(&so_far.figure(tally), Unit::Plain)
}

/// The cluster of each case.
pub(super) fn clusters<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Vec<Option<String>> {
    cases.into_iter().map(|case| case.cluster.clone()).collect()
}
