use super::*;
use crate::{
    domain::SessionId,
    store::{Money, Options, Reader, Store, Write},
};

fn grid() -> Grid {
    Grid {
        variants: vec!["v".parse().unwrap(), "w".parse().unwrap()],
        cases: vec![
            "a".parse().unwrap(),
            "b".parse().unwrap(),
            "c".parse().unwrap(),
        ],
        seeds: 0..3,
    }
}

fn made() -> Connection {
    let mut conn = Connection::open_in_memory().unwrap();
    create(&mut conn, Path::new("farm.db"), "r", &grid()).unwrap();
    conn
}

#[test]
fn a_session_finds_its_name() {
    let conn = made();
    let grid = grid();
    for id in grid.ids() {
        let row = (id.0 as i64, 0, 1.0);
        conn.execute(
            "INSERT INTO session (id, attempt, began) VALUES (?1, ?2, ?3)",
            row,
        )
        .unwrap();
        let key: String = conn
            .query_row("SELECT key FROM session_key WHERE id = ?1", [row.0], |r| {
                r.get(0)
            })
            .unwrap();
        assert_eq!(key, grid.key(id).to_string());
    }
}

#[test]
fn only_known_versions_open() {
    let path = Path::new("farm.db");
    let mut conn = made();
    read_as_today(&conn, path).unwrap();
    migrate(&mut conn, path).unwrap();
    let again = create(&mut conn, path, "r", &grid()).unwrap_err();
    assert!(again.message.contains("already holds"), "{again}");

    conn.pragma_update(None, "user_version", 99).unwrap();
    let newer = migrate(&mut conn, path).unwrap_err();
    assert_eq!(
        newer.message,
        "farm.db was written by a newer farm: its schema is 99, this farm knows up to 3"
    );
    assert!(read_as_today(&conn, path).is_err());

    conn.pragma_update(None, "application_id", 7).unwrap();
    let other = read_as_today(&conn, path).unwrap_err();
    assert!(other.message.contains("not a database of farm"), "{other}");

    let empty = read_as_today(&Connection::open_in_memory().unwrap(), path).unwrap_err();
    assert!(empty.message.contains("had not begun"), "{empty}");
}

#[test]
fn an_older_file_gains_the_missing_steps() {
    let conn = made();
    let steps = [V1, "CREATE TABLE later (id INTEGER PRIMARY KEY)"];
    upgrade(&conn, 1, &steps).unwrap();
    conn.execute("INSERT INTO later VALUES (1)", []).unwrap();
    let version: i32 = conn
        .pragma_query_value(None, "user_version", |r| r.get(0))
        .unwrap();
    assert_eq!(version, 2);
}

#[test]
fn a_file_of_another_run_is_refused() {
    let path = Path::new("farm.db");
    let conn = made();
    let check = |run: &str, grid: &Grid| check_owner(&conn, path, run, grid).is_ok();
    assert!(check("r", &grid()));
    assert!(!check("s", &grid()));
    let with = |change: fn(&mut Grid)| {
        let mut grid = grid();
        change(&mut grid);
        check("r", &grid)
    };
    assert!(!with(|grid| grid.variants.swap(0, 1)));
    assert!(!with(|grid| drop(grid.cases.pop())));
    assert!(with(|grid| grid.seeds = 1..3));
    conn.execute(
        "INSERT INTO session (id, attempt, began) VALUES (5, 0, 1.0)",
        [],
    )
    .unwrap();
    assert!(!with(|grid| grid.seeds = 1..3), "seed 0 is there");
    // A file of an older farm takes the first name that it is given.
    conn.execute("DELETE FROM run", []).unwrap();
    assert!(check("s", &grid()));
    claim(&conn, path, "s").unwrap();
    claim(&conn, path, "r").unwrap();
    assert!(check("s", &grid()) && !check("r", &grid()));
}

