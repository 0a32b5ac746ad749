use std::{
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// Where timestamps come from; handed in, so that tests have a fixed one.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> f64 + Send + Sync>);

impl Clock {
    /// The time of the system.
    #[must_use]
    pub fn system() -> Self {
        Self(Arc::new(|| {
            SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0.0, |d| d.as_secs_f64())
        }))
    }

    /// Always the same time.
    #[must_use]
    pub fn fixed(unix_s: f64) -> Self {
        Self(Arc::new(move || unix_s))
    }

    /// Whatever this says.
    #[cfg(test)]
    pub(crate) fn of(now: impl Fn() -> f64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Unix seconds, to the millisecond.
    #[must_use]
    pub fn now(&self) -> f64 {
        ((self.0)() * 1e3).round() / 1e3
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
