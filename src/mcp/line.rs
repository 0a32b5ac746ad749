//! Lines of both sides, and what they are. Nothing here waits, or remembers anything.

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use crate::domain::{shortened, strict_json};

/// The longest line that is read, in bytes.
pub(super) const MAX: usize = 4 << 20;

/// The longest id and progress token, in bytes of JSON: both are kept.
const MAX_ID: usize = 256;

/// The deepest nesting that JSON readers follow.
const MAX_DEPTH: usize = 128;

const LONG_ID: &str = "an id is longer than 256 bytes";
const LONG_TOKEN: &str = "a progress token is longer than 256 bytes";

const NOT_JSON: i32 = -32700;
pub(super) const INVALID: i32 = -32600;
const BAD_PARAMS: i32 = -32602;
pub(super) const NOT_NOW: i32 = -32603;

/// What a line of the client is.
#[derive(Debug, PartialEq)]
pub(super) enum Message {
    /// It asks for nothing.
    Nothing,
    /// Nobody waits for the answer to the request of this id any more.
    Cancel(Value),
    /// A request that the protocol can read.
    Request(Request),
    /// Nothing that the protocol could read; this is the answer.
    Wrong(Value),
}

/// A request of the client.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    pub id: Value,
    /// All of it.
    pub message: Map<String, Value>,
    /// How long its line is.
    pub bytes: usize,
}

impl Message {
    /// Reads a line.
    pub fn read(line: &[u8]) -> Self {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let Ok(text) = str::from_utf8(line.trim_ascii()) else {
            return Self::wrong(None, NOT_JSON, "the line is not UTF-8");
        };
        if text.is_empty() {
            return Self::Nothing;
        }
        match strict_json(text, MAX_DEPTH) {
            Ok(Value::Object(message)) => Self::of(message, line.len()),
            Ok(_) => {
                let why = "a message is one JSON object; there are no batches";
                Self::wrong(None, INVALID, why)
            }
            Err(e) => {
                let why = shortened(&format!("not JSON: {e}"), 200);
                Self::wrong(None, NOT_JSON, &why)
            }
        }
    }

    /// A line that is too long.
    pub fn too_long() -> Self {
        let why = format!("the line is longer than {} MiB", MAX >> 20);
        Self::wrong(None, NOT_JSON, &why)
    }

    /// An object, by its members.
    fn of(message: Map<String, Value>, bytes: usize) -> Self {
        let is_answer = message.contains_key("result") || message.contains_key("error");
        match (message.get("method"), message.get("id").cloned()) {
            // Nothing was asked of the client.
            (None, _) if is_answer => Self::Nothing,
            (_, Some(id)) if !(id.is_string() || id.is_number()) => {
                Self::wrong(None, INVALID, "an id is a text or a number")
            }
            (_, Some(id)) if is_long(&id) => Self::wrong(None, INVALID, LONG_ID),
            (Some(Value::String(method)), None) if method == "notifications/cancelled" => {
                let id = message.get("params").and_then(|p| p.get("requestId"));
                id.map_or(Self::Nothing, |id| Self::Cancel(id.clone()))
            }
            // Nothing listens to the others.
            (Some(Value::String(_)), None) => Self::Nothing,
            (Some(Value::String(_)), Some(id)) if is_answer => {
                let why = "a message with a method has neither result nor error";
                Self::wrong(Some(id), INVALID, why)
            }
            (Some(Value::String(_)), Some(id)) => Self::request(id, message, bytes),
            (_, id) => Self::wrong(id, INVALID, "a message has a method, which is a text"),
        }
    }

    fn request(id: Value, mut message: Map<String, Value>, bytes: usize) -> Self {
        if message.get("jsonrpc") != Some(&Value::from("2.0")) {
            return Self::wrong(Some(id), INVALID, "jsonrpc must be \"2.0\"");
        }
        match shape(&mut message) {
            Ok(()) => Self::Request(Request { id, message, bytes }),
            Err(why) => Self::wrong(Some(id), BAD_PARAMS, why),
        }
    }

    fn wrong(id: Option<Value>, code: i32, why: &str) -> Self {
        Self::Wrong(error(id, code, why))
    }
}

impl Request {
    /// What its progress is to be told under.
    pub fn token(&self) -> Option<&Value> {
        token(self.message.get("params")?.as_object()?)
    }
}

/// What a line of the protocol is.
pub(super) enum Spoken<'a> {
    /// The answer to the request of this number.
    Answer(u64, Answer<'a>),
    /// How far the request with this token has come.
    Progress(Value),
    /// Nothing about a request.
    Other,
}

/// What answers a request, as the protocol wrote it.
pub(super) struct Answer<'a> {
    key: &'static str,
    value: &'a RawValue,
}

impl<'a> Spoken<'a> {
    /// Reads a line; what the protocol writes can be read.
    pub fn read(line: &'a [u8]) -> Option<Self> {
        let parts: Parts<'a> = serde_json::from_slice(line).ok()?;
        let Some(number) = parts.id else {
            let is_progress = parts.method == Some("notifications/progress");
            let token = parts.params.and_then(|params| params.token);
            return Some(match token {
                Some(token) if is_progress => Self::Progress(token),
                _ => Self::Other,
            });
        };
        let (key, value) = match (parts.result, parts.error) {
            (Some(result), _) => ("result", result),
            (None, error) => ("error", error?),
        };
        Some(Self::Answer(number, Answer { key, value }))
    }
}

impl Answer<'_> {
    /// As the client is to see it, who asked under this id.
    pub fn to(&self, id: &Value) -> Vec<u8> {
        let Self { key, value } = self;
        format!(r#"{{"jsonrpc":"2.0","id":{id},"{key}":{value}}}"#).into_bytes()
    }
}

/// Parameters are an object, and so is what is said beside them; null is how some write the absent.
fn shape(message: &mut Map<String, Value>) -> Result<(), &'static str> {
    let Some(params) = within(message, "params", "params must be an object")? else {
        return Ok(());
    };
    within(params, "_meta", "_meta must be an object")?;
    match token(params) {
        Some(token) if is_long(token) => Err(LONG_TOKEN),
        _ => Ok(()),
    }
}

fn token(params: &Map<String, Value>) -> Option<&Value> {
    params.get("_meta")?.get("progressToken")
}

fn is_long(id: &Value) -> bool {
    id.to_string().len() > MAX_ID
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
struct Parts<'a> {
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
pub(super) fn error(id: Option<Value>, code: i32, message: &str) -> Value {
    let mut error = json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}});
    if let Some(id) = id {
        error["id"] = id;
    }
    error
}

#[cfg(test)]
mod tests;
