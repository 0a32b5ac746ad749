//! Lines of both sides before the other side sees them. Nothing here waits.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;

use crate::domain::strict_json;

/// The longest line that is read, in bytes.
pub(super) const MAX: usize = 4 << 20;

/// The deepest nesting that JSON readers follow.
const MAX_DEPTH: usize = 128;

const NOT_JSON: i32 = -32700;
const INVALID: i32 = -32600;
const BAD_PARAMS: i32 = -32602;

/// What becomes of a line of the client.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// It asks for nothing.
    Skip,
    /// A request goes on to the protocol, as this line.
    Pass(String),
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
    requests: HashMap<u64, Request>,
    /// Their numbers, by their ids as JSON.
    numbers: HashMap<String, u64>,
}

#[derive(Debug)]
struct Request {
    id: Value,
    /// What its progress is to be told under.
    token: Option<Value>,
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
        }
    }

    /// How many there are.
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

    /// A line of the client.
    pub fn read(&mut self, line: &[u8]) -> Line {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let Ok(text) = str::from_utf8(line.trim_ascii()) else {
            return error(None, NOT_JSON, "the line is not UTF-8");
        };
        if text.is_empty() {
            return Line::Skip;
        }
        match strict_json(text, MAX_DEPTH) {
            Ok(Value::Object(message)) => self.message(message),
            Ok(_) => {
                let why = "a message is one JSON object; there are no batches";
                error(None, INVALID, why)
            }
            Err(e) => error(None, NOT_JSON, &format!("not JSON: {e}")),
        }
    }

    /// A line that is too long.
    pub fn too_long() -> Line {
        let why = format!("the line is longer than {} MiB", MAX >> 20);
        error(None, NOT_JSON, &why)
    }

    fn message(&mut self, mut message: Map<String, Value>) -> Line {
        let is_answer = message.contains_key("result") || message.contains_key("error");
        let method = message.get("method");
        if is_answer && method.is_none() {
            // Nothing was asked of the client.
            return Line::Skip;
        }
        let id = match message.get("id").cloned() {
            Some(id) if !(id.is_string() || id.is_number()) => {
                return error(None, INVALID, "an id is a text or a number");
            }
            id => id,
        };
        let why = match (method, &id) {
            (Some(Value::String(method)), None) => {
                if method == "notifications/cancelled" {
                    self.cancel(&message);
                }
                // Nothing listens to the others.
                return Line::Skip;
            }
            (Some(Value::String(_)), Some(_)) if is_answer => {
                "a message with a method has neither result nor error"
            }
            (Some(Value::String(_)), Some(id)) => {
                if message.get("jsonrpc") != Some(&Value::from("2.0")) {
                    "jsonrpc must be \"2.0\""
                } else if let Err(why) = shape(&mut message) {
                    return error(Some(id.clone()), BAD_PARAMS, why);
                } else if self.numbers.contains_key(&id.to_string()) {
                    "a request with this id has not been answered yet"
                } else {
                    let number = self.open(id.clone(), &message);
                    message.insert("id".to_owned(), number.into());
                    return Line::Pass(Value::Object(message).to_string());
                }
            }
            (_, _) => "a message has a method, which is a text",
        };
        error(id, INVALID, why)
    }

    fn open(&mut self, id: Value, message: &Map<String, Value>) -> u64 {
        let number = self.next;
        self.next += 1;
        let params = message.get("params");
        let token = params.and_then(|params| params.get("_meta")?.get("progressToken"));
        self.numbers.insert(id.to_string(), number);
        let request = Request {
            id,
            token: token.cloned(),
            cancelled: self.all.child_token(),
            runs: false,
        };
        self.requests.insert(number, request);
        number
    }

    fn cancel(&mut self, message: &Map<String, Value>) {
        let id = message.get("params").and_then(|p| p.get("requestId"));
        // It may be answered already, or never have been.
        let number = id.and_then(|id| self.numbers.get(&id.to_string()).copied());
        if let Some(request) = number.and_then(|number| self.close(number)) {
            request.cancelled.cancel();
        }
    }

    fn close(&mut self, number: u64) -> Option<Request> {
        let request = self.requests.remove(&number)?;
        self.numbers.remove(&request.id.to_string());
        Some(request)
    }

    /// A line of the protocol as the client is to see it; none if it is about a request that was
    /// cancelled.
    pub fn answered(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        // What it writes can be read.
        let said: Said<'_> = serde_json::from_slice(line).ok()?;
        let Some(number) = said.id else {
            return self.is_told(&said).then(|| line.trim_ascii_end().to_vec());
        };
        let id = self.close(number)?.id;
        let (key, value) = match (said.result, said.error) {
            (Some(result), _) => ("result", result),
            (None, error) => ("error", error?),
        };
        Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"{key}":{value}}}"#).into_bytes())
    }

    /// Whether a notification goes out: one of progress does as long as its request is open.
    fn is_told(&self, said: &Said<'_>) -> bool {
        let token = match &said.params {
            Some(params) if said.method == Some("notifications/progress") => &params.token,
            _ => return true,
        };
        self.requests.values().any(|r| r.token == *token)
    }
}

/// Parameters are an object, and so is what is said beside them; null is how some write the absent.
fn shape(message: &mut Map<String, Value>) -> Result<(), &'static str> {
    let Some(params) = within(message, "params", "params must be an object")? else {
        return Ok(());
    };
    within(params, "_meta", "_meta must be an object").map(drop)
}

fn within<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
    why: &'static str,
) -> Result<Option<&'a mut Map<String, Value>>, &'static str> {
    if object.get(key).is_some_and(Value::is_null) {
        object.shift_remove(key);
    }
    let Some(value) = object.get_mut(key) else {
        return Ok(None);
    };
    value.as_object_mut().map(Some).ok_or(why)
}

/// The parts of the protocol's message that tell what it is.
#[derive(Deserialize)]
struct Said<'a> {
    id: Option<u64>,
    method: Option<&'a str>,
    params: Option<Params>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Params {
    #[serde(rename = "progressToken")]
    token: Option<Value>,
}

/// An error in JSON-RPC; of a line whose id is not known it has none.
fn error(id: Option<Value>, code: i32, message: &str) -> Line {
    let mut error = json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}});
    if let Some(id) = id {
        error["id"] = id;
    }
    Line::Answer(error)
}

#[cfg(test)]
mod tests;
