//! The HTTP server: it feeds what decides, and performs what was decided.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{ConnectInfo, Request, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::stream::{self, StreamExt as _};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    Answers, Latency, Options, Stats,
    bill::Bill,
    faults::{Fault, Faults, Turn},
    ledger::{Ledger, Outcome},
    line::Cut,
    reply::{self, Envelope, Reply},
    request::Asked,
    window::Window,
};
use crate::{
    domain::{Clock, ToolMode, shortened},
    model::wire::Place,
};

/// The longest request that is read: 64 MiB. Histories are sent whole.
const MAX_BODY: usize = 64 << 20;

/// What all requests share.
#[derive(Debug)]
pub(super) struct Server {
    answers: Answers,
    model: String,
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
struct Books {
    ledger: Ledger,
    window: Option<Window>,
}

/// What is done with a request.
struct Act {
    outcome: Outcome,
    after: Duration,
    how: How,
    /// The turn that is answered by it.
    turn: Option<u64>,
}

enum How {
    Send {
        status: u16,
        body: String,
        retry_after: Option<u64>,
    },
    Half(String),
    Reset,
    Hang,
}

/// A request that is not over.
struct Open<'a> {
    server: &'a Server,
    is_counted: bool,
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

    pub fn router(self: &Arc<Self>) -> Router {
        Router::new()
            .route("/v1/chat/completions", post(complete))
            .route("/v1/models", get(models))
            .route("/stats", get(stats))
            .fallback(unknown)
            .with_state(self.clone())
    }

    pub fn stats(&self) -> Stats {
        self.books().ledger.stats()
    }

    /// A thread that panicked has left whole numbers behind: each is changed alone.
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn may_ask(&self, headers: &HeaderMap) -> bool {
        let Some(key) = &self.key else {
            return true;
        };
        let given = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        given.and_then(|value| value.strip_prefix(b"Bearer "))
            == Some(key.expose_secret().as_bytes())
    }

    /// What is done with a request that came whole. A completion is charged here: it is also when
    /// nobody waits for it to the end.
    fn decide(&self, headers: &HeaderMap, body: &[u8]) -> Act {
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

fn refused(status: u16, kind: &str, message: &str) -> Act {
    Act::error(Outcome::Refused, status, kind, message)
}

fn unauthorized() -> Act {
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

impl<'a> Open<'a> {
    fn begin(server: &'a Server) -> Self {
        server.books().ledger.begin();
        Self {
            server,
            is_counted: false,
        }
    }

    fn count(&mut self, outcome: Outcome, turn: Option<u64>) {
        self.is_counted = true;
        let ledger = &mut self.server.books().ledger;
        ledger.count(outcome);
        if let Some(turn) = turn {
            ledger.answered(turn);
        }
    }
}

/// Also when the client left, for then the handler is dropped.
impl Drop for Open<'_> {
    fn drop(&mut self) {
        let ledger = &mut self.server.books().ledger;
        if !self.is_counted {
            ledger.count(Outcome::Gone);
        }
        ledger.end();
    }
}

async fn complete(
    State(server): State<Arc<Server>>,
    ConnectInfo(line): ConnectInfo<Cut>,
    request: Request,
) -> Response {
    let mut open = Open::begin(&server);
    let (head, body) = request.into_parts();
    let act = match to_bytes(body, MAX_BODY).await {
        Ok(body) => server.decide(&head.headers, &body),
        Err(e) => {
            let message = format!("the request is longer than 64 MiB, or broke off: {e}");
            refused(413, "invalid_request_error", &message)
        }
    };
    if matches!(act.how, How::Hang) {
        open.count(act.outcome, None);
        server.stop.cancelled().await;
        return cut(&line);
    }
    if !act.after.is_zero() {
        tokio::select! {
            () = tokio::time::sleep(act.after) => {}
            () = server.stop.cancelled() => return cut(&line),
        }
    }
    open.count(act.outcome, act.turn);
    match act.how {
        How::Send {
            status,
            body,
            retry_after,
        } => send(status, body, retry_after),
        How::Half(body) => half(body),
        How::Reset | How::Hang => cut(&line),
    }
}

fn send(status: u16, body: String, retry_after: Option<u64>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let json = HeaderValue::from_static("application/json");
    let mut response = (status, [(CONTENT_TYPE, json)], body).into_response();
    if let Some(seconds) = retry_after {
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Nothing is sent: the connection is closed before the first byte.
fn cut(line: &Cut) -> Response {
    line.cut();
    Response::default()
}

/// The head and half of the body, then the connection is closed.
fn half(body: String) -> Response {
    let whole = Bytes::from(body);
    let length = HeaderValue::from(whole.len());
    let begin = stream::iter([Ok(whole.slice(..whole.len() / 2))]);
    let end = stream::once(async {
        // What is there is sent before the next piece is asked for.
        tokio::task::yield_now().await;
        Err(io::Error::from(io::ErrorKind::ConnectionAborted))
    });
    let body = Body::from_stream(begin.chain(end));
    let mut response = send(200, String::new(), None);
    response.headers_mut().insert(CONTENT_LENGTH, length);
    *response.body_mut() = body;
    response
}

async fn models(State(server): State<Arc<Server>>, headers: HeaderMap) -> Response {
    if !server.may_ask(&headers) {
        let act = unauthorized();
        return match act.how {
            How::Send { status, body, .. } => send(status, body, None),
            _ => Response::default(),
        };
    }
    let models = json!({
        "object": "list",
        "data": [{"id": server.model, "object": "model", "created": 0, "owned_by": "farm"}],
    });
    send(200, models.to_string(), None)
}

async fn stats(State(server): State<Arc<Server>>) -> Response {
    send(200, json!(server.stats()).to_string(), None)
}

async fn unknown() -> Response {
    let message = "this server knows POST /v1/chat/completions, GET /v1/models and GET /stats";
    send(404, reply::error(404, "not_found_error", message), None)
}
