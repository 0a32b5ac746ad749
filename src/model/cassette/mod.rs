//! The cassette: a model that answers from the replies of another run, to the same requests alone.

mod explain;
mod tape;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value};

use super::{Model, ModelError, ModelErrorKind, Options, Reply, Request, Retry};
use crate::domain::{BoxFuture, Limit, Limits, Price, ToolMode, Usage};

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
    /// What a session might spend, as far as limits are those of the variant; none: it is not known.
    pub limits: Option<Limits>,
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
    limits: Limits,
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
            limits: Limits::default(),
        }
    }

    /// For sessions with these limits. Where a recorded session was ended by the limit on its money or
    /// time, so is one that may spend as much: no reply tells of it.
    #[must_use]
    pub fn within(self, limits: Limits) -> Self {
        Self { limits, ..self }
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
            Ok(found) => Err(self
                .limit(&found)
                .unwrap_or_else(|| self.lacks(request, &found.to_string()))),
            Err(_) => Err(self.lacks(request, "what differs was not found")),
        }
    }

    /// The limit that ended the recorded session, if it ends this one too.
    fn limit(&self, found: &explain::Found) -> Option<ModelError> {
        let as_recorded = |of: fn(&Limits) -> Option<f64>| {
            let recorded = of(self.source.limits.as_ref()?);
            recorded.filter(|_| recorded == of(&self.limits))
        };
        let &explain::Found::Over(Some(limit), _) = found else {
            return None;
        };
        let (kind, message) = match limit {
            Limit::Context => (
                ModelErrorKind::Context,
                "the endpoint refused the recorded request for its length",
            ),
            Limit::CostUsd => {
                as_recorded(|limits| limits.max_cost_usd)?;
                (
                    ModelErrorKind::SessionCost,
                    "the recorded session might not spend what the request could cost",
                )
            }
            Limit::Seconds => {
                as_recorded(|limits| limits.max_seconds)?;
                (
                    ModelErrorKind::SessionTime,
                    "the time of the recorded session was up",
                )
            }
            // Those end the session itself, before it asks.
            Limit::Steps | Limit::Tokens => return None,
        };
        Some(ModelError {
            kind,
            message: message.to_owned(),
            retry: Retry::No,
        })
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
