//! `farm resume`: what it goes on with, what it refuses, what it leaves alone.

use std::{fs, process::Stdio};

use serde_json::json;

use crate::support::{Background, Folder, Said, farm, process};

const CASES: &str = r#"{"id":"sum-1","task":"What is 1 + 1?","script":[{"tool_call":{"tool":"calculator","args":{"expression":"1 + 1"}}},{"any_of":[{"weight":1,"answer":"2"},{"weight":1,"answer":"3"}]}]}
{"id":"sum-2","task":"What is 2 + 2?","script":[{"thought":"Easy.","answer":"4"}]}
"#;
const SEALED: &str = r#"{"id":"sum-1","checks":[{"kind":"answer_equals","text":"2"}],"metrics":[{"name":"efficiency","kind":"steps_over_optimal","optimal":1}]}
{"id":"sum-2","checks":[{"kind":"answer_equals","text":"4"}],"metrics":[{"name":"efficiency","kind":"steps_over_optimal","optimal":1}]}
"#;

/// A project with two cases, a prompt of its own and a scripted model.
fn project() -> Folder {
    let folder = Folder::new();
    folder
        .write("eval/cases.jsonl", CASES)
        .write("configs/sealed/cases.jsonl", SEALED)
        .write("configs/prompt.md", "Be brief.\n")
        .write("configs/farm.toml", config(""));
    folder
}

/// The project's config with more tables.
fn config(more: &str) -> String {
    format!("[session]\nprompt = \"prompt.md\"\n{more}\n[models.scripted]\nkind = \"scripted\"\n")
}

/// The same, with replies that take this long.
fn slow_config(more: &str, latency_ms: u32) -> String {
    format!("{}latency_ms = {latency_ms}\n", config(more))
}

/// A run that died before its first session was on record.
fn unbegun(folder: &Folder, more: &[&str]) {
    abort(folder, "commit:1:before", more);
}

/// A run that dies at a commit.
fn abort(folder: &Folder, at: &str, more: &[&str]) {
    let status = process()
        .args(["run", "eval/cases.jsonl", "--out", "run", "--quiet"])
        .args(["--seeds", "6", "--concurrency", "1"])
        .args(more)
        .current_dir(folder.path(""))
        .env("FARM_TEST_ABORT", at)
        .status()
        .unwrap();
    assert_eq!(status.code(), None, "it did not die");
}

fn whole(folder: &Folder, more: &[&str]) -> String {
    let args = ["run", "eval/cases.jsonl", "--out", "whole", "--quiet"];
    folder.farm(args.iter().chain(more)).exits(0);
    folder.read("whole/summary.json")
}

fn resume(folder: &Folder, more: &[&str]) -> Said {
    folder.farm(["resume", "run"].iter().chain(more))
}

#[test]
fn a_run_that_died_goes_on_to_the_same_summary() {
    let folder = project();
    let whole = whole(&folder, &["--seeds", "6"]);
    abort(&folder, "commit:9:before", &[]);
    let said = resume(&folder, &["--json"]).exits(0);
    assert_eq!(said.stdout, whole);
    assert!(
        said.stderr.contains("of 12 sessions are done"),
        "{}",
        said.stderr
    );
    assert_eq!(folder.read("run/summary.json"), whole);
    assert_eq!(
        folder.read("run/scores.jsonl"),
        folder.read("whole/scores.jsonl")
    );
    folder.farm(["trace", "diff", "run", "whole"]).exits(0);
    assert_eq!(folder.json("run/manifest.json")["status"], "finished");
    assert_eq!(
        folder.json("run/manifest.json")["digest"],
        folder.json("whole/manifest.json")["digest"]
    );
}

