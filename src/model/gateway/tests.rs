use std::{
    collections::VecDeque,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use super::*;
use crate::{
    domain::{Books, BoxFuture, Clock, OnBehalf, Reservation, SessionId, Settlement},
    model::{
        Purse, Watch,
        money::{Account, Money},
    },
};

mod booked;

/// What came into the books, as text.
#[derive(Default)]
struct Kept(Mutex<Vec<String>>);

impl Kept {
    fn add(&self, line: String) -> BoxFuture<'_, Result<(), BooksLost>> {
        self.0.lock().unwrap().push(line);
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Books for Kept {
    fn reserve(&self, call: Reservation) -> BoxFuture<'_, Result<(), BooksLost>> {
        let least = if call.is_most { "" } else { " at least" };
        self.add(format!("reserve {} {:.3}{least}", call.call, call.usd))
    }

    fn settle(&self, call: Settlement) -> BoxFuture<'_, Result<(), BooksLost>> {
        self.add(format!(
            "settle {} {:.3} {}",
            call.call, call.usd, call.is_kept
        ))
    }
}

/// A price at which a call of 1,000 bytes with at most 1,000 tokens costs 0.3 at most.
const PRICE: Price = Price {
    input: 100.0,
    cached: None,
    output: 200.0,
};

struct Stand {
    line: Line,
    books: Arc<Kept>,
    money: Arc<Money>,
    caller: Caller,
    ends: Ends,
}

impl Stand {
    async fn new(cap: Option<f64>) -> Self {
        let stand = Self::before_the_run(cap);
        stand.open().await;
        stand
    }

    async fn open(&self) {
        let (books, ends) = (self.books.clone(), self.ends.clone());
        self.line.till.open(books, 1, ends).await.unwrap();
    }

    /// Without books.
    fn before_the_run(cap: Option<f64>) -> Self {
        let books = Arc::<Kept>::default();
        let money = Money::new(Account::new(cap, 0.0), vec![Account::default()]);
        let line = Line {
            model: "m".to_owned(),
            endpoint: Arc::new(Endpoint::new(EndpointOptions {
                host: "127.0.0.1:1".to_owned(),
                slots_start: 2,
                slots_max: 2,
                requests_per_minute: None,
                tokens_per_minute: None,
            })),
            till: Arc::new(Till::new(money.clone(), Clock::fixed(100.0))),
            account: 0,
            price: Some(PRICE),
            output_limit: Some(1000),
            max_tries: 3,
        };
        Self {
            line,
            books,
            money,
            caller: Caller::of_a_test(),
            ends: Ends::default(),
        }
    }

    /// Makes one call, to which the endpoint says these one after the other.
    async fn call(&self, says: impl IntoIterator<Item = Sent<u8>>) -> Result<u8, ModelError> {
        let says = Mutex::new(says.into_iter().collect::<VecDeque<_>>());
        let send = || std::future::ready(says.lock().unwrap().pop_front().expect("no more calls"));
        let call = Outgoing {
            caller: &self.caller,
            rng_seed: 7,
            bytes: 1000,
        };
        let result = self.line.call(call, send).await;
        assert!(says.into_inner().unwrap().is_empty(), "all is asked for");
        result
    }

    fn booked(&self) -> Vec<String> {
        self.books.0.lock().unwrap().clone()
    }
}

fn reply(tokens: u64) -> Sent<u8> {
    Sent {
        reply: Ok(1),
        usage: Some(Usage {
            tokens_in: Some(tokens),
            tokens_out: Some(0),
            ..Usage::default()
        }),
        reach: Reach::Received,
        retry_after: None,
    }
}

fn error(kind: ModelErrorKind, retry: Retry, reach: Reach) -> Sent<u8> {
    Sent {
        reply: Err(ModelError {
            kind,
            message: "it broke".into(),
            retry,
        }),
        usage: None,
        reach,
        retry_after: None,
    }
}

fn failing() -> Sent<u8> {
    error(ModelErrorKind::Provider, Retry::Yes, Reach::Refused)
}

fn broken_off() -> Sent<u8> {
    error(ModelErrorKind::Provider, Retry::Yes, Reach::Received)
}

fn too_many(wait: Option<u64>) -> Sent<u8> {
    Sent {
        retry_after: wait.map(Duration::from_secs),
        ..error(ModelErrorKind::RateLimited, Retry::Yes, Reach::Refused)
    }
}

#[tokio::test(start_paused = true)]
async fn tries_come_to_an_end() {
    let stand = Stand::new(None).await;
    let says = [failing(), too_many(None), failing(), failing()];
    let error = stand.call(says).await.unwrap_err();
    assert_eq!(
        (error.kind, error.retry),
        (ModelErrorKind::Provider, Retry::Later)
    );
    assert_eq!(
        error.message,
        "model m at 127.0.0.1:1: it broke (tried 3 times)"
    );
}

