//! The chat-completions dialect: the history as messages, its digest, and scripts as replies.

/// A message.
pub enum Message {}
/// A conversation.
pub struct Conversation;
