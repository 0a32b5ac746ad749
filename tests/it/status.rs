//! `farm status`: of a run that is over, at work, killed, published, and in a folder that may not
//! be written.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    os::unix::fs::PermissionsExt as _,
    process::{ChildStdout, Command, Stdio},
    time::Instant,
};

use serde_json::{Value, json};

use crate::support::{Background, Folder, PATIENCE, RUN, farm, farm_at_home, process};

fn begin(folder: &Folder, args: &[&str]) -> Background {
    let child = process()
        .args(args)
        .current_dir(folder.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    Background(child.unwrap())
}

/// A run of 40 sessions of two turns, 2 at a time, whose replies take this long.
fn begin_run(folder: &Folder, latency_ms: u32) -> Background {
    let call = r#"{"tool_call":{"tool":"calculator","args":{"expression":"1 + 1"}}}"#;
    folder.write(
        "cases.jsonl",
        format!(r#"{{"id":"sum-1","task":"What is 1 + 1?","script":[{call},{{"answer":"2"}}]}}"#),
    );
    let config = format!("[models.slow]\nkind = \"scripted\"\nlatency_ms = {latency_ms}\n");
    folder.write("farm.toml", config);
    let args = "run cases.jsonl --sealed sealed.jsonl --out run --config farm.toml --seeds 40 \
                --concurrency 2 --quiet";
    begin(folder, &args.split_whitespace().collect::<Vec<_>>())
}

/// The status of `run`; none before there is a run.
fn status(folder: &Folder) -> Option<Value> {
    let said = folder.farm(["status", "run", "--json"]);
    let is_none = [
        "there is no run run",
        "it has no manifest.json",
        "the run in run has not begun",
    ];
    if is_none.iter().any(|none| said.stderr.contains(none)) {
        return None;
    }
    assert_eq!(said.code, 0, "{}", said.stderr);
    let status = serde_json::from_str(&said.stdout).unwrap();
    assert_fits(&status);
    Some(status)
}

/// Looks until the status is as it must become.
#[track_caller]
pub(crate) fn until(folder: &Folder, is_so: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let status = status(folder);
        match status {
            Some(status) if is_so(&status) => return status,
            status => assert!(began.elapsed() < PATIENCE, "{status:?}"),
        }
    }
}

/// There is no database, and nothing in its place.
#[track_caller]
fn says_that_it_is_missing(folder: &Folder) {
    let said = folder.farm(["status", "run"]).exits(2);
    assert!(
        said.stderr.contains("run/farm.db is missing"),
        "{}",
        said.stderr
    );
}

/// It fits the committed schema, and its ledgers add up.
#[track_caller]
fn assert_fits(status: &Value) {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/schemas/status.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(status)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{status}: {}", errors.join("; "));
    let variants = status["variants"].as_array().unwrap();
    for ledger in variants
        .iter()
        .map(|v| &v["ledger"])
        .chain([&status["ledger"]])
    {
        let counts = ledger.as_object().unwrap().iter();
        let sum: u64 = counts
            .filter(|(state, _)| *state != "planned")
            .map(|(_, n)| n.as_u64().unwrap())
            .sum();
        assert_eq!(ledger["planned"].as_u64(), Some(sum), "{ledger}");
    }
}

#[test]
fn of_a_run_that_is_over() {
    let folder = Folder::with_one_case();
    folder.run(&["--seeds", "3", "--quiet"]).exits(0);
    let said = folder.farm(["status", "run"]).exits(0);
    let id = folder.json("run/manifest.json")["run"].clone();
    let shown = said.stdout.replace(id.as_str().unwrap(), "RUN");
    insta::assert_snapshot!(shown, @r#"
    RUN · finished
    3/3 done

    variant   passed  pass rate so far
    ──────────────────────────────────────
    scripted       3  1.000 [0.439, 1.000]
    "#);
    assert_eq!(said.stderr, "`farm report run` shows what came of it\n");

    let status = status(&folder).unwrap();
    let summary = folder.json("run/summary.json");
    assert_eq!(status["schema"], "farm.status/1");
    assert_eq!(
        (&status["run"], &status["state"]),
        (&id, &json!("finished"))
    );
    assert_eq!(status["ledger"], summary["ledger"]);
    let (variant, summary) = (&status["variants"][0], &summary["variants"][0]);
    assert_eq!(variant["ledger"], summary["ledger"]);
    assert_eq!(
        variant["pass_rate"],
        summary["overall"]["pass_rate"]["fixed"]
    );
    assert_eq!(status["errors"], json!([]));
    for absent in ["worker", "in_flight", "sessions_per_s", "eta_s"] {
        assert_eq!(status[absent], Value::Null, "{absent}");
    }
    // Nobody is at work: there is nothing to wait for.
    let watched = folder.farm(["status", "run", "--watch", "--json"]).exits(0);
    assert_eq!(watched.stdout.lines().count(), 1, "{}", watched.stdout);
    assert_eq!(
        folder.farm(["status", "run", "--watch"]).exits(0).stdout,
        said.stdout
    );
}

#[test]
fn of_a_run_in_which_a_session_crashed() {
    let folder = Folder::with_one_case();
    let mut run = farm();
    run.args(RUN).args(["--seeds", "3", "--quiet"]);
    run.env("FARM_TEST_PANIC", "scripted/sum-1/1:0");
    folder.command(&mut run).exits(3);
    let status = status(&folder).unwrap();
    let [error] = &status["errors"].as_array().unwrap()[..] else {
        panic!("{status}");
    };
    assert_eq!(
        (&error["count"], &error["example"]),
        (&json!(1), &json!("scripted/sum-1/1"))
    );
    assert_eq!(status["totals"]["restarts"], 2);
    let said = folder.farm(["status", "run"]).exits(0);
    let shown = "such as scripted/sum-1/1\n";
    assert!(
        said.stdout.contains("1 × ") && said.stdout.ends_with(shown),
        "{}",
        said.stdout
    );
    assert_eq!(
        said.stderr,
        "`farm resume run` runs what is errored or not run again\n"
    );
}

#[test]
fn of_a_run_at_work() {
    let folder = Folder::with_one_case();
    let mut run = begin_run(&folder, 100);
    let pid = run.0.id();
    let going = until(&folder, |s| s["in_flight"]["thinking"].as_u64() > Some(0));
    assert_eq!(going["state"], "running");
    assert_eq!(going["worker"]["pid"], pid);
    assert!(going["worker"]["host"].is_string());
    assert_eq!(going["errors"], json!([]));
    let said = folder.farm(["status", "run"]).exits(0);
    let worker = format!("running · process {pid} on ");
    assert!(said.stdout.contains(&worker), "{}", said.stdout);
    assert!(said.stdout.contains(" in flight"), "{}", said.stdout);
    assert_eq!(
        said.stderr,
        "`farm status run --watch` looks on until it ends\n"
    );

    let fast = until(&folder, |s| s["ledger"]["passed"].as_u64() > Some(2));
    let per_s = fast["sessions_per_s"].as_f64().unwrap();
    let eta = fast["ledger"]["not_run"].as_f64().unwrap() / per_s;
    assert!(per_s > 0.0, "{fast}");
    assert!(
        (fast["eta_s"].as_f64().unwrap() - eta).abs() < 1e-6 * eta,
        "{fast}"
    );

    assert_eq!(run.0.wait().unwrap().code(), Some(0));
    let over = status(&folder).unwrap();
    assert_eq!(
        (&over["state"], &over["ledger"]["passed"]),
        (&json!("finished"), &json!(40))
    );
}

#[test]
fn of_a_killed_run() {
    let folder = Folder::with_one_case();
    let mut run = begin_run(&folder, 200);
    until(&folder, |s| s["ledger"]["passed"].as_u64() > Some(0));
    // What sessions were at is left in the database, and is not told.
    until(&folder, |s| s["in_flight"]["thinking"].as_u64() > Some(0));
    run.0.kill().unwrap();
    run.0.wait().unwrap();
    // What was written ahead is still beside the database.
    assert!(folder.path("run/farm.db-wal").exists());
    let killed = status(&folder).unwrap();
    assert_eq!(killed["state"], "interrupted");
    for absent in ["worker", "in_flight", "sessions_per_s", "eta_s"] {
        assert_eq!(killed[absent], Value::Null, "{absent}");
    }
    assert!(killed["ledger"]["passed"].as_u64() > Some(0));
    let said = folder.farm(["status", "run"]).exits(0);
    assert_eq!(said.stderr, "`farm resume run` goes on\n");
}

/// The lines that a watcher prints, one a look.
fn lines(watch: &mut Background) -> std::io::Lines<BufReader<ChildStdout>> {
    BufReader::new(watch.0.stdout.take().unwrap()).lines()
}

#[test]
fn watching_ends_with_the_run() {
    let folder = Folder::with_one_case();
    let mut run = begin_run(&folder, 3_600_000);
    until(&folder, |s| !s["worker"].is_null());
    let mut watch = begin(&folder, &["status", "run", "--watch", "--json"]);
    let mut plain = begin(&folder, &["status", "run", "--watch"]);
    let mut lines = lines(&mut watch);
    let read = |line: String| serde_json::from_str::<Value>(&line).unwrap();
    let first = read(lines.next().unwrap().unwrap());
    assert_fits(&first);
    assert_eq!(first["state"], "running");
    run.0.kill().unwrap();
    run.0.wait().unwrap();
    let last = read(lines.map(Result::unwrap).last().unwrap());
    assert_fits(&last);
    assert_eq!(last["state"], "interrupted");
    assert_eq!(watch.0.wait().unwrap().code(), Some(0));
    let mut text = String::new();
    let mut stdout = plain.0.stdout.take().unwrap();
    stdout.read_to_string(&mut text).unwrap();
    assert_eq!(plain.0.wait().unwrap().code(), Some(0));
    let blocks: Vec<&str> = text.split(" · ").collect();
    assert!(
        blocks
            .last()
            .unwrap()
            .starts_with("interrupted\n0/40 done\n"),
        "{text}"
    );
}

#[test]
fn a_signal_ends_watching_at_once() {
    let folder = Folder::with_one_case();
    let _run = begin_run(&folder, 3_600_000);
    until(&folder, |s| !s["worker"].is_null());
    let mut watch = begin(&folder, &["status", "run", "--watch", "--json"]);
    // Its reader stays: else it would end by itself at its next look.
    let mut said = lines(&mut watch);
    said.next().unwrap().unwrap();
    let pid = watch.0.id().to_string();
    // Not INT, which is ignored by what a shell starts in the background.
    let sent = Command::new("kill").args(["-s", "TERM", &pid]).status();
    assert!(sent.unwrap().success());
    assert_eq!(watch.0.wait().unwrap().code(), None, "ended by the signal");
}

#[test]
fn a_watcher_whose_reader_is_gone_ends() {
    let folder = Folder::with_one_case();
    let _run = begin_run(&folder, 3_600_000);
    until(&folder, |s| !s["worker"].is_null());
    let mut watch = begin(&folder, &["status", "run", "--watch", "--json"]);
    drop(watch.0.stdout.take());
    assert_eq!(watch.0.wait().unwrap().code(), Some(0));
}

#[test]
fn of_a_run_that_was_published() {
    let output = farm_at_home()
        .args(["status", "results/suite", "--json"])
        .output();
    let said = crate::support::Said::new(&output.unwrap()).exits(0);
    assert_eq!(
        said.stderr,
        "`farm report results/suite` shows what came of it\n"
    );
    let status: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_fits(&status);
    assert_eq!(status["state"], "finished");
    assert_eq!(status["errors"], Value::Null);
    assert!(status["ledger"]["passed"].as_u64() > Some(0));

    // With neither there is nothing to tell.
    let folder = Folder::with_one_case();
    folder.run(&["--quiet"]).exits(0);
    for gone in ["farm.db", "summary.json", "lock"] {
        fs::remove_file(folder.path(&format!("run/{gone}"))).unwrap();
    }
    says_that_it_is_missing(&folder);
}

#[test]
fn of_a_run_that_winds_down() {
    let folder = Folder::with_one_case();
    let _run = begin_run(&folder, 3_600_000);
    let going = until(&folder, |status| status["in_flight"]["thinking"] == 2);
    assert_eq!(going["worker"]["winding_down"], false);
    folder.write("run/STOP", "");
    let ending = until(&folder, |status| status["worker"]["winding_down"] == true);
    assert_eq!(
        [&ending["state"], &ending["eta_s"]],
        [&json!("running"), &Value::Null]
    );
    let said = folder.farm(["status", "run"]).exits(0);
    assert!(said.stdout.contains("winding down"), "{}", said.stdout);
}

#[test]
fn of_a_run_that_died_before_its_first_session() {
    let folder = Folder::with_one_case();
    folder.run(&["--seeds", "3", "--quiet"]).exits(0);
    for gone in ["farm.db", "summary.json", "timing.json"] {
        fs::remove_file(folder.path(&format!("run/{gone}"))).unwrap();
    }
    let running = folder
        .read("run/manifest.json")
        .replace("\"finished\"", "\"running\"");
    folder.write("run/manifest.json", running);
    for is_empty in [false, true] {
        if is_empty {
            folder.write("run/farm.db", "");
        }
        let status = status(&folder).unwrap();
        assert_eq!(status["state"], "interrupted");
        assert_eq!(status["ledger"]["not_run"], 3);
        assert_eq!(status["in_flight"], Value::Null);
    }
    // The log of a database that is gone: it had begun.
    fs::remove_file(folder.path("run/farm.db")).unwrap();
    folder.write("run/farm.db-wal", "");
    says_that_it_is_missing(&folder);
}

#[test]
fn of_a_run_in_a_folder_that_may_not_be_written() {
    let folder = Folder::with_one_case();
    folder.run(&["--seeds", "3", "--quiet"]).exits(0);
    let mode = |mode| fs::set_permissions(folder.path("run"), fs::Permissions::from_mode(mode));
    // Says nothing where the tests run as root, who may write all the same.
    mode(0o555).unwrap();
    let status = status(&folder).unwrap();
    mode(0o755).unwrap();
    assert_eq!(status["ledger"]["passed"], 3);
}

#[test]
fn a_run_that_is_not_there_is_named() {
    let folder = Folder::new();
    let said = folder.farm(["status"]).exits(2);
    assert!(
        said.stderr.contains("there is no run under results/runs"),
        "{}",
        said.stderr
    );
    folder.farm(["status", "nowhere"]).exits(2);
}
