//! Lines of a client before the protocol sees them. Pure.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::{Value, json};

/// The longest line that is read, in bytes.
pub(super) const MAX: usize = 4 << 20;

/// What becomes of a line.
#[derive(Debug, PartialEq)]
pub(super) enum Line {
    /// It says nothing.
    Skip,
    /// It goes on to the protocol.
    Pass,
    /// This is the answer, and the protocol never sees it.
    Answer(Value),
}

/// Requests that have not been answered, by their ids as JSON.
#[derive(Debug, Default)]
pub(super) struct InFlight(HashSet<String>);

/// The part of a message that tells what it is.
#[derive(Deserialize)]
struct Answered {
    id: Option<Value>,
    method: Option<Value>,
}

impl InFlight {
    /// Whether all are answered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A line of the client; what the protocol would drop without an answer is answered.
    pub fn read(&mut self, line: &[u8]) -> Line {
        if line.trim_ascii().is_empty() {
            return Line::Skip;
        }
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(e) => return Line::Answer(error(None, -32700, &format!("not JSON: {e}"))),
        };
        let Some(message) = message.as_object() else {
            let why = "a message is one JSON object; there are no batches";
            return Line::Answer(error(None, -32600, why));
        };
        match (message.get("method"), message.get("id")) {
            (Some(_), Some(id)) if id.is_string() || id.is_i64() || id.is_u64() => {
                if self.0.insert(id.to_string()) {
                    Line::Pass
                } else {
                    let why = "a request with this id has not been answered yet";
                    Line::Answer(error(Some(id), -32600, why))
                }
            }
            (Some(method), None) if method == "notifications/cancelled" => {
                // It gets no answer.
                let id = message
                    .get("params")
                    .and_then(|params| params.get("requestId"));
                self.0.remove(&id.map(Value::to_string).unwrap_or_default());
                Line::Pass
            }
            _ => Line::Pass,
        }
    }

    /// A line that is too long.
    pub fn too_long() -> Line {
        let why = format!("the line is longer than {} MiB", MAX >> 20);
        Line::Answer(error(None, -32700, &why))
    }

    /// A line of the server.
    pub fn written(&mut self, line: &[u8]) {
        if let Ok(Answered {
            id: Some(id),
            method: None,
        }) = serde_json::from_slice(line)
        {
            self.0.remove(&id.to_string());
        }
    }
}

/// An error in JSON-RPC; of a line whose id is not known it has none.
fn error(id: Option<&Value>, code: i32, message: &str) -> Value {
    let mut error = json!({"jsonrpc": "2.0", "error": {"code": code, "message": message}});
    if let Some(id) = id {
        error["id"] = id.clone();
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_protocol_would_drop_is_answered() {
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{}1{}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        let table: [(&[u8], Option<i32>); 9] = [
            (b"{", Some(-32700)),
            (b"\xff\xfe", Some(-32700)),
            (deep.as_bytes(), Some(-32700)),
            (br#"{"a":"\ud800"}"#, Some(-32700)),
            (br#"{"a":1e400}"#, Some(-32700)),
            (
                br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
                Some(-32600),
            ),
            (b"42", Some(-32600)),
            (
                br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                None,
            ),
            (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, None),
        ];
        for (line, code) in table {
            let shown = String::from_utf8_lossy(line);
            match (InFlight::default().read(line), code) {
                (Line::Answer(answer), Some(code)) => {
                    assert_eq!(answer["error"]["code"], code, "{shown}");
                    assert!(answer.get("id").is_none(), "{shown}");
                }
                (Line::Pass, None) => {}
                (line, _) => panic!("{shown}: {line:?}"),
            }
        }
        for blank in [&b""[..], b"  \t", b"\r"] {
            assert_eq!(InFlight::default().read(blank), Line::Skip);
        }
    }

    #[test]
    fn an_id_is_in_flight_until_it_is_answered_or_cancelled() {
        let mut ids = InFlight::default();
        let ask = br#"{"jsonrpc":"2.0","id":"7","method":"ping"}"#;
        let number = br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
        assert_eq!(ids.read(ask), Line::Pass);
        assert_eq!(ids.read(number), Line::Pass, "a number is no text");
        let Line::Answer(answer) = ids.read(ask) else {
            panic!("it is in flight")
        };
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!("7"), &json!(-32600))
        );
        // A request of the server is no answer.
        ids.written(br#"{"jsonrpc":"2.0","id":"7","method":"ping"}"#);
        assert!(matches!(ids.read(ask), Line::Answer(_)));
        ids.written(br#"{"jsonrpc":"2.0","id":"7","result":{}}"#);
        assert_eq!(ids.read(ask), Line::Pass);
        let cancel =
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"7"}}"#;
        assert_eq!(ids.read(cancel), Line::Pass);
        ids.written(br#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""}}"#);
        assert!(ids.is_empty());
    }
}
