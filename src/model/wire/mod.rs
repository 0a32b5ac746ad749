//! The chat-completions dialect: the history as messages, its digest, and scripts as replies.

mod conversation;
mod message;
mod render;
mod shape;

pub use conversation::Conversation;
pub use render::{Place, choose, render};
pub use shape::Shape;

/// Stands in a prompt for what is said of the session's tools: in json mode nothing else tells of
/// them.
pub const TOOLS: &str = "{{tools}}";
