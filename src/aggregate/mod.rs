//! Counting while a run goes on, and its figures afterwards.

mod actor;
mod case;
mod figures;
mod summary;

pub use actor::{Aggregator, Counting, Message};
pub use figures::PassRateSoFar;
pub use summary::{Metric, Options, summarise};
