//! Counting while a run goes on, its figures afterwards, and what they say: comparisons and gates.

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
mod summary;

pub use actor::{Aggregator, Counting, Message};
pub use failures::failures;
pub use figures::PassRateSoFar;
pub use pilot::Pilot;
pub use plan::{Question, plan};
pub use replies::replies;
pub use summary::{Metric, Options, summarise};
