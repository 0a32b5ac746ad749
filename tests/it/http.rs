//! HTTP by hand, so that tests see what goes over the line: also answers that are none.

use std::{
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::support::PATIENCE;

/// What came before the connection was closed.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The status line and the headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.head.lines().filter_map(|line| line.split_once(": "));
        headers
            .find(|(header, _)| header.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Whether the body is as long as was announced.
    pub(crate) fn is_whole(&self) -> bool {
        self.header("content-length").unwrap().parse() == Ok(self.body.len())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

/// Sends a request over a connection of its own.
pub(crate) fn send(address: SocketAddr, head: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let request = format!(
        "{head}\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// What comes over a connection until it is closed; none when that is nothing.
pub(crate) fn receive(mut stream: TcpStream) -> Option<Answer> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    if text.is_empty() {
        return None;
    }
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    Some(Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    })
}

/// Asks, with these headers too, and takes what comes.
pub(crate) fn ask(address: SocketAddr, head: &str, body: &str) -> Option<Answer> {
    receive(send(address, head, body))
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, &format!("GET {path} HTTP/1.1"), "").unwrap()
}

pub(crate) const COMPLETION: &str = "POST /v1/chat/completions HTTP/1.1";

/// Asks for a completion.
pub(crate) fn complete(address: SocketAddr, body: &Value) -> Option<Answer> {
    ask(address, COMPLETION, &body.to_string())
}

/// Waits for what a server does in its own time.
#[track_caller]
pub(crate) fn until(is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "it does not come");
        std::thread::sleep(Duration::from_millis(2));
    }
}
