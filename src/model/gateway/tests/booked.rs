//! What calls are booked at.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_call_is_made_again_and_each_time_paid_for() {
    let stand = Stand::new(Some(10.0)).await;
    let refused = (0..5).map(|_| too_many(None));
    let says = refused.chain([failing(), broken_off(), reply(500)]);
    assert_eq!(stand.call(says).await, Ok(1));
    let booked = stand.booked();
    assert_eq!(booked.len(), 16);
    assert_eq!(booked[..2], ["reserve 1 0.300", "settle 1 0.000 false"]);
    assert_eq!(
        booked[10..],
        [
            "reserve 6 0.300",
            "settle 6 0.000 false",
            "reserve 7 0.300",
            "settle 7 0.300 false",
            "reserve 8 0.300",
            "settle 8 0.050 true",
        ]
    );
    let spent = stand.money.of_run().booked().usd();
    assert!((spent - 0.35).abs() < 1e-9, "{spent}");
    let waits = stand.caller.watch.take_waits();
    assert_eq!(waits.len(), 7);
    assert!(waits.iter().all(|wait| wait.what == Activity::Backoff));
}

#[tokio::test(start_paused = true)]
async fn a_probe_tries_less_and_is_booked_when_the_books_are_open() {
    let mut stand = Stand::before_the_run(None);
    stand.caller.on_behalf.purpose = Purpose::Probe;
    stand.call([failing(), failing()]).await.unwrap_err();
    stand.call([reply(500)]).await.unwrap();
    assert!(stand.booked().is_empty());
    stand.open().await;
    stand.call([reply(0)]).await.unwrap();
    let booked = stand.booked();
    assert_eq!(booked.len(), 8);
    assert_eq!(booked[4..6], ["reserve 3 0.300", "settle 3 0.050 false"]);
    assert_eq!(booked[6], "reserve 4 0.300");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_paid_is_not_called() {
    let stand = Stand::new(Some(0.4)).await;
    assert_eq!(stand.call([reply(2000)]).await, Ok(1));
    let error = stand.call([]).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Stopped(Stop::Run));
    assert!(error.message.contains("--max-cost"), "{error}");
    let mut stand = Stand::new(None).await;
    stand.caller.purse = Some(Arc::new(Purse::new(0.4, 0.0)));
    assert_eq!(stand.call([reply(2000)]).await, Ok(1));
    let error = stand.call([]).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::SessionCost);
}

#[tokio::test(start_paused = true)]
async fn a_cost_that_is_told_without_a_price_is_booked() {
    let mut stand = Stand::new(None).await;
    stand.line.price = None;
    stand.call([reply(500)]).await.unwrap();
    assert!(stand.booked().is_empty());
    let told = Sent {
        usage: Some(Usage {
            cost_usd: Some(0.25),
            ..Usage::default()
        }),
        ..failing()
    };
    stand.call([told, reply(500)]).await.unwrap();
    let booked = ["reserve 1 0.000 at least", "settle 1 0.250 false"];
    assert_eq!(stand.booked(), booked);
    assert_eq!(stand.money.of_run().booked().usd(), 0.25);
}

#[tokio::test(start_paused = true)]
async fn where_replies_have_no_limit_a_call_stands_at_what_its_request_can_cost() {
    let mut stand = Stand::new(None).await;
    stand.line.output_limit = None;
    let long = Sent {
        usage: Some(Usage {
            tokens_in: Some(1000),
            tokens_out: Some(5000),
            ..Usage::default()
        }),
        ..reply(0)
    };
    let silent = Sent {
        usage: None,
        ..reply(0)
    };
    for says in [long, silent] {
        stand.call([says]).await.unwrap();
    }
    let booked = [
        "reserve 1 0.100 at least",
        "settle 1 1.100 true",
        "reserve 2 0.100 at least",
        "settle 2 0.100 true",
    ];
    assert_eq!(stand.booked(), booked);
    assert!((stand.money.of_run().booked().usd() - 1.2).abs() < 1e-9);
}

#[tokio::test(start_paused = true)]
async fn books_may_be_opened_again() {
    let mut stand = Stand::before_the_run(None);
    assert!(!stand.line.till.is_open());
    stand.call([reply(500)]).await.unwrap();
    stand.open().await;
    assert!(stand.line.till.is_open());
    let first = std::mem::take(&mut stand.books);
    let interrupt = std::mem::take(&mut stand.ends.interrupt);
    stand.open().await;
    stand.call([reply(500)]).await.unwrap();
    assert_eq!(
        *first.0.lock().unwrap(),
        ["reserve 1 0.300", "settle 1 0.050 true"]
    );
    let booked = ["reserve 2 0.300", "settle 2 0.050 true"];
    assert_eq!(stand.booked(), booked, "numbers go on");
    interrupt.cancel();
    stand.call([reply(0)]).await.unwrap();
    stand.ends.interrupt.cancel();
    let waits = tokio::time::timeout(Duration::from_secs(1), stand.call([]));
    assert!(waits.await.is_err());
}