/// A file of this version, with a session that ended, one turn and one step.
fn of_version(version: usize, folder: &Path) -> std::path::PathBuf {
    let path = folder.join("farm.db");
    let conn = Connection::open(&path).unwrap();
    conn.pragma_update(None, "application_id", APPLICATION_ID)
        .unwrap();
    upgrade(&conn, 0, MIGRATIONS.get(..version).unwrap()).unwrap();
    let step = r#"{"step":0,"turn":0,"call":0,"decision":{"answer":"42"},"judgments":[],"observation":null}"#;
    conn.execute_batch(&format!(
        "INSERT INTO session (id, attempt, began, status, steps, blocked, ended, work_s, answer)
           VALUES (5, 0, 1.0, 'completed', 1, 0, 2.0, 0.5, '42');
         INSERT INTO turn (session, attempt, turn, work_s, ts, body) VALUES (5, 0, 0, 0.5, 2.0,
           '{{\"reply\":{{}},\"request_sha256\":\"a\",\"repairs\":[],\"finish\":null,\"refused\":false,\"usage\":null}}');
         INSERT INTO step (session, attempt, step, turn, call, ts, body)
           VALUES (5, 0, 0, 0, 0, 2.0, '{step}');
         INSERT INTO lost_attempt (session, attempt, reason, ts) VALUES (5, 7, 'r', 2.0);"
    ))
    .unwrap();
    for (table, names) in [("variant", &["v", "w"][..]), ("task", &["a", "b", "c"])] {
        for (id, name) in (0i64..).zip(names) {
            let insert = format!("INSERT INTO {table} VALUES (?1, ?2)");
            conn.execute(&insert, (id, name)).unwrap();
        }
    }
    path
}

/// What a reader sees of it is what it would see of a file of today.
fn assert_reads(reader: &Reader) {
    let grid = grid();
    let id = SessionId(5);
    let row = reader.session(id).unwrap().unwrap();
    let outcome = row.outcome.as_ref().unwrap();
    assert_eq!(outcome.answer.as_deref(), Some("42"));
    assert_eq!(outcome.served, []);
    assert_eq!(reader.states().unwrap().len(), 1);
    assert_eq!(reader.turns(id, 0).unwrap().len(), 1);
    let steps = reader.steps(id, 0).unwrap();
    assert_eq!(steps.len(), 1);
    assert_eq!(steps[0].body.decision.answer.as_deref(), Some("42"));
    let overview = reader.overview(&grid, 0.0..=9.0).unwrap();
    assert_eq!(overview.ledger().unscored, 1);
    assert_eq!(reader.totals().unwrap().lost_attempts, 1);
    assert_eq!(reader.money().unwrap(), Money::default());
    assert_eq!(reader.judged(id, 0).unwrap(), []);
    assert_eq!(reader.look().unwrap(), None);
    assert_eq!(reader.parked().unwrap(), []);
}

#[tokio::test]
async fn older_files_are_read_as_they_are_and_brought_up_to_date() {
    for version in 1..MIGRATIONS.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = of_version(version, folder.path());
        let before = std::fs::read(&path).unwrap();
        let reader = Reader::open(&path).unwrap().of("r", &grid()).unwrap();
        assert_reads(&reader);
        drop(reader);
        assert_eq!(std::fs::read(&path).unwrap(), before, "version {version}");

        let store = Store::open(&path, "r", &grid(), Options::default()).unwrap();
        let reader = Reader::open(&path).unwrap();
        assert_reads(&reader);
        // From now on it holds what it could not hold before.
        let ts = 3.0;
        let writes = vec![
            Write::Parked {
                what: "the run".into(),
                reason: "spent".into(),
                ts,
            },
            Write::Activities {
                at: ts,
                list: Vec::new(),
            },
        ];
        store.handle().commit(writes).await.unwrap();
        assert_eq!(reader.parked().unwrap().len(), 1);
        assert_eq!(reader.look().unwrap().unwrap().at, ts);
        drop(reader);
        store.join().await.unwrap();
        let conn = Connection::open(&path).unwrap();
        let now: i64 = conn
            .pragma_query_value(None, "user_version", |r| r.get(0))
            .unwrap();
        assert_eq!(now, 3);
    }
}
