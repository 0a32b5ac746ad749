//! Hidden metrics: numbers about sessions, defined in the sealed half.

use super::{
    numbers,
    sealed::{Measure, SealedSuite},
};
use crate::domain::SessionRecord;

/// The values of one metric. Per-case values are sealed until they are revealed, so it has no
/// `Debug` and no `Serialize`: only what is computed over a whole run may be published.
pub struct Measured {
    /// The metric's name.
    pub metric: String,
    /// One value a record, in their order; none where the case does not define the metric, or the
    /// answer names no number.
    pub values: Vec<Option<f64>>,
}

/// Measures finished sessions by every metric of the suite.
pub(super) fn measure(suite: &SealedSuite, records: &[SessionRecord]) -> Vec<Measured> {
    suite
        .metric_names
        .iter()
        .map(|name| Measured {
            metric: name.clone(),
            values: records.iter().map(|r| value(suite, name, r)).collect(),
        })
        .collect()
}

fn value(suite: &SealedSuite, name: &str, record: &SessionRecord) -> Option<f64> {
    let case = suite.cases.get(&record.key.case)?;
    let metric = case.metrics.iter().find(|metric| metric.name == name)?;
    match metric.measure {
        Measure::StepsOverOptimal { optimal } => {
            Some(f64::from(record.outcome.steps_used) / f64::from(optimal))
        }
        Measure::NumberError { equals } => {
            let number = numbers::last(record.outcome.answer.as_deref()?)?;
            Some((number - equals).abs()).filter(|error| error.is_finite())
        }
    }
}
