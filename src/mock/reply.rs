//! The bodies that are sent: completions out of scripts, and errors.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    bill::{Bill, Tokens},
    request::text_of,
};
use crate::{
    domain::{Entry, ToolMode},
    model::wire::{Place, choose, render},
};

/// What a reply carries beside what its script says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Envelope<'a> {
    /// The same for the same turn.
    pub id: u64,
    /// Unix seconds.
    pub created: u64,
    /// The model that was asked for.
    pub model: &'a str,
    /// Bytes of the request.
    pub request_bytes: usize,
    /// What it costs and what it says of that.
    pub bill: &'a Bill,
}

/// A reply as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    /// Of HTTP.
    pub status: u16,
    /// JSON.
    pub body: String,
    /// What it is charged for; none for an error.
    pub tokens: Option<Tokens>,
    /// Whether the arguments of its call are broken.
    pub is_malformed: bool,
}

/// The reply of a script's entry. `malform`: break the arguments of its call, if it has one.
///
/// A `raw` entry is its own body, and an error in one has the status that its code says. All else
/// that is said of usage, identity and time is added here.
pub(super) fn make(
    entry: &Entry,
    place: &Place<'_>,
    envelope: &Envelope<'_>,
    malform: bool,
) -> Reply {
    let entry = choose(entry, place);
    let rendered = render(entry, place);
    if let Some(status) = entry.raw.as_ref().and_then(error_status) {
        return Reply {
            status,
            body: rendered.get().to_owned(),
            tokens: None,
            is_malformed: false,
        };
    }
    let broken = malform.then(|| broken(rendered.get(), place.tool_mode));
    let broken = broken.flatten();
    let said = broken.as_deref().unwrap_or(rendered.get());
    // A body that says what it took is charged so: a provider bills what it says.
    let told = entry.raw.as_ref().and_then(told);
    let counted = || Tokens::of_bytes(envelope.request_bytes, text_bytes(said));
    let tokens = told.unwrap_or_else(counted);
    Reply {
        status: 200,
        body: match &entry.raw {
            Some(_) => said.to_owned(),
            None => enveloped(said, envelope, tokens),
        },
        tokens: Some(tokens),
        is_malformed: broken.is_some(),
    }
}

/// The body of an error in the dialect. `kind` is its `type`.
pub(super) fn error(status: u16, kind: &str, message: &str) -> String {
    json!({"error": {"message": message, "type": kind, "code": status}}).to_string()
}

/// The tokens that a body says it took.
fn told(body: &Map<String, Value>) -> Option<Tokens> {
    let usage = body.get("usage")?;
    Some(Tokens {
        input: usage["prompt_tokens"].as_u64()?,
        output: usage["completion_tokens"].as_u64()?,
    })
}

/// The status of a body that is an error: what its code says, or success, as some providers have
/// it.
fn error_status(body: &Map<String, Value>) -> Option<u16> {
    let error = body.get("error").filter(|error| !error.is_null())?;
    let code = &error["code"];
    let number = code
        .as_u64()
        .or_else(|| code.as_str()?.parse().ok())
        .and_then(|n| u16::try_from(n).ok());
    Some(number.filter(|n| (400..600).contains(n)).unwrap_or(200))
}

/// An object with what a provider says beside the choices put before its fields.
fn enveloped(object: &str, envelope: &Envelope<'_>, tokens: Tokens) -> String {
    let Envelope { id, created, .. } = envelope;
    let model = Value::from(envelope.model);
    let usage = match envelope.bill.reported(tokens) {
        Some(usage) => format!("\"usage\":{},", json!(usage)),
        None => String::new(),
    };
    let fields = object.strip_prefix('{').unwrap_or(object);
    format!(
        "{{\"id\":\"chatcmpl-{id:016x}\",\"created\":{created},\"model\":{model},\
         \"system_fingerprint\":\"farm-mock\",{usage}{fields}"
    )
}

/// A completion as far as its text is counted.
#[derive(Deserialize)]
struct Completion<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    message: Message<'a>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<Call<'a>>>,
}

#[derive(Deserialize)]
struct Call<'a> {
    #[serde(borrow)]
    function: Function<'a>,
}

#[derive(Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// How many bytes a model has written of a completion: text, reasoning, names and arguments of
/// calls. Of a body that is none, all.
fn text_bytes(body: &str) -> usize {
    let Ok(Completion { choices }) = serde_json::from_str(body) else {
        return body.len();
    };
    let length = |raw: Option<&RawValue>| {
        let json = raw.map_or("", RawValue::get);
        text_of(json).map_or(json.len(), |text| text.len())
    };
    let of_call = |call: &Call<'_>| length(call.function.name) + length(call.function.arguments);
    let of_choice = |Choice { message }: &Choice<'_>| {
        let calls = message.tool_calls.iter().flatten();
        length(message.reasoning_content)
            + length(message.reasoning)
            + length(message.content)
            + calls.map(of_call).sum::<usize>()
    };
    choices.iter().map(of_choice).sum()
}

/// The completion with the arguments of its first call broken; none when it calls nothing. In json
/// mode the object that holds the call is broken with them.
fn broken(body: &str, mode: ToolMode) -> Option<String> {
    let mut body: Value = serde_json::from_str(body).ok()?;
    let message = body.pointer_mut("/choices/0/message")?;
    match message.pointer_mut("/tool_calls/0/function") {
        Some(Value::Object(function)) => {
            let arguments = function.entry("arguments").or_insert_with(|| "{}".into());
            let text = match &*arguments {
                Value::String(text) => cut(text),
                other => cut(&other.to_string()),
            };
            *arguments = text.into();
        }
        _ => {
            let content = message.get_mut("content")?;
            let object: Map<String, Value> = serde_json::from_str(content.as_str()?).ok()?;
            let calls = |name| object.get(name).is_some_and(|call| !call.is_null());
            if mode != ToolMode::Json || !(calls("tool_call") || calls("tool_calls")) {
                return None;
            }
            *content = cut(content.as_str()?).into();
        }
    }
    Some(body.to_string())
}

/// The text without its end, so that it is no JSON.
fn cut(text: &str) -> String {
    let mut cut = text.trim_end().to_owned();
    cut.pop();
    // Arguments that are no object, or broken already.
    if cut.trim().is_empty() || serde_json::from_str::<IgnoredAny>(&cut).is_ok() {
        cut.insert(0, '{');
    }
    cut
}

#[cfg(test)]
mod tests;
