use super::*;

fn open() -> Open {
    Open::new(CancellationToken::new())
}

/// What the protocol is to see of a line.
fn passed(line: Line) -> Value {
    match line {
        Line::Pass(line) => serde_json::from_str(&line).unwrap(),
        line => panic!("{line:?}"),
    }
}

fn answer(line: Line) -> Value {
    match line {
        Line::Answer(answer) => answer,
        line => panic!("{line:?}"),
    }
}

/// What the client is to see of an answer.
fn said(open: &mut Open, number: u64) -> Option<String> {
    let line =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},\"result\":{{\"a\":[1.0,\"\\u00e4\"]}}}}\n");
    let line = open.answered(line.as_bytes())?;
    Some(String::from_utf8(line).unwrap())
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
        let mut open = open();
        let answer = answer(open.read(line));
        assert_eq!(answer["error"]["code"], code, "{shown}");
        assert_eq!(answer["id"], id, "{shown}");
        assert_eq!(answer.get("id").is_some(), !id.is_null(), "{shown}");
        assert_eq!(open.len(), 0, "{shown}");
    }
    assert_eq!(answer(Open::too_long())["error"]["code"], -32700);
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
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"1.0","method":"no such thing","params":5}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":1,"message":""}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#,
    ] {
        assert_eq!(open().read(line.as_bytes()), Line::Skip, "{line}");
    }
}

#[test]
fn an_id_comes_back_as_it_was() {
    let mut open = open();
    let ids = [
        "7",
        "\"7\"",
        "7.0",
        "\"\"",
        "-1",
        "1.5",
        "18446744073709551615",
        "\"\\u0000\\\"\"",
    ];
    for (number, id) in (0..).zip(ids) {
        let line = format!("\u{feff} {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"x\"}}\r");
        let seen = passed(open.read(line.as_bytes()));
        assert_eq!(seen, json!({"jsonrpc": "2.0", "id": number, "method": "x"}));
    }
    for (number, id) in (0..8_u8).zip(ids).rev() {
        let want = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"a":[1.0,"\u00e4"]}}}}"#);
        assert_eq!(said(&mut open, number.into()), Some(want));
    }
    assert_eq!(open.len(), 0);
}

#[test]
fn what_is_null_is_absent() {
    for (params, seen) in [
        ("null", Value::Null),
        (r#"{"_meta":null,"name":null}"#, json!({"name": null})),
    ] {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{params}}}"#);
        assert_eq!(passed(open().read(line.as_bytes()))["params"], seen);
    }
}

#[test]
fn an_id_is_open_until_it_is_answered_or_cancelled() {
    let mut open = open();
    let ask = br#"{"jsonrpc":"2.0","id":"7","method":"x"}"#;
    let cancel =
        br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"7"}}"#;
    assert_eq!(passed(open.read(ask))["id"], 0);
    let again = answer(open.read(ask));
    assert_eq!(
        (&again["id"], &again["error"]["code"]),
        (&json!("7"), &json!(-32600))
    );
    assert!(said(&mut open, 0).is_some());
    assert_eq!(said(&mut open, 0), None, "answered once");

    assert_eq!(passed(open.read(ask))["id"], 1);
    let first = open.cancelled(1).unwrap();
    assert_eq!(open.read(cancel), Line::Skip);
    assert!(first.is_cancelled() && open.cancelled(1).is_none());
    // Asked again before the cancelled one has stopped: each has its own answer, or none.
    assert_eq!(passed(open.read(ask))["id"], 2);
    assert_eq!(said(&mut open, 1), None);
    assert!(!open.cancelled(2).unwrap().is_cancelled());
    assert!(said(&mut open, 2).is_some());
    // It is too late now.
    assert_eq!(open.read(cancel), Line::Skip);
    assert_eq!(open.len(), 0);
}

#[test]
fn all_can_be_cancelled_and_are_still_answered() {
    let all = CancellationToken::new();
    let mut open = Open::new(all.clone());
    passed(open.read(br#"{"jsonrpc":"2.0","id":1,"method":"x"}"#));
    all.cancel();
    assert!(open.cancelled(0).unwrap().is_cancelled());
    assert!(said(&mut open, 0).is_some());
}

#[test]
fn progress_is_told_while_its_request_is_open() {
    let mut open = open();
    let ask = br#"{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":"t"}}}"#;
    passed(open.read(ask));
    let of = |token: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{\"progressToken\":{token},\"progress\":1.0}}}}\n"
        )
    };
    let told = |open: &mut Open, token: &str| open.answered(of(token).as_bytes());
    assert_eq!(
        told(&mut open, "\"t\""),
        Some(of("\"t\"").trim_end().as_bytes().to_vec())
    );
    assert_eq!(told(&mut open, "\"u\""), None);
    assert!(said(&mut open, 0).is_some());
    assert_eq!(told(&mut open, "\"t\""), None, "it stops at the result");
}

#[test]
fn an_error_without_an_id_is_passed_on() {
    let line = br#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"m"}}"#;
    assert_eq!(open().answered(line), Some(line.to_vec()));
}
