//! Hidden metrics: numbers about sessions, defined in the sealed half.

use super::{
    numbers,
    sealed::{Measure, Metric, SealedSuite},
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

/// Measures finished sessions by every metric that one of their cases defines, in the order of the
/// suite.
pub(super) fn measure(suite: &SealedSuite, records: &[SessionRecord]) -> Vec<Measured> {
    let measured = |name: &String| {
        let metrics: Vec<_> = records.iter().map(|r| metric(suite, name, r)).collect();
        let is_defined = metrics.iter().any(Option::is_some);
        let pairs = metrics.into_iter().zip(records);
        is_defined.then(|| Measured {
            metric: name.clone(),
            values: pairs.map(|(m, record)| value(m?, record)).collect(),
        })
    };
    suite.metric_names.iter().filter_map(measured).collect()
}

fn metric<'a>(suite: &'a SealedSuite, name: &str, record: &SessionRecord) -> Option<&'a Metric> {
    let case = suite.cases.get(&record.key.case)?;
    case.metrics.iter().find(|metric| metric.name == name)
}

fn value(metric: &Metric, record: &SessionRecord) -> Option<f64> {
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
