//! Counting while a run goes on, its figures afterwards, and what they say.
//!
//! - [`Aggregator`]: the actor that counts;
//! - [`summarise`]: the figures of a run, case by case from the store;
//! - [`compare`]: which of two or more variants is better, paired by case;
//! - [`gate`]: whether a run shows what it must;
//! - [`failures()`]: why sessions failed, those together that failed alike;
//! - [`plan()`]: how many cases and seeds it takes to tell two variants apart, from a [`Pilot`];
//!   [`replies`] says how many different sessions its cases had.

mod actor;
mod case;
pub mod compare;
mod failures;
mod figures;
#[cfg(test)]
mod fixture;
pub mod gate;
mod matched;
mod pilot;
mod plan;
mod replies;
mod served;
mod summary;

pub use actor::{Aggregator, Counting, Message};
pub use failures::failures;
pub use figures::PassRateSoFar;
pub use pilot::Pilot;
pub use plan::{Question, plan};
pub use replies::replies;
pub use summary::{Metric, Options, summarise};
