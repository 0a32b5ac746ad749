use std::path::Path;

use super::*;
use crate::{
    domain::{OnBehalf, Purpose, SessionId, Status},
    store::{AbortAt, Moment, Options, Store, writer::tests as fixtures},
};

fn reservation(call: u64, purpose: Purpose, model: &str, usd: f64) -> Reservation {
    Reservation {
        call,
        on_behalf: OnBehalf {
            session: (purpose != Purpose::Probe).then_some(SessionId(3)),
            attempt: 0,
            turn: 0,
            purpose,
        },
        model: model.to_owned(),
        usd,
        is_most: true,
        ts: 1.0,
    }
}

fn settlement(call: u64, usd: f64, is_kept: bool) -> Settlement {
    Settlement { call, usd, is_kept }
}

fn create(path: &Path) -> Store {
    Store::create(path, "r", &fixtures::grid(1, 9), Options::default()).unwrap()
}

#[tokio::test]
async fn what_calls_cost_is_told_by_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let store = create(&path);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.money().unwrap(), Money::default());
    let books = CallBooks::new(store.handle());
    for (call, purpose, model, reserved, cost) in [
        (0, Purpose::Probe, "a", 0.25, Some((0.125, false))),
        (1, Purpose::Turn, "a", 1.0, Some((0.5, true))),
        (2, Purpose::Turn, "a", 1.0, Some((1.0, false))),
        (3, Purpose::Judge, "b", 2.0, Some((0.25, true))),
        (4, Purpose::Grade, "b", 2.0, Some((0.5, false))),
        (7, Purpose::Turn, "b", 2.0, Some((2.75, true))), // More than was reserved.
        (5, Purpose::Turn, "b", 4.0, None),
    ] {
        let call_at = reservation(call, purpose, model, reserved);
        books.reserve(call_at).await.unwrap();
        if let Some((usd, is_kept)) = cost {
            books.settle(settlement(call, usd, is_kept)).await.unwrap();
            // It is over once; what nobody reserved is no call.
            books.settle(settlement(call, 99.0, true)).await.unwrap();
        }
        books.settle(settlement(1000, 99.0, true)).await.unwrap();
    }
    store.handle().commit(Vec::new()).await.unwrap();
    let money = reader.money().unwrap();
    let a = Spent {
        calls: 3,
        booked_usd: 1.625,
        failed_usd: 1.0,
        probes_usd: 0.125,
        ..Spent::default()
    };
    let b = Spent {
        calls: 4,
        booked_usd: 7.5,
        failed_usd: 0.5,
        judges_usd: 0.75,
        overcharges: 1,
        overcharged_usd: 0.75,
        ..Spent::default()
    };
    let models = [("a".to_owned(), a), ("b".to_owned(), b)];
    assert_eq!(money.models, BTreeMap::from(models));
    assert_eq!((money.next_call, money.booked_usd()), (8, 9.125));
    let totals = reader.totals().unwrap();
    assert_eq!((totals.calls, totals.booked_usd), (7, 9.125));
    assert_eq!(
        (
            totals.failed_calls_cost_usd,
            totals.judges_cost_usd,
            totals.probes_cost_usd
        ),
        (1.5, 0.75, 0.125)
    );
    // Whose call is still in flight when all is over has lost it, and so has who made nothing of it.
    store.join().await.unwrap();
    let over = reader.money().unwrap();
    assert_eq!(over.booked_usd(), 9.125);
    assert_eq!(over.models["a"].failed_usd, 1.5);
    assert_eq!(over.models["b"].failed_usd, 0.5 + 4.0 + 2.75 + 0.25);
    assert_eq!(over.models["a"].probes_usd, 0.125);
}

#[tokio::test]
async fn nobody_overcharges_where_no_most_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let store = create(&path);
    let books = CallBooks::new(store.handle());
    for (call, reserved, is_most) in [(0, 0.0, false), (1, 0.25, false), (2, 0.25, true)] {
        let of = Reservation {
            is_most,
            ..reservation(call, Purpose::Turn, "a", reserved)
        };
        books.reserve(of).await.unwrap();
        books.settle(settlement(call, 1.0, true)).await.unwrap();
    }
    store.handle().commit(Vec::new()).await.unwrap();
    let spent = Reader::open(&path).unwrap().money().unwrap().models["a"];
    assert_eq!((spent.calls, spent.booked_usd), (3, 3.0));
    assert_eq!((spent.overcharges, spent.overcharged_usd), (1, 0.75));
}

