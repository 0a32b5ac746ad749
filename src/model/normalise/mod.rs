//! Turns any provider's reply into calls, an answer, a failed reply or an error.

mod args;
mod body;
mod error;
mod json_mode;
mod text;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};

pub use self::body::usage_of;
use self::body::{Body, Message};
use super::{ModelError, ModelErrorKind, Retry, call_id::CallIds};
use crate::domain::{Action, Call, Code, Served, ToolMode, Usage};

/// What a reply says, whatever way the provider says it.
#[derive(Debug, Clone, PartialEq)]
pub struct Normalised {
    /// Visible text beside a call, else the reasoning.
    pub thought: Option<String>,
    /// The reasoning text, where the provider gives it apart from the visible text.
    pub reasoning: Option<String>,
    /// The visible text that is not the answer, as the history keeps it: beside a call, or of a
    /// failed reply. In json mode the `thought` of the object.
    pub text: Option<String>,
    /// What it amounts to.
    pub action: Action,
    /// Why the model stopped, in the provider's word.
    pub finish: Option<String>,
    /// Whether the answer is a refusal.
    pub refused: bool,
    /// What it took; none when the provider does not say.
    pub usage: Option<Usage>,
    /// What answered, as far as the reply says.
    pub served: Served,
    /// What had to be repaired so that it could be read.
    pub repairs: Vec<Repair>,
}

/// Something that was repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// A call id was missing or taken.
    CallId,
    /// Arguments were empty and are read as `{}`.
    ArgumentsEmpty,
    /// Arguments came as an object and not as its text.
    ArgumentsObject,
    /// Arguments were encoded twice.
    DoubleEncoded,
    /// The call came in the old `function_call` field.
    FunctionCall,
    /// The call was written into the text.
    CallInText,
    /// Other text stood around the JSON object of json mode.
    JsonInText,
    /// A provider's tool call came although json mode has none.
    NativeCall,
}

impl Repair {
    /// The name in formats.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CallId => "call_id",
            Self::ArgumentsEmpty => "arguments_empty",
            Self::ArgumentsObject => "arguments_object",
            Self::DoubleEncoded => "double_encoded",
            Self::FunctionCall => "function_call",
            Self::CallInText => "call_in_text",
            Self::JsonInText => "json_in_text",
            Self::NativeCall => "native_call",
        }
    }
}

/// How a model's replies are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Provider tool calls, or one JSON object.
    pub tool_mode: ToolMode,
    /// Whether a call written into the text as `<tool_call>{"name":…,"arguments":…}</tool_call>`
    /// counts. Off by default: text quoted from a file or page must not become a call.
    pub text_calls: bool,
}

/// Reads the body of a reply with HTTP status `status`.
///
/// A reply that is the agent's own fault, or that a provider's filter refused, is a failed reply
/// ([`Action::Malformed`]) and no error.
///
/// # Errors
/// When the reply is an error of the endpoint and not of the agent.
pub fn normalise(status: u16, body: &str, options: Options) -> Result<Normalised, ModelError> {
    if !(200..300).contains(&status) {
        return error::of_status(status, body);
    }
    let parsed: Body<'_> =
        serde_json::from_str(body).map_err(|e| error::of_unreadable_body(body, &e))?;
    if let Some(said) = parsed.error {
        return error::of_object(said);
    }
    let choices = parsed.choices.ok_or_else(|| ModelError {
        kind: ModelErrorKind::NotAnApi,
        message: "the reply has no `choices`: check that the address is that of a \
                  chat-completions endpoint"
            .into(),
        retry: Retry::Once,
    })?;
    let choice = choices
        .into_iter()
        .next()
        .ok_or_else(|| error::provider("the reply has an empty list of `choices`"))?;
    if let Some(said) = choice.error {
        return error::of_object(said);
    }
    let finish = choice.finish_reason.and_then(body::string);
    if finish.as_deref() == Some("error") {
        return Err(error::provider("the reply ended with finish_reason error"));
    }
    let reply = read(
        &choice.message.unwrap_or_default(),
        finish.as_deref(),
        options,
    );
    let text = |raw: Option<&RawValue>| raw.and_then(body::string);
    let served = Served {
        model: text(parsed.model),
        provider: text(parsed.provider),
        fingerprint: text(parsed.system_fingerprint),
    };
    Ok(Normalised {
        finish,
        usage: parsed.usage.and_then(body::usage),
        served,
        ..reply
    })
}

