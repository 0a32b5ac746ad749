//! farm is killed, again and again, and resumed: nothing durable is lost or asked again, and what
//! comes of it is what an undisturbed run yields, to the last byte.
//!
//! Each campaign prints what it did. `FARM_CHAOS=long` makes them larger.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on panics"
)]

mod begin;
#[path = "../shared/binary.rs"]
mod binary;
mod campaign;
mod commits;
mod compare;
mod durable;
mod gsm8k;
mod kills;
mod live;
mod log;
mod process;
mod random;
mod run;
#[path = "../shared/served.rs"]
mod served;
mod signals;
mod suite;

/// Whether the long forms are asked for.
fn is_long() -> bool {
    std::env::var_os("FARM_CHAOS").is_some_and(|value| value == "long")
}
