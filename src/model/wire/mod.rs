//! The chat-completions dialect: the history as messages, its digest, and scripts as replies.

mod conversation;
mod message;
mod render;
mod shape;

pub use conversation::Conversation;
pub use render::{Place, choose, render};
pub use shape::Shape;
