//! Run folders that are damaged while farm is at work, or before it resumes. farm says what is
//! wrong, and what was durable can be gone on from once that is mended.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use rusqlite::Connection;

use crate::support::{Folder, RUN, Said, farm};

/// What the suite of [`Folder::with_one_case`] is run with.
const SEEDS: [&str; 5] = ["--seeds", "40", "--quiet", "--concurrency", "2"];

/// A folder in which farm died in the middle of `run`, its write-ahead log beside its database;
/// and what an undisturbed run says.
fn died() -> (Folder, String) {
    let folder = Folder::with_one_case();
    folder
        .farm(RUN[..4].iter().chain(&["--out", "whole"]).chain(&SEEDS))
        .exits(0);
    let mut run = farm();
    run.args(RUN)
        .args(SEEDS)
        .env("FARM_TEST_ABORT", "commit:20:after");
    let status = run.current_dir(folder.path("")).output().unwrap().status;
    assert_eq!(status.code(), None, "it did not abort");
    assert!(folder.path("run/farm.db-wal").exists());
    let summary = folder.read("whole/summary.json");
    (folder, summary)
}

/// The same, its database one plain file.
fn died_settled() -> (Folder, String) {
    let (folder, summary) = died();
    let conn = Connection::open(folder.path("run/farm.db")).unwrap();
    conn.pragma_update(None, "journal_mode", "DELETE").unwrap();
    conn.close().unwrap();
    assert!(!folder.path("run/farm.db-wal").exists());
    (folder, summary)
}

impl Folder {
    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    fn resume(&self) -> Said {
        self.farm(["resume", "run", "--quiet"])
    }

    /// Resumes `run` to what an undisturbed run says, without a word.
    #[track_caller]
    fn resumes_to(&self, summary: &str) {
        let said = self.resume().exits(0);
        assert_eq!((&*said.stdout, &*said.stderr), ("", ""));
        assert_eq!(self.read("run/summary.json"), summary);
        self.farm(["trace", "diff", "whole", "run"]).exits(0);
    }
}

