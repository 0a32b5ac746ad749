//! Lines that nobody would write, tens of thousands, the same in each run: nothing panics, each
//! request has one answer, and what is said is JSON-RPC.

use std::collections::HashMap;

use super::*;
use crate::domain::strict_json;

/// Lines to each server.
const LINES: usize = 10_000;

/// Lines between two looks at what has come back.
const BATCH: usize = 250;

/// SplitMix64, by itself: that of `stats` draws by names of streams, and this room may not name it.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap()
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Messages of both eras, right and wrong; those with an id are to be given one.
fn corpus() -> Vec<Value> {
    let id = 0;
    let mut seeds = vec![
        initialize("2025-11-25"),
        initialize("2026-07-28"),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": id}}),
        json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": 1, "progress": 1}}),
        json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "m"}}),
        json!([{"jsonrpc": "2.0", "id": id, "method": "ping"}]),
    ];
    for era in [MODERN, LEGACY[0], LEGACY[2]] {
        for method in [
            "ping",
            "server/discover",
            "tools/list",
            "prompts/list",
            "resources/read",
            "completion/complete",
            "subscriptions/listen",
            "logging/setLevel",
            "tasks/get",
            "x",
        ] {
            seeds.push(request(era, id, method, json!({})));
        }
        for (tool, args) in [
            ("calculator", json!({"expression": "2**3**2"})),
            (
                "calculator",
                json!({"expression": 1, "x": [null, {"a": -0.0}]}),
            ),
            ("file_read", json!({"path": "../../etc/passwd"})),
            ("web_fetch", json!({"url": "https://example.org/\u{e4}"})),
            ("says_nothing", json!({})),
            ("nonsense", json!({})),
        ] {
            seeds.push(call(era, id, tool, args));
        }
        let mut counts = call(era, id, "counts", json!({}));
        counts["params"]["_meta"]["progressToken"] = json!("t");
        seeds.push(counts);
    }
    seeds
}

const SCRAPS: [&str; 20] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    ":",
    ",",
    "null",
    "1e400",
    "-0",
    "1.5",
    "\\ud800",
    "\\u0000",
    "18446744073709551616",
    "\"id\":1,",
    "\"method\":\"x\",",
    "\"_meta\":5,",
    "\u{feff}",
    "\r",
    "\u{2028}",
];

/// A line out of `seeds` with this id, changed in its parts, then perhaps in its bytes.
fn line(random: &mut Random, seeds: &[Value], id: usize) -> Vec<u8> {
    let mut message = random.of(seeds).clone();
    if let Some(request) = message.pointer_mut("/params/requestId") {
        *request = json!(id.saturating_sub(3));
    } else if let Some(own) = message.get_mut("id") {
        *own = match random.below(3) {
            0 => json!(format!("id-{id}")),
            _ => json!(id),
        };
    }
    for _ in 0..random.below(3) {
        change(random, &mut message, seeds);
    }
    let mut line = message.to_string().into_bytes();
    for _ in 0..random.below(6).saturating_sub(2) {
        let at = random.below(line.len());
        match random.below(8) {
            0 => line.truncate(at),
            1 => drop(line.drain(at..(at + random.below(9)).min(line.len()))),
            2 => line.extend_from_within(at..(at + random.below(40)).min(line.len())),
            3 if !line.is_empty() => line[at] ^= 1 << random.below(8),
            4 => line.insert(at, random.next().to_le_bytes()[0]),
            5 => {
                let deep = "[".repeat(random.below(200));
                drop(line.splice(at..at, deep.bytes()));
            }
            _ => {
                let scrap = random.of(&SCRAPS);
                drop(line.splice(at..at, scrap.bytes()));
            }
        }
    }
    line.retain(|byte| *byte != b'\n');
    line
}

/// Changes one value somewhere within.
fn change(random: &mut Random, value: &mut Value, seeds: &[Value]) {
    let inner: Vec<&mut Value> = match value {
        Value::Object(object) if !object.is_empty() => {
            if random.below(6) == 0 {
                let key = object.keys().nth(random.below(object.len())).cloned();
                object.shift_remove(&key.unwrap());
                return;
            }
            object.values_mut().collect()
        }
        Value::Array(list) => list.iter_mut().collect(),
        _ => Vec::new(),
    };
    let n = inner.len();
    match inner.into_iter().nth(random.below(n + 1)) {
        Some(inner) => change(random, inner, seeds),
        None => {
            *value = match random.below(9) {
                0 => Value::Null,
                1 => json!(random.next()),
                2 => json!(-1.5e300),
                3 => json!(""),
                4 => json!("\u{0}\u{1f600}"),
                5 => json!([1, {"a": []}]),
                6 => json!({"progressToken": 1, "a": {"b": null}}),
                7 => json!("x".repeat(random.below(5000))),
                _ => random.of(seeds).clone(),
            }
        }
    }
}

/// What is to come back for the lines so far, by id; without one, by null.
#[derive(Default)]
struct Books {
    due: HashMap<String, usize>,
    had: HashMap<String, usize>,
    /// Answers that a cancellation may have made needless.
    waived: HashMap<String, usize>,
}

