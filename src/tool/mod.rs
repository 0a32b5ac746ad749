//! Tools an agent may call.

pub mod calculator;
