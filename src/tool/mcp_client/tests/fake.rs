//! Servers in this process, each with a way of its own.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
    duplex, split,
};
use tokio_util::sync::CancellationToken;

use super::super::start::{Said, Start, Started};

/// How a server behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Good,
    // Before it says what tools it has.
    Silent,
    Gone,
    OtherVersion,
    EndlessList,
    TooManyTools,
    TwoOfOneName,
    OddName,
    LongDescription,
    NoSchema,
    FarSchema,
    // When it is called.
    SaysNothing,
    Dies,
    Noise,
    OtherId,
    TwoAnswers,
    HugeLine,
    LargeResult,
    NotAResult,
    NoContent,
    ErrorOfTheProtocol,
    Asks,
    Flood,
    Indiscreet,
    PingsAndIsDeaf,
    Chatters,
    NotText,
    Deep,
    WantsMore,
    Deaf,
    // Between calls.
    ChangesSilently,
    SaysChanged,
    Changed,
}

/// Servers in this process.
pub(super) struct Fake {
    /// The behaviour of each process, in the order of their starts; the last one's of all others.
    pub ways: Vec<Way>,
    pub starts: AtomicUsize,
    pub running: Arc<AtomicUsize>,
    pub most: Arc<AtomicUsize>,
    pub folders: Arc<Mutex<Vec<PathBuf>>>,
}

impl Start for Fake {
    fn start(&self, folder: &Path, _: Said, stop: CancellationToken) -> io::Result<Started> {
        let n = self.starts.fetch_add(1, Ordering::Relaxed);
        let way = *self.ways.get(n).unwrap_or(self.ways.last().unwrap());
        self.folders.lock().unwrap().push(folder.to_owned());
        assert!(folder.is_dir());
        let (ours, theirs) = duplex(1 << 16);
        let (from, to) = split(ours);
        let running = self.running.clone();
        self.most.fetch_max(
            running.fetch_add(1, Ordering::Relaxed) + 1,
            Ordering::Relaxed,
        );
        let serving = tokio::spawn(Server::new(way, theirs, folder).serve());
        let ended = async move {
            let abort = serving.abort_handle();
            tokio::select! {
                _ = serving => {}
                () = stop.cancelled() => abort.abort(),
            }
            running.fetch_sub(1, Ordering::Relaxed);
        };
        Ok(Started {
            from: Box::new(from),
            to: Box::new(to),
            ended: Box::pin(ended),
        })
    }
}

struct Server {
    way: Way,
    from: Lines<BufReader<ReadHalf<DuplexStream>>>,
    to: WriteHalf<DuplexStream>,
    folder: PathBuf,
    calls: usize,
}

impl Server {
    fn new(way: Way, stream: DuplexStream, folder: &Path) -> Self {
        let (from, to) = split(stream);
        Self {
            way,
            from: BufReader::new(from).lines(),
            to,
            folder: folder.to_owned(),
            calls: 0,
        }
    }