#[tokio::test(start_paused = true)]
async fn the_endpoint_says_how_long_to_wait() {
    let stand = Stand::new(None).await;
    let began = Instant::now();
    stand.call([too_many(Some(20)), reply(1)]).await.unwrap();
    let waited = began.elapsed();
    let seconds = Duration::from_secs;
    assert!((seconds(20)..=seconds(21)).contains(&waited), "{waited:?}");
    assert_eq!(stand.caller.watch.waited(), waited);
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_during_a_wait_changes_nothing() {
    for jump_s in [86_400.0, -86_400.0] {
        let mut stand = Stand::new(None).await;
        let readings = AtomicU32::new(0);
        let clock = Clock::of(move || {
            let n = readings.fetch_add(1, Ordering::SeqCst);
            1e9 + f64::from(n) * jump_s
        });
        let watch = Arc::new(Watch::new(clock));
        stand.caller.watch = watch.clone();
        let began = Instant::now();
        stand.call([too_many(Some(20)), reply(1)]).await.unwrap();
        let waited = began.elapsed();
        let seconds = Duration::from_secs;
        assert!((seconds(20)..=seconds(21)).contains(&waited), "{waited:?}");
        assert_eq!(watch.waited(), waited);
        let waits = watch.take_waits();
        assert_eq!(waits.len(), 1);
        let recorded = waits[0].ended - waits[0].began;
        assert!((recorded - waited.as_secs_f64()).abs() < 1e-6, "{waits:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_parked_endpoint_makes_no_call() {
    let stand = Stand::new(None).await;
    let spent = error(ModelErrorKind::QuotaExhausted, Retry::No, Reach::Refused);
    let error = stand.call([spent]).await.unwrap_err();
    let parked = ModelErrorKind::Stopped(Stop::Endpoint);
    assert_eq!(error.kind, parked);
    assert_eq!(
        error.message,
        "quota_exhausted: model m at 127.0.0.1:1: it broke"
    );
    let again = stand.call([]).await.unwrap_err();
    assert_eq!(again, error);
    assert_eq!(stand.booked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_refuses_everybody_for_an_hour_is_parked() {
    let stand = Stand::new(None).await;
    // While it answers others, a call is made again for longer than that.
    let answers = async {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(1800)).await;
            stand.call([reply(1)]).await.unwrap();
        }
    };
    let began = Instant::now();
    let send = || std::future::ready(too_many(Some(600)));
    let call = Outgoing {
        caller: &stand.caller,
        rng_seed: 7,
        bytes: 1000,
    };
    let (refused, ()) = tokio::join!(stand.line.call(call, send), answers);
    let refused: Result<u8, ModelError> = refused;
    let error = refused.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Stopped(Stop::Endpoint));
    assert!(
        error.message.contains("has refused all calls for"),
        "{error}"
    );
    let seconds = began.elapsed().as_secs();
    assert!((5400 + 3600..5400 + 4300).contains(&seconds), "{seconds}");
}

#[tokio::test(start_paused = true)]
async fn when_a_run_has_no_patience_left_its_waits_end() {
    let mut stand = Stand::new(None).await;
    let patience = stand.ends.patience.clone();
    let ends_at = |seconds| {
        let patience = patience.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            patience.cancel();
        }
    };
    let began = Instant::now();
    let (refused, ()) = tokio::join!(stand.call([too_many(Some(1800))]), ends_at(70));
    let ending = ModelErrorKind::Stopped(Stop::Ending);
    assert_eq!(refused.unwrap_err().kind, ending);
    assert_eq!(began.elapsed(), Duration::from_secs(70));
    // Nor is a rate waited for, but what needs no wait is done.
    assert_eq!(stand.call([reply(1)]).await, Ok(1));
    let endpoint = EndpointOptions {
        host: "127.0.0.1:1".to_owned(),
        slots_start: 2,
        slots_max: 2,
        requests_per_minute: Some(1),
        tokens_per_minute: None,
    };
    stand.line.endpoint = Arc::new(Endpoint::new(endpoint));
    assert_eq!(stand.call([reply(1)]).await, Ok(1));
    assert_eq!(stand.call([]).await.unwrap_err().kind, ending);
    assert_eq!(began.elapsed(), Duration::from_secs(70));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_an_endpoint_that_is_parked() {
    let stand = Stand::new(None).await;
    let began = Instant::now();
    let call = || Outgoing {
        caller: &stand.caller,
        rng_seed: 7,
        bytes: 1000,
    };
    // One is to come again in half an hour, one will be told that all is spent, one hangs in the
    // second slot, and one waits for a slot.
    let pauses = stand.call([Sent {
        retry_after: Some(Duration::from_secs(1800)),
        ..failing()
    }]);
    let spent = || async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        error(ModelErrorKind::QuotaExhausted, Retry::No, Reach::Refused)
    };
    let parks = stand.line.call(call(), spent);
    let never = std::future::pending::<Sent<u8>>;
    let hangs = stand.line.call(call(), never);
    let hangs = tokio::time::timeout(Duration::from_secs(9), hangs);
    let waits = stand.line.call(call(), never);
    let (pauses, parks, hangs, waits) = tokio::join!(pauses, parks, hangs, waits);
    assert!(hangs.is_err(), "a call that is made is not broken off");
    let error = parks.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Stopped(Stop::Endpoint));
    assert_eq!((pauses, waits), (Err(error.clone()), Err(error)));
    assert_eq!(began.elapsed(), Duration::from_secs(9));
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_an_interrupt_frees_is_taken_by_nobody() {
    let stand = Stand::new(None).await;
    let made = AtomicU32::new(0);
    let send = || {
        made.fetch_add(1, Ordering::SeqCst);
        std::future::pending::<Sent<u8>>()
    };
    let call = || {
        let call = Outgoing {
            caller: &stand.caller,
            rng_seed: 7,
            bytes: 1000,
        };
        stand.line.call(call, send)
    };
    let moment = Duration::from_secs(1);
    // Two slots: the third waits when the first two are dropped.
    let third = tokio::time::timeout(3 * moment, call());
    let first_two = async {
        let calls = futures_util::future::join(call(), call());
        drop(tokio::time::timeout(moment, calls).await);
    };
    let interrupted = async {
        tokio::time::sleep(moment / 2).await;
        stand.ends.interrupt.cancel();
    };
    let (_, third, ()) = tokio::join!(first_two, third, interrupted);
    assert!(third.is_err());
    assert_eq!(made.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_refused_for_being_one_too_many_has_found_what_it_looked_for() {
    let mut stand = Stand::new(None).await;
    stand.caller.on_behalf.purpose = Purpose::Probe;
    let error = stand.call([too_many(Some(1800))]).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::RateLimited);
    let error = stand.call([too_many(Some(7200))]).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::QuotaExhausted);
}

#[tokio::test(start_paused = true)]
async fn what_is_said_to_a_grading_call_is_told_to_nobody() {
    let mut stand = Stand::new(None).await;
    stand.caller.on_behalf.purpose = Purpose::Grade;
    let failed = stand.call([failing(), failing(), failing()]).await;
    let spent = error(ModelErrorKind::QuotaExhausted, Retry::No, Reach::Refused);
    let parked = stand.call([spent]).await;
    for error in [failed, parked] {
        let error = error.unwrap_err();
        assert!(!error.message.contains("it broke"), "{error}");
        assert!(error.message.contains("model m at 127.0.0.1:1"), "{error}");
    }
}

/// Calls that take as long as their tokens need no pause; two at once do.
#[tokio::test(start_paused = true)]
async fn tokens_a_minute_are_kept_to() {
    let mut stand = Stand::new(None).await;
    // A call is taken for 250 + 1,000 tokens: those of two seconds.
    stand.line.endpoint = Arc::new(Endpoint::new(EndpointOptions {
        host: "127.0.0.1:1".to_owned(),
        slots_start: 2,
        slots_max: 2,
        requests_per_minute: None,
        tokens_per_minute: Some(37_500),
    }));
    let send = || async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        reply(1250)
    };
    let call = Outgoing {
        caller: &stand.caller,
        rng_seed: 7,
        bytes: 1000,
    };
    for _ in 0..4 {
        stand.line.call(call, send).await.unwrap();
    }
    assert_eq!(stand.caller.watch.waited(), Duration::ZERO);
    let (one, other) =
        futures_util::future::join(stand.line.call(call, send), stand.line.call(call, send)).await;
    assert_eq!((one, other), (Ok(1), Ok(1)));
    let waits = stand.caller.watch.take_waits();
    assert_eq!((waits.len(), waits[0].what), (1, Activity::Rate));
    assert!((waits[0].seconds() - 1.0).abs() < 0.01, "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_keep_to_the_slots_and_an_abandoned_one_is_paid() {
    let stand = Stand::new(Some(9.0)).await;
    let (now, most) = (AtomicU32::new(0), AtomicU32::new(0));
    let send = || async {
        most.fetch_max(1 + now.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(1)).await;
        now.fetch_sub(1, Ordering::SeqCst);
        reply(0)
    };
    let callers: Vec<Caller> = (0..9)
        .map(|n| Caller {
            on_behalf: OnBehalf {
                session: Some(SessionId(n)),
                ..stand.caller.on_behalf
            },
            watch: Arc::new(Watch::new(Clock::fixed(0.0))),
            purse: None,
        })
        .collect();
    let call = |caller| Outgoing {
        caller,
        rng_seed: 7,
        bytes: 1000,
    };
    let all = callers
        .iter()
        .map(|caller| stand.line.call(call(caller), &send));
    for reply in futures_util::future::join_all(all).await {
        assert_eq!(reply, Ok(1));
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
    let waited: Vec<u64> = callers.iter().map(|c| c.watch.waited().as_secs()).collect();
    assert_eq!(waited, [0, 0, 1, 1, 2, 2, 3, 3, 4]);
    let abandoned = stand.line.call(call(&callers[0]), &send);
    let moment = Duration::from_millis(1);
    assert!(tokio::time::timeout(moment, abandoned).await.is_err());
    assert_eq!(stand.money.of_run().booked().usd(), 0.3);
}
