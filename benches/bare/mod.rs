//! What farm over HTTP is measured against: the loop that one would write without it.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use farm::tool::{BuiltinOptions, builtin};
use reqwest::{Client, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::{runtime::Runtime, task::JoinSet};

use crate::support::factors;

/// What all sessions are told, farm's too.
pub const PROMPT: &str = "You solve one task, step by step, with the tools you are given.";
/// The model that is asked for.
pub const MODEL: &str = "bench/model";

/// What all sessions share.
struct Loop {
    client: Client,
    url: String,
    tools: Value,
    lines: Mutex<BufWriter<File>>,
}

/// Has so many sessions of each case, `at_once` at a time, and writes their lines to a file; gives
/// the time that it took.
pub fn run(base_url: &str, lines: &Path, cases: u64, seeds: u64, at_once: u32) -> Duration {
    let began = Instant::now();
    // The TLS that a client is built with.
    drop(rustls::crypto::ring::default_provider().install_default());
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let tools = builtin(&BuiltinOptions::default()).unwrap();
        let bare = Arc::new(Loop {
            client: Client::builder().no_proxy().build().unwrap(),
            url: format!("{base_url}/chat/completions"),
            tools: tools.select(["calculator"]).unwrap().wire(),
            lines: Mutex::new(BufWriter::new(File::create(lines).unwrap())),
        });
        let next = Arc::new(AtomicU64::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..at_once {
            let (bare, next) = (bare.clone(), next.clone());
            tasks.spawn(async move {
                loop {
                    let session = next.fetch_add(1, Ordering::Relaxed);
                    if session >= cases * seeds {
                        return;
                    }
                    bare.session(session % cases, session / cases).await;
                }
            });
        }
        while let Some(ended) = tasks.join_next().await {
            ended.unwrap();
        }
        bare.lines.lock().unwrap().flush().unwrap();
    });
    began.elapsed()
}

impl Loop {
    async fn session(&self, case: u64, seed: u64) {
        let (a, b) = factors(case);
        let task = format!("What is {a} * {b}?");
        let mut lines =
            vec![json!({"type": "run_start", "case": case, "seed": seed, "task": task})];
        let mut messages = vec![
            json!({"role": "system", "content": PROMPT}),
            json!({"role": "user", "content": task}),
        ];
        let answer = loop {
            let request = json!({
                "model": MODEL, "messages": messages, "tools": self.tools, "seed": seed,
            });
            let post = self.client.post(&self.url);
            let post = post.header(CONTENT_TYPE, "application/json");
            let sent = post.body(request.to_string()).send().await;
            let response = sent.unwrap().error_for_status().unwrap();
            let reply: Value = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap();
            let message = reply["choices"][0]["message"].clone();
            let mut results = Vec::new();
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                let args = call["function"]["arguments"].as_str().unwrap();
                let args: Value = serde_json::from_str(args).unwrap();
                let product = multiply(args["expression"].as_str().unwrap());
                results.push(json!({
                    "role": "tool", "tool_call_id": call["id"], "content": product.to_string(),
                }));
            }
            lines.push(json!({"type": "step", "results": results, "reply": reply}));
            if results.is_empty() {
                break message["content"].as_str().unwrap().to_owned();
            }
            messages.push(message);
            messages.append(&mut results);
        };
        assert_eq!(answer, format!("{a} * {b} = {}", a * b));
        lines.push(json!({"type": "run_end", "status": "completed", "answer": answer}));
        let mut file = self.lines.lock().unwrap();
        for line in lines {
            writeln!(file, "{line}").unwrap();
        }
    }
}

/// `17 * 23`, worked out.
fn multiply(expression: &str) -> u64 {
    let factors = expression.split(" * ").map(|n| n.parse::<u64>().unwrap());
    factors.product()
}
