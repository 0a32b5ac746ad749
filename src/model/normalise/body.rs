//! The body of a chat completion, borrowed and lenient: a field of an odd type counts as absent, but
//! for `choices`, what is in it and its `message`: without those it is no chat completion.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};

use super::{Repair, args, text};
use crate::domain::{Call, MAX_CALL_TOKENS, MAX_CALL_USD, Usage};

#[derive(Deserialize)]
pub(super) struct Body<'a> {
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    /// None when the field is missing; null is an empty list.
    #[serde(borrow, default, deserialize_with = "list")]
    pub choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    pub usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub model: Option<&'a RawValue>,
    #[serde(borrow)]
    pub provider: Option<&'a RawValue>,
    #[serde(borrow)]
    pub system_fingerprint: Option<&'a RawValue>,
}

fn list<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Vec<Choice<'de>>>, D::Error> {
    Option::deserialize(d).map(|list| Some(list.unwrap_or_default()))
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub finish_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub message: Option<Message<'a>>,
}

#[derive(Deserialize, Default)]
pub(super) struct Message<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    pub refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    pub tool_calls: Option<&'a RawValue>,
    #[serde(borrow)]
    pub function_call: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct WireCall<'a> {
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    #[serde(borrow)]
    pub function: Option<Function<'a>>,
}

#[derive(Deserialize, Default)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

impl Function<'_> {
    pub(super) fn into_call(self, id: String, cut: bool, repairs: &mut Vec<Repair>) -> Call {
        let (args, args_len) = args::read(self.arguments, cut, repairs);
        Call {
            id,
            tool: self.name.and_then(string).unwrap_or_default(),
            args,
            args_len,
        }
    }
}

/// What any body says that the call took, also that of an error.
#[must_use]
pub fn usage_of(body: &str) -> Option<Usage> {
    #[derive(Deserialize)]
    struct Used<'a> {
        #[serde(borrow)]
        usage: Option<&'a RawValue>,
    }
    serde_json::from_str::<Used<'_>>(body)
        .ok()?
        .usage
        .and_then(usage)
}

/// The calls of `tool_calls`; none when it is no list of calls.
pub(super) fn calls(list: &RawValue) -> Option<Vec<WireCall<'_>>> {
    let calls: Vec<Option<WireCall<'_>>> = serde_json::from_str(list.get()).ok()?;
    Some(calls.into_iter().flatten().collect())
}

/// The function of the old `function_call` field.
pub(super) fn function(raw: &RawValue) -> Function<'_> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

impl Message<'_> {
    /// The visible text and the reasoning, each none when blank.
    pub(super) fn text_and_reasoning(&self) -> (Option<String>, Option<String>) {
        let (text, thinking) = self.content.map(content).unwrap_or_default();
        let given = [self.reasoning_content, self.reasoning]
            .into_iter()
            .find_map(|raw| present(string(raw?)?))
            .or_else(|| present(thinking));
        match given {
            Some(reasoning) => (present(text), Some(reasoning)),
            None => {
                let (text, reasoning) = text::split_thinking(text);
                (present(text), reasoning.and_then(present))
            }
        }
    }
}

fn present(text: String) -> Option<String> {
    (!text.trim().is_empty()).then_some(text)
}

/// `content`: the visible text, and the thinking that some providers put among its parts.
fn content(raw: &RawValue) -> (String, String) {
    let mut text = String::new();
    let mut thinking = String::new();
    if let Some(whole) = string(raw) {
        text = whole;
    } else if let Ok(Value::Array(parts)) = serde_json::from_str(raw.get()) {
        for part in &parts {
            collect(part, &mut text, &mut thinking);
        }
    }
    (text, thinking)
}

fn collect(part: &Value, text: &mut String, thinking: &mut String) {
    if let Some(plain) = part.as_str().or_else(|| part["text"].as_str()) {
        text.push_str(plain);
    }
    match &part["thinking"] {
        Value::String(plain) => thinking.push_str(plain),
        Value::Array(parts) => {
            for part in parts {
                thinking.push_str(part["text"].as_str().unwrap_or_default());
            }
        }
        _ => {}
    }
}

