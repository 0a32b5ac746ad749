//! HTTP: requests in, and what was decided of them performed.

use std::{io, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{ConnectInfo, Request, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
    routing::{get, post},
};
use futures_util::stream::{self, StreamExt as _};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::{
    ledger::Outcome,
    line::Cut,
    reply,
    server::{How, Server, refused, unauthorized},
};

/// The longest request that is read: 64 MiB. Histories are sent whole.
const MAX_BODY: usize = 64 << 20;

/// All that is served.
pub(super) fn router(server: Arc<Server>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/v1/models", get(models))
        .route("/stats", get(stats))
        .fallback(unknown)
        .with_state(server)
}

/// A request that is not over.
struct Open<'a> {
    server: &'a Server,
    is_answering: bool,
    is_counted: bool,
}

impl<'a> Open<'a> {
    fn begin(server: &'a Server) -> Self {
        server.books().ledger.begin();
        Self {
            server,
            is_answering: false,
            is_counted: false,
        }
    }

    fn will_answer(&mut self) {
        self.is_answering = true;
        self.server.books().ledger.will_answer();
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
        ledger.end(self.is_answering);
    }
}

async fn complete(
    State(server): State<Arc<Server>>,
    ConnectInfo(line): ConnectInfo<Cut>,
    request: Request,
) -> Response {
    let came = Instant::now();
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
    open.will_answer();
    if !act.after.is_zero() {
        tokio::select! {
            () = sleep_until(came + act.after) => {}
            () = server.stop.cancelled() => return cut(&line),
        }
    }
    open.count(act.outcome, act.turn);
    perform(act.how, &line)
}

fn perform(how: How, line: &Cut) -> Response {
    match how {
        How::Send {
            status,
            body,
            retry_after,
        } => send(status, body, retry_after),
        How::Half(body) => half(body),
        How::Reset | How::Hang => cut(line),
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

async fn models(
    State(server): State<Arc<Server>>,
    ConnectInfo(line): ConnectInfo<Cut>,
    headers: HeaderMap,
) -> Response {
    if !server.may_ask(&headers) {
        return perform(unauthorized().how, &line);
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
