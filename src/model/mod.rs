//! Models: the trait, the chat dialect, and what answers in it.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;

use crate::domain::{BoxFuture, CaseId};

pub use normalise::{Normalised, Options, ToolMode};
pub use wire::{Conversation, Message};

pub mod normalise;
pub mod scripted;
pub mod wire;

/// Something that answers a conversation.
pub trait Model: Send + Sync {
    /// One reply to the conversation so far. Dropping the future abandons the call.
    fn complete<'a>(&'a self, request: &'a Request<'a>)
    -> BoxFuture<'a, Result<Reply, ModelError>>;
}

/// One request of one session.
pub struct Request<'a> {
    /// The case; a provider never sees it.
    pub case: &'a CaseId,
    /// The seed's index.
    pub seed: u64,
    /// The session's number; a provider gets its lowest 31 bits.
    pub rng_seed: u64,
    /// The whole history.
    pub conversation: &'a Conversation,
}

/// A reply as received, and as understood.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The body as received.
    pub body: Arc<RawValue>,
    /// What it says.
    pub content: Normalised,
    /// From the request to the last byte.
    pub latency: Duration,
}

/// Why a request got no usable reply.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{kind}: {message}")]
pub struct ModelError {
    /// The kind.
    pub kind: ModelErrorKind,
    /// What the endpoint said, in short; holds no key.
    pub message: String,
    /// Whether asking again may help.
    pub retry: Retry,
}

/// The kinds of model errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The key is missing, wrong or not allowed to use the model.
    Auth,
    /// No such model or address.
    NotFound,
    /// No money or quota is left.
    QuotaExhausted,
    /// What answers is not a chat-completions endpoint.
    NotAnApi,
    /// The endpoint does not take this request.
    BadRequest,
    /// Too many requests.
    RateLimited,
    /// The endpoint failed.
    Provider,
    /// No answer in time.
    Timeout,
    /// The request is longer than the model's context: a limit of the session, not a failure.
    Context,
    /// farm has no reply to give: a script or cassette that lacks one.
    NoReply,
}

/// Whether to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// It will not help.
    No,
    /// One more time.
    Once,
    /// With backoff.
    Yes,
}

impl std::fmt::Display for ModelErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Auth => "auth",
            Self::NotFound => "not_found",
            Self::QuotaExhausted => "quota_exhausted",
            Self::NotAnApi => "not_an_api",
            Self::BadRequest => "bad_request",
            Self::RateLimited => "rate_limited",
            Self::Provider => "provider",
            Self::Timeout => "timeout",
            Self::Context => "context",
            Self::NoReply => "no_reply",
        })
    }
}
