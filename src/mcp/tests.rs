//! The server as a strict client sees it: raw lines in, raw lines out.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, duplex},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    domain::{BoxFuture, Hints, Observation, ToolSpec},
    tool::{BUILTIN, BuiltinOptions, Registry, Tool, builtin},
};

/// The newest version of each era, and older ones.
const LEGACY: [&str; 3] = ["2024-11-05", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";

/// Comes back after a time, or never.
struct Slow(ToolSpec);

impl Tool for Slow {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, args: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, Observation> {
        Box::pin(async move {
            let ms = args["ms"].as_u64().unwrap_or(u64::MAX);
            tokio::time::sleep(Duration::from_millis(ms)).await;
            Observation::ok("late")
        })
    }
}

struct Client {
    to: DuplexStream,
    from: Lines<BufReader<DuplexStream>>,
    served: JoinHandle<Result<()>>,
}

impl Client {
    fn start() -> Self {
        let mut registry: Registry = builtin(&BuiltinOptions::default()).unwrap();
        registry
            .add(Arc::new(Slow(ToolSpec {
                name: "slow".to_owned(),
                description: "d".to_owned(),
                parameters: json!({"type": "object", "properties": {"ms": {"type": "integer"}}}),
                resumable: false,
                hints: Hints::default(),
            })))
            .unwrap();
        let tools = registry
            .select(["calculator", "file_read", "slow"])
            .unwrap();
        let (to, input) = duplex(1 << 16);
        let (output, from) = duplex(1 << 16);
        let stop = CancellationToken::new();
        let served = serve(Server::new(tools), input, output, stop);
        Self {
            to,
            from: BufReader::new(from).lines(),
            served: tokio::spawn(served),
        }
    }

    /// One that has shaken hands.
    async fn greeted(version: &str) -> Self {
        let mut client = Self::start();
        let hello = client.ask(initialize(version)).await;
        assert_eq!(hello["result"]["protocolVersion"], version);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.send(&ready.to_string()).await;
        client
    }

    async fn send(&mut self, line: &str) {
        self.to
            .write_all(format!("{line}\n").as_bytes())
            .await
            .unwrap();
    }

    async fn next(&mut self) -> Value {
        let line = timeout(Duration::from_secs(60), self.from.next_line()).await;
        let line = line.expect("no answer").unwrap().expect("it has ended");
        serde_json::from_str(&line).unwrap()
    }

    async fn ask(&mut self, request: Value) -> Value {
        self.send(&request.to_string()).await;
        let answer = self.next().await;
        assert_eq!(answer["jsonrpc"], "2.0");
        assert_eq!(answer["id"], request["id"], "{answer}");
        answer
    }

    /// Ends the input; what was still said, and that nothing went wrong.
    async fn end(mut self) -> Vec<Value> {
        self.to.shutdown().await.unwrap();
        let mut rest = Vec::new();
        while let Some(line) = self.from.next_line().await.unwrap() {
            rest.push(serde_json::from_str(&line).unwrap());
        }
        self.served.await.unwrap().unwrap();
        rest
    }
}

fn initialize(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

/// A request of the era.
fn request(version: &str, id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    if version == MODERN {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        });
    }
    json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})
}

fn call(version: &str, id: impl Into<Value>, tool: &str, args: Value) -> Value {
    let params = json!({"name": tool, "arguments": args});
    request(version, id, "tools/call", params)
}

/// A client of each era and version.
async fn of_each_version() -> Vec<(&'static str, Client)> {
    let mut clients = vec![(MODERN, Client::start())];
    for version in LEGACY {
        clients.push((version, Client::greeted(version).await));
    }
    clients
}

