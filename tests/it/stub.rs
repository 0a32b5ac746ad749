//! A small endpoint that does what a test tells it, a connection a request: for what the rehearsal
//! server does not do.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use serde_json::{Value, json};

use crate::support::PATIENCE;

/// An endpoint at work. It takes no more requests when this is dropped.
pub(crate) struct Stub {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepts: Option<JoinHandle<()>>,
}

struct Shared {
    counts: Mutex<Counts>,
    is_over: AtomicBool,
}

/// What has been asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Requests that have come.
    pub(crate) asked: usize,
    /// Those that are not answered yet, nor left by their client.
    pub(crate) in_flight: usize,
    /// The most that were in flight at once.
    pub(crate) most: usize,
}

/// One request.
pub(crate) struct Asked {
    /// How many came before it.
    pub(crate) n: usize,
    /// The request line and the headers.
    pub(crate) head: String,
    /// The body as it was sent.
    pub(crate) text: String,
    /// The same; null when it is no JSON.
    pub(crate) body: Value,
}

impl Asked {
    /// The session's task.
    pub(crate) fn task(&self) -> &str {
        let messages = self.body["messages"].as_array().unwrap();
        let user = messages.iter().find(|message| message["role"] == "user");
        user.unwrap()["content"].as_str().unwrap()
    }
}

/// What is done with a request.
pub(crate) enum Say {
    /// This is sent, then the connection is closed.
    Bytes(String),
    /// Nothing, until the client leaves.
    Hang,
}

impl Stub {
    /// Begins to serve on a free port. `answer` may wait as long as it likes; each request has a
    /// thread of its own.
    pub(crate) fn start(answer: impl Fn(&Asked) -> Say + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            counts: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let answer = Arc::new(answer);
        let accepts = {
            let shared = shared.clone();
            thread::spawn(move || {
                for stream in listener.incoming() {
                    if shared.is_over.load(Ordering::SeqCst) {
                        return;
                    }
                    let (shared, answer) = (shared.clone(), answer.clone());
                    thread::spawn(move || shared.serve(&stream.unwrap(), &*answer));
                }
            })
        };
        Self {
            address,
            shared,
            accepts: Some(accepts),
        }
    }

    /// The address of the API.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What has been asked so far.
    pub(crate) fn counts(&self) -> Counts {
        *self.shared.counts.lock().unwrap()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(accepts) = self.accepts.take() {
            // It fails only if a test does.
            drop(accepts.join());
        }
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream, answer: &dyn Fn(&Asked) -> Say) {
        // A client that leaves in the middle is no request.
        let Some((head, text)) = read(stream) else {
            return;
        };
        let n = {
            let mut counts = self.counts.lock().unwrap();
            counts.asked += 1;
            counts.in_flight += 1;
            counts.most = counts.most.max(counts.in_flight);
            counts.asked - 1
        };
        let say = answer(&Asked {
            n,
            head,
            body: serde_json::from_str(&text).unwrap_or_default(),
            text,
        });
        if let Say::Hang = say {
            let mut stream = stream;
            // Comes when the client is gone.
            drop(stream.read(&mut [0]));
        }
        // Before the client can know of it.
        self.counts.lock().unwrap().in_flight -= 1;
        if let Say::Bytes(bytes) = say {
            let mut stream = stream;
            drop(stream.write_all(bytes.as_bytes()));
        }
    }
}

/// The head and the body of a request.
fn read(stream: &TcpStream) -> Option<(String, String)> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let n = reader.read_line(&mut head).ok()?;
        if n == 0 {
            return None;
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower
        .lines()
        .find_map(|l| l.strip_prefix("content-length: "));
    let mut body = vec![0; length?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some((head, String::from_utf8(body).ok()?))
}

/// An answer with this status line, these headers (each ending in a line break) and this body.
pub(crate) fn http(status: &str, headers: &str, body: &str) -> Say {
    let length = body.len();
    Say::Bytes(format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n{headers}\r\n{body}"
    ))
}

/// A completion with this answer.
pub(crate) fn says(answer: &str) -> Say {
    message(&json!({"role": "assistant", "content": answer}))
}

/// A completion with this message; it took 100 tokens and 10.
pub(crate) fn message(message: &Value) -> Say {
    let body = json!({
        "model": "m",
        "choices": [{"index": 0, "message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    });
    http("200 OK", "", &body.to_string())
}

/// An error with this status and message.
pub(crate) fn error(status: u16, message: &str) -> Say {
    let body = json!({"error": {"code": status, "message": message}});
    http(&format!("{status} No"), "", &body.to_string())
}

/// Shut until it is opened.
#[derive(Default)]
pub(crate) struct Gate {
    is_open: Mutex<bool>,
    opens: Condvar,
}

impl Gate {
    pub(crate) fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opens.notify_all();
    }

    /// Waits until it is open.
    pub(crate) fn pass(&self) {
        let shut = self.is_open.lock().unwrap();
        let waited = self
            .opens
            .wait_timeout_while(shut, PATIENCE, |is_open| !*is_open);
        assert!(!waited.unwrap().1.timed_out(), "nobody opens the gate");
    }
}
