use super::*;
use crate::{
    domain::{CheckResult, Outcome, ScoreError, Status, Verdict},
    store::{Options, Store, Write, writer::tests as fixtures},
};

fn begin(session: u64, attempt: u32) -> Write {
    Write::Begin {
        session: SessionId(session),
        attempt,
        ts: 1.0,
    }
}

fn end(session: u64, status: Status, error: Option<&str>, ts: f64) -> Write {
    let outcome = Outcome {
        error: error.map(str::to_owned),
        ..(*fixtures::outcome(status)).clone()
    };
    Write::End {
        session: SessionId(session),
        attempt: 0,
        outcome: outcome.into(),
        work_s: 0.0,
        waits: Vec::new(),
        ts,
    }
}

fn passed(session: u64, passed: bool) -> Write {
    let name = "c".to_owned();
    let checks = vec![CheckResult { name, passed }];
    Write::score((SessionId(session), 0), &Verdict::Scored(checks))
}

/// Two variants, two cases, three seeds: `v/c0/0 w/c0/0 v/c1/0 w/c1/0 v/c0/1` and so on.
fn grid() -> Grid {
    Grid {
        variants: vec!["v".parse().unwrap(), "w".parse().unwrap()],
        ..fixtures::grid(2, 3)
    }
}

async fn overview_of(writes: Vec<Write>, recent: RangeInclusive<f64>) -> Overview {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let store = Store::create(&path, "r", &grid(), Options::default()).unwrap();
    store.handle().commit(writes).await.unwrap();
    let reader = Reader::open(&path).unwrap();
    let overview = reader.overview(&grid(), recent).unwrap();
    store.join().await.unwrap();
    overview
}

#[tokio::test]
async fn every_variant_has_its_counts() {
    let mut writes: Vec<Write> = (0..9).map(|session| begin(session, 0)).collect();
    writes.extend([
        end(0, Status::Completed, None, 10.0),
        passed(0, true),
        end(4, Status::Completed, None, 20.0),
        passed(4, false),
        end(2, Status::FallbackStop, None, 30.0),
        end(
            1,
            Status::ModelError,
            Some("provider: 502 after 6 tries"),
            40.0,
        ),
        end(3, Status::Crashed, Some("panicked"), 50.0),
        end(
            5,
            Status::ModelError,
            Some("provider: 503 after 6 tries"),
            60.0,
        ),
        end(7, Status::Completed, None, 70.0),
        Write::score(
            (SessionId(7), 0),
            &Verdict::Failed(ScoreError::NoSealedHalf),
        ),
        Write::Restart {
            session: SessionId(3),
        },
        Write::LostAttempt {
            session: SessionId(8),
            attempt: 0,
            reason: "it broke".into(),
            cost_usd: Some(0.25),
            ts: 3.0,
        },
    ]);
    let overview = overview_of(writes, 20.0..=60.0).await;

    let [v, w] = &overview.variants[..] else {
        panic!("{overview:?}")
    };
    assert_eq!(v.ledger.rows().map(|r| r.1), [1, 1, 0, 0, 3, 0, 1]);
    assert_eq!(w.ledger.rows().map(|r| r.1), [0, 0, 4, 0, 2, 0, 0]);
    assert!(v.ledger.adds_up() && w.ledger.adds_up());
    assert_eq!(overview.ledger().planned, 12);
    assert_eq!((v.in_flight, w.in_flight), (2, 0));
    assert_eq!(overview.open(), 2);
    assert_eq!(v.cases, [[(1, 2), (0, 0)]]);
    assert_eq!((v.cost_usd, w.cost_usd), (1.5, 2.0));

    let errors: Vec<_> = overview
        .errors
        .iter()
        .map(|e| (e.message.as_str(), e.count, e.example.0))
        .collect();
    let want = [
        ("provider: 502 after 6 tries", 2, 1),
        ("panicked", 1, 3),
        ("the case has no sealed half", 1, 7),
    ];
    assert_eq!(errors, want);
    let totals = Totals {
        restarts: 1,
        lost_attempts: 1,
        lost_cost_usd: 0.25,
        ..Totals::default()
    };
    assert_eq!(overview.totals, totals);
    assert_eq!(overview.per_s, Some(5.0 / 40.0));
    assert_eq!(overview.eta_s(), Some(5.0 / (5.0 / 40.0)));
}

#[tokio::test]
async fn before_the_first_session_all_is_to_come() {
    let overview = overview_of(Vec::new(), 0.0..=60.0).await;
    assert_eq!(overview.ledger(), Overview::of(&grid()).ledger());
    assert_eq!(overview.ledger(), Ledger::planned(12));
    assert_eq!((overview.per_s, overview.eta_s()), (Some(0.0), None));
}

/// Whatever the clock says, no speed is below zero.
#[tokio::test]
async fn a_clock_that_was_set_back_leads_to_no_speed_below_zero() {
    for (now, began, want) in [
        (100.0, Some(70.0), 70.0..=100.0),
        (100.0, Some(10.0), 40.0..=100.0),
        (100.0, None, 40.0..=100.0),
        (100.0, Some(100.0), 100.0..=100.0),
        // It was set back.
        (100.0, Some(3700.0), 40.0..=100.0),
        (0.0, Some(3700.0), -60.0..=0.0),
    ] {
        let span = recently(now, began);
        assert_eq!(span, want, "{now} {began:?}");
        // One that ended in what is now the future, and one of late.
        let writes = vec![
            begin(0, 0),
            end(0, Status::Killed, None, 3650.0),
            begin(1, 0),
            end(1, Status::Killed, None, now - 0.5),
        ];
        let overview = overview_of(writes, span.clone()).await;
        let seconds = span.end() - span.start();
        let per_s = (seconds > 0.0).then(|| 1.0 / seconds);
        assert_eq!(overview.per_s, per_s, "{now} {began:?}");
        assert_eq!(overview.eta_s(), per_s.map(|s| 10.0 / s));
    }
}

#[tokio::test]
async fn only_what_is_planned_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let store = Store::create(&path, "r", &grid(), Options::default()).unwrap();
    let writes = (0..12).map(|session| begin(session, 0)).collect();
    store.handle().commit(writes).await.unwrap();
    let fewer = Grid {
        seeds: 1..2,
        ..grid()
    };
    let reader = Reader::open_if_begun(&path).unwrap().unwrap();
    let overview = reader.overview(&fewer, 0.0..=1.0).unwrap();
    assert_eq!(overview.open(), 4);
    assert_eq!(overview.ledger(), Ledger::planned(4));
    store.join().await.unwrap();
}

#[test]
fn a_database_that_is_not_made_has_not_begun() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    assert!(Reader::open_if_begun(&path).unwrap().is_none());
    std::fs::write(&path, "").unwrap();
    assert!(Reader::open_if_begun(&path).unwrap().is_none());
    std::fs::write(
        &path,
        "something else, long enough not to be taken for an empty file",
    )
    .unwrap();
    assert!(Reader::open_if_begun(&path).is_err());
}