#[test]
fn more_seeds_are_the_run_that_had_them_from_the_start() {
    let folder = project();
    let eight = whole(&folder, &["--seeds", "8"]);
    folder
        .farm([
            "run",
            "eval/cases.jsonl",
            "--out",
            "run",
            "--quiet",
            "--seeds",
            "2..6",
        ])
        .exits(0);
    for fewer in ["2..5", "3..8", "2", "0"] {
        let said = resume(&folder, &["--seeds", fewer]).exits(2);
        assert!(
            said.stderr.contains("2..6") || fewer == "0",
            "{}",
            said.stderr
        );
    }
    resume(&folder, &["--seeds", "8", "--quiet"]).exits(0);
    assert_eq!(folder.read("run/summary.json"), eight);
    folder.farm(["trace", "diff", "run", "whole"]).exits(0);
    let manifest = folder.json("run/manifest.json");
    assert_eq!(manifest["grid"]["seeds"], json!({"start": 0, "end": 8}));
    assert_eq!(manifest["changes"][0]["key"], "run.seeds");
    let spans = folder.json("run/timing.json")["spans"].clone();
    assert_eq!([&spans[0]["sessions"], &spans[1]["sessions"]], [8, 8]);
    assert_eq!(
        folder.json("run/manifest.json")["digest"],
        folder.json("whole/manifest.json")["digest"]
    );
}

#[test]
fn a_run_that_is_over_shows_its_summary_and_needs_nothing() {
    let folder = project();
    let args = ["run", "eval/cases.jsonl", "--out", "run", "--quiet"];
    folder.farm(args).exits(0);
    let before = folder.read("run/manifest.json");
    fs::remove_dir_all(folder.path("configs")).unwrap();
    fs::remove_dir_all(folder.path("eval")).unwrap();
    let said = resume(&folder, &["--json"]).exits(0);
    assert_eq!(said.stdout, folder.read("run/summary.json"));
    assert_eq!(folder.read("run/manifest.json"), before);
    // Also of a published run, which has no database.
    fs::remove_file(folder.path("run/farm.db")).unwrap();
    let said = resume(&folder, &["--json"]).exits(0);
    assert_eq!(said.stdout, folder.read("run/summary.json"));
}

#[test]
fn what_changes_the_meaning_is_refused_by_name() {
    let folder = project();
    unbegun(&folder, &[]);
    let kept = [
        "eval/cases.jsonl",
        "configs/sealed/cases.jsonl",
        "configs/prompt.md",
        "run/config.toml",
    ]
    .map(|name| (name, folder.read(name)));
    let refused = |name: &str, text: String| {
        folder.write(name, text);
        let said = resume(&folder, &[]).exits(2);
        for (name, text) in &kept {
            folder.write(name, text);
        }
        said.stderr
    };
    let cases = |from: &str, to: &str| refused("eval/cases.jsonl", CASES.replace(from, to));
    insta::assert_snapshot!("task", cases("What is 1 + 1?", "What is 1 + 2?"));
    insta::assert_snapshot!("script", cases("Easy.", "Hard."));
    insta::assert_snapshot!(
        "case_max_steps",
        cases(
            "\"task\":\"What is 2",
            "\"max_steps\":3,\"task\":\"What is 2"
        )
    );
    insta::assert_snapshot!(
        "case_gone",
        refused("eval/cases.jsonl", CASES.lines().take(1).collect())
    );
    let sealed = SEALED.replace("\"text\":\"4\"", "\"text\":\"5\"");
    let said = refused("configs/sealed/cases.jsonl", sealed);
    insta::assert_snapshot!("sealed", said);
    insta::assert_snapshot!(
        "prompt",
        refused("configs/prompt.md", "Be long.".to_owned())
    );
    let recorded = folder.read("run/config.toml");
    let said = refused(
        "run/config.toml",
        recorded.replace("max_steps = 8", "max_steps = 9"),
    );
    insta::assert_snapshot!("config", said);
    folder.write(
        "other.toml",
        "[models.other]\nkind = \"scripted\"\ntool_mode = \"json\"\n",
    );
    insta::assert_snapshot!(
        "other_config",
        resume(&folder, &["--config", "other.toml"]).exits(2).stderr
    );
    let mut command = farm();
    command
        .args(["resume", "run"])
        .env("FARM_SESSION_MAX_STEPS", "3");
    insta::assert_snapshot!("env", folder.command(&mut command).exits(2).stderr);
    // Nothing of this has touched the run.
    resume(&folder, &["--quiet"]).exits(0);
    assert_eq!(folder.json("run/manifest.json")["changes"], json!([]));
}

