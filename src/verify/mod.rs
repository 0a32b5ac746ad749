//! Verifiers: what judges each step. Adding one is one file and one line in [`by_name`].

use crate::{
    domain::{Call, Judgment, Observation, Phase},
    tool::ToolSet,
};

/// Judges steps. Verifiers are pure: the same context gives the same judgment.
pub trait Verifier: Send + Sync {
    /// The name in config and traces.
    fn name(&self) -> &'static str;

    /// Whether it judges before the action or after.
    fn phase(&self) -> Phase;

    /// Judges one step; none when it has nothing to say of it.
    fn judge(&self, ctx: &Context<'_>) -> Option<Judgment>;
}

/// What is judged: one step, before or after its action.
pub struct Context<'a> {
    /// What the model asks for in this step.
    pub item: Item<'a>,
    /// The step's number, from 0.
    pub step: u32,
    /// The session's step budget.
    pub max_steps: u32,
    /// The session's tools.
    pub tools: &'a ToolSet,
    /// How many calls in a row, this one included, have the same tool and arguments.
    pub repeats: u32,
    /// What came back; only in the post-act phase, and not for answers.
    pub observation: Option<&'a Observation>,
}

/// One step's worth of a reply.
#[derive(Clone, Copy)]
pub enum Item<'a> {
    /// A call.
    Call(&'a Call),
    /// The answer.
    Answer(&'a str),
    /// A failed reply.
    Malformed {
        /// The kind.
        code: crate::domain::Code,
        /// Why.
        reason: &'a str,
    },
}
