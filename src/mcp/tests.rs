//! The server as a strict client sees it: raw lines in, raw lines out.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, duplex},
    task::JoinHandle,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{
    domain::{Hints, Observation, ToolSpec},
    tool::{BuiltinOptions, Registry, builtin, from_fn},
};

/// The newest version of each era, and older ones.
const LEGACY: [&str; 3] = ["2024-11-05", "2025-06-18", "2025-11-25"];
const MODERN: &str = "2026-07-28";

fn plain(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "d".to_owned(),
        parameters: json!({"type": "object"}),
        resumable: false,
        hints: Hints::default(),
    }
}

/// The built-in tools, and some that behave oddly.
fn registry() -> Registry {
    let mut registry = builtin(&BuiltinOptions::default()).unwrap();
    let mut add = |tool| registry.add(tool).unwrap();
    add(from_fn(plain("hangs"), |_, _| std::future::pending()));
    add(from_fn(plain("panics"), |_, _| async {
        panic!("at /a/path")
    }));
    add(from_fn(plain("says_nothing"), |_, _| async {
        Observation::ok("")
    }));
    add(from_fn(plain("counts"), |_, ctx| async move {
        for done in [1.0, 2.0, 2.0, 1.0, 3.0] {
            ctx.progress.at(done, 3.0, "counting");
            tokio::task::yield_now().await;
        }
        // One that outlives its call.
        tokio::spawn(async move {
            tokio::task::yield_now().await;
            ctx.progress.at(4.0, None, "too late");
        });
        Observation::ok("counted")
    }));
    registry
}

const TOOLS: [&str; 6] = [
    "calculator",
    "file_read",
    "hangs",
    "panics",
    "says_nothing",
    "counts",
];

struct Client {
    to: DuplexStream,
    from: Lines<BufReader<DuplexStream>>,
    served: JoinHandle<Result<()>>,
    stop: CancellationToken,
}

impl Client {
    fn start() -> Self {
        Self::of(Server::new(registry().select(TOOLS).unwrap()), 1 << 16)
    }

    /// `pipe`: how many bytes wait for the client before the server has to.
    fn of(server: Server, pipe: usize) -> Self {
        let (to, input) = duplex(1 << 16);
        let (output, from) = duplex(pipe);
        let stop = CancellationToken::new();
        let served = serve(server, input, output, stop.clone());
        Self {
            to,
            from: BufReader::new(from).lines(),
            served: tokio::spawn(served),
            stop,
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
        assert_eq!(names, TOOLS);
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
            let of_the_loop = of_the_loop["function"]["description"].as_str().unwrap();
            let side_effects = "\n\nSide effects: none. It reaches nothing but what farm lends it.";
            assert_eq!(tool["description"], format!("{of_the_loop}{side_effects}"));
            assert_eq!(tool["annotations"]["readOnlyHint"], true);
            assert_eq!(tool["annotations"]["idempotentHint"], true);
            assert_eq!(tool["annotations"]["openWorldHint"], false);
            assert_eq!(tool["outputSchema"]["required"], json!(["result"]));
            for schema in [&tool["inputSchema"], &tool["outputSchema"]] {
                assert!(jsonschema::meta::is_valid(schema), "{schema}");
                assert_eq!(schema["type"], "object");
                assert_eq!(schema["additionalProperties"], false);
            }
        }
        let info = &listed["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
        assert_eq!(info == "farm", version == MODERN);
        let list = &listed["result"];
        assert_eq!(list.get("ttlMs").is_some(), version == MODERN);
        assert_eq!(list.get("cacheScope").is_some(), version == MODERN);
        let again = client
            .ask(request(version, 1, "tools/list", json!({})))
            .await;
        assert_eq!(again, listed);
        let beyond = request(version, 2, "tools/list", json!({"cursor": "x"}));
        assert_eq!(client.ask(beyond).await["error"]["code"], -32602);
        assert!(client.end().await.is_empty());
    }
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
            assert_eq!(result["isError"], is_error, "{answer}");
            assert_eq!(
                result.get("resultType").is_some(),
                version == MODERN,
                "{answer}"
            );
            let said = result["content"][0]["text"].as_str().unwrap();
            assert!(said.starts_with(text), "{said}");
            match is_error {
                true => assert!(result.get("structuredContent").is_none()),
                false => assert_eq!(result["structuredContent"], json!({"result": said})),
            }
        }
        for params in [
            json!({"name": "calculator"}),
            json!({"name": "calculator", "arguments": null}),
        ] {
            let answer = client
                .ask(request(version, "a", "tools/call", params))
                .await;
            assert_eq!(
                answer["result"]["content"][0]["text"],
                "blocked by schema: \"expression\" is a required property"
            );
        }
        let empty = client
            .ask(call(version, 8, "says_nothing", json!({})))
            .await;
        assert_eq!(
            empty["result"]["content"],
            json!([{"type": "text", "text": ""}])
        );
        let unknown = client
            .ask(call(version, "b", "calculater", json!({})))
            .await;
        assert_eq!(unknown["error"]["code"], -32602);
        let said = unknown["error"]["message"].as_str().unwrap();
        assert!(said.contains("did you mean \"calculator\"?"), "{said}");
        for params in [
            json!({"name": "calculator", "arguments": [1]}),
            json!({"name": "calculator", "arguments": "{}"}),
            json!({"name": 5, "arguments": {}}),
            json!({"arguments": {}}),
            json!({}),
        ] {
            let wrong = request(version, 9, "tools/call", params);
            assert_eq!(client.ask(wrong).await["error"]["code"], -32602);
        }
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
    let data = json!({"requested": "2099-01-01", "supported": [
        "2024-11-05", "2025-06-18", "2025-11-25", MODERN,
    ]});
    assert_eq!(refused["error"]["data"], data, "{refused}");
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
        let mut longest = call(version, 1, "calculator", json!({"expression": ""})).to_string();
        let blanks = line::MAX - longest.len();
        longest.push_str(&" ".repeat(blanks));
        client.send(&longest).await;
        assert_eq!(client.next().await["id"], 1);
        client.send(&(longest + " ")).await;
        let answer = client.next().await;
        assert_eq!(answer["error"]["message"], "the line is longer than 4 MiB");
        client.send("").await;
        client.send("\r").await;
        let answer = client
            .ask(call(version, 1, "calculator", json!({"expression": "1"})))
            .await;
        assert_eq!(answer["result"]["content"][0]["text"], "1");
    }
}

mod ends;
mod fuzz;
mod limits;
mod order;
mod parity;
mod progress;