#[tokio::test]
async fn a_reply_that_was_paid_for_and_lost_is_of_no_use() {
    let folder = tempfile::tempdir().unwrap();
    let reader_of = |path: &Path| Reader::open(path).unwrap().money().unwrap().models["a"];
    let session = SessionId(3);
    let begin = |attempt| Write::Begin {
        session,
        attempt,
        ts: 1.0,
    };
    let end = |attempt, status| Write::End {
        session,
        attempt,
        outcome: fixtures::outcome(status),
        work_s: 1.0,
        waits: Vec::new(),
        ts: 3.0,
    };
    // It is open, was killed, or came to its end in a later attempt.
    let ways = [
        vec![],
        vec![end(0, Status::Killed)],
        vec![begin(1), end(1, Status::Completed)],
    ];
    for (n, way) in ways.into_iter().enumerate() {
        let path = folder.path().join(format!("{n}.db"));
        let store = create(&path);
        store.handle().commit(vec![begin(0)]).await.unwrap();
        calls(&store).await;
        let books = CallBooks::new(store.handle());
        books.reserve(turn(3)).await.unwrap();
        books.settle(settlement(3, 0.5, true)).await.unwrap();
        // Of two turns that were judged the judgments of one are durable.
        for turn in [0, 1] {
            let call = 4 + u64::from(turn);
            let mut judge = reservation(call, Purpose::Judge, "a", 1.0);
            judge.on_behalf.turn = turn;
            books.reserve(judge).await.unwrap();
            books.settle(settlement(call, 0.125, true)).await.unwrap();
        }
        let at = crate::store::At {
            work_s: 1.0,
            ts: 2.0,
        };
        let judged = Write::judged((session, 0), 0, &[], None, at);
        store.handle().commit(vec![judged]).await.unwrap();
        store.handle().commit(way).await.unwrap();
        assert_eq!(reader_of(&path).failed_usd, 0.0);
        store.join().await.unwrap();
        let spent = reader_of(&path);
        assert_eq!((spent.booked_usd, spent.failed_usd), (1.5, 0.625), "{n}");
    }
}

#[tokio::test]
async fn what_the_turns_of_an_attempt_have_cost_counts_whatever_came_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let store = create(&path);
    calls(&store).await;
    let books = CallBooks::new(store.handle());
    // One failed, one is in flight; a judge's is not the session's, nor what others spent.
    let mut failed = turn(3);
    let mut of_next = turn(5);
    of_next.on_behalf.attempt = 1;
    failed.on_behalf.turn = 1;
    for call in [failed, turn(4), of_next] {
        books.reserve(call).await.unwrap();
    }
    books.settle(settlement(3, 0.5, false)).await.unwrap();
    books.settle(settlement(5, 0.0625, true)).await.unwrap();
    let judge = reservation(6, Purpose::Judge, "a", 1.0);
    books.reserve(judge).await.unwrap();
    store.handle().commit(Vec::new()).await.unwrap();
    let reader = Reader::open(&path).unwrap();
    let spent = |session, attempt| reader.spent_usd(SessionId(session), attempt).unwrap();
    assert_eq!(spent(3, 0), 0.75 + 0.5 + 1.0);
    assert_eq!(spent(3, 1), 0.0625);
    assert_eq!((spent(3, 2), spent(4, 0)), (0.0, 0.0));
}

#[tokio::test]
async fn a_number_that_is_taken_ends_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let store = create(&path);
    let books = CallBooks::new(store.handle());
    let first = || reservation(0, Purpose::Turn, "a", 1.0);
    books.reserve(first()).await.unwrap();
    let lost = books.reserve(first()).await.unwrap_err();
    assert!(lost.0.starts_with("store: database failed"), "{lost}");
    assert_eq!(books.settle(settlement(0, 0.5, true)).await, Err(lost));
    assert!(store.join().await.is_err());
}

