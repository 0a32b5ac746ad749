//! All integration tests, in one binary.

mod bad_input;
mod canary;
mod commands;
mod determinism;
mod golden;
mod golden_replies;
mod golden_table;
mod gsm8k;
mod law;
mod suite;
mod support;
mod trace_diff;
