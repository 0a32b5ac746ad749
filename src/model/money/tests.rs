use std::time::Duration;

use proptest::prelude::*;
use tokio::task::JoinSet;

use super::*;
use crate::domain::Clock;

fn watch() -> Watch {
    Watch::new(Clock::fixed(0.0))
}

#[test]
fn what_fits() {
    let mut account = Account::new(Some(1.0), 0.5);
    account.reserve(Pico::at_least(0.25));
    let fits = |usd| account.fit(Pico::at_least(usd));
    let table = [
        (0.0, Fit::Now),
        (0.25, Fit::Now),
        (0.250_000_000_001, Fit::Later),
        (0.5, Fit::Later),
        (0.500_000_000_001, Fit::Never),
        (f64::INFINITY, Fit::Never),
    ];
    for (usd, want) in table {
        assert_eq!(fits(usd), want, "{usd}");
    }
    assert_eq!(Account::new(None, 1e9).fit(Pico::at_least(1e9)), Fit::Now);
}

#[test]
fn dollars_are_rounded_to_the_safe_side() {
    // 0.1 + 0.2 is more than 0.3 in binary fractions.
    assert!(Pico::at_least(0.1 + 0.2) > Pico::at_most(0.3));
    assert_eq!(Pico::at_least(1e-13), Pico(1));
    assert_eq!(Pico::at_most(1e-13), Pico(0));
    assert_eq!(Pico::at_least(-1.0), Pico(0));
}

