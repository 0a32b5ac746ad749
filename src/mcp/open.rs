//! The requests that have not been answered, and what becomes of lines for that. Nothing here waits.

use std::collections::HashMap;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::line::{INVALID, Message, NOT_NOW, Request, error};

/// How many requests the protocol may have.
pub(super) const MOST: usize = 1024;

/// How long their lines may be in all, in bytes.
const MOST_BYTES: usize = 64 << 20;

/// What becomes of a line of the client.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// Nothing.
    Skip,
    /// A request goes on to the protocol, as this.
    Pass(Map<String, Value>),
    /// This is the answer, and the protocol never sees it.
    Answer(Value),
}

/// The requests that have not been answered.
///
/// Each goes by a number of its own: so whatever ids a client chooses, used twice or again after a
/// cancellation, no answer goes to another request.
#[derive(Debug)]
pub(super) struct Open {
    /// Cancels all.
    all: CancellationToken,
    next: u64,
    requests: HashMap<u64, Asked>,
    /// Their numbers, by their ids as JSON.
    numbers: HashMap<String, u64>,
    /// Those that were cancelled and that the protocol still has, with the length of their lines.
    silenced: HashMap<u64, usize>,
    /// How long the lines are of all that the protocol has.
    bytes: usize,
}

#[derive(Debug)]
struct Asked {
    id: Value,
    /// What its progress is to be told under.
    token: Option<Value>,
    bytes: usize,
    cancelled: CancellationToken,
    /// Whether a tool is at work on it, and nobody knows for how long.
    runs: bool,
}

impl Open {
    /// None yet; `all` is to cancel all.
    pub fn new(all: CancellationToken) -> Self {
        Self {
            all,
            next: 0,
            requests: HashMap::new(),
            numbers: HashMap::new(),
            silenced: HashMap::new(),
            bytes: 0,
        }
    }

    /// How many are to be answered.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// What is cancelled when this request is; none when it has been.
    pub fn cancelled(&self, number: u64) -> Option<CancellationToken> {
        Some(self.requests.get(&number)?.cancelled.clone())
    }

    /// A tool has begun or ended.
    pub fn set_runs(&mut self, number: u64, runs: bool) {
        if let Some(request) = self.requests.get_mut(&number) {
            request.runs = runs;
        }
    }

    /// Whether there is one that no tool is at work on: its answer comes by itself.
    pub fn is_answered_soon(&self) -> bool {
        self.requests.values().any(|request| !request.runs)
    }

    /// Takes what the client says.
    pub fn take(&mut self, message: Message) -> Line {
        match message {
            Message::Nothing => Line::Skip,
            Message::Wrong(answer) => Line::Answer(answer),
            Message::Cancel(id) => {
                self.cancel(&id);
                Line::Skip
            }
            Message::Request(request) => match self.refusal(&request) {
                Some((code, why)) => Line::Answer(error(Some(request.id), code, &why)),
                None => Line::Pass(self.open(request)),
            },
        }
    }

    fn refusal(&self, request: &Request) -> Option<(i32, String)> {
        let full = |what: String| format!("{what} are open; ask again when some are answered");
        if self.numbers.contains_key(&request.id.to_string()) {
            let why = "a request with this id has not been answered yet";
            Some((INVALID, why.to_owned()))
        } else if self.requests.len() + self.silenced.len() >= MOST {
            Some((NOT_NOW, full(format!("{MOST} requests"))))
        } else if self.bytes + request.bytes > MOST_BYTES {
            let what = format!("{} MiB of requests", MOST_BYTES >> 20);
            Some((NOT_NOW, full(what)))
        } else {
            None
        }
    }

    /// Opens a request, which goes on as this.
    fn open(&mut self, request: Request) -> Map<String, Value> {
        let number = self.next;
        self.next += 1;
        self.bytes += request.bytes;
        self.numbers.insert(request.id.to_string(), number);
        let asked = Asked {
            token: request.token().cloned(),
            id: request.id,
            bytes: request.bytes,
            cancelled: self.all.child_token(),
            runs: false,
        };
        self.requests.insert(number, asked);
        let mut message = request.message;
        message.insert("id".to_owned(), number.into());
        message
    }

    fn cancel(&mut self, id: &Value) {
        // It may be answered already, or never have been.
        let Some(number) = self.numbers.get(&id.to_string()).copied() else {
            return;
        };
        if let Some(request) = self.close(number) {
            request.cancelled.cancel();
            self.silenced.insert(number, request.bytes);
        }
    }

    /// The protocol has answered; the id of the request, none if it was cancelled.
    pub fn answered(&mut self, number: u64) -> Option<Value> {
        if let Some(bytes) = self.silenced.remove(&number) {
            self.bytes -= bytes;
            return None;
        }
        let request = self.close(number)?;
        self.bytes -= request.bytes;
        Some(request.id)
    }

    fn close(&mut self, number: u64) -> Option<Asked> {
        let request = self.requests.remove(&number)?;
        self.numbers.remove(&request.id.to_string());
        Some(request)
    }

    /// Whether progress goes out: as long as its request is open.
    pub fn is_told(&self, token: &Value) -> bool {
        let mut tokens = self.requests.values().filter_map(|r| r.token.as_ref());
        tokens.any(|open| open == token)
    }
}

#[cfg(test)]
mod tests;