fn read(message: &Message<'_>, finish: Option<&str>, options: Options) -> Normalised {
    let cut = matches!(finish, Some("length" | "max_tokens" | "model_length"));
    let (text, reasoning) = message.text_and_reasoning();
    let mut repairs = Vec::new();
    let announced = native_calls(message, cut, options.tool_mode, &mut repairs);
    let lost = match &announced {
        Some(calls) => calls.is_empty(),
        None => {
            matches!(finish, Some("tool_calls" | "function_call"))
                && (options.tool_mode == ToolMode::Native || text.is_none())
        }
    };
    let refusal = message.refusal.and_then(body::string);
    let refusal = refusal.filter(|r| !r.trim().is_empty());
    let refused = refusal.is_some();

    let mut reply = match (announced, text.or(refusal)) {
        (_, text) if lost => failed(Code::LostCall, LOST_CALL, text),
        (Some(calls), text) => acting(Action::Calls(calls), text),
        (None, None) => match finish {
            Some("content_filter") => failed(Code::ContentFilter, CONTENT_FILTER, None),
            _ if cut => failed(Code::CutOff, CUT_OFF, None),
            _ => failed(Code::Empty, EMPTY, None),
        },
        (None, Some(text)) if refused => acting(Action::Answer(text), None),
        (None, Some(text)) if options.tool_mode == ToolMode::Json => {
            json_mode::read(text, cut, &mut repairs)
        }
        (None, Some(text)) if options.text_calls && text.contains(text::OPEN) => {
            repairs.push(Repair::CallInText);
            text::read_calls(text, cut, &mut repairs)
        }
        (None, Some(text)) => acting(Action::Answer(text), None),
    };
    if reply.thought.is_none() {
        reply.thought.clone_from(&reasoning);
    }
    reply.refused = refused && matches!(reply.action, Action::Answer(_));
    reply.reasoning = reasoning;
    reply.repairs = repairs;
    reply
}

const EMPTY: &str = "The reply has neither text nor a tool call. Call a tool, or write the final \
                     answer as text.";
const CUT_OFF: &str = "The output limit cut the reply off before it held an answer or a call. \
                       Think in fewer words, then call a tool or answer.";
const LOST_CALL: &str = "The reply was announced as a tool call, but no call arrived. Make the \
                         call again, or write the final answer as text.";
const CONTENT_FILTER: &str = "The provider's content filter refused the prompt or the reply. Say \
                              it in other words, or take another way.";

/// The JSON object that a text is, or the only one in it.
pub(super) fn object_in(text: &str) -> Option<Map<String, Value>> {
    match json_mode::find(text, &mut Vec::new()) {
        Ok((_, Value::Object(object))) => Some(object),
        _ => None,
    }
}

/// A reply that acts, with the visible text beside the action.
fn acting(action: Action, text: Option<String>) -> Normalised {
    Normalised {
        thought: text.clone(),
        reasoning: None,
        text,
        action,
        finish: None,
        refused: false,
        usage: None,
        served: Served::default(),
        repairs: Vec::new(),
    }
}

/// A failed reply with its visible text.
fn failed(code: Code, reason: impl Into<String>, text: Option<String>) -> Normalised {
    let reason = reason.into();
    Normalised {
        thought: None,
        ..acting(Action::Malformed { code, reason }, text)
    }
}

