//! The rehearsal server: it answers from scripts in the chat-completions dialect, on loopback, with
//! the latency, the limits, the faults and the bills of a live model.
//!
//! A request is answered by the script of the case whose task is its first user message. Its reply
//! is the one that the scripted model gives, for both draw by the session's number, which is the
//! request's `seed`, and by the number of assistant messages.
//!
//! What happens to a request is drawn too: from the seed of the faults, the task, the request's
//! seed, the number of the turn, and how often this very request came before. So two servers that
//! are told the same do the same, whoever asks first. Whether a reply is malformed does not depend
//! on how often it was asked for: the same turn always has the same reply.
//!
//! What decides is pure: `faults`, `latency`, `window`, `answers`, `request`, `reply`, `bill` and
//! `ledger`; `server` puts them together, and `http` feeds it.

mod answers;
mod bill;
mod faults;
mod http;
mod latency;
mod ledger;
mod line;
mod reply;
mod request;
mod server;
mod window;

use std::{
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroUsize,
    sync::Arc,
    time::Duration,
};

use secrecy::SecretString;
use tokio::{net::TcpListener, task::JoinHandle, time::timeout};

pub use answers::{Answer, Answers};
pub use bill::Reports;
pub use faults::{Shares, SharesError};
pub use latency::{Latency, LatencyError};
pub use ledger::{Outcomes, Stats, Turns};

use crate::{
    domain::{Clock, Price, ToolMode},
    error::{Context, Error, Result},
};
use line::{Cut, Lines};
use server::Server;

/// How long connections have to end by themselves once a server is stopped. Only a client that is
/// in the middle of sending takes longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a server is told.
#[derive(Debug)]
pub struct Options {
    /// The scripts.
    pub answers: Answers,
    /// The model's name: what `GET /v1/models` lists, and replies to requests that name none say.
    pub model: String,
    /// How calls are written, unless a request asks for a JSON object and offers no tools.
    pub tool_mode: ToolMode,
    /// Of 127.0.0.1; 0 for any that is free.
    pub port: u16,
    /// How long completions take; refusals come at once.
    pub latency: Latency,
    /// How many requests meet a fault.
    pub shares: Shares,
    /// Another seed, other faults.
    pub faults_seed: u64,
    /// Seconds for the `Retry-After` of the share that is rate limited.
    pub retry_after: Option<u64>,
    /// How many requests are let through in any 60 seconds; the others get 429 with `Retry-After`.
    pub requests_per_minute: Option<NonZeroUsize>,
    /// What completions are charged; none: nothing.
    pub price: Option<Price>,
    /// What replies say of it.
    pub reports: Reports,
    /// The bearer key that requests must have.
    pub key: Option<SecretString>,
    /// Tells when a reply was made.
    pub clock: Clock,
}

impl Options {
    /// A server that answers, at once and for nothing.
    #[must_use]
    pub fn new(model: impl Into<String>, tool_mode: ToolMode, answers: Answers) -> Self {
        Self {
            answers,
            model: model.into(),
            tool_mode,
            port: 0,
            latency: Latency::default(),
            shares: Shares::default(),
            faults_seed: 0,
            retry_after: None,
            requests_per_minute: None,
            price: None,
            reports: Reports::default(),
            key: None,
            clock: Clock::system(),
        }
    }

    /// Whether a server can do as it is told.
    ///
    /// # Errors
    /// An input error that names what is wrong.
    pub fn check(&self) -> Result<()> {
        self.shares
            .check()
            .map_err(|e| Error::input(e.to_string()))?;
        let is_priced = |usd: f64| usd.is_finite() && usd >= 0.0;
        if let Some(price) = &self.price
            && !(is_priced(price.input) && is_priced(price.output))
        {
            return Err(Error::input("a price is not a number from 0"));
        }
        if self.price.is_none() && matches!(self.reports, Reports::Less | Reports::More) {
            let error = Error::input("a wrong cost cannot be reported without a price");
            return Err(error.hint("say what a million tokens cost: --price 3,15"));
        }
        Ok(())
    }
}

/// A server at work. It ends when this is dropped or stopped.
#[derive(Debug)]
pub struct Mock {
    address: SocketAddr,
    server: Arc<Server>,
    serving: JoinHandle<()>,
}

impl Mock {
    /// Begins to serve, in the tokio runtime of the caller. Once this returns, it listens at the
    /// address.
    ///
    /// # Errors
    /// An input error when the options are wrong or the port is taken.
    pub async fn start(options: Options) -> Result<(SocketAddr, Self)> {
        options.check()?;
        let port = options.port;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .await
            .map_err(|e| {
                Error::input(format!("cannot listen on 127.0.0.1:{port}: {e}"))
                    .hint("name another port, or 0 for any that is free")
            })?;
        let address = listener
            .local_addr()
            .internal(|| "the address of the server is not known".to_owned())?;
        let server = Arc::new(Server::new(options));
        let stop = server.stop.clone();
        let service = http::router(server.clone()).into_make_service_with_connect_info::<Cut>();
        let serving = axum::serve(Lines(listener), service)
            .with_graceful_shutdown(stop.cancelled_owned())
            .into_future();
        let serving = tokio::spawn(async {
            // It goes on until it is stopped, and has no other way to end.
            drop(serving.await);
        });
        let mock = Self {
            address,
            server,
            serving,
        };
        Ok((address, mock))
    }

    /// What a client takes for the address of the API: `http://127.0.0.1:PORT/v1`.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What it has seen so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.server.stats()
    }

    /// Ends it: requests that wait for an answer get none. Gives what it has seen.
    pub async fn stop(mut self) -> Stats {
        self.server.stop.cancel();
        if timeout(PATIENCE, &mut self.serving).await.is_err() {
            self.serving.abort();
        }
        self.server.stats()
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.server.stop.cancel();
    }
}
