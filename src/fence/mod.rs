//! Child processes whose descendants all end with them.
//!
//! farm starts no program directly. Between the two stands a *keeper*, farm's own binary started
//! anew, which ends the program and all that came of it when farm no longer wants it or is no more.
//!
//! ```text
//! farm ──stdin, stdout, stderr──▶ keeper (farm __keep -- PROGRAM …) ──the same──▶ program ──▶ …
//! ```
//!
//! - **The program has farm's pipes.** The keeper hands them on and reads nothing, so a message
//!   costs what it costs without one. It only watches whether somebody still holds farm's end of the
//!   input: a pipe ends with its last holder, be it closed or killed with SIGKILL. It watches farm's
//!   process as well.
//! - **Nobody gets away by losing his parents.** The keeper is a child subreaper (Linux): orphans
//!   among its descendants become its children, whatever session or group they moved to. At the end
//!   it stops and kills all of them, and looks again until there is nobody.
//! - **The environment is what it was given**, nothing of farm's: the keeper has no other.
//! - **The keeper leads a session of its own**, without a terminal. Ctrl-C meets neither it nor the
//!   program, and farm can find what is left of the session if the keeper is killed: farm then ends
//!   it.
//!
//! What this does not hold against: a program that kills the keeper and goes on in a session of its
//! own as an orphan, and one that kills farm and the keeper; both are possible to any process of
//! farm's own user. What has become another user's, and what hangs in the kernel, cannot be killed.
//! The keeper gives up after some seconds.
//!
//! Off Linux there is neither subreaper nor `/proc`: what stays in the program's process group ends
//! with it, and nothing else does.

mod keep;
mod kept;
mod processes;
mod sweep;

pub use keep::{NOT_FOUND, NOT_STARTED, NotKept, keep};
pub use kept::{KEEP, Keeper, Kept, Launch};
