//! What endpoints may do to a client: each on a loopback port of its own.

use std::{net::SocketAddr, time::Duration};

use bytes::Bytes;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use super::{exchange::MAX_BODY, *};
use crate::model::{
    ModelErrorKind, Retry,
    gateway::{Reach, Sent},
};

const KEY: &str = "sk-canary-0123456789";

/// A server that answers its first connection in some way.
struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads a request; then `answer` does as it likes.
async fn server<F>(answer: impl FnOnce(TcpStream, String) -> F + Send + 'static) -> Server
where
    F: Future<Output = ()> + Send,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        while !request.ends_with(b"}") {
            match stream.read(&mut buffer).await {
                Ok(0) | Err(_) => break,
                Ok(n) => request.extend_from_slice(&buffer[..n]),
            }
        }
        let request = String::from_utf8_lossy(&request).into_owned();
        answer(stream, request).await;
    });
    Server { address, task }
}

/// A server that sends these bytes and closes.
async fn says(bytes: impl Into<Vec<u8>>) -> Server {
    let bytes = bytes.into();
    server(async move |mut stream, _| stream.write_all(&bytes).await.unwrap()).await
}

fn http(head: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {head}\r\ncontent-length: {length}\r\n\r\n{body}")
}

fn client(scheme: &str, address: SocketAddr) -> Client {
    let options = ClientOptions {
        base_url: format!("{scheme}://{address}/v1"),
        key: Some(KEY.into()),
        connect_timeout: Duration::from_secs(5),
        ..ClientOptions::default()
    };
    Client::new(&options).unwrap()
}

async fn send(client: &Client) -> Sent<Reply> {
    let body = Bytes::from_static(b"{\"messages\":[]}");
    let limit = Duration::from_secs(20);
    client.send(body, Options::default(), limit).await
}

const ANSWER: &str = r#"{"model":"m","choices":[{"message":{"content":"391"}}],"usage":{"prompt_tokens":5,"completion_tokens":2}}"#;

#[tokio::test]
async fn a_request_says_who_asks() {
    let (tell, told) = tokio::sync::oneshot::channel();
    let server = server(async move |mut stream, request| {
        tell.send(request).unwrap();
        stream
            .write_all(http("200 OK", ANSWER).as_bytes())
            .await
            .unwrap();
    })
    .await;
    let sent = send(&client("http", server.address)).await;
    let reply = sent.reply.unwrap();
    assert_eq!(reply.body.get(), ANSWER);
    assert_eq!(reply.content.served.model.as_deref(), Some("m"));
    assert!(!reply.latency.is_zero());
    assert_eq!(sent.usage.unwrap().tokens_out, Some(2));
    let request = told.await.unwrap().to_lowercase();
    let lines = [
        "post /v1/chat/completions http/1.1",
        &format!("authorization: bearer {KEY}"),
        "content-type: application/json",
        "user-agent: farm/",
    ];
    for line in lines {
        assert!(request.contains(line), "{request}");
    }
}

#[tokio::test]
async fn what_endpoints_do_wrong() {
    use ModelErrorKind::{Auth, NotAnApi, Provider, RateLimited};
    use Reach::{Received, Refused};
    let half = "HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n{\"choices\":";
    let huge = "HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n";
    let html = "<!doctype html><html>Sign in</html>";
    let redirect = "301 Moved\r\nlocation: http://127.0.0.1:1/v1";
    let table = [
        (half.to_owned(), Provider, Received, "the reply broke off"),
        (huge.to_owned(), Provider, Received, "larger than 4 MiB"),
        (String::new(), Provider, Received, "no reply"),
        (
            "SSH-2.0-OpenSSH_9\r\n".to_owned(),
            Provider,
            Received,
            "no reply",
        ),
        (
            http("200 OK", html),
            NotAnApi,
            Received,
            "no chat completion",
        ),
        (http("200 OK", "{}"), NotAnApi, Received, "no `choices`"),
        (
            http(redirect, ""),
            NotAnApi,
            Refused,
            "put the final address into base_url",
        ),
        (
            http("401 No", "{\"error\":\"bad key\"}"),
            Auth,
            Refused,
            "the key is missing",
        ),
        (
            http("429 Slow\r\nretry-after: 7", ""),
            RateLimited,
            Refused,
            "HTTP 429",
        ),
        (
            http("500 Oh", "{\"error\":\"oh\"}"),
            Provider,
            Refused,
            "HTTP 500: oh",
        ),
        (
            http("504 Late", ""),
            ModelErrorKind::Timeout,
            Received,
            "HTTP 504",
        ),
    ];
    for (bytes, kind, reach, says_so) in table {
        let server = says(bytes.clone()).await;
        let sent = send(&client("http", server.address)).await;
        let error = sent.reply.unwrap_err();
        assert_eq!(
            (error.kind, sent.reach),
            (kind, reach),
            "{bytes:?}: {error}"
        );
        assert!(error.message.contains(says_so), "{bytes:?}: {error}");
        if kind == RateLimited {
            assert_eq!(sent.retry_after, Some(Duration::from_secs(7)));
        }
    }
}