    async fn serve(mut self) {
        while let Ok(Some(line)) = self.from.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let Some(id) = message
                .get("id")
                .filter(|_| message.get("method").is_some())
            else {
                continue;
            };
            let params = message["params"].clone();
            if self
                .answer(id.clone(), &message["method"], params)
                .await
                .is_none()
            {
                return;
            }
        }
    }

    /// None: it ends.
    async fn answer(&mut self, id: Value, method: &Value, params: Value) -> Option<()> {
        match (method.as_str().unwrap(), self.way) {
            (_, Way::Gone) => return None,
            (_, Way::Silent) => {}
            ("initialize", way) => {
                let version = match way {
                    Way::OtherVersion => json!("2099-01-01"),
                    _ => params["protocolVersion"].clone(),
                };
                let hello = json!({"protocolVersion": version, "capabilities": {"tools": {"listChanged": true}},
                    "serverInfo": {"name": "fake", "version": "1"}});
                self.result(id, hello).await;
            }
            ("tools/list", way) => {
                let list = tools(way, self.calls > 0);
                self.result(id, list).await;
            }
            ("tools/call", way) => {
                self.calls += 1;
                return self.call(id, way, &params).await;
            }
            _ => self.error(id, -32601, "unknown method").await,
        }
        Some(())
    }

    async fn call(&mut self, id: Value, way: Way, params: &Value) -> Option<()> {
        if params["name"] == "good" {
            self.result(id, text("good")).await;
            return Some(());
        }
        let padding = "x".repeat(9 << 20);
        match way {
            Way::Dies => return None,
            Way::SaysNothing => {}
            Way::Noise => {
                for line in [
                    "",
                    "Server started!",
                    "{",
                    "[]",
                    "null",
                    "{\"jsonrpc\":\"2.0\"}",
                ] {
                    self.line(line).await;
                }
                self.to.write_all(b"\xff\xfe\n\0\n").await.ok()?;
                self.result(id, text("heard")).await;
            }
            Way::OtherId => self.result(json!(4711), text("for another")).await,
            Way::TwoAnswers => {
                self.result(id.clone(), text("first")).await;
                self.result(id, text("second")).await;
            }
            Way::HugeLine => self.result(id, text(&padding)).await,
            Way::LargeResult => self.result(id, text(&padding[..100_000])).await,
            Way::NotAResult => self.result(id, json!({"content": "text"})).await,
            Way::NoContent => self.result(id, json!({})).await,
            Way::ErrorOfTheProtocol => self.error(id, -32000, &padding[..100_000]).await,
            Way::Asks => {
                for method in [
                    "sampling/createMessage",
                    "elicitation/create",
                    "roots/list",
                    "ping",
                    "x",
                ] {
                    let ask =
                        json!({"jsonrpc": "2.0", "id": method, "method": method, "params": {}});
                    self.line(&ask.to_string()).await;
                }
                self.result(id, text("asked")).await;
            }
            Way::Flood => {
                let note = json!({"jsonrpc": "2.0", "method": "notifications/message",
                    "params": {"level": "info", "data": "x"}});
                let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": 0, "progress": 1}});
                for _ in 0..5_000 {
                    self.line(&note.to_string()).await;
                    self.line(&progress.to_string()).await;
                }
                self.result(id, text("flooded")).await;
            }
            Way::PingsAndIsDeaf => {
                let ping = json!({"jsonrpc": "2.0", "id": "x".repeat(4000), "method": "ping"});
                let ping = ping.to_string();
                // It is cut off long before.
                for _ in 0..50_000 {
                    self.to
                        .write_all(format!("{ping}\n").as_bytes())
                        .await
                        .ok()?;
                }
            }
            Way::Chatters => {
                let chatter = "x".repeat(1 << 20);
                for _ in 0..50 {
                    self.to
                        .write_all(format!("{chatter}\n").as_bytes())
                        .await
                        .ok()?;
                }
            }
            Way::Indiscreet => self.result(id, text("it is secret-value")).await,
            Way::NotText => {
                self.to
                    .write_all(b"{\"jsonrpc\":\"2.0\",\"id\":")
                    .await
                    .ok()?;
                self.to.write_all(id.to_string().as_bytes()).await.ok()?;
                self.to
                    .write_all(
                        b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xff\"}]}}\n",
                    )
                    .await
                    .ok()?;
            }
            Way::Deep => {
                let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
                self.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{deep}}}}}"#)).await;
            }
            Way::WantsMore => {
                let more = json!({"resultType": "input_required", "inputRequests": {}, "requestState": "s"});
                self.result(id, more).await;
            }
            Way::Deaf => {
                // Reads no more, and keeps its pipes.
                std::future::pending::<()>().await;
            }
            Way::SaysChanged | Way::Changed => {
                self.line(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
                    .await;
                self.result(id, text("called")).await;
            }
            _ if params["arguments"]["folder"] == true => {
                let said = format!("{0} is not {0}/a", self.folder.display());
                self.result(id, text(&said)).await;
            }
            _ => self.result(id, text("called")).await,
        }
        Some(())
    }

    async fn result(&mut self, id: Value, result: Value) {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        self.line(&answer.to_string()).await;
    }

    async fn error(&mut self, id: Value, code: i32, message: &str) {
        let answer =
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}});
        self.line(&answer.to_string()).await;
    }

    async fn line(&mut self, line: &str) {
        drop(self.to.write_all(format!("{line}\n").as_bytes()).await);
    }
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn tools(way: Way, later: bool) -> Value {
    let tool =
        |name: &str| json!({"name": name, "description": "d", "inputSchema": {"type": "object"}});
    let with = |key: &str, value: Value| {
        let mut odd = tool("odd");
        odd[key] = value;
        json!({"tools": [odd]})
    };
    match way {
        Way::EndlessList => json!({"tools": [], "nextCursor": "again"}),
        Way::TooManyTools => {
            let many: Vec<Value> = (0..300).map(|n| tool(&format!("t{n}"))).collect();
            json!({"tools": many})
        }
        Way::TwoOfOneName => json!({"tools": [tool("t"), tool("t")]}),
        Way::OddName => json!({"tools": [tool("../t")]}),
        Way::LongDescription => with("description", json!("x".repeat(20_000))),
        Way::NoSchema => with("inputSchema", json!("none")),
        Way::FarSchema => with(
            "inputSchema",
            json!({"type": "object", "$ref": "http://127.0.0.1:9/x"}),
        ),
        Way::Changed | Way::ChangesSilently if later => {
            json!({"tools": [tool("t"), tool("good"), tool("new")]})
        }
        _ => json!({"tools": [tool("t"), tool("good")]}),
    }
}
