//! farm: runs an agent many times, in parallel, and says how good it is.

pub mod domain;
pub mod error;
#[cfg(test)]
mod golden;
pub mod model;
pub mod report;
pub mod stats;
pub mod tool;
pub mod verify;