/// What an endpoint refuses with counts by its status and headers, though its words are lost: they
/// break off, are too many, or never come.
#[tokio::test]
async fn a_refusal_is_one_without_its_words() {
    use ModelErrorKind::{Auth, Provider, RateLimited, Timeout};
    use Reach::{Received, Refused};
    let table = [
        ("429 Slow", RateLimited, Retry::Yes, Refused),
        ("401 No", Auth, Retry::No, Refused),
        ("503 Busy", Provider, Retry::Yes, Refused),
        ("504 Late", Timeout, Retry::Yes, Received),
    ];
    for (status, kind, retry, reach) in table {
        for (length, hangs) in [(999_usize, false), (MAX_BODY + 1, true), (999, true)] {
            let head = format!(
                "HTTP/1.1 {status}\r\nretry-after: 7\r\ncontent-length: {length}\r\n\r\n{{\"err"
            );
            let server = server(async move |mut stream, _| {
                stream.write_all(head.as_bytes()).await.unwrap();
                if hangs {
                    std::future::pending::<()>().await;
                }
            })
            .await;
            let client = client("http", server.address);
            let limit = Duration::from_millis(500);
            let body = Bytes::from_static(b"{}");
            let sent = client.send(body, Options::default(), limit).await;
            let error = sent.reply.unwrap_err();
            let got = (error.kind, error.retry, sent.reach);
            assert_eq!(
                got,
                (kind, retry, reach),
                "{status} {length} {hangs}: {error}"
            );
            assert!(error.message.starts_with("HTTP "), "{error}");
            assert_eq!(sent.retry_after, Some(Duration::from_secs(7)));
        }
    }
}

#[tokio::test]
async fn a_body_that_never_ends_is_cut_off() {
    let server = server(async |mut stream, _| {
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let chunk = [b"100000\r\n".as_slice(), &[b' '; 1 << 20], b"\r\n"].concat();
        // Until the client has had enough.
        while stream.write_all(&chunk).await.is_ok() {}
    })
    .await;
    let sent = send(&client("http", server.address)).await;
    let error = sent.reply.unwrap_err();
    assert!(error.message.contains("larger than 4 MiB"), "{error}");
    assert_eq!(error.retry, Retry::Once);
}

#[tokio::test]
async fn what_is_no_utf_8_counts_as_it_is_kept() {
    for (length, is_taken) in [(MAX_BODY / 3 - 100, true), (MAX_BODY / 3 + 1, false)] {
        let server = server(async move |mut stream, _| {
            let [before, after] = [r#"{"choices":[{"message":{"content":""#, r#""}}]}"#];
            let all = before.len() + length + after.len();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {all}\r\n\r\n{before}");
            let odd = vec![0xff; length];
            let bytes = [head.as_bytes(), &odd, after.as_bytes()].concat();
            stream.write_all(&bytes).await.unwrap();
        })
        .await;
        let sent = send(&client("http", server.address)).await;
        match sent.reply {
            Ok(reply) => assert!(is_taken && reply.body.get().len() <= MAX_BODY),
            Err(e) => assert!(!is_taken && e.message.contains("larger than 4 MiB"), "{e}"),
        }
    }
}

#[tokio::test]
async fn an_endpoint_that_hangs_or_trickles_is_given_up() {
    let hangs = server(async |stream, _| {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let trickles = server(async |mut stream, _| {
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        while stream.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    for server in [&hangs, &trickles] {
        let client = client("http", server.address);
        let limit = Duration::from_millis(50);
        let sent = client
            .send(Bytes::from_static(b"{}"), Options::default(), limit)
            .await;
        let error = sent.reply.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Timeout);
        assert_eq!(error.message, "no whole reply within 0.05 s");
        assert_eq!(sent.reach, Reach::Received);
    }
}

#[tokio::test]
async fn an_endpoint_that_is_not_there() {
    // Nobody listens there.
    let address = SocketAddr::from(([127, 0, 0, 1], 1));
    let sent = send(&client("http", address)).await;
    let error = sent.reply.unwrap_err();
    assert_eq!(
        (error.kind, sent.reach),
        (ModelErrorKind::Provider, Reach::Nowhere)
    );
    assert!(error.message.starts_with("no connection: "), "{error}");
    assert!(!error.message.contains("/v1"), "{error}");
}

#[tokio::test]
async fn tls_to_a_plain_port() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // It does not understand what a client of TLS says first.
    let plain = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let answer = http("400 Bad Request", "");
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream
    };
    let client = client("https", address);
    let (sent, _stream) = tokio::join!(send(&client), plain);
    let error = sent.reply.unwrap_err();
    assert_eq!(
        (error.kind, sent.reach),
        (ModelErrorKind::Provider, Reach::Nowhere)
    );
    assert!(error.message.starts_with("no connection: "), "{error}");
}

#[tokio::test]
async fn a_key_that_is_quoted_does_not_come_in() {
    let quoted = format!(r#"{{"choices":[{{"message":{{"content":"you sent {KEY}"}}}}]}}"#);
    let server_a = says(http("200 OK", &quoted)).await;
    let reply = send(&client("http", server_a.address)).await.reply.unwrap();
    assert!(reply.body.get().contains("you sent [key]"), "{reply:?}");
    let error = format!(r#"{{"error":{{"message":"Bearer {KEY} is odd"}}}}"#);
    let server_b = says(http("500 Oh", &error)).await;
    let sent = send(&client("http", server_b.address)).await;
    assert!(!format!("{:?}", sent.reply).contains("canary"));
}