#[test]
fn what_changes_only_how_it_runs_is_logged() {
    let folder = project();
    unbegun(&folder, &[]);
    let more = "[run]\nconcurrency = 3\n[suite]\nlevel = 0.9\ncases = \"sample\"";
    folder.write("configs/farm.toml", slow_config(more, 1));
    resume(
        &folder,
        &[
            "--config",
            "configs/farm.toml",
            "--quiet",
            "--concurrency",
            "2",
        ],
    )
    .exits(0);
    let changes = folder.json("run/manifest.json")["changes"].clone();
    let changes: Vec<String> = changes
        .as_array()
        .unwrap()
        .iter()
        .map(|c| format!("{}: {} -> {}", c["key"], c["from"], c["to"]))
        .collect();
    insta::assert_snapshot!(changes.join("\n"));
    let summary = folder.json("run/summary.json");
    assert_eq!(summary["reading"], "sample");
    assert_eq!(folder.json("run/manifest.json")["suite"]["level"], 0.9);
    // The config on record is the new one.
    resume(&folder, &["--quiet", "--seeds", "7"]).exits(0);
    let last = folder.json("run/manifest.json")["changes"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(last["key"], "run.seeds");
    assert!(folder.read("run/config.toml").contains("concurrency = 2"));
}

#[test]
fn errors_are_run_again_or_kept() {
    let folder = project();
    let whole = whole(&folder, &["--seeds", "2"]);
    let mut broken = farm();
    broken
        .args([
            "run",
            "eval/cases.jsonl",
            "--out",
            "run",
            "--quiet",
            "--seeds",
            "2",
        ])
        .env("FARM_TEST_PANIC", "scripted/sum-1/1:1");
    folder.command(&mut broken).exits(3);
    let kept = resume(&folder, &["--keep-errors", "--json"]).exits(3);
    assert_eq!(kept.stdout, folder.read("run/summary.json"));
    resume(&folder, &["--quiet"]).exits(0);
    assert_eq!(folder.read("run/summary.json"), whole);
    let totals = folder.json("run/manifest.json")["totals"].clone();
    assert_eq!([&totals["restarts"], &totals["lost_attempts"]], [2, 2]);
}

#[test]
fn a_run_without_a_scorer_is_scored_when_one_comes() {
    let folder = project();
    let whole = whole(&folder, &[]);
    folder
        .farm([
            "run",
            "eval/cases.jsonl",
            "--out",
            "run",
            "--quiet",
            "--unscored",
        ])
        .exits(0);
    // Without one there is nothing left to do.
    resume(&folder, &["--quiet"]).exits(0);
    assert_eq!(folder.json("run/summary.json")["ledger"]["unscored"], 2);
    resume(
        &folder,
        &["--quiet", "--sealed", "configs/sealed/cases.jsonl"],
    )
    .exits(0);
    assert_eq!(folder.read("run/summary.json"), whole);
    let manifest = folder.json("run/manifest.json");
    assert_eq!(
        manifest["digest"],
        folder.json("whole/manifest.json")["digest"]
    );
    assert_eq!(manifest["changes"][0]["key"], "run.sealed");
}

/// A run whose replies take an hour.
fn slow(folder: &Folder) -> Background {
    folder.write("configs/slow.toml", slow_config("", 3600000));
    let child = process()
        .args(["run", "eval/cases.jsonl", "--out", "run", "--quiet"])
        .args(["--config", "configs/slow.toml"])
        .current_dir(folder.path(""))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let background = Background(child);
    folder.wait_for("run/farm.db");
    background
}

#[test]
fn one_farm_at_a_time_works_on_a_run() {
    let folder = project();
    let whole = whole(&folder, &[]);
    let first = slow(&folder);
    let said = resume(&folder, &[]).exits(2).stderr;
    let pid = first.0.id().to_string();
    assert!(
        said.contains(&format!("is in use by process {pid} on ")),
        "{said}"
    );
    drop(first);
    // Its lock is stale: the next one takes it over.
    let fast = ["--config", "configs/farm.toml", "--quiet"];
    let said = resume(&folder, &fast).exits(0);
    assert_eq!(said.stderr, "");
    assert_eq!(folder.read("run/summary.json"), whole);
}

#[test]
fn a_stop_file_winds_a_run_down_and_a_resume_takes_it_away() {
    let folder = project();
    let whole = whole(&folder, &[]);
    let config = slow_config("[run]\nconcurrency = 1", 400);
    folder.write("configs/slow.toml", config);
    let child = process()
        .args([
            "run",
            "eval/cases.jsonl",
            "--out",
            "run",
            "--config",
            "configs/slow.toml",
        ])
        .current_dir(folder.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    folder.wait_for("run/farm.db");
    folder.write("run/STOP", "");
    let said = Said::new(&child.wait_with_output().unwrap());
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert!(
        said.stderr.contains("ended early by its STOP file"),
        "{}",
        said.stderr
    );
    assert!(
        said.stderr.contains("`farm resume run` goes on with it"),
        "{}",
        said.stderr
    );
    resume(&folder, &["--quiet"]).exits(0);
    assert!(!folder.path("run/STOP").exists());
    assert_eq!(folder.read("run/summary.json"), whole);
}

#[test]
fn a_deadline_winds_a_run_down_and_is_forgotten_once_it_has_passed() {
    let folder = project();
    let whole = whole(&folder, &[]);
    let config = slow_config("[run]\nconcurrency = 1", 1500);
    folder.write("configs/slow.toml", config);
    let run = [
        "run",
        "eval/cases.jsonl",
        "--out",
        "run",
        "--config",
        "configs/slow.toml",
    ];
    let said = folder.farm(run.iter().chain(&["--until", "1s"])).exits(3);
    assert!(
        said.stderr.contains("since its time was up"),
        "{}",
        said.stderr
    );
    resume(&folder, &["--until", "none", "--quiet"]).exits(0);
    assert_eq!(folder.read("run/summary.json"), whole);

    let past = ["run", "eval/cases.jsonl", "--until", "2020-01-01T00:00:00Z"];
    insta::assert_snapshot!(folder.farm(past).exits(2).stderr, @r"
    error: the run is to wind down at 2020-01-01T00:00:00Z, which has passed
    hint: name a later time with --until, or `--until none`
    ");
    let recorded = folder
        .read("run/config.toml")
        .replace("until = \"none\"", "until = \"2020-01-01T00:00:00Z\"");
    folder.write("run/config.toml", recorded);
    resume(&folder, &["--seeds", "2", "--quiet"]).exits(0);
    assert!(folder.read("run/config.toml").contains("until = \"none\""));
}

#[test]
fn a_run_without_a_database_begins_if_it_had_not_begun() {
    let folder = project();
    let whole = whole(&folder, &["--seeds", "6"]);
    unbegun(&folder, &[]);
    for gone in ["farm.db", "farm.db-wal", "farm.db-shm"] {
        let _ = fs::remove_file(folder.path(&format!("run/{gone}")));
    }
    resume(&folder, &["--quiet"]).exits(0);
    assert_eq!(folder.read("run/summary.json"), whole);
    // Once it had, its database must not be made anew.
    fs::remove_file(folder.path("run/farm.db")).unwrap();
    let said = resume(&folder, &["--seeds", "7"]).exits(4);
    insta::assert_snapshot!(said.stderr, @r"
    error: store: database is not there: run/farm.db
    hint: restore farm.db from a copy or a bundle, or begin a new run
    ");
}

#[test]
fn the_run_seed_stays() {
    let folder = project();
    unbegun(&folder, &["--run-seed", "5"]);
    let said = resume(&folder, &["--config", "configs/farm.toml"]).exits(2);
    insta::assert_snapshot!(said.stderr, @r#"
    error: the run cannot go on, for it would not mean the same any more
      config: run_seed was "5" and is "0"
    hint: undo these changes, or begin a new run with `farm run`
    "#);
    resume(&folder, &["--quiet"]).exits(0);
}

#[test]
fn a_run_goes_on_from_elsewhere() {
    let folder = project();
    let whole = whole(&folder, &["--seeds", "6"]);
    abort(&folder, "commit:9:after", &[]);
    let mut elsewhere = farm();
    elsewhere
        .args(["resume", "../run", "--quiet"])
        .current_dir(folder.path("eval"));
    let output = elsewhere.output().unwrap();
    Said::new(&output).exits(0);
    assert_eq!(folder.read("run/summary.json"), whole);
}

#[test]
fn there_must_be_a_run() {
    let folder = project();
    let said = folder.farm(["resume"]).exits(2);
    assert!(
        said.stderr.contains("there is no run under results/runs"),
        "{}",
        said.stderr
    );
}
