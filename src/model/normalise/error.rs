//! Errors of endpoints: what they mean, whatever way they are said.

use serde_json::{Value, value::RawValue};

use super::{CONTENT_FILTER, ModelError, ModelErrorKind as Kind, Normalised, Retry, failed};
use crate::domain::Code;

/// A reply whose HTTP status is no success.
pub(super) fn of_status(status: u16, body: &str) -> Result<Normalised, ModelError> {
    let value: Value = serde_json::from_str(body).unwrap_or_else(|_| {
        let page = body.trim_start().starts_with('<');
        Value::from(if page { "" } else { body })
    });
    Said::read(value.get("error").unwrap_or(&value)).judge(Some(status))
}

/// An error object inside a reply whose HTTP status is a success.
pub(super) fn of_object(error: &RawValue) -> Result<Normalised, ModelError> {
    let value: Value = serde_json::from_str(error.get()).unwrap_or_default();
    Said::read(&value).judge(None)
}

/// A body with a status of success that is no chat completion.
pub(super) fn of_unreadable_body(body: &str, error: &serde_json::Error) -> ModelError {
    let begun = body.trim_start();
    if begun.is_empty() || (begun.starts_with('{') && !error.is_data()) {
        return provider(&format!("the reply is not whole: {error}"));
    }
    ModelError {
        kind: Kind::NotAnApi,
        message: format!(
            "the reply is no chat completion: check the address; it begins with {:?}",
            quote(begun, 60)
        ),
        retry: Retry::Once,
    }
}

/// The endpoint failed; asking again may help.
pub(super) fn provider(message: &str) -> ModelError {
    ModelError {
        kind: Kind::Provider,
        message: message.to_owned(),
        retry: Retry::Yes,
    }
}

/// What an error says of itself.
struct Said {
    /// Its message, and that of the provider behind a router.
    message: String,
    /// `code` and `type`, in lower case.
    words: [String; 2],
    /// `code`, where it is a number.
    number: Option<u16>,
    /// Whether a router says that its moderation flagged the input.
    flagged: bool,
}

impl Said {
    fn read(error: &Value) -> Self {
        let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
        let metadata = &error["metadata"];
        let parts = [error, &error["message"], &error["detail"], &metadata["raw"]];
        let code = &error["code"];
        Self {
            message: parts
                .into_iter()
                .filter_map(Value::as_str)
                .collect::<Vec<_>>()
                .join(": "),
            words: [code, &error["type"]].map(|word| text(word).to_ascii_lowercase()),
            number: code
                .as_u64()
                .and_then(|n| n.try_into().ok())
                .or_else(|| code.as_str()?.parse().ok()),
            flagged: metadata["reasons"].is_array() || metadata["flagged_input"].is_string(),
        }
    }

    fn judge(&self, http: Option<u16>) -> Result<Normalised, ModelError> {
        if self.is_filtered() {
            return Ok(failed(Code::ContentFilter, CONTENT_FILTER, None));
        }
        let status = http
            .or(self.number.filter(|n| (400..600).contains(n)))
            .unwrap_or_else(|| self.status_in_words());
        let (kind, retry) = if self.is_too_long(status) {
            (Kind::Context, Retry::No)
        } else if self.has_word(&["insufficient_quota"]) {
            (Kind::QuotaExhausted, Retry::No)
        } else {
            kind_of(status)
        };
        // What refuses a key likes to quote it.
        let message = match kind {
            Kind::Auth => "the key is missing, wrong or not allowed to use this model".to_owned(),
            _ if self.message.trim().is_empty() => "the endpoint gave no reason".to_owned(),
            _ => quote(&self.message, 300),
        };
        Err(ModelError {
            kind,
            message: match http {
                Some(status) => format!("HTTP {status}: {message}"),
                None => message,
            },
            retry,
        })
    }

    /// Judged by the error alone and not by the status, so that a stored reply reads the same.
    fn is_filtered(&self) -> bool {
        self.flagged
            || self.has_word(&[
                "content_filter",
                "content_policy_violation",
                "data_inspection_failed",
                "responsibleaipolicyviolation",
            ])
    }

    fn is_too_long(&self, status: u16) -> bool {
        const PHRASES: [&str; 7] = [
            "context length",
            "context window",
            "context size",
            "prompt is too long",
            "input is too long",
            "input token count",
            "reduce the length of the messages",
        ];
        let message = self.message.to_ascii_lowercase();
        status == 413
            || self.has_word(&["context_length", "exceed_context"])
            || (matches!(status, 400 | 422 | 500) && PHRASES.iter().any(|p| message.contains(p)))
    }

    fn has_word(&self, words: &[&str]) -> bool {
        words
            .iter()
            .any(|w| self.words.iter().any(|s| s.contains(w)))
    }

