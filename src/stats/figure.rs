//! A figure: an estimate, its interval and what they rest on.

use std::borrow::Cow;

use super::level::Level;
use super::method::Method;
use super::round::{DIGITS, round_sig};

/// Why a figure, or its interval, is undefined.
pub mod note {
    /// No scored session: no estimate.
    pub const NOTHING: &str = "nothing scored";
    /// No case was scored on both sides.
    pub const NOTHING_SHARED: &str = "no case scored on both sides";
    /// No block of seeds has ended in every case.
    pub const NO_BLOCK: &str = "no complete block of seeds";
    /// One case says nothing about cases like it.
    pub const ONE_CASE: &str = "one case";
    /// All cases stem from one cluster.
    pub const ONE_CLUSTER: &str = "one cluster";
    /// One value has no spread to measure.
    pub const ONE_VALUE: &str = "one value";
    /// All values, or both limits, are equal.
    pub const NO_SPREAD: &str = "no spread";
    /// All values are 0: there is no logarithm of the mean.
    pub const ALL_ZERO: &str = "all zero";
    /// A ratio with an empty denominator.
    pub const NO_PASS: &str = "no pass";
    /// Too few values for limits at this level.
    pub const TOO_FEW: &str = "too few values for this level";
    /// More values than the estimator is made for.
    pub const TOO_MANY: &str = "too many values";
    /// pass@k or pass^k of fewer than k sessions.
    pub const FEWER_THAN_K: &str = "fewer than k scored seeds";
    /// A value outside the domain of the estimator, or more passes than sessions.
    pub const OUT_OF_RANGE: &str = "value out of range";
    /// Limits that no number can hold, or a level beyond the reach of the quantiles.
    pub const OUT_OF_REACH: &str = "limits out of reach at this level";
    /// `log_t` of widely spread values covers less than it says (.85 to .91 at log-sd 1.2).
    pub const SKEWED: &str = "sd above the mean: a 95 % interval may cover 85 to 91 %";
}

/// Lower and upper limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Lower limit.
    pub lo: f64,
    /// Upper limit.
    pub hi: f64,
}

impl Interval {
    /// The part of the interval inside [0, 1], the range of a rate.
    pub(super) fn clipped(self) -> Self {
        self.clipped_to(0.0, 1.0)
    }

    /// The part of the interval inside [`least`, `most`].
    pub(super) fn clipped_to(self, least: f64, most: f64) -> Self {
        Self {
            lo: self.lo.clamp(least, most),
            hi: self.hi.clamp(least, most),
        }
    }
}

/// What a figure rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Cases used: those with at least one scored session.
    pub n_cases: u64,
    /// Sessions scored.
    pub n: u64,
    /// Sessions planned.
    pub n_planned: u64,
}

impl Counts {
    /// Counts of two runs together.
    pub(super) fn both(a: Self, b: Self) -> Self {
        Self {
            n_cases: a.n_cases.max(b.n_cases),
            n: a.n.saturating_add(b.n),
            n_planned: a.n_planned.saturating_add(b.n_planned),
        }
    }

    /// Counts of one case with `n` scored sessions, all that were planned.
    pub(super) fn one_case(n: u64) -> Self {
        Self {
            n_cases: u64::from(n > 0),
            n,
            n_planned: n,
        }
    }
}

/// An estimate with its interval. `None` is undefined, and `note` says why.
///
/// Limits are finite, hold the estimate, and differ within the ten digits that are written. Only a
/// confidence sequence has limits before it has an estimate: the whole range.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Point estimate.
    pub estimate: Option<f64>,
    /// Lower limit.
    pub lo: Option<f64>,
    /// Upper limit.
    pub hi: Option<f64>,
    /// Confidence level of the limits.
    pub level: Level,
    /// How the limits were made, or would have been.
    pub method: Method,
    /// Cases used.
    pub n_cases: u64,
    /// Sessions scored.
    pub n: u64,
    /// Sessions planned.
    pub n_planned: u64,
    /// Why something is undefined, or what to mind.
    pub note: Option<Cow<'static, str>>,
}

