//! Ctrl-C: once to finish what is in flight, twice to drop it. What is durable can be read after
//! either, and after a kill.

use crate::{
    running::Running,
    support::{Folder, RUN},
};

/// A run of 40 sessions, 2 at a time, whose replies take this long.
fn begin(folder: &Folder, latency_ms: u32) -> Running {
    begin_at(folder, latency_ms, "run")
}

fn begin_at(folder: &Folder, latency_ms: u32, out: &str) -> Running {
    let config = format!("[models.slow]\nkind = \"scripted\"\nlatency_ms = {latency_ms}\n");
    folder.write("farm.toml", config);
    let more = "--config farm.toml --seeds 40 --concurrency 2";
    let args = RUN[..5].iter().copied().chain([out]);
    let mut running = Running::start(folder, args.chain(more.split(' ')));
    // The first line of progress: sessions are in flight, signals are heard.
    running.until("in flight");
    running
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
        let mut run = begin(&folder, 300);
        run.signal(signal);
        run.until("winding down: sessions in flight finish");
        assert_eq!(run.end().0, Some(3));
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
    let mut run = begin(&folder, 3_600_000);
    run.signal("INT");
    run.until("winding down");
    run.signal("INT");
    run.until("interrupted: sessions in flight are dropped");
    assert_eq!(run.end().0, Some(3));
    assert_eq!(
        passed(&folder, &folder.json("run/summary.json")["ledger"]),
        0
    );
}

#[test]
fn a_killed_run_can_be_read() {
    let folder = Folder::with_one_case();
    let run = begin(&folder, 100);
    run.signal("KILL");
    assert_eq!(run.end().0, None);
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
    let run = begin_at(&folder, 3_600_000, "results/runs/mine");
    let status = |folder: &Folder| {
        let said = folder.farm(["runs", "--json"]).exits(0);
        let runs: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
        runs[0]["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(status(&folder), "running");
    run.signal("KILL");
    assert_eq!(run.end().0, None);
    assert_eq!(status(&folder), "interrupted");
    let said = folder.farm(["runs"]).exits(0);
    assert!(said.stdout.contains("interrupted"), "{}", said.stdout);
    let said = folder.farm(["report", "mine"]).exits(0);
    assert!(said.stderr.contains("was interrupted"), "{}", said.stderr);
}
