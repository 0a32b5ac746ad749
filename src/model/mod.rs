//! Models: the trait, the chat dialect, and what answers in it.

use std::{sync::Arc, time::Duration};

use serde_json::value::RawValue;

use crate::domain::{BoxFuture, CaseId, OnBehalf, Usage};

pub use cassette::{Cassette, Tape};
pub use judge::{Asked, Graded, Judge, Part};
pub use money::Purse;
pub use normalise::{Normalised, Options, Repair};
pub use openai::OpenAi;
pub use scripted::{Scripted, Scripts, ScriptsError};
pub use watch::{Seen, Waiting, Watch};
pub use wire::{Conversation, Shape};

mod call_id;
pub mod cassette;
pub mod gateway;
pub mod judge;
pub mod money;
pub mod normalise;
pub mod openai;
pub mod scripted;
pub mod watch;
pub mod wire;

/// Something that answers a conversation.
pub trait Model: Send + Sync {
    /// One reply to the conversation so far. Dropping the future abandons the call.
    fn complete<'a>(&'a self, request: &'a Request<'a>)
    -> BoxFuture<'a, Result<Reply, ModelError>>;

    /// What a reply with that usage costs, in US dollars; none when that is unknown. It depends
    /// on nothing else, so that a stored reply costs the same again.
    ///
    /// By itself a model knows only the provider's own price.
    fn cost(&self, usage: Option<&Usage>) -> Option<f64> {
        usage?.cost_usd
    }
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
    /// Who asks.
    pub caller: &'a Caller,
}

/// Who asks a model, and how it fares meanwhile.
#[derive(Debug, Clone)]
pub struct Caller {
    /// On whose behalf: what a call costs is booked on it.
    pub on_behalf: OnBehalf,
    /// Shows what the session is at, and keeps its waits.
    pub watch: Arc<Watch>,
    /// What the session may spend, if it is limited. Its calls follow one another.
    pub purse: Option<Arc<Purse>>,
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

impl Reply {
    /// Reads the body of a successful reply: of a script, or one that was stored.
    ///
    /// # Errors
    /// When the body is an error of the endpoint and not of the agent.
    pub fn parse(
        body: Arc<RawValue>,
        options: Options,
        latency: Duration,
    ) -> Result<Self, ModelError> {
        let content = normalise::normalise(200, body.get(), options)?;
        Ok(Self {
            body,
            content,
            latency,
        })
    }

    /// Reads what came over HTTP. The body is kept on one line and else as received; [`parse`]
    /// reads it the same way again.
    ///
    /// [`parse`]: Self::parse
    ///
    /// # Errors
    /// When it is an error of the endpoint and not of the agent.
    pub fn receive(
        status: u16,
        body: &str,
        options: Options,
        latency: Duration,
    ) -> Result<Self, ModelError> {
        let content = normalise::normalise(status, body, options)?;
        // Line breaks in valid JSON stand between its tokens only.
        let line = body.replace(['\n', '\r'], " ");
        let body = RawValue::from_string(line).map_err(|e| ModelError {
            kind: ModelErrorKind::Provider,
            message: format!("the reply is not whole: {e}"),
            retry: Retry::Yes,
        })?;
        Ok(Self {
            body: body.into(),
            content,
            latency,
        })
    }
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
    /// The session may not spend what the next call can cost: a limit of the session, not a failure.
    SessionCost,
    /// The time of the session was up when it was recorded: a limit of the session, not a failure.
    SessionTime,
    /// No further call is made: for nobody whom this concerns. Their sessions are not run.
    Stopped(Stop),
    /// The books of money cannot be written.
    BooksLost,
}

/// Whom it concerns that no further call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The endpoint is parked: all models on it.
    Endpoint,
    /// The model has spent what it may.
    Model,
    /// The run has spent what it may.
    Run,
    /// The run winds down, and this one call would have to wait too long.
    Ending,
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
    /// Not for now: it was asked as often as it may be. A session that begins again may fare better.
    Later,
}

impl ModelErrorKind {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
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
            Self::SessionCost => "session_cost",
            Self::SessionTime => "session_time",
            Self::Stopped(Stop::Endpoint) => "endpoint_parked",
            Self::Stopped(Stop::Model) => "model_out_of_money",
            Self::Stopped(Stop::Run) => "run_out_of_money",
            Self::Stopped(Stop::Ending) => "run_winds_down",
            Self::BooksLost => "books_lost",
        }
    }
}

impl std::fmt::Display for ModelErrorKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
impl Caller {
    /// Asks for the first turn of session 0.
    pub fn of_a_test() -> Self {
        use crate::domain::{Clock, Purpose, SessionId};
        Self {
            on_behalf: OnBehalf {
                session: Some(SessionId(0)),
                attempt: 0,
                turn: 0,
                purpose: Purpose::Turn,
            },
            watch: Arc::new(Watch::new(Clock::fixed(0.0))),
            purse: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_received_reads_the_same_when_stored() {
        let bodies = [
            (
                200,
                "{\n \"choices\":[{\"message\":\r\n{\"content\":\"a\\nb\"}}]}\n",
            ),
            (
                400,
                "{\"error\":\n{\"code\":\"content_filter\",\"message\":\"no\"}}",
            ),
            (
                403,
                r#"{"error":{"code":403,"message":"flagged","metadata":{"reasons":["violence"]}}}"#,
            ),
        ];
        for (status, body) in bodies {
            let (options, latency) = (Options::default(), Duration::ZERO);
            let live = Reply::receive(status, body, options, latency).unwrap();
            assert!(!live.body.get().contains(['\n', '\r']));
            let stored = Reply::parse(live.body.clone(), options, latency).unwrap();
            assert_eq!(live.content, stored.content);
        }
    }
}
