//! Figures on the way to a person.

use crate::{
    aggregate::Metric,
    domain::{SessionRecord, Tally},
    error::{Context, Result},
    stats::{self, Case, Level, Units, strata},
};

/// Asks the scorer for the values of hidden metrics.
pub(super) type Measure<'a> = &'a dyn Fn(Vec<SessionRecord>) -> Result<Vec<Metric>>;

/// The confidence level of a config or manifest.
pub(super) fn level(level: f64) -> Result<Level> {
    Level::new(level).input(|| "suite.level".to_owned())
}

/// The pass rate so far, of the variant that is alone or of all together.
pub(super) fn pass_rate(tally: &Tally, level: Level) -> String {
    let cases: Vec<Case> = tally
        .cases
        .iter()
        .flatten()
        .map(|(passed, scored)| {
            let (passed, scored) = (u64::from(*passed), u64::from(*scored));
            Case::from(stats::Tally {
                passed,
                scored,
                planned: scored,
            })
        })
        .collect();
    strata::strat_wilson(&cases, &Units::default(), level).to_string()
}
