//! What is done with a request: everything that decides, in order.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Answers, Latency, Options, Stats,
    bill::Bill,
    faults::{Fault, Faults, Turn},
    ledger::{Ledger, Outcome},
    reply::{self, Envelope, Reply},
    request::Asked,
    window::Window,
};
use crate::{
    domain::{Clock, ToolMode, shortened},
    model::wire::Place,
};

/// What all requests share.
#[derive(Debug)]
pub(super) struct Server {
    answers: Answers,
    pub model: String,
    tool_mode: ToolMode,
    latency: Latency,
    faults: Faults,
    retry_after: Option<u64>,
    bill: Bill,
    key: Option<SecretString>,
    clock: Clock,
    began: Instant,
    /// No answer is waited for any more.
    pub stop: CancellationToken,
    books: Mutex<Books>,
}

/// What requests change.
#[derive(Debug)]
pub(super) struct Books {
    pub ledger: Ledger,
    window: Option<Window>,
}

/// What is done with a request.
pub(super) struct Act {
    pub outcome: Outcome,
    pub after: Duration,
    pub how: How,
    /// The turn that is answered by it.
    pub turn: Option<u64>,
}

pub(super) enum How {
    Send {
        status: u16,
        body: String,
        retry_after: Option<u64>,
    },
    Half(String),
    Reset,
    Hang,
}

impl Server {
    pub fn new(options: Options) -> Self {
        let bill = Bill {
            price: options.price,
            reports: options.reports,
        };
        Self {
            answers: options.answers,
            model: options.model,
            tool_mode: options.tool_mode,
            latency: options.latency,
            faults: Faults {
                seed: options.faults_seed,
                shares: options.shares,
            },
            retry_after: options.retry_after,
            bill,
            key: options.key,
            clock: options.clock,
            began: Instant::now(),
            stop: CancellationToken::new(),
            books: Mutex::new(Books {
                ledger: Ledger::new(bill),
                window: options.requests_per_minute.map(Window::new),
            }),
        }
    }

    pub fn stats(&self) -> Stats {
        self.books().ledger.stats()
    }

    /// A thread that panicked has left whole numbers behind: each is changed alone.
    pub fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn may_ask(&self, headers: &HeaderMap) -> bool {
        let Some(key) = &self.key else {
            return true;
        };
        let given = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        given.and_then(|value| value.strip_prefix(b"Bearer "))
            == Some(key.expose_secret().as_bytes())
    }

    /// What is done with a request that came whole. A completion is charged here: it is also when
    /// nobody waits for it to the end.
    pub fn decide(&self, headers: &HeaderMap, body: &[u8]) -> Act {
        if !self.may_ask(headers) {
            return unauthorized();
        }
        let asked = match Asked::parse(body) {
            Ok(asked) => asked,
            Err(wrong) => return refused(400, "invalid_request_error", &wrong),
        };
        let Some(task) = self.answers.find(&asked.task) else {
            return unknown_task(&asked.task);
        };
        let Some(entry) = task.entry(asked.seed, asked.turn) else {
            let message = "no script answers this task for this `seed`: its number is computed \
                           from the run seed, the case and the seeds that the server was told";
            return refused(404, "not_found_error", message);
        };
        let turn = Turn {
            task: &task.digest,
            seed: asked.seed.unwrap_or(0),
            number: asked.turn,
        };
        let tries = match self.admit(body) {
            Ok(tries) => tries,
            Err(wait) => return limited("there were too many requests this minute", Some(wait)),
        };
        let fault = self.faults.of(&turn, tries);
        match fault {
            Some(Fault::RateLimited) => {
                return limited(
                    "slow down, as this server was told to say",
                    self.retry_after,
                );
            }
            Some(Fault::Failing) => return failing(),
            _ => {}
        }
        let model = asked.model.as_deref().unwrap_or(&self.model);
        let id = turn_id(model, &turn);
        let place = Place {
            rng_seed: turn.seed.into(),
            turn: turn.number,
            observation: &asked.observation,
            tool_mode: if asked.is_json {
                ToolMode::Json
            } else {
                self.tool_mode
            },
        };
        let envelope = Envelope {
            id,
            created: self.clock.now() as u64,
            model,
            request_bytes: body.len(),
            bill: &self.bill,
        };
        let reply = reply::make(entry, &place, &envelope, self.faults.malforms(&turn));
        if let Some(tokens) = reply.tokens {
            self.books().ledger.charge(tokens);
        }
        let after = match self.latency.is_drawn() {
            true => self.latency.of(self.faults.latency(&turn, tries)),
            false => self.latency.of([0.0; 2]),
        };
        Act {
            after,
            ..Act::of(reply, fault, id)
        }
    }

