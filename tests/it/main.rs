//! All integration tests, in one binary.

mod golden_replies;
mod golden_table;
mod law;