impl Figure {
    /// A figure without an estimate.
    pub(super) fn undefined(
        method: Method,
        level: Level,
        counts: Counts,
        note: &'static str,
    ) -> Self {
        Self {
            estimate: None,
            lo: None,
            hi: None,
            level,
            method,
            n_cases: counts.n_cases,
            n: counts.n,
            n_planned: counts.n_planned,
            note: Some(note.into()),
        }
    }

    /// A figure with an estimate, and limits or the note that stands in for them.
    ///
    /// The limits are widened to hold the estimate. Limits that are not finite, or equal once
    /// written, are dropped with a note.
    pub(super) fn new(
        method: Method,
        level: Level,
        counts: Counts,
        estimate: f64,
        limits: Result<Interval, &'static str>,
    ) -> Self {
        let figure = Self::undefined(method, level, counts, note::OUT_OF_RANGE);
        if !estimate.is_finite() {
            return figure;
        }
        let (lo, hi, note) = match limits {
            Err(note) => (None, None, Some(note)),
            Ok(Interval { lo, hi }) if !(lo.is_finite() && hi.is_finite()) => {
                (None, None, Some(note::OUT_OF_REACH))
            }
            Ok(Interval { lo, hi }) => {
                let (lo, hi) = (lo.min(estimate), hi.max(estimate));
                if round_sig(lo, DIGITS) < round_sig(hi, DIGITS) {
                    (Some(lo), Some(hi), None)
                } else {
                    (None, None, Some(note::NO_SPREAD))
                }
            }
        };
        Self {
            estimate: Some(estimate),
            lo,
            hi,
            note: note.map(Cow::from),
            ..figure
        }
    }

    /// The same figure resting on `counts`: for an estimator that saw case means and not sessions.
    pub fn with_counts(self, counts: Counts) -> Self {
        let Counts {
            n_cases,
            n,
            n_planned,
        } = counts;
        Self {
            n_cases,
            n,
            n_planned,
            ..self
        }
    }

    /// The same figure out of `n_planned` sessions.
    pub fn with_planned(self, n_planned: u64) -> Self {
        Self { n_planned, ..self }
    }

    /// The same figure with one more remark, after any that it has.
    pub fn with_note(self, note: impl Into<Cow<'static, str>>) -> Self {
        let note = match self.note {
            Some(first) => format!("{first}; {}", note.into()).into(),
            None => note.into(),
        };
        Self {
            note: Some(note),
            ..self
        }
    }

    /// Both limits, if there are any.
    pub fn interval(&self) -> Option<Interval> {
        Some(Interval {
            lo: self.lo?,
            hi: self.hi?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(estimate: f64, lo: f64, hi: f64) -> Figure {
        let counts = Counts::one_case(12);
        Figure::new(
            Method::Wilson,
            Level::default(),
            counts,
            estimate,
            Ok(Interval { lo, hi }),
        )
    }

    #[test]
    fn limits_are_finite_apart_and_hold_the_estimate() {
        let widened = figure(0.9, 0.1, 0.8).interval();
        assert_eq!(widened, Some(Interval { lo: 0.1, hi: 0.9 }));
        let table = [
            (1.0, f64::INFINITY, note::OUT_OF_REACH),
            (1.0, 1.0, note::NO_SPREAD),
            (1.0, 1.0 + 1e-13, note::NO_SPREAD), // equal once written
        ];
        for (lo, hi, want) in table {
            let dropped = figure(1.0, lo, hi);
            assert_eq!(dropped.interval(), None, "{lo} {hi}");
            assert_eq!(dropped.estimate, Some(1.0));
            assert_eq!(dropped.note.as_deref(), Some(want));
        }
    }

    #[test]
    fn notes_add_up() {
        let noted = figure(1.0, 1.0, 1.0).with_note("11 of 12 completed");
        assert_eq!(noted.note.as_deref(), Some("no spread; 11 of 12 completed"));
    }
}