#[tokio::test]
async fn tools_are_listed_in_their_order_with_the_schemas_of_the_loop() {
    let registry = builtin(&BuiltinOptions::default()).unwrap();
    for (version, mut client) in of_each_version().await {
        let listed = client
            .ask(request(version, 1, "tools/list", json!({})))
            .await;
        let tools = listed["result"]["tools"].as_array().unwrap();
        let names: Vec<_> = tools
            .iter()
            .map(|tool| tool["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["calculator", "file_read", "slow"]);
        assert!(listed["result"].get("nextCursor").is_none());
        assert_eq!(
            listed["result"].get("resultType").is_some(),
            version == MODERN
        );
        for tool in tools.iter().take(2) {
            let name = tool["name"].as_str().unwrap();
            let of_the_loop = registry.select([name]).unwrap().wire()[0].clone();
            let parameters = &of_the_loop["function"]["parameters"];
            assert_eq!(tool["inputSchema"].to_string(), parameters.to_string());
            assert_eq!(tool["description"], of_the_loop["function"]["description"]);
            assert_eq!(tool["annotations"]["readOnlyHint"], true);
            assert_eq!(tool["annotations"]["idempotentHint"], true);
            assert_eq!(tool["annotations"]["openWorldHint"], false);
            assert_eq!(tool["outputSchema"]["required"], json!(["result"]));
        }
        let beyond = request(version, 2, "tools/list", json!({"cursor": "x"}));
        assert_eq!(client.ask(beyond).await["error"]["code"], -32602);
        assert!(client.end().await.is_empty());
    }
    assert_eq!(BUILTIN.len(), 3);
}

#[tokio::test]
async fn calls_bring_what_the_loop_brings() {
    for (version, mut client) in of_each_version().await {
        let table = [
            (json!({"expression": "2**3**2"}), false, "512"),
            (json!({"expression": "1/0"}), true, "div_zero: "),
            (
                json!({}),
                true,
                "blocked by schema: \"expression\" is a required property",
            ),
            (
                json!({"expression": 1}),
                true,
                "blocked by schema: /expression: 1 is not of type",
            ),
        ];
        for (n, (args, is_error, text)) in (1..).zip(table) {
            let answer = client.ask(call(version, n, "calculator", args)).await;
            let result = &answer["result"];
            assert_eq!(
                result["isError"].as_bool().unwrap_or(false),
                is_error,
                "{answer}"
            );
            let said = result["content"][0]["text"].as_str().unwrap();
            assert!(said.starts_with(text), "{said}");
            match is_error {
                true => assert!(result.get("structuredContent").is_none()),
                false => assert_eq!(result["structuredContent"], json!({"result": said})),
            }
        }
        let without = request(version, "a", "tools/call", json!({"name": "calculator"}));
        let answer = client.ask(without).await;
        assert_eq!(
            answer["result"]["isError"], true,
            "no arguments are none: {answer}"
        );
        let unknown = client
            .ask(call(version, "b", "calculater", json!({})))
            .await;
        assert_eq!(unknown["error"]["code"], -32602);
        let said = unknown["error"]["message"].as_str().unwrap();
        assert!(said.contains("did you mean \"calculator\"?"), "{said}");
        let list = request(
            version,
            9,
            "tools/call",
            json!({"name": "calculator", "arguments": [1]}),
        );
        assert_eq!(client.ask(list).await["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn what_is_not_served_is_said_to_be_unknown() {
    for (version, mut client) in of_each_version().await {
        for method in [
            "prompts/list",
            "resources/list",
            "logging/setLevel",
            "nonsense",
        ] {
            let params = json!({"level": "info"});
            let answer = client.ask(request(version, method, method, params)).await;
            assert_eq!(
                answer["error"]["code"], -32601,
                "{version} {method}: {answer}"
            );
        }
        let ping = client.ask(request(version, 1, "ping", json!({}))).await;
        assert_eq!(ping.get("result").is_some(), version != MODERN, "{ping}");
    }
    let mut client = Client::start();
    let hello = client.ask(initialize("2025-03-26")).await;
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(hello["result"]["capabilities"], json!({"tools": {}}));
    let mut client = Client::start();
    let mut later = request(MODERN, 1, "tools/list", json!({}));
    later["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    let refused = client.ask(later).await;
    assert_eq!(refused["error"]["code"], -32022, "{refused}");
    let supported = refused["error"]["data"]["supported"].as_array().unwrap();
    assert!(supported.contains(&json!(MODERN)), "{refused}");
    let discovered = client
        .ask(request(MODERN, 2, "server/discover", json!({})))
        .await;
    assert_eq!(
        discovered["result"]["capabilities"],
        json!({"tools": {}}),
        "{discovered}"
    );
}

#[tokio::test]
async fn lines_that_are_no_messages_are_answered() {
    for (version, mut client) in of_each_version().await {
        for (line, code) in [
            ("{", -32700),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\ud800"}}"#,
                -32700,
            ),
            (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        ] {
            client.send(line).await;
            let answer = client.next().await;
            assert_eq!(answer["error"]["code"], code, "{line}");
            assert!(answer.get("id").is_none());
        }
        client.send(&"x".repeat(5 << 20)).await;
        assert_eq!(client.next().await["error"]["code"], -32700);
        client.send("").await;
        client.send("\r").await;
        let answer = client
            .ask(call(version, 1, "calculator", json!({"expression": "1"})))
            .await;
        assert_eq!(answer["result"]["content"][0]["text"], "1");
    }
}

#[tokio::test]
async fn a_slow_call_holds_up_nobody_and_a_cancelled_one_is_silent() {
    for (version, mut client) in of_each_version().await {
        client
            .send(&call(version, 1, "slow", json!({})).to_string())
            .await;
        let again = client.ask(call(version, 1, "slow", json!({}))).await;
        assert_eq!(again["error"]["code"], -32600, "the id is in flight");
        let quick = client
            .ask(call(version, 2, "calculator", json!({"expression": "1"})))
            .await;
        assert_eq!(quick["result"]["content"][0]["text"], "1");
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": 1}});
        client.send(&cancel.to_string()).await;
        client.send(&cancel.to_string()).await;
        let quick = client
            .ask(call(version, 3, "calculator", json!({"expression": "2"})))
            .await;
        assert_eq!(quick["result"]["content"][0]["text"], "2");
        assert!(client.end().await.is_empty(), "nothing more is said");
    }
}

#[tokio::test]
async fn the_end_of_the_input_is_the_end_also_while_calls_run() {
    assert!(
        Client::start().end().await.is_empty(),
        "before anything was said"
    );
    for (version, mut client) in of_each_version().await {
        client
            .send(&call(version, 1, "slow", json!({})).to_string())
            .await;
        // One that is asked last is answered.
        client
            .send(&call(version, 2, "calculator", json!({"expression": "2"})).to_string())
            .await;
        let rest = client.end().await;
        assert!(
            rest.iter()
                .any(|answer| answer["id"] == 2 && answer.get("result").is_some())
        );
    }
}
