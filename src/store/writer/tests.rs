use std::{fs, sync::Arc};

use super::*;
use crate::{
    domain::{CheckResult, Outcome, ScoreError, Served, SessionId, SessionState, Status, Verdict},
    store::{Reader, Score},
};

pub(crate) fn grid(cases: usize, seeds: u64) -> Grid {
    Grid {
        variants: vec!["v".parse().unwrap()],
        cases: (0..cases)
            .map(|c| format!("c{c}").parse().unwrap())
            .collect(),
        seeds: 0..seeds,
    }
}

pub(crate) fn outcome(status: Status) -> Arc<Outcome> {
    Arc::new(Outcome {
        status,
        limit: None,
        answer: Some("42".to_owned()),
        steps_used: 1,
        blocked: 0,
        mean_score: Some(0.96875),
        tokens_in: Some(7),
        tokens_out: None,
        cost_usd: Some(0.5),
        error: None,
        served: Vec::new(),
    })
}

fn begin(session: u64, attempt: u32) -> Write {
    Write::Begin {
        session: SessionId(session),
        attempt,
        ts: 1.0,
    }
}

fn turn(session: u64, attempt: u32, turn: u32, body: &str) -> Write {
    Write::Turn {
        session: SessionId(session),
        attempt,
        turn,
        body: body.into(),
        cost_usd: Some(0.0),
        work_s: 0.0,
        ts: 2.0,
    }
}

fn end(session: u64, attempt: u32, status: Status) -> Write {
    Write::End {
        session: SessionId(session),
        attempt,
        outcome: outcome(status),
        work_s: 0.25,
        waits: Vec::new(),
        ts: 3.0,
    }
}

fn verdict(passed: bool) -> Verdict {
    Verdict::Scored(vec![CheckResult {
        name: "answer".to_owned(),
        passed,
    }])
}

struct Fixture {
    store: Store,
    path: PathBuf,
    folder: tempfile::TempDir,
}

fn fixture() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let store = Store::create(&path, "r", &grid(10, 100), Options::default()).unwrap();
    Fixture {
        store,
        path,
        folder,
    }
}

