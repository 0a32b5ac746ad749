//! The statistics specification: pure functions, one file per family of estimators.
//!
//! The caller streams case by case: the scores of one case make a [`Case`] (or a [`Tally`]), and
//! what a whole run says is computed from the slice of those; two runs make [`paired::Pair`]s.
//! Nothing here sorts by anything but value or keeps state, and numbers are drawn from [`random`]
//! alone: **sort cases by id (bytes) and seeds ascending first**, and the same data gives the same
//! bits at any concurrency.
//!
//! Where to look:
//! - [`proportion`]: pass rate of one case (Wilson, Clopper-Pearson, Jeffreys);
//! - [`mean`]: mean score, mean cost, median, ratio of means;
//! - [`strata`]: the same over a whole suite, as "new cases like these" and as "these cases";
//! - [`pass_k`]: pass@k, pass^k, flakiness;
//! - [`paired`]: B - A over a whole suite; [`two_cases`]: the same for one case;
//! - [`signflip`]: a p-value of the differences that assumes no law;
//! - [`ratio`]: B / A of costs; [`multiple`]: many comparisons at once;
//! - [`verdict`]: what an interval says of a difference or a threshold;
//! - [`sequential`]: intervals that hold at every look, and rules that stop a run early;
//! - [`planning`]: how many cases and seeds a comparison needs;
//! - [`variance`]: how much of the noise is seeds and how much cases;
//! - [`missing`]: bounds and the `incomplete` flag;
//! - [`random`]: the stream that the large sign-flip test and the [`bootstrap`] draw from;
//! - [`quantile`], [`moments`], [`round`]: what those are made of.
//!
//! Some of it is for programs, and no command or key offers it yet: [`proportion::clopper_pearson`]
//! and [`proportion::jeffreys`], [`mean::t`] and [`mean::median`], [`variance::clustered_micro`],
//! [`ratio::hodges_lehmann`], [`bootstrap`] and [`sequential`].
//!
//! An undefined number is `None` with a note that says why. NaN, infinities and zero-width
//! intervals are never produced. How a figure is written is the affair of `domain::Figure`, how it
//! is printed that of `report::text`.

pub mod bootstrap;
mod cases;
mod figure;
mod level;
pub mod mean;
mod method;
pub mod missing;
pub mod moments;
pub mod multiple;
mod null_distribution;
pub mod paired;
pub mod pass_k;
pub mod planning;
pub mod proportion;
pub mod quantile;
pub mod random;
pub mod ratio;
pub mod round;
pub mod sequential;
pub mod signflip;
pub mod strata;
pub mod two_cases;
pub mod variance;
pub mod verdict;

#[cfg(test)]
mod golden;
#[cfg(test)]
mod properties;

pub use cases::{Case, Tally, Units};
pub use figure::{Counts, Figure, Interval, note};
pub use level::{InvalidLevel, Level};
pub use method::Method;
pub use round::{DIGITS, round_sig};
pub use verdict::{Threshold, Verdict};