impl Books {
    /// A line goes out. Says anew, and in other words than the shim, what JSON-RPC wants.
    fn sent(&mut self, line: &[u8]) {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return;
        }
        let parsed = str::from_utf8(line.trim_ascii())
            .ok()
            .and_then(|text| strict_json(text, 128).ok());
        let Some(Value::Object(message)) = parsed else {
            *self.due.entry("null".to_owned()).or_default() += 1;
            return;
        };
        let has = |key| message.contains_key(key);
        let is_response = !has("method") && (has("result") || has("error"));
        let is_notification = message.get("method").is_some_and(Value::is_string) && !has("id");
        if is_notification && message["method"] == "notifications/cancelled" {
            let id = message.get("params").and_then(|p| p.get("requestId"));
            if let Some(id) = id {
                *self.waived.entry(id.to_string()).or_default() += 1;
            }
        }
        if !is_response && !is_notification {
            let id = message
                .get("id")
                .filter(|id| id.is_string() || id.is_number())
                .filter(|id| id.to_string().len() <= 256);
            *self
                .due
                .entry(id.unwrap_or(&Value::Null).to_string())
                .or_default() += 1;
        }
    }

    /// A line came back; the id, if it answers something.
    fn came(&mut self, line: &str) -> Option<String> {
        let Ok(Value::Object(said)) = serde_json::from_str(line) else {
            panic!("no JSON object: {line}")
        };
        assert_eq!(said["jsonrpc"], "2.0", "{line}");
        if let Some(method) = said.get("method") {
            assert_eq!(method, "notifications/progress", "{line}");
            assert!(!said.contains_key("id"), "{line}");
            return None;
        }
        let is_error = said.contains_key("error");
        assert_ne!(is_error, said.contains_key("result"), "{line}");
        if is_error {
            let code = said["error"]["code"].as_i64().unwrap();
            let known = [-32700, -32600, -32601, -32602, -32022];
            assert!(known.contains(&code), "{line}");
        }
        let id = said.get("id").unwrap_or(&Value::Null).to_string();
        let had = self.had.entry(id.clone()).or_default();
        *had += 1;
        assert!(
            *had <= self.due.get(&id).copied().unwrap_or_default(),
            "not asked: {line}"
        );
        Some(id)
    }

    /// How many answers must still come, by id.
    fn missing(&self) -> HashMap<String, usize> {
        let of = |book: &HashMap<String, usize>, id| book.get(id).copied().unwrap_or_default();
        let missing = self.due.iter().filter_map(|(id, due)| {
            let had = of(&self.had, id) + of(&self.waived, id);
            let missing = due.checked_sub(had).filter(|n| *n > 0)?;
            Some((id.clone(), missing))
        });
        missing.collect()
    }
}

#[tokio::test]
async fn every_request_has_one_answer() {
    let seeds = corpus();
    for (seed, start) in [(1, None), (2, Some(MODERN)), (3, Some(LEGACY[2]))] {
        let mut random = Random(seed);
        let mut books = Books::default();
        let mut client = Client::of(Server::new(registry().all()), 1 << 16);
        match start {
            Some(MODERN) => drop(
                client
                    .ask(request(MODERN, 0, "tools/list", json!({})))
                    .await,
            ),
            Some(version) => drop(client.ask(initialize(version)).await),
            None => {}
        }
        for batch in 0..LINES / BATCH {
            let lines: Vec<Vec<u8>> = (0..BATCH)
                .map(|n| line(&mut random, &seeds, batch * BATCH + n))
                .collect();
            lines.iter().for_each(|line| books.sent(line));
            let Client { to, from, .. } = &mut client;
            let sending = async {
                for line in &lines {
                    to.write_all(line).await.unwrap();
                    to.write_all(b"\n").await.unwrap();
                }
            };
            let reading = async {
                let mut missing = books.missing();
                while !missing.is_empty() {
                    let Ok(line) = timeout(Duration::from_secs(60), from.next_line()).await else {
                        panic!("no answer to {missing:?}")
                    };
                    let id = books.came(&line.unwrap().expect("it has ended"));
                    if let Some(id) = id
                        && let Some(n) = missing.get_mut(&id)
                    {
                        *n -= 1;
                        missing.retain(|_, n| *n > 0);
                    }
                }
            };
            tokio::join!(sending, reading);
        }
        client.to.shutdown().await.unwrap();
        while let Some(line) = client.from.next_line().await.unwrap() {
            books.came(&line);
        }
        client.served.await.unwrap().unwrap();
        let answered = books.had.len();
        assert!(answered > LINES / 4, "{answered}: the lines are too wild");
    }
}

/// The same for what the shim looks at on both of its sides, without a protocol in between.
#[test]
fn the_shim_reads_anything() {
    let seeds = corpus();
    let mut random = Random(4);
    let requests = Requests::new(CancellationToken::new());
    let mut passed = 0;
    for id in 0..20_000 {
        let line = line(&mut random, &seeds, id);
        match requests.incoming(line::Message::read(&line)) {
            open::Line::Pass(request) => {
                let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": {}});
                assert!(requests.outgoing(answer.to_string().as_bytes()).is_some());
                passed += 1;
            }
            open::Line::Answer(answer) => assert!(answer["error"]["code"].is_i64()),
            open::Line::Skip => {}
        }
        drop(requests.outgoing(&line));
    }
    assert!(passed > 4000, "{passed}: the lines are too wild");
}