#[test]
fn totals_say_nothing_of_calls_where_there_are_none() {
    let text = serde_json::to_string(&crate::store::Totals::default()).unwrap();
    assert_eq!(
        text,
        r#"{"restarts":0,"lost_attempts":0,"lost_cost_usd":0.0}"#
    );
}

/// The reservation of the call that asks for this turn.
fn turn(call: u64) -> Reservation {
    let mut of = reservation(call, Purpose::Turn, "a", 1.0);
    of.on_behalf.turn = u32::try_from(call).unwrap();
    of
}

/// A call each, one after another, as a session would: a reservation, what it cost, and then the
/// turn that came of it.
async fn calls(store: &Store) {
    let books = CallBooks::new(store.handle());
    for call in 0..3 {
        books.reserve(turn(call)).await.unwrap();
        books.settle(settlement(call, 0.25, true)).await.unwrap();
        let turn = Write::Turn {
            session: SessionId(3),
            attempt: 0,
            turn: u32::try_from(call).unwrap(),
            body: "{}".into(),
            cost_usd: Some(0.25),
            work_s: 0.0,
            ts: 2.0,
        };
        store.handle().commit(vec![turn]).await.unwrap();
    }
}

/// The process aborts next to each of its commits: seen from outside, in a child of this binary.
#[test]
fn a_call_in_flight_is_booked_at_its_reservation() {
    const CHILD: &str = "FARM_TEST_BOOKS_ABORT";
    let name = "store::books::tests::a_call_in_flight_is_booked_at_its_reservation";
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    if let Ok(spec) = std::env::var(CHILD) {
        let (at, path) = spec.split_once(' ').unwrap();
        let (commit, moment) = at.split_once(':').unwrap();
        let options = Options {
            abort_at: Some(AbortAt {
                commit: commit.parse().unwrap(),
                moment: match moment {
                    "before" => Moment::Before,
                    _ => Moment::After,
                },
            }),
            ..Options::default()
        };
        let grid = fixtures::grid(1, 9);
        let store = Store::create(Path::new(path), "r", &grid, options).unwrap();
        runtime.block_on(calls(&store));
        return;
    }
    let mut in_flight = 0;
    for commit in 1..=6 {
        for moment in ["before", "after"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("farm.db");
            let status = std::process::Command::new(std::env::current_exe().unwrap())
                .args([name, "--exact"])
                .env(CHILD, format!("{commit}:{moment} {}", path.display()))
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .status()
                .unwrap();
            assert_eq!(status.code(), None, "it was to be aborted, not to exit");
            in_flight += is_booked_in_full(&path, &format!("{commit} {moment}"));
        }
    }
    assert!(in_flight > 0, "no abort hit a call in flight");
}

/// What is on record after an abort, and what a run that goes on makes of it: how many calls were
/// in flight.
fn is_booked_in_full(path: &Path, at: &str) -> u64 {
    let grid = fixtures::grid(1, 9);
    let reader = Reader::open(path).unwrap();
    let before = reader.money().unwrap();
    let count = "SELECT count(*) FROM turn";
    let turns: i64 = reader
        .conn()
        .query_row(count, [], |r| r.get::<_, i64>(0))
        .unwrap();
    let spent = before.models.get("a").copied().unwrap_or_default();
    // A durable turn implies a settled call.
    let settled = (spent.calls as f64 - spent.booked_usd) / 0.75;
    assert!(settled >= turns as f64, "{at}: {spent:?}, {turns} turns");
    drop(reader);

    drop(Store::open(path, "r", &grid, Options::default()).unwrap());
    let reader = Reader::open(path).unwrap();
    let after = reader.money().unwrap();
    let in_flight = spent.calls - settled as u64;
    let lost = after.models.get("a").map_or(0.0, |spent| spent.failed_usd);
    // At its reservation, beside those that were settled and whose turn is not durable.
    let want = in_flight as f64 + 0.25 * (settled - turns as f64);
    assert_eq!(lost, want, "{at}");
    assert_eq!(after.booked_usd(), before.booked_usd(), "{at}");
    assert_eq!(after.next_call, spent.calls, "{at}");
    in_flight
}