#[tokio::test(start_paused = true)]
async fn who_does_not_fit_waits_for_what_is_freed() {
    let money = Money::new(Account::new(Some(1.0), 0.0), vec![Account::default()]);
    let watch = watch();
    let first = money.reserve(0, 0.7, &watch).await.unwrap();
    let wait = money.reserve(0, 0.7, &watch);
    tokio::pin!(wait);
    let moment = Duration::from_secs(1);
    assert!(tokio::time::timeout(moment, &mut wait).await.is_err());
    assert_eq!(watch.seen().activity, Activity::Money);
    first.settle(0.2);
    let second = wait.await.unwrap();
    assert_eq!(watch.waited(), moment);
    second.settle(0.7);
    let never = money.reserve(0, 0.2, &watch).await.unwrap_err();
    assert_eq!(never, Stop::Run);
    assert!(money.reserve(0, 0.1, &watch).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_fits_waits_for_nobody() {
    let money = Money::new(Account::new(Some(1e6), 0.0), vec![Account::default()]);
    let mut tasks = JoinSet::new();
    for _ in 0..2000 {
        let money = money.clone();
        tasks.spawn(async move {
            let watch = watch();
            money.reserve(0, 1.0, &watch).await.unwrap().settle(1.0);
            watch.take_waits()
        });
    }
    for waits in tasks.join_all().await {
        assert!(waits.is_empty(), "{waits:?}");
    }
}

#[tokio::test]
async fn a_model_out_of_money_holds_up_no_other() {
    let models = vec![Account::new(Some(0.5), 0.4), Account::default()];
    let money = Money::new(Account::new(Some(9.0), 0.0), models);
    let watch = watch();
    let never = money.reserve(0, 0.2, &watch).await.unwrap_err();
    assert_eq!(never, Stop::Model);
    assert!(money.reserve(1, 0.2, &watch).await.is_ok());
}

#[tokio::test]
async fn a_reservation_that_is_dropped() {
    let money = Money::new(Account::new(Some(1.0), 0.0), vec![Account::default()]);
    drop(money.reserve(0, 0.5, &watch()).await.unwrap());
    assert_eq!(money.of_run().booked(), Pico(0), "it was never sent");
    let mut hold = money.reserve(0, 0.5, &watch()).await.unwrap();
    hold.sent();
    drop(hold);
    assert_eq!(money.of_run().booked().usd(), 0.5, "nobody knows");
}

/// Two models share the cap of the run. Who stands first in the line of a model waits for as much as
/// he needs; the other model's calls pass him by, those of his own do not.
#[tokio::test]
async fn calls_in_line_keep_their_order() {
    let models = vec![Account::default(), Account::default()];
    let money = Money::new(Account::new(Some(1.0), 0.0), models);
    let watch = watch();
    let first = money.reserve(0, 0.5, &watch).await.unwrap();
    let second = money.reserve(1, 0.5, &watch).await.unwrap();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let mut tasks = JoinSet::new();
    let mut come = async |place: usize, model, usd| {
        let (money, tell) = (money.clone(), tell.clone());
        tasks.spawn(async move {
            let hold = money
                .reserve(model, usd, &Watch::new(Clock::fixed(0.0)))
                .await;
            tell.send(place).unwrap();
            hold.unwrap()
        });
        for _ in 0..9 {
            tokio::task::yield_now().await;
        }
    };
    for (place, model, usd) in [(0, 0, 0.75), (1, 1, 0.25), (2, 0, 0.125), (3, 1, 0.125)] {
        come(place, model, usd).await;
    }
    assert!(told.try_recv().is_err(), "nothing is free");
    first.settle(0.0);
    let passed = [told.recv().await, told.recv().await];
    assert_eq!(
        passed,
        [Some(1), Some(3)],
        "0.125 is left, and the first wants 0.75"
    );
    // Whoever comes now does not pass him by either.
    come(4, 0, 0.0625).await;
    assert!(
        told.try_recv().is_err(),
        "nobody passes the first of his line by"
    );
    second.settle(0.0);
    // What is joined gives back what it has got.
    while let Some(hold) = tasks.join_next().await {
        drop(hold.unwrap());
    }
    let done: Vec<usize> = std::iter::from_fn(|| told.try_recv().ok()).collect();
    assert_eq!(done, [0, 2, 4]);
}

/// What a provider charges of what was reserved.
#[derive(Debug, Clone, Copy)]
enum Charge {
    Less(f64),
    All,
    More(f64),
    /// The call is dropped while it is under way.
    Dropped,
}

fn charge() -> impl Strategy<Value = Charge> {
    prop_oneof![
        6 => (0.0..1.0).prop_map(Charge::Less),
        2 => Just(Charge::All),
        1 => (1.0..3.0).prop_map(Charge::More),
        1 => Just(Charge::Dropped),
    ]
}

/// Thousands of calls at the same time: the sum of what is spent and reserved passes a cap only by
/// what providers charged beyond their reservations.
#[test]
fn the_cap_holds() {
    let calls = proptest::collection::vec((0..3_usize, 1e-6..0.02, charge()), 1..3000);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    proptest!(ProptestConfig::with_cases(24), |(
        calls in calls,
        cap in 0.01..10.0,
        of_model in proptest::option::of(0.01..5.0),
    )| {
        let models = vec![Account::new(of_model, 0.0), Account::default(), Account::default()];
        let money = Money::new(Account::new(Some(cap), 0.0), models);
        let [run, first] = runtime.block_on(spend(&money, calls));
        let fits = |cap: f64, sums: &Sums| sums.highest <= Pico::at_most(cap).plus(sums.beyond);
        prop_assert!(fits(cap, &run), "{:?}", run);
        prop_assert!(of_model.is_none_or(|cap| fits(cap, &first)), "{:?}", first);
        for (account, sums) in [(money.of_run(), run), (money.of_model(0), first)] {
            prop_assert_eq!(account.reserved, Pico(0));
            prop_assert_eq!(account.spent, sums.spent);
        }
    });
}

/// What became of calls.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    spent: Pico,
    /// Of that, charged beyond reservations.
    beyond: Pico,
    /// The most that was booked at any time.
    highest: Pico,
}

impl Sums {
    fn add(&mut self, spent: Pico, beyond: Pico, booked: Pico) {
        self.spent = self.spent.plus(spent);
        self.beyond = self.beyond.plus(beyond);
        self.highest = self.highest.max(booked);
    }
}

/// Makes all calls at once; gives what became of all of them and of those of the first model.
async fn spend(money: &Arc<Money>, calls: Vec<(usize, f64, Charge)>) -> [Sums; 2] {
    let mut tasks = JoinSet::new();
    for (model, usd, charge) in calls {
        let money = money.clone();
        tasks.spawn(async move {
            let Ok(mut hold) = money.reserve(model, usd, &watch()).await else {
                return None;
            };
            let reserved = hold.reserved;
            hold.sent();
            let booked = [money.of_run(), money.of_model(0)].map(|account| account.booked());
            tokio::task::yield_now().await;
            let usd = match charge {
                Charge::Less(share) => usd * share,
                Charge::All => usd,
                Charge::More(times) => usd * times,
                Charge::Dropped => return Some((model, reserved, Pico(0), booked)),
            };
            hold.settle(usd);
            let spent = Pico::at_least(usd);
            Some((model, spent, spent.minus(reserved), booked))
        });
    }
    let [mut run, mut first] = [Sums::default(); 2];
    while let Some(done) = tasks.join_next().await {
        let Some((model, spent, beyond, [of_run, of_first])) = done.unwrap() else {
            continue;
        };
        run.add(spent, beyond, of_run);
        if model == 0 {
            first.add(spent, beyond, of_first);
        }
    }
    [run, first]
}
