//! The cassette: a model that answers from the replies of another run, to the same requests alone.

mod explain;
mod tape;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};

use super::{Model, ModelError, ModelErrorKind, Options, Reply, Request, Retry};
use crate::domain::{BoxFuture, Limit, Price, ToolMode, Usage};

pub use tape::Tape;

/// What is known of the sessions on a tape beside their traces.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// The run's id and the variant, as errors name them.
    pub name: String,
    /// The version of farm that recorded them.
    pub farm: String,
    /// The system prompt.
    pub prompt: String,
    /// The parameters of each request.
    pub parameters: Map<String, Value>,
    /// How the model called tools; none: of a run of an older farm.
    pub tool_mode: Option<ToolMode>,
    /// Whether calls written into the text counted.
    pub text_calls: Option<bool>,
    /// Whether the model got its reasoning back.
    pub send_reasoning: Option<bool>,
    /// What its replies cost where they do not say so themselves.
    pub cost: Cost,
}

/// What replies cost that do not say so themselves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// Nothing: they were scripted.
    Nothing,
    /// What their tokens cost.
    Priced(Price),
    /// Nobody knows.
    Unknown,
}

/// A model that answers from a tape, by case, seed and digest of the request. Nothing is sent, so
/// no money is spent: a session is booked what it cost when it was recorded.
#[derive(Debug, Clone)]
pub struct Cassette {
    name: String,
    tape: Arc<Tape>,
    source: Arc<Source>,
    options: Options,
}

impl Cassette {
    /// `name` is the model's name in the config.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        tape: Arc<Tape>,
        source: Arc<Source>,
        options: Options,
    ) -> Self {
        Self {
            name: name.into(),
            tape,
            source,
            options,
        }
    }

    async fn reply(&self, request: &Request<'_>) -> Result<Reply, ModelError> {
        let Some(session) = self.tape.session(request.case, request.seed) else {
            return Err(self.lacks(request, &self.tape.without(request.case, request.seed)));
        };
        let conversation = request.conversation;
        let turn = usize::try_from(conversation.assistant_count()).unwrap_or(usize::MAX);
        if let Some(recorded) = session.turns.get(turn)
            && *recorded.request == conversation.digest()
        {
            return Reply::parse(recorded.body.clone(), self.options, Duration::ZERO);
        }
        let asked = explain::Asked {
            conversation: conversation.clone(),
            options: self.options,
        };
        let (session, source) = (session.clone(), self.source.clone());
        // A trace is read again, which may take its time.
        let found = tokio::task::spawn_blocking(move || explain::find(&asked, &session, &source));
        match found.await {
            Ok(explain::Found::Over(Some(Limit::Context), _)) => Err(ModelError {
                kind: ModelErrorKind::Context,
                message: "the endpoint refused the recorded request for its length".to_owned(),
                retry: Retry::No,
            }),
            Ok(found) => Err(self.lacks(request, &found.to_string())),
            Err(_) => Err(self.lacks(request, "what differs was not found")),
        }
    }

    fn lacks(&self, request: &Request<'_>, why: &str) -> ModelError {
        let (case, seed) = (request.case, request.seed);
        let turn = request.conversation.assistant_count();
        ModelError {
            kind: ModelErrorKind::NoReply,
            message: format!(
                "model {} has no reply on {} for case {case}, seed {seed}, turn {turn}: {why}",
                self.name, self.source.name
            ),
            retry: Retry::No,
        }
    }
}

impl Model for Cassette {
    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.reply(request))
    }

    /// What it cost when it was recorded.
    fn cost(&self, usage: Option<&Usage>) -> Option<f64> {
        let said = usage.and_then(|usage| usage.cost_usd);
        said.or_else(|| match self.source.cost {
            Cost::Nothing => Some(0.0),
            Cost::Priced(price) => price.of(usage?),
            Cost::Unknown => None,
        })
    }
}
