use super::*;

fn wrong(line: &[u8]) -> Value {
    match Message::read(line) {
        Message::Wrong(answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_the_protocol_would_drop_is_answered() {
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{}1{}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let table: [(&[u8], i32, Value); 20] = [
        (b"{", -32700, Value::Null),
        (b"\xff\xfe", -32700, Value::Null),
        (deep.as_bytes(), -32700, Value::Null),
        (br#"{"a":"\ud800"}"#, -32700, Value::Null),
        (br#"{"a":1e400}"#, -32700, Value::Null),
        (br#"{"id":1,"id":2}"#, -32700, Value::Null),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"x"} {}"#,
            -32700,
            Value::Null,
        ),
        (
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            -32600,
            Value::Null,
        ),
        (b"42", -32600, Value::Null),
        (b"{}", -32600, Value::Null),
        (br#"{"jsonrpc":"2.0","method":5}"#, -32600, Value::Null),
        (
            br#"{"jsonrpc":"2.0","id":null,"method":"x"}"#,
            -32600,
            Value::Null,
        ),
        (
            br#"{"jsonrpc":"2.0","id":[1],"method":"x"}"#,
            -32600,
            Value::Null,
        ),
        (br#"{"jsonrpc":"2.0","id":1}"#, -32600, json!(1)),
        (
            br#"{"jsonrpc":"1.0","id":1,"method":"x"}"#,
            -32600,
            json!(1),
        ),
        (br#"{"id":"1","method":"x"}"#, -32600, json!("1")),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"x","result":1}"#,
            -32600,
            json!(1),
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"x","params":[]}"#,
            -32602,
            json!(1),
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"x","params":"y"}"#,
            -32602,
            json!(1),
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":5}}"#,
            -32602,
            json!(1),
        ),
    ];
    for (line, code, id) in table {
        let shown = String::from_utf8_lossy(line);
        let answer = wrong(line);
        assert_eq!(answer["error"]["code"], code, "{shown}");
        assert_eq!(answer["id"], id, "{shown}");
        assert_eq!(answer.get("id").is_some(), !id.is_null(), "{shown}");
    }
    match Message::too_long() {
        Message::Wrong(answer) => assert_eq!(answer["error"]["code"], -32700),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_asks_for_nothing_is_skipped() {
    for line in [
        "",
        "  \t",
        "\r",
        "\u{feff}",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
        r#"{"jsonrpc":"1.0","method":"no such thing","params":5}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#,
    ] {
        assert_eq!(Message::read(line.as_bytes()), Message::Nothing, "{line}");
    }
}

#[test]
fn what_is_null_is_absent() {
    for (params, seen) in [
        ("null", Value::Null),
        (r#"{"_meta":null,"name":null}"#, json!({"name": null})),
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{params}}}"#);
        let Message::Request(Request { message, .. }) = Message::read(line.as_bytes()) else {
            panic!("{line}")
        };
        assert_eq!(message.get("params").cloned().unwrap_or_default(), seen);
    }
}

#[test]
fn a_cancellation_names_an_id() {
    for id in [json!(1), json!("1"), json!([2]), Value::Null] {
        let line = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id}});
        let read = Message::read(line.to_string().as_bytes());
        assert_eq!(read, Message::Cancel(id));
    }
}

#[test]
fn what_is_kept_of_a_request_is_short() {
    let ask = |id: Value, token: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "x",
            "params": {"_meta": {"progressToken": token}}})
        .to_string()
    };
    // The quotes count.
    let (longest, longer) = (json!("x".repeat(254)), json!("x".repeat(255)));
    let read = Message::read(ask(longest.clone(), longest.clone()).as_bytes());
    let Message::Request(request) = read else {
        panic!("{read:?}")
    };
    assert_eq!((&request.id, request.token()), (&longest, Some(&longest)));
    let refused = wrong(ask(longer.clone(), json!(1)).as_bytes());
    assert_eq!(refused["error"]["code"], -32600);
    assert_eq!(refused.get("id"), None, "it is not said again");
    let refused = wrong(ask(json!(1), longer).as_bytes());
    assert_eq!(
        (&refused["error"]["code"], &refused["id"]),
        (&json!(-32602), &json!(1))
    );
    let huge = wrong(ask(json!("x".repeat(1 << 20)), json!(1)).as_bytes());
    assert!(huge.to_string().len() < 200, "{huge}");
}

#[test]
fn what_the_protocol_says_is_told_apart() {
    let progress =
        br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t"}}"#;
    assert!(matches!(Spoken::read(progress), Some(Spoken::Progress(token)) if token == "t"));
    for other in [
        &br#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"m"}}"#[..],
        br#"{"jsonrpc":"2.0","method":"notifications/other","params":{"progressToken":"t"}}"#,
    ] {
        assert!(matches!(Spoken::read(other), Some(Spoken::Other)));
    }
    for (key, value) in [("result", "{\"a\":[1.0,\"\\u00e4\"]}"), ("error", "{}")] {
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"{key}\":{value}}}\n");
        let Some(Spoken::Answer(7, answer)) = Spoken::read(line.as_bytes()) else {
            panic!("{line}")
        };
        let want = format!(r#"{{"jsonrpc":"2.0","id":"7","{key}":{value}}}"#);
        assert_eq!(answer.to(&json!("7")), want.into_bytes());
    }
    assert!(Spoken::read(b"{").is_none());
}
