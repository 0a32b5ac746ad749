//! Live models: endpoints that speak the chat-completions dialect.

mod body;
mod client;
mod exchange;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use client::{Client, ClientOptions, Proxies};

use self::body::Body;
use super::{
    Model, ModelError, Options, Reply, Request,
    gateway::{Line, Outgoing},
};
use crate::domain::{BoxFuture, Purpose, ResponseFormat, Usage};

/// The longest that a probe waits for a reply: that an endpoint hangs is to be told soon.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// A model behind an endpoint.
pub struct OpenAi {
    client: Client,
    line: Line,
    settings: Settings,
}

/// How a model is asked.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The model as the endpoint knows it.
    pub model: String,
    /// How its replies are read.
    pub options: Options,
    /// Whether the session's seed goes along.
    pub send_seed: bool,
    /// What is asked of replies in json mode.
    pub response_format: ResponseFormat,
    /// How long one try may take, from the request to the last byte.
    pub timeout: Duration,
}

impl OpenAi {
    /// A model that `client` reaches, on its way `line`.
    #[must_use]
    pub fn new(client: Client, line: Line, settings: Settings) -> Self {
        Self {
            client,
            line,
            settings,
        }
    }

    async fn ask(&self, request: &Request<'_>) -> Result<Reply, ModelError> {
        let settings = &self.settings;
        let body = Body {
            model: &settings.model,
            seed: settings.send_seed.then_some(request.rng_seed),
            response_format: settings.response_format,
            conversation: request.conversation,
        };
        let body = body.to_bytes();
        let call = Outgoing {
            caller: request.caller,
            rng_seed: request.rng_seed,
            bytes: body.len(),
        };
        let timeout = match request.caller.on_behalf.purpose {
            Purpose::Probe => settings.timeout.min(PROBE_TIMEOUT),
            Purpose::Turn | Purpose::Judge | Purpose::Grade => settings.timeout,
        };
        let options = settings.options;
        let send = || self.client.send(body.clone(), options, timeout);
        self.line.call(call, send).await
    }
}

impl Model for OpenAi {
    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.ask(request))
    }

    /// What the provider says, else its tokens at the price of the config.
    fn cost(&self, usage: Option<&Usage>) -> Option<f64> {
        let usage = usage?;
        usage
            .cost_usd
            .or_else(|| self.line.price.and_then(|price| price.of(usage)))
    }
}
