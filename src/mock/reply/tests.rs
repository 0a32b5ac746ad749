use super::*;
use crate::{
    domain::{Action, Price},
    mock::Reports,
    model::{Options, normalise::normalise},
};

const CALL: &str = r#"{"thought":"now","tool_call":{"tool":"add","args":{"a":[1,2]}}}"#;
const TWO_CALLS: &str = r#"{"tool_calls":[{"tool":"a"},{"tool":"b","args":{"x":"}"}}]}"#;
const ANSWER: &str = r#"{"thought":"hm","answer":"it is {{observation}}"}"#;

fn entry(text: &str) -> Entry {
    serde_json::from_str(text).unwrap()
}

fn place(tool_mode: ToolMode) -> Place<'static> {
    Place {
        rng_seed: 0,
        turn: 1,
        observation: "3\"9",
        tool_mode,
    }
}

fn made(text: &str, mode: ToolMode, bill: &Bill, malform: bool) -> Reply {
    let envelope = Envelope {
        id: 0xab,
        created: 1_700_000_000,
        model: "a\"b",
        request_bytes: 101,
        bill,
    };
    make(&entry(text), &place(mode), &envelope, malform)
}

fn plain(text: &str, mode: ToolMode, malform: bool) -> Reply {
    made(text, mode, &Bill::default(), malform)
}

fn json(reply: &Reply) -> Value {
    serde_json::from_str(&reply.body).unwrap()
}

#[test]
fn a_completion_is_the_scripts_with_an_envelope() {
    let reply = plain(ANSWER, ToolMode::Native, false);
    let want = r#"{"id":"chatcmpl-00000000000000ab","created":1700000000,"model":"a\"b","system_fingerprint":"farm-mock","usage":{"prompt_tokens":26,"completion_tokens":3,"total_tokens":29},"object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","reasoning_content":"hm","content":"it is 3\"9"}}]}"#;
    assert_eq!(reply.body, want);
    assert_eq!((reply.status, reply.is_malformed), (200, false));
}

#[test]
fn usage_is_reported_as_told() {
    let price = Price {
        input: 2.0,
        cached: None,
        output: 1.0,
    };
    let bill = Bill {
        price: Some(price),
        reports: Reports::More,
    };
    let usage = |bill: &Bill| json(&made(ANSWER, ToolMode::Native, bill, false))["usage"].clone();
    let tokens = json!({"prompt_tokens": 26, "completion_tokens": 3, "total_tokens": 29});
    let mut costing = tokens.clone();
    costing["cost"] = json!(2.0 * 55.0 / 1e6);
    assert_eq!(usage(&bill), costing);
    let none = Bill {
        reports: Reports::None,
        ..bill
    };
    assert_eq!(usage(&none), Value::Null);
    // Charged is the truth, whatever is said.
    let tokens = |bill| made(ANSWER, ToolMode::Native, bill, false).tokens;
    assert_eq!(tokens(&bill), Some(Tokens::of_bytes(101, 11)));
    assert_eq!(tokens(&none), tokens(&bill));
}

