use serde_json::json;

use super::*;

fn open() -> Open {
    Open::new(CancellationToken::new())
}

fn read(open: &mut Open, line: &str) -> Line {
    open.take(Message::read(line.as_bytes()))
}

/// What the protocol is to see of a line.
fn passed(line: Line) -> Value {
    match line {
        Line::Pass(message) => message.into(),
        line => panic!("{line:?}"),
    }
}

fn answer(line: Line) -> Value {
    match line {
        Line::Answer(answer) => answer,
        line => panic!("{line:?}"),
    }
}

fn ask(id: impl Into<Value>) -> String {
    json!({"jsonrpc": "2.0", "id": id.into(), "method": "x"}).to_string()
}

fn cancel(id: impl Into<Value>) -> String {
    let id = id.into();
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}})
        .to_string()
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
        let seen = passed(read(&mut open, &line));
        assert_eq!(seen, json!({"jsonrpc": "2.0", "id": number, "method": "x"}));
    }
    for (number, id) in (0..8_u8).zip(ids).rev() {
        let back = open.answered(number.into()).unwrap();
        assert_eq!(back.to_string(), *id);
    }
    assert_eq!(open.len(), 0);
}

#[test]
fn an_id_is_open_until_it_is_answered_or_cancelled() {
    let mut open = open();
    let ask = r#"{"jsonrpc":"2.0","id":"7","method":"x"}"#;
    let cancel =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"7"}}"#;
    assert_eq!(passed(read(&mut open, ask))["id"], 0);
    let again = answer(read(&mut open, ask));
    assert_eq!(
        (&again["id"], &again["error"]["code"]),
        (&json!("7"), &json!(-32600))
    );
    assert!(open.answered(0).is_some());
    assert_eq!(open.answered(0), None, "answered once");

    assert_eq!(passed(read(&mut open, ask))["id"], 1);
    let first = open.cancelled(1).unwrap();
    assert_eq!(read(&mut open, cancel), Line::Skip);
    assert!(first.is_cancelled() && open.cancelled(1).is_none());
    // Asked again before the cancelled one has stopped: each has its own answer, or none.
    assert_eq!(passed(read(&mut open, ask))["id"], 2);
    assert_eq!(open.answered(1), None);
    assert!(!open.cancelled(2).unwrap().is_cancelled());
    assert!(open.answered(2).is_some());
    // It is too late now.
    assert_eq!(read(&mut open, cancel), Line::Skip);
    assert_eq!(open.len(), 0);
}

#[test]
fn all_can_be_cancelled_and_are_still_answered() {
    let all = CancellationToken::new();
    let mut open = Open::new(all.clone());
    passed(read(&mut open, r#"{"jsonrpc":"2.0","id":1,"method":"x"}"#));
    all.cancel();
    assert!(open.cancelled(0).unwrap().is_cancelled());
    assert!(open.answered(0).is_some());
}

#[test]
fn progress_is_told_while_its_request_is_open() {
    let mut open = open();
    let ask = |id: u64, token: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "x",
            "params": {"_meta": {"progressToken": token}}})
        .to_string()
    };
    passed(read(&mut open, &ask(1, "t")));
    passed(read(&mut open, &ask(2, "u")));
    let told = |open: &Open| ["t", "u", "v"].map(|token| open.is_told(&json!(token)));
    assert_eq!(told(&open), [true, true, false]);
    assert!(open.answered(0).is_some());
    assert_eq!(told(&open), [false, true, false], "it stops at the result");
    read(&mut open, &cancel(2));
    assert_eq!(told(&open), [false; 3], "and at a cancellation");
}

#[test]
fn more_than_may_be_open_are_refused_until_some_are_answered() {
    let mut open = open();
    for id in 0..MOST {
        passed(read(&mut open, &ask(id)));
    }
    let refused = answer(read(&mut open, &ask("a")));
    assert_eq!(
        refused,
        json!({"jsonrpc": "2.0", "id": "a", "error": {"code": -32603,
            "message": "1024 requests are open; ask again when some are answered"}})
    );
    let again = answer(read(&mut open, &ask(0)));
    assert_eq!(again["error"]["code"], -32600, "this one is open");
    // Whoever cancels has no answer to wait for, but the protocol still has one to write.
    assert_eq!(read(&mut open, &cancel(0)), Line::Skip);
    assert_eq!(open.len(), MOST - 1);
    assert_eq!(answer(read(&mut open, &ask("a")))["error"]["code"], -32603);
    assert_eq!(open.answered(0), None);
    passed(read(&mut open, &ask("a")));
    answer(read(&mut open, &ask("b")));
    assert_eq!(open.answered(1), Some(json!(1)));
    passed(read(&mut open, &ask("b")));
}

#[test]
fn nor_may_their_lines_be_long_in_all() {
    let mut open = open();
    let long = |id: usize| {
        let line = ask(id);
        let blanks = " ".repeat((4 << 20) - line.len());
        line + &blanks
    };
    for id in 0..16 {
        passed(read(&mut open, &long(id)));
    }
    let refused = answer(read(&mut open, &ask(16)));
    let why = "64 MiB of requests are open; ask again when some are answered";
    assert_eq!(refused["error"]["message"], why);
    read(&mut open, &cancel(3));
    answer(read(&mut open, &long(16)));
    assert_eq!(open.answered(3), None);
    passed(read(&mut open, &long(16)));
    answer(read(&mut open, &long(17)));
    assert_eq!(open.answered(4), Some(json!(4)));
    passed(read(&mut open, &long(17)));
    (0..18).for_each(|number| drop(open.answered(number)));
    assert_eq!((open.len(), open.bytes), (0, 0));
}