    /// Counts the request, where its number matters.
    ///
    /// # Errors
    /// In how many seconds one may come again.
    fn admit(&self, body: &[u8]) -> Result<u32, u64> {
        let counts = self.faults.shares.depend_on_tries() || self.latency.is_drawn();
        let request = counts.then(|| first_u64(Sha256::new_with_prefix(body)));
        let mut books = self.books();
        if let Some(window) = &mut books.window {
            window.admit(self.began.elapsed())?;
        }
        Ok(request.map_or(0, |request| books.ledger.tries(request)))
    }
}

impl Act {
    fn of(reply: Reply, fault: Option<Fault>, id: u64) -> Self {
        let Reply { status, body, .. } = reply;
        let (outcome, how) = match fault {
            Some(Fault::Hanging) => (Outcome::Hanging, How::Hang),
            Some(Fault::Reset) => (Outcome::Reset, How::Reset),
            Some(Fault::Half) => (Outcome::Half, How::Half(body)),
            Some(Fault::RateLimited | Fault::Failing) | None => {
                let outcome = match reply.tokens {
                    None => Outcome::Error,
                    Some(_) if reply.is_malformed => Outcome::Malformed,
                    Some(_) => Outcome::Ok,
                };
                let retry_after = None;
                (
                    outcome,
                    How::Send {
                        status,
                        body,
                        retry_after,
                    },
                )
            }
        };
        Self {
            outcome,
            after: Duration::ZERO,
            how,
            turn: matches!(outcome, Outcome::Ok | Outcome::Malformed).then_some(id),
        }
    }

    fn error(outcome: Outcome, status: u16, kind: &str, message: &str) -> Self {
        Self {
            outcome,
            after: Duration::ZERO,
            how: How::Send {
                status,
                body: reply::error(status, kind, message),
                retry_after: None,
            },
            turn: None,
        }
    }
}

pub(super) fn refused(status: u16, kind: &str, message: &str) -> Act {
    Act::error(Outcome::Refused, status, kind, message)
}

pub(super) fn unauthorized() -> Act {
    refused(
        401,
        "authentication_error",
        "the bearer key is missing or wrong",
    )
}

fn unknown_task(task: &str) -> Act {
    let task = shortened(task, 60);
    let message = format!(
        "no case has the task {task:?}, the first user message: is the server told the same case \
         file?"
    );
    refused(404, "not_found_error", &message)
}

fn limited(message: &str, wait: Option<u64>) -> Act {
    let mut act = Act::error(Outcome::RateLimited, 429, "rate_limit_exceeded", message);
    if let How::Send { retry_after, .. } = &mut act.how {
        *retry_after = wait;
    }
    act
}

fn failing() -> Act {
    let message = "it fails, as this server was told to";
    Act::error(Outcome::Failing, 500, "server_error", message)
}

/// Names a turn of a model.
fn turn_id(model: &str, turn: &Turn<'_>) -> u64 {
    let hasher = Sha256::new()
        .chain_update(turn.task)
        .chain_update(turn.seed.to_be_bytes())
        .chain_update(turn.number.to_be_bytes())
        .chain_update(model);
    first_u64(hasher)
}

fn first_u64(hasher: Sha256) -> u64 {
    let digest = hasher.finalize();
    let (words, _) = digest.as_chunks::<8>();
    words.first().map_or(0, |word| u64::from_be_bytes(*word))
}
