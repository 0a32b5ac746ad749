//! farm: runs an agent many times, in parallel, and says how good it is.

pub mod aggregate;
pub mod cli;
pub mod config;
pub mod domain;
pub mod error;
#[cfg(test)]
#[path = "../tests/it/golden_table.rs"]
mod golden;
pub mod model;
pub mod report;
pub mod run;
pub mod score;
pub mod session;
pub mod stats;
pub mod store;
pub mod tool;
pub mod verify;