/// The text of a JSON string; none for any other value.
///
/// Half a surrogate pair, which a cut can leave behind, becomes U+FFFD: the rest of the text is
/// not lost for it.
pub(super) fn string(raw: &RawValue) -> Option<String> {
    text_of(raw).map(Cow::into_owned)
}

pub(super) fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    let json = raw.get();
    if !json.starts_with('"') {
        return None;
    }
    match serde_json::from_str(json) {
        Ok(Text(text)) => Some(text),
        Err(_) => {
            let bytes: Vec<u8> = serde_json::from_str::<Bytes>(json).ok()?.0;
            Some(String::from_utf8_lossy(&bytes).into_owned().into())
        }
    }
}

/// A JSON string as bytes: the one reading of serde_json that takes half a surrogate pair.
struct Bytes(Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        d.deserialize_bytes(Visitor)
    }
}

/// What the provider says that the reply took; none when it says nothing.
///
/// A price or a count that cannot be is unknown: one that is negative or not finite, a price above
/// [`MAX_CALL_USD`], a count above [`MAX_CALL_TOKENS`].
pub(super) fn usage(raw: &RawValue) -> Option<Usage> {
    #[derive(Deserialize)]
    struct Wire<'a> {
        #[serde(borrow)]
        prompt_tokens: Option<&'a RawValue>,
        #[serde(borrow)]
        completion_tokens: Option<&'a RawValue>,
        #[serde(borrow)]
        prompt_tokens_details: Option<&'a RawValue>,
        #[serde(borrow)]
        completion_tokens_details: Option<&'a RawValue>,
        #[serde(borrow)]
        cost: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Details<'a> {
        #[serde(borrow)]
        cached_tokens: Option<&'a RawValue>,
        #[serde(borrow)]
        reasoning_tokens: Option<&'a RawValue>,
    }
    fn details(raw: Option<&RawValue>) -> Option<Details<'_>> {
        serde_json::from_str(raw?.get()).ok()
    }
    let wire: Wire<'_> = serde_json::from_str(raw.get()).ok()?;
    let usage = Usage {
        tokens_in: wire.prompt_tokens.and_then(count),
        tokens_cached: details(wire.prompt_tokens_details)
            .and_then(|d| d.cached_tokens)
            .and_then(count),
        tokens_out: wire.completion_tokens.and_then(count),
        tokens_reasoning: details(wire.completion_tokens_details)
            .and_then(|d| d.reasoning_tokens)
            .and_then(count),
        cost_usd: wire
            .cost
            .and_then(number)
            .filter(|usd| *usd <= MAX_CALL_USD),
    };
    (usage != Usage::default()).then_some(usage)
}

/// A number that is not negative.
fn number(raw: &RawValue) -> Option<f64> {
    let number: f64 = raw.get().parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// A count; some servers write it as `50.0`.
fn count(raw: &RawValue) -> Option<u64> {
    let count = raw.get().parse().ok().or_else(|| {
        let number = number(raw)?;
        (number.fract() == 0.0).then_some(number as u64)
    });
    count.filter(|count| *count <= MAX_CALL_TOKENS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_and_counts_that_cannot_be_are_unknown() {
        let of = |field: &str, number: &str| {
            let json = format!(r#"{{"{field}":{number}}}"#);
            usage(&RawValue::from_string(json).unwrap())
        };
        for (number, want) in [
            ("0", Some(0.0)),
            ("0.25", Some(0.25)),
            ("1e6", Some(1e6)),
            ("1000000.1", None),
            ("1e308", None),
            ("1e999", None),
            ("-0.1", None),
            ("null", None),
        ] {
            assert_eq!(
                of("cost", number).and_then(|u| u.cost_usd),
                want,
                "{number}"
            );
        }
        for (number, want) in [
            ("50", Some(50)),
            ("50.0", Some(50)),
            ("9007199254740992", Some(1 << 53)),
            ("9007199254740993", None),
            ("18446744073709551615", None),
            ("1e300", None),
            ("-1", None),
            ("1.5", None),
        ] {
            let read = |field| of(field, number);
            let tokens_in = read("prompt_tokens").and_then(|u| u.tokens_in);
            let tokens_out = read("completion_tokens").and_then(|u| u.tokens_out);
            assert_eq!((tokens_in, tokens_out), (want, want), "{number}");
        }
    }
}