/// The provider's tool calls; none if it speaks of none, an empty list if it lost them.
fn native_calls(
    message: &Message<'_>,
    cut: bool,
    mode: ToolMode,
    repairs: &mut Vec<Repair>,
) -> Option<Vec<Call>> {
    let listed = message.tool_calls.map(body::calls);
    let mut calls = Vec::new();
    match (listed, message.function_call) {
        (Some(None), _) => {}
        (Some(Some(listed)), _) if !listed.is_empty() => {
            let mut ids = CallIds::default();
            for (index, wire) in listed.into_iter().enumerate() {
                let wanted = wire.id.and_then(body::string).unwrap_or_default();
                let id = ids.take(&wanted, || format!("call_{index}"));
                if id != wanted {
                    repaired(repairs, Repair::CallId);
                }
                let function = wire.function.unwrap_or_default();
                calls.push(function.into_call(id, cut, repairs));
            }
        }
        (_, Some(function)) => {
            repairs.push(Repair::FunctionCall);
            let function = body::function(function);
            calls.push(function.into_call("call_0".into(), cut, repairs));
        }
        _ => return None,
    }
    if mode == ToolMode::Json && !calls.is_empty() {
        repairs.push(Repair::NativeCall);
    }
    Some(calls)
}

/// Notes a repair once.
fn repaired(repairs: &mut Vec<Repair>, repair: Repair) {
    if !repairs.contains(&repair) {
        repairs.push(repair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(message: &str) -> Normalised {
        let body = format!(r#"{{"choices":[{{"message":{message}}}]}}"#);
        normalise(200, &body, Options::default()).unwrap()
    }

    #[test]
    fn odd_messages() {
        let answer = |message| match native(message).action {
            Action::Answer(answer) => answer,
            other => panic!("{message}: {other:?}"),
        };
        assert_eq!(
            answer(r#"{"content":"half \ud83d of it"}"#),
            "half \u{fffd}\u{fffd}\u{fffd} of it"
        );
        assert_eq!(
            answer(r#"{"content":["a",{"text":"b"},{"image_url":{}},7]}"#),
            "ab"
        );
        assert_eq!(
            answer(r#"{"content":"a","tool_calls":[null],"audio":{}}"#),
            "a"
        );
    }

    #[test]
    fn thinking_among_the_parts_is_reasoning() {
        let reply = native(
            r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"17*23"}]},{"type":"text","text":"391"}]}"#,
        );
        assert_eq!(reply.reasoning.as_deref(), Some("17*23"));
        assert_eq!(reply.thought, reply.reasoning);
        assert_eq!(reply.action, Action::Answer("391".into()));
    }

    #[test]
    fn calls_that_are_no_list_are_lost() {
        let reply = native(r#"{"content":"a","tool_calls":"calculator"}"#);
        assert!(
            matches!(
                &reply.action,
                Action::Malformed {
                    code: Code::LostCall,
                    ..
                }
            ),
            "{reply:?}"
        );
        assert_eq!((reply.text.as_deref(), reply.thought), (Some("a"), None));
    }

    #[test]
    fn what_is_no_completion() {
        let error = |body| {
            let e = normalise(200, body, Options::default()).unwrap_err();
            (e.kind, e.retry)
        };
        let no_api = (ModelErrorKind::NotAnApi, Retry::Once);
        let failed = (ModelErrorKind::Provider, Retry::Yes);
        for (body, want) in [
            ("", failed),
            (r#"{"choices":null}"#, failed),
            (r#"{"choices":[{"finish_reason":"error"}]}"#, failed),
            (r#"{"status":"ok"}"#, no_api),
            ("data: {}", no_api),
            ("[]", no_api),
            (r#"{"choices":{}}"#, no_api),
        ] {
            assert_eq!(error(body), want, "{body}");
        }
    }

    #[test]
    fn counts_are_whole_and_not_negative() {
        let usage = |usage: &str| {
            let body =
                format!(r#"{{"choices":[{{"message":{{"content":"a"}}}}],"usage":{usage}}}"#);
            normalise(200, &body, Options::default()).unwrap().usage
        };
        let some = Usage {
            tokens_in: Some(50),
            ..Usage::default()
        };
        assert_eq!(
            usage(r#"{"prompt_tokens":50.0,"completion_tokens":-1,"cost":"x"}"#),
            Some(some)
        );
        assert_eq!(usage(r#"{"prompt_tokens":null,"cost":-0.5}"#), None);
        assert_eq!(usage("{}"), None);
        assert_eq!(usage("7"), None);
    }
}