fn text(path: &Path, sql: &str) -> String {
    let conn = Connection::open(path).unwrap();
    conn.query_row(sql, [], |r| r.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_committers_share_commits() {
    let Fixture {
        store,
        path,
        folder: _folder,
    } = fixture();
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let handle = store.handle();
            tokio::spawn(async move {
                for i in 0..10 {
                    let id = task * 10 + i;
                    handle.commit(vec![begin(id, 0)]).await.unwrap();
                    handle
                        .commit(vec![end(id, 0, Status::Completed)])
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let stats = store.join().await.unwrap();
    assert_eq!((stats.rows, stats.fenced), (1280, 0));
    assert!(stats.commits <= 1280);
    assert_eq!(Reader::open(&path).unwrap().states().unwrap().len(), 640);
}

/// What is queued while the writer is busy goes into one commit.
#[tokio::test]
async fn a_group_is_one_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let mut conn = connect(&path, OpenFlags::SQLITE_OPEN_CREATE, Options::default()).unwrap();
    schema::create(&mut conn, &path, "r", &grid(10, 100)).unwrap();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let store = Store::spawn(move |queue, end| {
        wait.recv().unwrap();
        write(conn, &path, queue, Options::default(), end)
    })
    .unwrap();
    for id in 0..100 {
        store.handle().post(vec![begin(id, 0)]).await.unwrap();
    }
    go.send(()).unwrap();
    let stats = store.join().await.unwrap();
    assert_eq!((stats.commits, stats.rows), (1, 100));
}

#[tokio::test]
async fn order_is_kept_between_posts_and_commits() {
    let Fixture {
        store,
        path,
        folder,
    } = fixture();
    let handle = store.handle();
    for n in 0..200 {
        handle
            .post(vec![turn(0, 0, n, &format!("{n}"))])
            .await
            .unwrap();
    }
    handle.commit(vec![]).await.unwrap();
    let bodies = "SELECT group_concat(body) FROM (SELECT body FROM turn ORDER BY rowid)";
    let want: Vec<String> = (0..200).map(|n| n.to_string()).collect();
    assert_eq!(text(&path, bodies), want.join(","));
    store.join().await.unwrap();
    drop(folder);
}

#[tokio::test]
async fn a_commit_is_seen_by_who_opens_the_file_then() {
    let Fixture {
        store,
        path,
        folder,
    } = fixture();
    let handle = store.handle();
    let reader = Reader::open(&path).unwrap();
    handle
        .commit(vec![begin(3, 0), end(3, 0, Status::Completed)])
        .await
        .unwrap();
    let row = reader.session(SessionId(3)).unwrap().unwrap();
    assert_eq!(row.outcome.as_ref(), Some(&*outcome(Status::Completed)));
    assert_eq!(
        (row.began, row.ended, row.work_s),
        (1.0, Some(3.0), Some(0.25))
    );
    assert_eq!(row.state(), SessionState::Unscored);

    // As after kill -9: database and WAL as they lie there, without their writer.
    let crashed = folder.path().join("crashed.db");
    fs::copy(&path, &crashed).unwrap();
    fs::copy(
        folder.path().join("farm.db-wal"),
        folder.path().join("crashed.db-wal"),
    )
    .unwrap();
    let found = Reader::open(&crashed)
        .unwrap()
        .session(SessionId(3))
        .unwrap();
    assert_eq!(found, Some(row));

    let store2 = Store::open(&crashed, "r", &grid(10, 100), Options::default()).unwrap();
    store2.handle().commit(vec![begin(4, 0)]).await.unwrap();
    store2.join().await.unwrap();
    assert_eq!(Reader::open(&crashed).unwrap().states().unwrap().len(), 2);
    store.join().await.unwrap();
}

#[tokio::test]
async fn only_the_attempt_at_hand_ends_and_once() {
    let Fixture {
        store,
        path,
        folder,
    } = fixture();
    let handle = store.handle();
    let reader = Reader::open(&path).unwrap();
    let row = || reader.session(SessionId(0)).unwrap().unwrap();
    let lost = Write::LostAttempt {
        session: SessionId(0),
        attempt: 0,
        reason: "panic".into(),
        cost_usd: Some(0.25),
        ts: 2.0,
    };
    let anew = vec![
        begin(0, 0),
        lost.clone(),
        lost,
        Write::Restart {
            session: SessionId(0),
        },
        begin(0, 1),
        end(0, 0, Status::Crashed),
    ];
    handle.commit(anew).await.unwrap();
    assert_eq!(
        (row().attempt, row().restarts, row().outcome.is_none()),
        (1, 1, true)
    );

    // An errored session begins anew, and forgets how it ended.
    handle
        .commit(vec![end(0, 1, Status::ModelError)])
        .await
        .unwrap();
    assert_eq!(row().state(), SessionState::Errored);
    handle.commit(vec![begin(0, 2)]).await.unwrap();
    assert_eq!((row().attempt, row().outcome), (2, None));

    // A finished one does not; it ends once, and its score may be replaced.
    let id = (SessionId(0), 2);
    let finish = vec![
        Write::score(id, &verdict(true)),
        end(0, 2, Status::Completed),
        end(0, 2, Status::Killed),
        begin(0, 3),
        Write::score((SessionId(0), 1), &verdict(true)),
        Write::score(id, &verdict(true)),
        Write::score(id, &verdict(false)),
    ];
    handle.commit(finish).await.unwrap();
    assert_eq!(row().outcome.as_ref(), Some(&*outcome(Status::Completed)));
    assert_eq!((row().attempt, row().state()), (2, SessionState::Failed));

    // Unless its scoring failed.
    let broken = Verdict::Failed(ScoreError::Panicked(1));
    handle
        .commit(vec![Write::score(id, &broken)])
        .await
        .unwrap();
    assert_eq!(
        row().score,
        Some(Score::Failed("check 1 panicked".to_owned()))
    );
    assert_eq!(row().state(), SessionState::Errored);
    handle
        .commit(vec![begin(0, 3), turn(0, 3, 0, "a"), turn(0, 3, 0, "b")])
        .await
        .unwrap();
    assert_eq!((row().attempt, row().score), (3, None));
    assert_eq!(text(&path, "SELECT body FROM turn"), "a");

    let totals = reader.totals().unwrap();
    assert_eq!(
        (totals.restarts, totals.lost_attempts, totals.lost_cost_usd),
        (1, 1, 0.25)
    );
    let stats = store.join().await.unwrap();
    assert_eq!(stats.fenced, 7);
    drop(folder);
}

#[tokio::test]
async fn what_answered_is_kept_with_the_end_of_its_attempt() {
    let Fixture {
        store,
        path,
        folder: _folder,
    } = fixture();
    let served = |model: &str| Served {
        model: Some(model.to_owned()),
        provider: None,
        fingerprint: Some("fp_1".to_owned()),
    };
    let by = |attempt, served: &[Served]| Write::End {
        session: SessionId(0),
        attempt,
        outcome: Arc::new(Outcome {
            served: served.to_vec(),
            ..(*outcome(Status::ModelError)).clone()
        }),
        work_s: 0.25,
        waits: Vec::new(),
        ts: 3.0,
    };
    let both = [served("b"), served("a")];
    let handle = store.handle();
    let reader = Reader::open(&path).unwrap();
    let found = || reader.session(SessionId(0)).unwrap().unwrap().outcome;
    let served_is_null = "SELECT CAST(served IS NULL AS TEXT) FROM session";
    for (writes, want) in [
        (vec![begin(0, 0), by(0, &both)], Some(&both[..])),
        (vec![begin(0, 1)], None),
        (vec![by(1, &[])], Some(&[][..])),
    ] {
        handle.commit(writes).await.unwrap();
        assert_eq!(found().as_ref().map(|end| &end.served[..]), want);
        let is_null = want.is_none_or(<[_]>::is_empty);
        let said = text(&path, served_is_null);
        assert_eq!(said, u8::from(is_null).to_string());
    }
    store.join().await.unwrap();
}

#[tokio::test]
async fn a_full_disk_fails_all_who_wait_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let mut conn = connect(&path, OpenFlags::SQLITE_OPEN_CREATE, Options::default()).unwrap();
    schema::create(&mut conn, &path, "r", &grid(1, 1)).unwrap();
    conn.pragma_update(None, "max_page_count", 20).unwrap();
    let store = Store::run(conn, path.clone(), Options::default()).unwrap();
    let handle = store.handle();
    handle.commit(vec![begin(0, 0)]).await.unwrap();
    let large = "x".repeat(1 << 20);
    let full = handle
        .commit(vec![begin(1, 0), turn(0, 0, 0, &large)])
        .await
        .unwrap_err();
    assert!(
        full.to_string().starts_with("store: disk is full: "),
        "{full}"
    );
    assert!(full.to_string().contains("farm.db"), "{full}");
    let later = handle.commit(vec![begin(2, 0)]).await.unwrap_err();
    assert_eq!(later.to_string(), full.to_string());
    assert!(handle.post(vec![]).await.is_err());
    let error = store.join().await.unwrap_err();
    assert_eq!(error.kind, crate::error::ErrorKind::Internal);
    assert_eq!(error.message, full.to_string());
    assert!(error.hint.unwrap().contains("farm resume"));
    // What was committed before stays, what failed is not there.
    assert_eq!(Reader::open(&path).unwrap().states().unwrap().len(), 1);
}

#[tokio::test]
async fn a_database_that_refuses_writes_fails_all_who_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let mut conn = connect(&path, OpenFlags::SQLITE_OPEN_CREATE, Options::default()).unwrap();
    schema::create(&mut conn, &path, "r", &grid(1, 1)).unwrap();
    conn.pragma_update(None, "query_only", true).unwrap();
    let store = Store::run(conn, path, Options::default()).unwrap();
    let refused = store.handle().commit(vec![begin(0, 0)]).await.unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("store: database is read-only: "),
        "{refused}"
    );
    assert!(store.join().await.is_err());
}

#[tokio::test]
async fn a_panic_of_the_writer_fails_all_who_wait() {
    let store = Store::spawn(|queue, _| {
        let Queue { receiver, group } = queue;
        receiver.blocking_recv_many(group, 1);
        panic!("as a bug would");
    })
    .unwrap();
    let (a, b) = (store.handle(), store.handle());
    let both = tokio::join!(a.commit(vec![begin(0, 0)]), b.commit(vec![begin(1, 0)]));
    assert!(both.0.is_err() && both.1.is_err());
    let error = store.join().await.unwrap_err();
    assert_eq!(error.message, "store: the writer panicked");
}

#[tokio::test]
async fn joining_keeps_what_was_posted_and_ends_the_handles() {
    let Fixture {
        store,
        path,
        folder,
    } = fixture();
    let handle = store.handle();
    handle.post(vec![begin(0, 0)]).await.unwrap();
    store.join().await.unwrap();
    assert!(handle.commit(vec![]).await.is_err());
    assert_eq!(Reader::open(&path).unwrap().states().unwrap().len(), 1);
    // One plain file is left, also after it was read.
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn opening_needs_a_database_of_this_farm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let missing = Store::open(&path, "r", &grid(10, 100), Options::default()).unwrap_err();
    assert!(missing.message.contains("cannot be opened"), "{missing}");
    fs::write(
        &path,
        "not a database, but long enough to be taken for one".repeat(20),
    )
    .unwrap();
    let damaged = Store::open(&path, "r", &grid(10, 100), Options::default()).unwrap_err();
    assert!(damaged.message.contains("damaged"), "{damaged}");
    fs::remove_file(&path).unwrap();
    let power = Options {
        durability: Durability::Power,
        abort_at: None,
    };
    drop(Store::create(&path, "r", &grid(1, 1), power).unwrap());
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let newer = Store::open(&path, "r", &grid(10, 100), power).unwrap_err();
    assert!(newer.message.contains("newer farm"), "{newer}");
    assert!(
        Reader::open(&path)
            .unwrap_err()
            .message
            .contains("newer farm")
    );
}

/// The process aborts at its N-th commit: seen from outside, in a child of this test binary.
#[test]
fn the_fail_point_aborts_before_or_after_its_commit() {
    const CHILD: &str = "FARM_TEST_STORE_ABORT";
    let name = "store::writer::tests::the_fail_point_aborts_before_or_after_its_commit";
    if let Ok(spec) = std::env::var(CHILD) {
        let (moment, path) = spec.split_once(':').unwrap();
        return abort_at_the_second_commit(moment, Path::new(path));
    }
    for (moment, kept) in [("before", 1), ("after", 2)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("farm.db");
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([name, "--exact"])
            .env(CHILD, format!("{moment}:{}", path.display()))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        assert_eq!(
            status.code(),
            None,
            "{moment}: it was to be aborted, not to exit"
        );
        let states = Reader::open(&path).unwrap().states().unwrap();
        assert_eq!(states.len(), kept, "{moment}");
    }
}

fn abort_at_the_second_commit(moment: &str, path: &Path) {
    let moment = match moment {
        "before" => Moment::Before,
        _ => Moment::After,
    };
    let options = Options {
        abort_at: Some(AbortAt { commit: 2, moment }),
        ..Options::default()
    };
    let store = Store::create(path, "r", &grid(1, 9), options).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        for id in 0..3 {
            store.handle().commit(vec![begin(id, 0)]).await.unwrap();
        }
    });
}