#[test]
fn a_database_that_is_none() {
    let (folder, summary) = died_settled();
    let whole = folder.bytes("run/farm.db");
    folder.write(
        "run/farm.db",
        "It was a dark and stormy night. ".repeat(1000),
    );
    insta::assert_snapshot!(folder.resume().exits(4).stderr, @r"
    error: store: database is damaged: run/farm.db: file is not a database
    caused by: Error code 26: file is not a database
    hint: restore farm.db from a copy or a bundle; what `sqlite3 farm.db .recover` saves can still be read
    ");
    folder.write("run/farm.db", whole);
    folder.resumes_to(&summary);
}

#[test]
fn a_database_that_is_cut_off() {
    let (folder, summary) = died_settled();
    let whole = folder.bytes("run/farm.db");
    let page = 8192;
    for length in [50, page, whole.len() / 2, whole.len() - page] {
        folder.write("run/farm.db", &whole[..length]);
        let said = folder.resume().exits(4).stderr;
        assert!(
            said.starts_with("error: store: database is damaged: run/farm.db: "),
            "{length}: {said}"
        );
        assert!(said.contains("hint: restore farm.db"), "{said}");
    }
    folder.write("run/farm.db", whole);
    folder.resumes_to(&summary);
}

/// A run that came to its end has a database, and one with a log beside it has begun.
#[test]
fn a_database_that_is_gone() {
    let (folder, summary) = died();
    let gone = |more: &[&str]| {
        fs::remove_file(folder.path("run/farm.db")).unwrap();
        let said = folder.farm(["resume", "run"].iter().chain(more)).exits(4);
        insta::allow_duplicates! {
            insta::assert_snapshot!(said.stderr, @r"
            error: store: database is not there: run/farm.db
            hint: restore farm.db from a copy or a bundle, or begin a new run
            ");
        }
    };
    let whole = folder.bytes("run/farm.db");
    gone(&[]);
    folder.write("run/farm.db", whole);
    folder.resumes_to(&summary);
    gone(&["--seeds", "41"]);
    assert_eq!(folder.read("run/summary.json"), summary);
}

/// Pages in the middle, which are read only when their rows are.
#[test]
fn a_database_with_a_hole() {
    let (folder, summary) = died_settled();
    let whole = folder.bytes("run/farm.db");
    let mut holed = whole.clone();
    holed[8192..].fill(0);
    folder.write("run/farm.db", holed);
    let said = folder.resume().exits(4).stderr;
    assert!(
        said.contains("database is damaged: run/farm.db: "),
        "{said}"
    );
    folder.write("run/farm.db", whole);
    folder.resumes_to(&summary);
}

#[test]
fn a_database_of_a_newer_farm() {
    let (folder, summary) = died_settled();
    let whole = folder.bytes("run/farm.db");
    let conn = Connection::open(folder.path("run/farm.db")).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    conn.close().unwrap();
    let said = folder.resume().exits(4).stderr;
    assert!(
        said.contains("run/farm.db was written by a newer farm: its schema is 99"),
        "{said}"
    );
    folder.write("run/farm.db", whole);
    folder.resumes_to(&summary);
}

/// A torn tail of the write-ahead log is a commit that was not one.
#[test]
fn a_log_that_is_cut_off() {
    let (folder, summary) = died();
    let log = folder.bytes("run/farm.db-wal");
    folder.write("run/farm.db-wal", &log[..log.len() - 100]);
    folder.resumes_to(&summary);
}

#[test]
fn a_clock_that_was_set_back() {
    let (folder, summary) = died();
    let conn = Connection::open(folder.path("run/farm.db")).unwrap();
    conn.execute_batch(
        "UPDATE session SET began = 4e9, ended = ended + 2e9; UPDATE turn SET ts = 4e9",
    )
    .unwrap();
    // The connection stays, and with it the write-ahead log.
    assert!(folder.path("run/farm.db-wal").exists());
    folder.resumes_to(&summary);
    drop(conn);
}

#[test]
fn a_lock_of_nobody() {
    for lock in ["", "garbage", r#"{"pid":1,"host":"elsewhere"}"#, "\0\u{1}"] {
        let (folder, summary) = died();
        folder.write("run/lock", lock);
        folder.resumes_to(&summary);
        assert!(folder.json("run/lock")["pid"].as_u64() > Some(1));
    }
}

#[test]
fn a_manifest_that_is_none() {
    let (folder, summary) = died();
    let whole = folder.bytes("run/manifest.json");
    let cut = &whole[..whole.len() / 2];
    for (manifest, at) in [
        (&b"{\"schema\": garbage}"[..], "manifest.json:1:12"),
        (cut, "manifest.json:"),
        (b"", "manifest.json"),
    ] {
        folder.write("run/manifest.json", manifest);
        let said = folder.resume();
        assert!(matches!(said.code, 2 | 4), "{}", said.stderr);
        assert!(said.stderr.contains(at), "{}", said.stderr);
    }
    folder.write("run/manifest.json", whole);
    folder.resumes_to(&summary);
}

#[test]
fn a_config_that_is_damaged() {
    let (folder, summary) = died();
    let whole = folder.bytes("run/config.toml");
    folder.write("run/config.toml", "[run\nseeds = 3\n");
    let said = folder.resume().exits(2).stderr;
    assert!(said.contains("run/config.toml:1:5"), "{said}");
    folder.write("run/config.toml", "[run]\nseed = 3\n");
    let said = folder.resume().exits(2).stderr;
    assert!(
        said.contains("run/config.toml:2:1") && said.contains("seeds"),
        "{said}"
    );
    fs::remove_file(folder.path("run/config.toml")).unwrap();
    let said = folder.resume().exits(2).stderr;
    assert!(said.contains("run/config.toml"), "{said}");
    folder.write("run/config.toml", whole);
    folder.resumes_to(&summary);
}

/// farm at work on `run`, two slow sessions at a time, from the moment that they are in flight.
fn at_work(folder: &Folder, args: &[&str]) -> Child {
    let mut child = Command::new(farm().get_program())
        .args(args)
        .current_dir(folder.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("in flight") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0);
    }
    assert!(stderr.buffer().is_empty());
    child.stderr = Some(stderr.into_inner());
    child
}

/// Does something to `run` while farm runs or resumes it, and gives what farm says in the end.
fn in_the_middle(how: &str, harm: impl Fn(&Folder)) -> (Folder, Said) {
    let folder = Folder::with_one_case();
    folder.write(
        "farm.toml",
        "[models.slow]\nkind = \"scripted\"\nlatency_ms = 100\n",
    );
    let config = [
        "--config",
        "farm.toml",
        "--seeds",
        "40",
        "--concurrency",
        "2",
    ];
    let run = [&RUN, &config[..]].concat();
    let mut child = at_work(&folder, &run);
    if how == "resume" {
        child.kill().unwrap();
        child.wait().unwrap();
        child = at_work(&folder, &["resume", "run"]);
    }
    harm(&folder);
    let said = Said::new(&child.wait_with_output().unwrap());
    (folder, said)
}

#[test]
fn a_run_folder_that_is_removed_in_the_middle() {
    for how in ["run", "resume"] {
        let (folder, said) = in_the_middle(how, |folder| {
            // A session may make its folder anew meanwhile.
            while fs::remove_dir_all(folder.path("run")).is_err() && folder.path("run").exists() {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let stderr = said.exits(4).stderr;
        assert!(stderr.contains("database is not there"), "{how}: {stderr}");
        assert!(
            stderr.contains("hint: was the run folder removed"),
            "{how}: {stderr}"
        );
        let said = folder.resume().exits(2).stderr;
        assert!(said.contains("run"), "{said}");
    }
}

/// Whatever is left of the database afterwards, nothing is said to be well that is not.
#[test]
fn a_database_that_is_overwritten_in_the_middle() {
    for how in ["run", "resume"] {
        let (_, said) = in_the_middle(how, |folder| {
            folder.write("run/farm.db", "not a database ".repeat(4000));
            folder.write("run/farm.db-wal", "");
        });
        let stderr = said.exits(4).stderr;
        assert!(stderr.contains("error: store: "), "{how}: {stderr}");
        assert!(stderr.contains("run/farm.db"), "{how}: {stderr}");
        assert!(stderr.contains("hint: "), "{how}: {stderr}");
    }
}
