//! How far a call has come, as the client is told.

use std::sync::Arc;

use tokio::sync::Notify;

use super::{ends::in_time, *};

/// A server with these tools, a call of one under the token `t`, and its client.
async fn reported(registry: &Registry, tool: &str, pipe: usize) -> Client {
    let mut client = Client::of(Server::new(registry.all()), pipe);
    let mut call = call(MODERN, 1, tool, json!({}));
    call["params"]["_meta"]["progressToken"] = json!("t");
    client.send(&call.to_string()).await;
    client
}

/// A tool that reports so many values, and lets others have their turn in between; then it tells.
fn counts_to(last: u32, told: &Arc<Notify>) -> Registry {
    let mut registry = Registry::default();
    let told = told.clone();
    let tool = from_fn(plain("counts"), move |_, ctx| {
        let told = told.clone();
        async move {
            for done in 1..=last {
                ctx.progress.at(done.into(), None, "counting");
                tokio::task::yield_now().await;
            }
            told.notify_one();
            Observation::ok("counted")
        }
    });
    registry.add(tool).unwrap();
    registry
}

#[tokio::test]
async fn progress_rises_and_stops_at_the_result() {
    for (version, mut client) in of_each_version().await {
        for token in [json!("t"), json!(7)] {
            let mut counts = call(version, 1, "counts", json!({}));
            counts["params"]["_meta"]["progressToken"] = token.clone();
            client.send(&counts.to_string()).await;
            for done in [1.0, 2.0, 3.0] {
                let told = client.next().await;
                assert_eq!(told["method"], "notifications/progress");
                let params = json!({"progressToken": token, "progress": done, "total": 3.0,
                    "message": "counting"});
                assert_eq!(told["params"], params);
            }
            assert_eq!(client.next().await["result"]["isError"], false);
        }
        // Nobody who did not ask is told.
        let quiet = client.ask(call(version, 2, "counts", json!({}))).await;
        assert_eq!(quiet["result"]["content"][0]["text"], "counted");
        assert!(client.end().await.is_empty());
    }
}

#[tokio::test]
async fn what_is_too_much_at_once_is_dropped() {
    let mut registry = Registry::default();
    let tool = from_fn(plain("bursts"), |_, ctx| async move {
        (1..=200).for_each(|done| ctx.progress.at(done.into(), None, None));
        Observation::ok("done")
    });
    registry.add(tool).unwrap();
    let mut client = reported(&registry, "bursts", 1 << 16).await;
    for done in 1..=64 {
        assert_eq!(client.next().await["params"]["progress"], f64::from(done));
    }
    let result = client.next().await;
    assert_eq!(result["result"]["content"][0]["text"], "done", "{result}");
    assert!(client.end().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_holds_up_no_tool() {
    let told = Arc::new(Notify::new());
    let registry = counts_to(10_000, &told);
    let client = reported(&registry, "counts", 64).await;
    // It has not read a word.
    told.notified().await;
    let mut said = client.end().await;
    let result = said.pop().unwrap();
    assert_eq!(
        result["result"]["content"][0]["text"], "counted",
        "{result}"
    );
    let values: Vec<f64> = said
        .iter()
        .map(|told| told["params"]["progress"].as_f64().unwrap())
        .collect();
    assert!(values.is_sorted_by(|a, b| a < b), "{values:?}");
    // What waits: 64 of the call, 64 lines to the client, and what the pipe between them holds.
    assert!((64..1000).contains(&values.len()), "{}", values.len());
}

#[tokio::test(start_paused = true)]
async fn the_end_and_a_stop_are_in_time_while_progress_is_told() {
    for is_stop in [false, true] {
        for pipe in [64, 1 << 16] {
            let mut registry = Registry::default();
            let begun = Arc::new(Notify::new());
            let tool = from_fn(plain("reports"), {
                let begun = begun.clone();
                move |_, ctx| {
                    let begun = begun.clone();
                    async move {
                        for done in 0.. {
                            ctx.progress.at(done.into(), None, "still at it");
                            begun.notify_one();
                            tokio::time::sleep(Duration::from_millis(1)).await;
                        }
                        Observation::ok("")
                    }
                }
            });
            registry.add(tool).unwrap();
            let client = reported(&registry, "reports", pipe).await;
            begun.notified().await;
            if is_stop {
                client.stop.cancel();
            }
            let said = in_time(client).await;
            let last = said.last().unwrap();
            assert_eq!(last["result"]["isError"], true, "{last}");
        }
    }
}
