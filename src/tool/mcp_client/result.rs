//! What a call of a foreign tool brought, as an observation. Pure.

use rmcp::{
    ServiceError,
    model::{CallToolResponse, CallToolResult, ContentBlock, ResourceContents},
};

use crate::domain::{Observation, shortened};

/// How many characters of an error of the protocol are shown.
const SHOWN: usize = 2_000;

/// What an answer says: its texts, a line each; of what is no text, what it is. At most `max`
/// bytes.
pub(super) fn observation(
    answer: Result<CallToolResponse, ServiceError>,
    server: &str,
    max: usize,
) -> Observation {
    let result = match answer {
        Ok(CallToolResponse::Complete(result)) => result,
        Ok(_) => {
            return Observation::error(format!(
                "server {server} wants to be asked again later or to be told more, which is not done"
            ));
        }
        Err(ServiceError::McpError(e)) => {
            let said = shortened(&e.message, SHOWN);
            return Observation::error(format!("server {server}: {said} ({})", e.code.0));
        }
        Err(ServiceError::TransportClosed | ServiceError::TransportSend(_)) => {
            return Observation::error(format!("server {server} has ended"));
        }
        Err(_) => {
            return Observation::error(format!("server {server} gave no result of a call"));
        }
    };
    let is_error = result.is_error.unwrap_or_default();
    let text = text(result);
    if text.len() > max {
        return Observation::error(format!(
            "the result has {} bytes, more than the {max} that are taken; ask for less",
            text.len()
        ));
    }
    match is_error {
        true => Observation::error(text),
        false => Observation::ok(text),
    }
}

fn text(result: CallToolResult) -> String {
    let structured = result.structured_content;
    if result.content.is_empty() {
        return structured.map_or_else(String::new, |value| value.to_string());
    }
    let lines: Vec<String> = result.content.into_iter().map(line).collect();
    lines.join("\n")
}

fn line(block: ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text,
        ContentBlock::Image(image) => unseen("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => unseen("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { text, .. } => text,
            ResourceContents::BlobResourceContents {
                uri,
                mime_type,
                blob,
                ..
            } => unseen(&uri, &mime_type.unwrap_or_default(), &blob),
            _ => "[a resource]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => format!("[{}: {}]", link.name, link.uri),
        _ => "[neither text nor image]".to_owned(),
    }
}

/// What stands for bytes that a model cannot be shown: base64, so three bytes to four characters.
fn unseen(what: &str, kind: &str, base64: &str) -> String {
    let padding = base64.bytes().rev().take_while(|b| *b == b'=').count();
    let bytes = (base64.len() / 4 * 3).saturating_sub(padding);
    let kind = if kind.is_empty() { "unknown" } else { kind };
    format!("[{what}, {kind}, {bytes} bytes]")
}

#[cfg(test)]
mod tests {
    use rmcp::ErrorData;
    use serde_json::{Value, json};

    use super::*;

    fn complete(result: Value) -> Result<CallToolResponse, ServiceError> {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        Ok(CallToolResponse::Complete(result))
    }

    #[test]
    fn a_result_is_its_text() {
        let resource =
            json!({"type": "resource", "resource": {"uri": "file:///a", "text": "inside"}});
        let blob = json!({"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAA", "mimeType": "x/y"}});
        let table = [
            (
                json!({"content": [{"type": "text", "text": "a\nb"}]}),
                true,
                "a\nb",
            ),
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "structuredContent": {"x": 1}}),
                true,
                "a\nb",
            ),
            (
                json!({"content": [{"type": "text", "text": "no"}], "isError": true}),
                false,
                "no",
            ),
            (
                json!({"content": [], "structuredContent": {"x": [1]}}),
                true,
                r#"{"x":[1]}"#,
            ),
            (json!({"content": []}), true, ""),
            (
                json!({"content": [{"type": "image", "data": "AAA=", "mimeType": "image/png"}]}),
                true,
                "[image, image/png, 2 bytes]",
            ),
            (
                json!({"content": [resource, blob]}),
                true,
                "inside\n[file:///b, x/y, 3 bytes]",
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "file:///c", "name": "c"}]}),
                true,
                "[c: file:///c]",
            ),
            (
                json!({"content": [{"type": "text", "text": "x".repeat(101)}]}),
                false,
                "the result has 101 bytes, more than the 100 that are taken; ask for less",
            ),
        ];
        for (result, ok, text) in table {
            let got = observation(complete(result.clone()), "s", 100);
            assert_eq!((got.ok, &*got.content), (ok, text), "{result}");
        }
    }

    #[test]
    fn what_is_no_result_is_an_error_observation() {
        let refused = ErrorData::invalid_params("no such tool", None);
        let table = [
            (
                ServiceError::McpError(refused),
                "server s: no such tool (-32602)",
            ),
            (ServiceError::TransportClosed, "server s has ended"),
            (
                ServiceError::UnexpectedResponse,
                "server s gave no result of a call",
            ),
        ];
        for (error, text) in table {
            let got = observation(Err(error), "s", 100);
            assert_eq!((got.ok, &*got.content), (false, text));
        }
    }
}
