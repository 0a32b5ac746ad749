use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// How far a call has come, for whoever asked to be told; by default nobody did.
///
/// Values rise: one that is no higher than the last is dropped. Clones are of the same call.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<Listener>>);

/// One report of [`Progress`].
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// How much is done, in the tool's own unit.
    pub done: f64,
    /// How much there is, in that unit, where it is known.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

struct Listener {
    /// The highest value so far.
    highest: Mutex<f64>,
    sink: Box<dyn Fn(Report) + Send + Sync>,
}

impl Progress {
    /// Reports go to `sink`, one after the other. It must not block.
    #[must_use]
    pub fn to(sink: impl Fn(Report) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(Listener {
            highest: Mutex::new(f64::NEG_INFINITY),
            sink: Box::new(sink),
        })))
    }

    /// Says that `done` of `total` is done. Both are in the same unit, whichever it is; no total
    /// means that it is not known.
    pub fn at<'a>(
        &self,
        done: f64,
        total: impl Into<Option<f64>>,
        message: impl Into<Option<&'a str>>,
    ) {
        let Some(listener) = &self.0 else { return };
        // Held while the sink is told, so that two threads cannot turn two reports around.
        let mut highest = listener
            .highest
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if done.is_finite() && done > *highest {
            *highest = done;
            (listener.sink)(Report {
                done,
                total: total.into().filter(|total| total.is_finite()),
                message: message.into().map(str::to_owned),
            });
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = if self.0.is_some() { "told" } else { "not told" };
        f.debug_tuple("Progress").field(&told).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_rise_and_are_numbers() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let progress = Progress::to({
            let heard = heard.clone();
            move |report| heard.lock().unwrap().push(report)
        });
        progress.at(0.0, 3.0, "begun");
        for done in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            progress.clone().at(done, 3.0, None);
        }
        progress.at(1.5, f64::NAN, None);
        progress.at(1.0, None, "too late");
        progress.at(3.0, 2.0, None);
        let heard = heard.lock().unwrap();
        let values: Vec<_> = heard.iter().map(|r| (r.done, r.total)).collect();
        assert_eq!(values, [(0.0, Some(3.0)), (1.5, None), (3.0, Some(2.0))]);
        assert_eq!(heard[0].message.as_deref(), Some("begun"));
        assert_eq!(heard[1].message, None);
    }

    #[test]
    fn nobody_needs_to_listen() {
        let progress = Progress::default();
        progress.at(1.0, None, None);
        assert_eq!(format!("{progress:?}"), "Progress(\"not told\")");
    }
}
