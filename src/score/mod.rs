//! Scoring, in a place that no agent reaches: the sealed halves, their checks and metrics.
//!
//! [`load`] reads the sealed file and joins it to the cases, and [`schema()`] tells its form;
//! [`Scorer`] is the actor that owns what came of it and answers verdicts. What is sealed has
//! private types without `Debug` and `Serialize`, and what this module says about them, in
//! problems, errors and panics, is made of places, names and fixed words: never of a value out of
//! the file.

mod checks;
mod leaks;
mod line;
mod load;
mod metrics;
mod numbers;
mod question;
mod scalar;
mod schema;
mod scorer;
mod sealed;
#[cfg(test)]
mod tests;

/// The version of the rules by which checks judge, raised when a check comes to judge otherwise:
/// what was scored by other rules is not compared.
pub const RULES: u32 = 1;

pub use load::load;
pub use metrics::Measured;
pub use question::{Grade, Question};
pub use schema::schema;
pub use scorer::{Event, Message, Scorer, ScorerOptions, Sink};
pub use sealed::SealedSuite;