#[test]
fn what_a_model_writes_is_counted() {
    let table = [
        // now, add, {"a":[1,2]}
        (CALL, ToolMode::Native, 3 + 3 + 11),
        // {"thought":"now","tool_call":{"tool":"add","args":{"a":[1,2]}}}
        (CALL, ToolMode::Json, 63),
        (ANSWER, ToolMode::Native, 2 + 9),
        (TWO_CALLS, ToolMode::Native, 1 + 2 + 1 + 9),
        (
            r#"{"raw":{"choices":[{"message":{"content":null}}]}}"#,
            ToolMode::Native,
            0,
        ),
        (
            r#"{"raw":{"choices":[{"message":{"content":"äh","tool_calls":null}},{"message":{"reasoning":"xy"}}]}}"#,
            ToolMode::Native,
            3 + 2,
        ),
        (
            r#"{"raw":{"choices":[{"message":{"content":[1,2],"tool_calls":[{"function":{"arguments":{}}}]}}]}}"#,
            ToolMode::Native,
            5 + 2,
        ),
        (r#"{"raw":{"choices":7}}"#, ToolMode::Native, 13),
    ];
    for (text, mode, want) in table {
        let reply = plain(text, mode, false);
        assert_eq!(
            reply.tokens,
            Some(Tokens::of_bytes(101, want)),
            "{text} {want}"
        );
    }
}

#[test]
fn raw_entries_are_their_own_bodies() {
    let table = [
        (r#"{"id":"x","choices":[]}"#, 200, true),
        (r#"{"error":null,"choices":[]}"#, 200, true),
        (r#"{"error":{"code":429,"message":"slow"}}"#, 429, false),
        (r#"{"error":{"code":"503"}}"#, 503, false),
        (r#"{"error":{"code":"insufficient_quota"}}"#, 200, false),
        (r#"{"error":{"code":399}}"#, 200, false),
        (r#"{"error":{"code":600}}"#, 200, false),
        (r#"{"error":{"code":400.5}}"#, 200, false),
        (r#"{"error":"no"}"#, 200, false),
    ];
    for (raw, status, is_charged) in table {
        let text = format!(r#"{{"any_of":[{{"raw":{raw}}}]}}"#);
        let reply = plain(&text, ToolMode::Native, true);
        assert_eq!((reply.status, &*reply.body), (status, raw));
        assert_eq!(reply.tokens.is_some(), is_charged, "{raw}");
        assert!(!reply.is_malformed, "{raw}");
    }
}

#[test]
fn only_replies_with_a_call_become_malformed() {
    let raw_call = r#"{"raw":{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]}}]}}"#;
    let raw_object = r#"{"raw":{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":{"a":1}}}]}}]}}"#;
    let raw_number = r#"{"raw":{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"12"}}]}}]}}"#;
    let raw_absent = r#"{"raw":{"choices":[{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"x"}}]}}]}}"#;
    let looks_like_one = r#"{"answer":"{\"tool_call\":{\"tool\":\"add\",\"args\":{}}}"}"#;
    let table = [
        (CALL, ToolMode::Native, true),
        (CALL, ToolMode::Json, true),
        (TWO_CALLS, ToolMode::Native, true),
        (TWO_CALLS, ToolMode::Json, true),
        (raw_call, ToolMode::Native, true),
        (raw_object, ToolMode::Native, true),
        (raw_number, ToolMode::Native, true),
        (raw_absent, ToolMode::Native, true),
        (ANSWER, ToolMode::Native, false),
        (ANSWER, ToolMode::Json, false),
        (looks_like_one, ToolMode::Native, false),
        (r#"{"raw":{"choices":[]}}"#, ToolMode::Native, false),
        (r#"{"raw":{}}"#, ToolMode::Json, false),
    ];
    for (text, tool_mode, want) in table {
        let reply = plain(text, tool_mode, true);
        assert_eq!(reply.is_malformed, want, "{text}");
        let untouched = plain(text, tool_mode, false);
        assert_eq!(reply == untouched, !want, "{text}");
        if want {
            assert!(has_broken_call(&reply, tool_mode), "{text}: {}", reply.body);
            assert!(!has_broken_call(&untouched, tool_mode), "{text}");
        }
    }
}

/// Whether farm takes it for a reply with a call that cannot be read.
fn has_broken_call(reply: &Reply, tool_mode: ToolMode) -> bool {
    let options = Options {
        tool_mode,
        ..Options::default()
    };
    match normalise(200, &reply.body, options).unwrap().action {
        Action::Calls(calls) => calls.iter().any(|call| call.args.is_err()),
        Action::Malformed { .. } => tool_mode == ToolMode::Json,
        Action::Answer(_) => false,
    }
}

#[test]
fn errors_are_said_in_the_dialect() {
    let want = r#"{"error":{"message":"no \"x\"","type":"not_found_error","code":404}}"#;
    assert_eq!(error(404, "not_found_error", "no \"x\""), want);
}
