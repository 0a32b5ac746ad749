//! One session: the pure machine in [`step`], the actor that performs its effects in [`actor`].

mod acting;
pub mod actor;
mod budget;
mod judge;
mod replay;
mod spec;
pub mod step;

pub use actor::{Exit, Finished, Job, SessionActor, State};
pub use judge::{Judged, StepJudge};
pub use replay::StoredTurn;
pub use spec::Spec;
pub use step::Machine;

#[cfg(test)]
mod tests;