    /// The status that `code` or `type` stands for.
    fn status_in_words(&self) -> u16 {
        const WORDS: [(&str, u16); 10] = [
            ("rate_limit", 429),
            ("insufficient_quota", 402),
            ("billing", 402),
            ("api_key", 401),
            ("authentication", 401),
            ("permission", 403),
            ("not_found", 404),
            ("invalid_request", 400),
            ("timeout", 408),
            ("overloaded", 503),
        ];
        WORDS
            .into_iter()
            .find(|(word, _)| self.has_word(&[word]))
            .map_or(500, |(_, status)| status)
    }
}

fn kind_of(status: u16) -> (Kind, Retry) {
    match status {
        401 | 403 => (Kind::Auth, Retry::No),
        402 => (Kind::QuotaExhausted, Retry::No),
        404 => (Kind::NotFound, Retry::No),
        408 | 504 | 524 => (Kind::Timeout, Retry::Yes),
        409 | 425 => (Kind::Provider, Retry::Yes),
        429 => (Kind::RateLimited, Retry::Yes),
        400..500 => (Kind::BadRequest, Retry::No),
        500.. => (Kind::Provider, Retry::Yes),
        // A redirect, or a status that no API gives.
        _ => (Kind::NotAnApi, Retry::No),
    }
}

/// The beginning of a foreign text on one line, without what looks like a key.
fn quote(text: &str, limit: usize) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "-_*".contains(c);
    let begin: String = text.chars().take(4 * limit).collect();
    let mut line = String::new();
    for piece in begin.split_inclusive(|c| !is_word(c)) {
        let word = piece.trim_end_matches(|c| !is_word(c));
        let end = piece.strip_prefix(word).unwrap_or_default();
        line.push_str(if looks_like_key(word) { "[key]" } else { word });
        line.push_str(if end.trim().is_empty() && !end.is_empty() {
            " "
        } else {
            end
        });
    }
    line.chars().take(limit).collect()
}

fn looks_like_key(word: &str) -> bool {
    const PREFIXES: [&str; 8] = ["sk-", "sk_", "gsk_", "xai-", "hf_", "AIza", "pplx-", "key-"];
    PREFIXES.iter().any(|p| word.starts_with(p))
        || (word.len() >= 24
            && word.bytes().all(|b| b.is_ascii_alphanumeric())
            && word.bytes().any(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_quoted() {
        let text =
            "bad key sk-12345,\nor 0123456789abcdef01234567 for Qwen3-235B-A22B-Instruct-2507";
        let want = "bad key [key], or [key] for Qwen3-235B-A22B-Instruct-2507";
        assert_eq!(quote(text, 300), want);
        assert_eq!(quote("abcdef", 3), "abc");
    }

    #[test]
    fn says_what_the_endpoint_said() {
        let of = |status, body| of_status(status, body).unwrap_err();
        let table = [
            (
                of(500, r#"{"error":"out of memory"}"#),
                "provider: HTTP 500: out of memory",
            ),
            (
                of(400, r#"{"object":"error","message":"no","code":400}"#),
                "bad_request: HTTP 400: no",
            ),
            (
                of(422, r#"{"detail":"field required"}"#),
                "bad_request: HTTP 422: field required",
            ),
            (
                of(502, "<html>"),
                "provider: HTTP 502: the endpoint gave no reason",
            ),
            (of(503, "busy"), "provider: HTTP 503: busy"),
            (
                of(
                    400,
                    r#"{"error":{"message":"Provider returned error","metadata":{"raw":"over the context window"}}}"#,
                ),
                "context: HTTP 400: Provider returned error: over the context window",
            ),
            (
                of(302, ""),
                "not_an_api: HTTP 302: the endpoint gave no reason",
            ),
        ];
        for (error, want) in table {
            assert_eq!(error.to_string(), want);
        }
    }

    #[test]
    fn words_stand_for_a_status() {
        let of = |json: &str| {
            let raw: Box<RawValue> = serde_json::from_str(json).unwrap();
            of_object(&raw).map(|_| ()).map_err(|e| (e.kind, e.retry))
        };
        assert_eq!(
            of(r#"{"type":"rate_limit_error"}"#),
            Err((Kind::RateLimited, Retry::Yes))
        );
        assert_eq!(
            of(r#"{"code":"invalid_api_key"}"#),
            Err((Kind::Auth, Retry::No))
        );
        assert_eq!(
            of(r#"{"code":"429"}"#),
            Err((Kind::RateLimited, Retry::Yes))
        );
        assert_eq!(of(r#""odd""#), Err((Kind::Provider, Retry::Yes)));
        assert_eq!(of("1"), Err((Kind::Provider, Retry::Yes)));
        assert_eq!(of(r#"{"code":"content_filter"}"#), Ok(()));
    }
}
