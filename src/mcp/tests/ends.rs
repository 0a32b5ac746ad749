//! How it ends: at the end of the input, at a stop, and when the client is gone.

use super::*;

/// All that is still to be done is done: time that nobody works in passes at once.
pub(super) async fn much_later() {
    tokio::time::sleep(Duration::from_secs(3600)).await;
}

/// Ends the input of a client that reads: what was still said, and that the bar of 100 ms is kept. The
/// clock is the one that stands still while anybody works.
pub(super) async fn in_time(client: Client) -> Vec<Value> {
    let began = tokio::time::Instant::now();
    let rest = client.end().await;
    let took = began.elapsed();
    assert!(took <= Duration::from_millis(100), "{took:?}");
    rest
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_is_the_end_also_while_calls_run() {
    assert!(
        in_time(Client::start()).await.is_empty(),
        "before anything was said"
    );
    for (version, client) in of_each_version().await {
        assert!(in_time(client).await.is_empty(), "idle");
        let mut client = match version {
            MODERN => Client::start(),
            version => Client::greeted(version).await,
        };
        let hangs = call(version, 1, "hangs", json!({}));
        client.send(&hangs.to_string()).await;
        // The last line has no end, and is answered all the same.
        let last = call(version, 2, "calculator", json!({"expression": "2"}));
        client
            .to
            .write_all(last.to_string().as_bytes())
            .await
            .unwrap();
        let mut rest = in_time(client).await;
        rest.sort_by_key(|answer| answer["id"].as_u64());
        let [hung, last] = &rest[..] else {
            panic!("{rest:?}")
        };
        assert_eq!(hung["result"]["isError"], true);
        assert_eq!(
            hung["result"]["content"][0]["text"],
            "not done: the server ends"
        );
        assert_eq!(last["result"]["content"][0]["text"], "2");
    }
}

#[tokio::test(start_paused = true)]
async fn who_reads_slowly_gets_all_answers_after_the_end() {
    let tools = registry().select(["calculator"]).unwrap();
    let mut client = Client::of(Server::new(tools), 64);
    for id in 0..500 {
        let expression = format!("{id} + 1");
        let call = call(MODERN, id, "calculator", json!({"expression": expression}));
        client.send(&call.to_string()).await;
    }
    client.to.shutdown().await.unwrap();
    much_later().await;
    assert!(!client.served.is_finished());
    let rest = client.end().await;
    assert_eq!(rest.len(), 500);
    for answer in rest {
        let sum = (answer["id"].as_u64().unwrap() + 1).to_string();
        assert_eq!(answer["result"]["content"][0]["text"], sum);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_it_also_if_nobody_reads() {
    for asked in [0, 500] {
        let mut client = Client::of(Server::new(registry().all()), 64);
        for id in 0..asked {
            let tool = if id % 2 == 0 { "hangs" } else { "says_nothing" };
            let call = call(MODERN, id, tool, json!({}));
            client.send(&call.to_string()).await;
        }
        client.stop.cancel();
        client.served.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_answers_what_is_open() {
    let mut client = Client::start();
    let hangs = call(MODERN, 1, "hangs", json!({}));
    client.send(&hangs.to_string()).await;
    let other = call(MODERN, 2, "calculator", json!({"expression": "1"}));
    client.ask(other).await;
    client.stop.cancel();
    let answer = client.next().await;
    assert_eq!(answer["id"], 1);
    client.served.await.unwrap().unwrap();
    assert!(client.from.next_line().await.unwrap().is_none());
}

#[tokio::test]
async fn a_client_that_is_gone_is_the_end_and_no_error() {
    let Client {
        mut to,
        from,
        served,
        ..
    } = Client::start();
    drop(from);
    let line = format!("{}\n", request(MODERN, 1, "tools/list", json!({})));
    to.write_all(line.as_bytes()).await.unwrap();
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn calls_end_with_the_server() {
    let (tell, told) = tokio::sync::oneshot::channel::<()>();
    let tell = std::sync::Mutex::new(Some(tell));
    let begun = std::sync::Arc::new(tokio::sync::Notify::new());
    let mut registry = Registry::default();
    registry
        .add(from_fn(plain("holds"), {
            let begun = begun.clone();
            move |_, _| {
                let tell = tell.lock().unwrap().take();
                let begun = begun.clone();
                async move {
                    begun.notify_one();
                    let () = std::future::pending().await;
                    drop(tell);
                    Observation::ok("")
                }
            }
        }))
        .unwrap();
    let mut client = Client::of(Server::new(registry.all()), 1 << 16);
    let holds = call(MODERN, 1, "holds", json!({}));
    client.send(&holds.to_string()).await;
    begun.notified().await;
    client.served.abort();
    assert!(told.await.is_err(), "the call is dropped");
}
