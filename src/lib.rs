//! farm: runs an agent many times, in parallel, and says how good it is.

pub mod stats;
pub mod tool;
