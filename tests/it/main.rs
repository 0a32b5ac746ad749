//! All integration tests, in one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests may panic as the tests themselves may"
)]

mod golden_replies;
mod golden_table;
mod law;
mod schemas;
