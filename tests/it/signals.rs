//! Ctrl-C: once to finish what is in flight, twice to drop it. What is durable can be read after
//! either, and after a kill.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, ChildStderr, Command, Stdio},
};

use crate::support::{Folder, RUN};

/// A run of 40 sessions, 2 at a time, whose replies take this long.
struct Running {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Running {
    fn begin(folder: &Folder, latency_ms: u32) -> Self {
        Self::begin_at(folder, latency_ms, "run")
    }

    fn begin_at(folder: &Folder, latency_ms: u32, out: &str) -> Self {
        let config = format!("[models.slow]\nkind = \"scripted\"\nlatency_ms = {latency_ms}\n");
        folder.write("farm.toml", config);
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("farm"))
            .args(&RUN[..5])
            .arg(out)
            .args([
                "--config",
                "farm.toml",
                "--seeds",
                "40",
                "--concurrency",
                "2",
            ])
            .current_dir(folder.path(""))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut running = Self { child, stderr };
        // The first line of progress: sessions are in flight, signals are heard.
        running.until("in flight");
        running
    }

    /// Reads on to a line that holds these words.
    #[track_caller]
    fn until(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert!(
                self.stderr.read_line(&mut line).unwrap() > 0,
                "it did not say {words:?}"
            );
        }
    }

    fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }

    fn end(mut self) -> Option<i32> {
        // It must not wait for a reader.
        std::io::copy(&mut self.stderr, &mut std::io::sink()).unwrap();
        self.child.wait().unwrap().code()
    }
}

/// Passed and not run; nothing is missing and nothing is in any other state.
fn passed(folder: &Folder, ledger: &serde_json::Value) -> u64 {
    let of = |state: &str| ledger[state].as_u64().unwrap();
    assert_eq!(of("planned"), 40);
    assert_eq!(of("passed") + of("not_run"), 40, "{ledger}");
    let sessions = folder.farm(["trace", "diff", "run", "run"]);
    assert!(
        of("passed") == 0 || sessions.code == 0,
        "{}",
        sessions.stderr
    );
    of("passed")
}

#[test]
fn once_finishes_what_is_in_flight() {
    for signal in ["INT", "TERM"] {
        let folder = Folder::with_one_case();
        let mut run = Running::begin(&folder, 300);
        run.signal(signal);
        run.until("winding down: sessions in flight finish");
        assert_eq!(run.end(), Some(3));
        let summary = folder.json("run/summary.json");
        assert_eq!(summary["status"], "partial");
        let passed = passed(&folder, &summary["ledger"]);
        assert!((2..40).contains(&passed), "{passed}");
        assert_eq!(folder.json("run/manifest.json")["status"], "interrupted");
        assert!(!folder.path("run/work").exists());
    }
}

#[test]
fn twice_drops_it() {
    let folder = Folder::with_one_case();
    let mut run = Running::begin(&folder, 3_600_000);
    run.signal("INT");
    run.until("winding down");
    run.signal("INT");
    run.until("interrupted: sessions in flight are dropped");
    assert_eq!(run.end(), Some(3));
    assert_eq!(
        passed(&folder, &folder.json("run/summary.json")["ledger"]),
        0
    );
}

#[test]
fn a_killed_run_can_be_read() {
    let folder = Folder::with_one_case();
    let run = Running::begin(&folder, 100);
    run.signal("KILL");
    assert_eq!(run.end(), None);
    let said = folder.farm(["report", "run", "--format", "json"]).exits(0);
    let summary: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let ledger = &summary["ledger"];
    let of = |state: &str| ledger[state].as_u64().unwrap();
    assert_eq!(of("planned"), 40);
    // A session that ended may have died before its verdict.
    assert_eq!(
        of("passed") + of("unscored") + of("not_run"),
        40,
        "{ledger}"
    );
}

#[test]
fn a_killed_run_is_interrupted_not_running() {
    let folder = Folder::with_one_case();
    // Where `farm runs` looks.
    let run = Running::begin_at(&folder, 3_600_000, "results/runs/mine");
    let status = |folder: &Folder| {
        let said = folder.farm(["runs", "--json"]).exits(0);
        let runs: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        runs[0]["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status(&folder), "running");
    run.signal("KILL");
    assert_eq!(run.end(), None);
    assert_eq!(status(&folder), "interrupted");
    let said = folder.farm(["runs"]).exits(0);
    assert!(said.stdout.contains("interrupted"), "{}", said.stdout);
    let said = folder.farm(["report", "mine"]).exits(0);
    assert!(said.stderr.contains("was interrupted"), "{}", said.stderr);
}
