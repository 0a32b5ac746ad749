//! `summary.json` from a run's store.

use crate::{
    aggregate::{self, Metric},
    domain::{self, Case, Grid, SessionRecord, Summary},
    error::Result,
    stats::Level,
    store::Reader,
};

/// How the figures of a run are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    /// Which reading of a rate comes first.
    pub first: domain::Reading,
    /// Confidence level of all intervals.
    pub level: Level,
}

/// Asks the scorer for the values of hidden metrics.
pub(super) type Measure<'a> = &'a dyn Fn(Vec<SessionRecord>) -> Result<Vec<Metric>>;

/// Computes the figures; without `measure`, hidden metrics are left out.
pub(super) fn compute(
    reader: &Reader,
    grid: &Grid,
    cases: &[Case],
    reading: Reading,
    measure: Option<Measure<'_>>,
) -> Result<Summary> {
    let clusters: Vec<Option<String>> = cases.iter().map(|case| case.cluster.clone()).collect();
    let options = aggregate::Options { level: reading.level, reading: reading.first, clusters: &clusters, measure };
    aggregate::summarise(reader, grid, &options)
}
