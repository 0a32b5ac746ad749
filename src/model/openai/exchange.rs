//! One request and what comes back.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use reqwest::Response;
use tokio::time::{Instant, timeout};

use super::client::Client;
use crate::model::{
    ModelError, ModelErrorKind, Options, Reply, Retry,
    gateway::{Reach, Sent, retry_after},
    normalise,
};

/// The longest reply that is read, in bytes. A line of a trace holds it beside what was read out of
/// it, which may take as much again and more, and has to stay below the longest line that is read.
pub(super) const MAX_BODY: usize = 4 << 20;

impl Client {
    /// Sends a request once and reads its reply; `limit` is how long both may take together.
    pub(super) async fn send(&self, body: Bytes, options: Options, limit: Duration) -> Sent<Reply> {
        let began = Instant::now();
        let request = self.http.post(self.url.clone()).body(body);
        let response = match timeout(limit, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(e)) => return self.unsent(e),
            Err(_) => return late(limit),
        };
        let status = response.status().as_u16();
        let headers = response.headers();
        let header = |name: &str| headers.get(name)?.to_str().ok();
        let wait = retry_after(header, Timestamp::now());
        let encoding = header("content-encoding").map(str::to_owned);
        let is_refused = !(200..300).contains(&status);
        let left = limit.saturating_sub(began.elapsed());
        let bytes = match timeout(left, read(response)).await {
            Ok(Ok(bytes)) => bytes,
            // The status and how long to wait are known, whatever becomes of the words.
            _ if is_refused => Vec::new(),
            Ok(Err(sent)) => return sent,
            Err(_) => return late(limit),
        };
        let text = String::from_utf8_lossy(&bytes);
        if let Some(what) = unreadable(encoding.as_deref(), &text).filter(|_| !is_refused) {
            let message = format!("HTTP {status}: {what}");
            return failed(
                Reach::Received,
                ModelErrorKind::Provider,
                Retry::Yes,
                message,
            );
        }
        let text = self.redactor.clean(&text);
        // What was no UTF-8 has grown.
        if text.len() > MAX_BODY && !is_refused {
            return too_large();
        }
        let reply = Reply::receive(status, &text, options, began.elapsed());
        // Errors and refusals may say what they took, too.
        let told = reply.as_ref().ok().and_then(|reply| reply.content.usage);
        let usage = told.or_else(|| normalise::usage_of(&text));
        let reach = match &reply {
            // Who gives up after a time may have worked until then.
            Err(e) if is_refused && e.kind != ModelErrorKind::Timeout => Reach::Refused,
            // An error in words inside a body of success is a refusal as well, if nothing was used.
            Err(e) if !is_refused && e.kind == ModelErrorKind::RateLimited => Reach::Refused,
            _ => Reach::Received,
        };
        Sent {
            reply: reply.map_err(|e| explained(e, status)),
            usage,
            reach,
            retry_after: wait,
        }
    }

    /// A request that got no reply.
    fn unsent(&self, error: reqwest::Error) -> Sent<Reply> {
        let (reach, what) = if error.is_connect() {
            (Reach::Nowhere, "no connection")
        } else {
            (Reach::Received, "no reply")
        };
        let kind = if error.is_timeout() {
            ModelErrorKind::Timeout
        } else {
            ModelErrorKind::Provider
        };
        let proxy = self.proxy.map(|name| format!(" ({name} names a proxy)"));
        let message = format!("{what}{}: {}", proxy.unwrap_or_default(), cause(error));
        failed(reach, kind, Retry::Yes, message)
    }
}

/// Why a body of success holds no words at all.
fn unreadable(encoding: Option<&str>, text: &str) -> Option<String> {
    match encoding {
        Some(encoding) if !encoding.eq_ignore_ascii_case("identity") => Some(format!(
            "the reply is in content-encoding {}, which was not asked for",
            encoding.chars().take(20).collect::<String>()
        )),
        _ => text
            .trim()
            .is_empty()
            .then(|| "the reply is empty".to_owned()),
    }
}

/// What a redirect means.
fn explained(error: ModelError, status: u16) -> ModelError {
    if !(300..400).contains(&status) {
        return error;
    }
    ModelError {
        message: format!(
            "HTTP {status}: the address leads elsewhere, and a key goes to one host alone: put \
             the final address into base_url"
        ),
        ..error
    }
}

/// The whole body, or why it cannot be had.
async fn read(mut response: Response) -> Result<Vec<u8>, Sent<Reply>> {
    let expected = response.content_length().unwrap_or(0);
    if expected > MAX_BODY as u64 {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) if bytes.len() + chunk.len() > MAX_BODY => return Err(too_large()),
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk),
            Ok(None) => return Ok(bytes),
            Err(e) => {
                return Err(failed(
                    Reach::Received,
                    ModelErrorKind::Provider,
                    Retry::Yes,
                    format!("the reply broke off: {}", cause(e)),
                ));
            }
        }
    }
}

/// A reply that is not read, or not taken.
fn too_large() -> Sent<Reply> {
    failed(
        Reach::Received,
        ModelErrorKind::Provider,
        Retry::Once,
        format!(
            "the reply is larger than {} MiB, the most that is read: limit the output in \
             `parameters`",
            MAX_BODY >> 20
        ),
    )
}

/// A request that took longer than it may.
fn late(limit: Duration) -> Sent<Reply> {
    failed(
        Reach::Received,
        ModelErrorKind::Timeout,
        Retry::Yes,
        format!("no whole reply within {} s", limit.as_secs_f64()),
    )
}

fn failed(reach: Reach, kind: ModelErrorKind, retry: Retry, message: String) -> Sent<Reply> {
    Sent {
        reply: Err(ModelError {
            kind,
            message,
            retry,
        }),
        usage: None,
        reach,
        retry_after: None,
    }
}

/// What stands at the root of an error, without its address.
fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut root: &dyn std::error::Error = &error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}
