//! What is bounded: requests that are open, and answers that nobody takes.

use std::collections::HashMap;

use super::{
    ends::{in_time, much_later},
    order::{cancel, is_two, sum},
    *,
};

const TOO_MANY: &str = "1024 requests are open; ask again when some are answered";

async fn with_all_open() -> Client {
    let mut client = Client::start();
    for id in 0..1024 {
        let hangs = call(MODERN, id, "hangs", json!({}));
        client.send(&hangs.to_string()).await;
    }
    client
}

#[tokio::test(start_paused = true)]
async fn the_end_is_seen_whatever_is_open() {
    for refused in [0, 100] {
        let mut client = with_all_open().await;
        for id in 0..refused {
            let answer = client.ask(sum(MODERN, 2000 + id)).await;
            let error = json!({"code": -32603, "message": TOO_MANY});
            assert_eq!(answer["error"], error);
        }
        let rest = in_time(client).await;
        assert_eq!(rest.len(), 1024);
        assert!(
            rest.iter()
                .all(|answer| answer["result"]["isError"] == true)
        );
    }
}

#[tokio::test]
async fn so_are_cancellations() {
    let mut client = with_all_open().await;
    let full = client.ask(sum(MODERN, "a")).await;
    assert_eq!(full["error"]["message"], TOO_MANY);
    client.send(&cancel(7)).await;
    // There is room when the tool has stopped.
    while !is_two(&client.ask(sum(MODERN, "a")).await) {}
    assert_eq!(client.end().await.len(), 1023);
}

#[tokio::test]
async fn each_of_many_at_once_is_answered() {
    for (version, client) in of_each_version().await {
        let Client {
            mut to, mut from, ..
        } = client;
        let sending = async {
            for id in 0..3000 {
                let line = format!("{}\n", sum(version, id));
                to.write_all(line.as_bytes()).await.unwrap();
            }
        };
        let reading = async {
            let mut ids = std::collections::HashSet::new();
            while ids.len() < 3000 {
                let line = from.next_line().await.unwrap().unwrap();
                let answer: Value = serde_json::from_str(&line).unwrap();
                let is_refused = answer["error"]["message"] == TOO_MANY;
                assert!(is_two(&answer) || is_refused, "{answer}");
                assert!(ids.insert(answer["id"].as_u64().unwrap()), "{answer}");
            }
        };
        tokio::join!(sending, reading);
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_nobody_takes_do_not_pile_up() {
    let Client {
        mut to,
        mut from,
        served,
        ..
    } = Client::of(Server::new(registry().all()), 64);
    let sending = tokio::spawn(async move {
        // Enough to fill all that is between the protocol and the client.
        for id in 0..1000 {
            let line = format!("{}\n", sum(MODERN, id));
            to.write_all(line.as_bytes()).await.unwrap();
        }
        // The answers to these are for nobody, and the protocol has them all the same.
        for id in 1000..5000 {
            let hangs = call(MODERN, id, "hangs", json!({}));
            let lines = format!("{hangs}\n{}\n", cancel(id));
            to.write_all(lines.as_bytes()).await.unwrap();
        }
    });
    much_later().await;
    assert!(!sending.is_finished(), "it is held up until it reads");
    let mut refused = HashMap::new();
    let mut answered = 0;
    while let Some(line) = from.next_line().await.unwrap() {
        let answer: Value = serde_json::from_str(&line).unwrap();
        match answer["id"].as_u64().unwrap() {
            0..1000 if is_two(&answer) => answered += 1,
            id => {
                assert_eq!(answer["error"]["message"], TOO_MANY);
                *refused.entry(id).or_insert(0) += 1;
            }
        }
    }
    sending.await.unwrap();
    served.await.unwrap().unwrap();
    assert_eq!(answered, 1000);
    assert!(!refused.is_empty() && refused.values().all(|times| *times == 1));
}

#[tokio::test]
async fn an_id_that_is_too_long_is_not_kept() {
    let mut client = Client::start();
    let huge = sum(MODERN, "x".repeat(1 << 20));
    client.send(&huge.to_string()).await;
    let refused = client.next().await;
    let error = json!({"code": -32600, "message": "an id is longer than 256 bytes"});
    assert_eq!(refused, json!({"jsonrpc": "2.0", "error": error}));
    assert!(is_two(&client.ask(sum(MODERN, "x".repeat(254))).await));
}
