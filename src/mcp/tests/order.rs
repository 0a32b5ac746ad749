//! Calls beside calls, cancellations, and what comes before the handshake.

use super::*;

pub(super) fn cancel(id: impl Into<Value>) -> String {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": id.into(), "reason": "r"}})
    .to_string()
}

pub(super) fn sum(version: &str, id: impl Into<Value>) -> Value {
    call(version, id, "calculator", json!({"expression": "1 + 1"}))
}

pub(super) fn is_two(answer: &Value) -> bool {
    answer["result"]["content"][0]["text"] == "2"
}

#[tokio::test]
async fn a_call_that_hangs_holds_up_nobody_and_a_cancelled_one_is_silent() {
    for (version, mut client) in of_each_version().await {
        let hangs = call(version, 1, "hangs", json!({}));
        client.send(&hangs.to_string()).await;
        let again = client.ask(hangs.clone()).await;
        assert_eq!(again["error"]["code"], -32600, "the id is in flight");
        assert!(is_two(&client.ask(sum(version, 2)).await));
        client.send(&cancel(1)).await;
        // The id is free, and what comes now is the answer to this.
        assert!(is_two(&client.ask(sum(version, 1)).await));
        assert!(client.end().await.is_empty(), "nothing more is said");
    }
}

#[tokio::test]
async fn cancelling_what_is_unknown_or_done_is_ignored() {
    for (version, mut client) in of_each_version().await {
        client.send(&cancel("never asked")).await;
        assert!(is_two(&client.ask(sum(version, 1)).await));
        client.send(&cancel(1)).await;
        client.send(&cancel(Value::Null)).await;
        assert!(is_two(&client.ask(sum(version, 2)).await));
        assert!(client.end().await.is_empty());
    }
}

#[tokio::test]
async fn a_notification_is_never_answered_and_needs_no_handshake() {
    let notifications = [
        json!({"method": "notifications/initialized"}),
        json!({"method": "notifications/roots/list_changed"}),
        json!({"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}),
        json!({"method": "no/such/thing"}),
        json!({"method": "tools/list"}),
        json!({"method": "tools/call", "params": 5}),
    ];
    let mut client = Client::start();
    let mut asked = 0;
    for version in [MODERN, LEGACY[2]] {
        for notification in &notifications {
            let mut notification = notification.clone();
            notification["jsonrpc"] = json!("2.0");
            client.send(&notification.to_string()).await;
            // Nor is an answer to what nobody asked.
            client.send(&cancel(1)).await;
            client.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
        }
        if version != MODERN {
            client.ask(initialize(version)).await;
        }
        asked += 1;
        let discover = request(MODERN, asked, "server/discover", json!({}));
        assert!(client.ask(discover).await.get("result").is_some());
    }
    assert!(client.end().await.is_empty());
}

#[tokio::test]
async fn without_handshake_or_metadata_nothing_is_served() {
    let mut client = Client::start();
    let old = LEGACY[2];
    assert_eq!(client.ask(sum(old, 1)).await["error"]["code"], -32602);
    let ping = client.ask(request(old, 2, "ping", json!({}))).await;
    assert_eq!(ping["result"], json!({}));
    client.ask(initialize(old)).await;
    // Shaking hands again does no harm, whatever is asked for.
    let again = client.ask(initialize("2099-01-01")).await;
    assert_eq!(again["result"]["protocolVersion"], old);
    let answer = client.ask(sum(old, 3)).await;
    assert!(is_two(&answer) && answer["result"].get("resultType").is_none());
    assert!(is_two(&client.ask(sum(MODERN, 4)).await), "both eras");
}

#[tokio::test]
async fn ids_are_echoed_as_they_are() {
    for (version, mut client) in of_each_version().await {
        for id in ["1", "\"1\"", "2.0", "\"\"", "-7", "18446744073709551615"] {
            let line = sum(version, "ID").to_string().replace("\"ID\"", id);
            client.send(&line).await;
            let answer = client.from.next_line().await.unwrap().unwrap();
            assert!(answer.contains(&format!("\"id\":{id},")), "{answer}");
        }
    }
}

#[tokio::test]
async fn a_tool_that_panics_fails_its_call_alone_and_tells_nothing_of_it() {
    for (version, mut client) in of_each_version().await {
        let broken = client.ask(call(version, 1, "panics", json!({}))).await;
        let error = json!({"code": -32603, "message": "the tool crashed"});
        assert_eq!(broken["error"], error);
        assert!(is_two(&client.ask(sum(version, 2)).await));
    }
}

#[tokio::test]
async fn no_error_names_a_path_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    let dir = cap_std::fs::Dir::open_ambient_dir(folder.path(), cap_std::ambient_authority());
    let tools = registry().select(["file_read"]).unwrap();
    let server = Server {
        context: ToolContext {
            files: Some(std::sync::Arc::new(dir.unwrap())),
            ..ToolContext::default()
        },
        ..Server::new(tools)
    };
    let mut client = Client::of(server, 1 << 16);
    for path in ["none", "sub", "..", "/etc/passwd", "sub/../../x", "", "\0"] {
        let args = json!({"path": path});
        let answer = client.ask(call(MODERN, 1, "file_read", args)).await;
        assert_eq!(answer["result"]["isError"], true, "{path:?}");
        let said = answer.to_string();
        assert!(!said.contains(folder.path().to_str().unwrap()), "{said}");
        assert!(!said.contains("/src/"), "{said}");
    }
}
