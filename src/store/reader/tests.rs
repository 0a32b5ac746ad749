use std::fs;

use super::*;
use crate::domain::SessionState;
use crate::{
    domain::{CheckResult, Ledger, ScoreError, Status, Verdict},
    store::{Options, Store, Write, writer::tests as fixtures},
};

/// One session per way to stand, and one that never began.
async fn all_states(store: &Store) {
    let ended = [
        (Status::Completed, Some(true)),
        (Status::Completed, Some(false)),
        (Status::BudgetExhausted, Some(true)),
        (Status::FallbackStop, None),
        (Status::Killed, None),
        (Status::ModelError, None),
        (Status::Crashed, None),
    ];
    let mut writes = Vec::new();
    for (session, (status, passed)) in (0..).map(SessionId).zip(ended) {
        writes.push(Write::Begin {
            session,
            attempt: 0,
            ts: 1.0,
        });
        writes.push(Write::End {
            session,
            attempt: 0,
            outcome: fixtures::outcome(status),
            work_s: 0.0,
            waits: Vec::new(),
            ts: 2.0,
        });
        writes.extend(passed.map(|passed| {
            let name = "c".to_owned();
            let checks = vec![CheckResult { name, passed }];
            Write::score((session, 0), &Verdict::Scored(checks))
        }));
    }
    for (session, ended) in [(7, true), (8, false)] {
        let session = SessionId(session);
        writes.push(Write::Begin {
            session,
            attempt: 0,
            ts: 1.0,
        });
        if ended {
            writes.push(Write::End {
                session,
                attempt: 0,
                outcome: fixtures::outcome(Status::Completed),
                work_s: 0.0,
                waits: Vec::new(),
                ts: 2.0,
            });
            let broken = Verdict::Failed(ScoreError::NoSealedHalf);
            writes.push(Write::score((session, 0), &broken));
        }
    }
    store.handle().commit(writes).await.unwrap();
}

#[tokio::test]
async fn the_ledger_agrees_with_every_row() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let grid = fixtures::grid(2, 5);
    let store = Store::create(&path, "r", &grid, Options::default()).unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.ledger(&grid).unwrap(), Ledger::planned(10));
    all_states(&store).await;

    for seeds in [0..5, 1..3] {
        let grid = Grid {
            seeds,
            ..grid.clone()
        };
        let mut by_row = Ledger::planned(grid.planned());
        let mut by_state = by_row;
        for case in 0..2 {
            for row in reader.rows_of(&grid, 0, case) {
                let (id, row) = row.unwrap();
                assert_eq!(grid.cell(id).case, case);
                match row.map_or(SessionState::NotRun, |r| r.state()) {
                    SessionState::NotRun => {}
                    state => by_row.settle(state),
                }
            }
        }
        for stands in reader.states().unwrap() {
            let is_planned = grid.ids().any(|id| id == stands.session);
            if is_planned && stands.state != SessionState::NotRun {
                by_state.settle(stands.state);
            }
        }
        let ledger = reader.ledger(&grid).unwrap();
        assert_eq!((ledger, ledger), (by_row, by_state));
        assert!(ledger.adds_up());
    }
    let all = reader.ledger(&grid).unwrap();
    assert_eq!(all.rows().map(|(_, n)| n), [2, 1, 3, 1, 2, 0, 1], "{all:?}");
    store.join().await.unwrap();
}

#[tokio::test]
async fn a_folder_that_may_not_be_written_is_read_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    // Characters that mean something in the name of an immutable database.
    let path = folder.path().join("a %3f?#b.db");
    let store = Store::create(&path, "r", &fixtures::grid(2, 5), Options::default()).unwrap();
    all_states(&store).await;
    store.join().await.unwrap();
    let conn = connect_immutable(&path).unwrap();
    schema::read_as_today(&conn, &path).unwrap();
    let reader = Reader { conn, path };
    assert_eq!(reader.states().unwrap().len(), 9);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_missing_database_is_said_to_be_missing() {
    let error = Reader::open(Path::new("none/farm.db")).unwrap_err();
    assert_eq!(error.message, "none/farm.db is missing");
}
