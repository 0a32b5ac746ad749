//! Two runs of the same plan are one: whatever the concurrency, to the last byte of the summary.

use std::fs;

use crate::support::{Folder, Said, farm_at_home};

fn run(folder: &Folder, name: &str, concurrency: &str) -> String {
    let out = folder.path(name);
    let said = farm_at_home()
        .args(["run", "eval/cases.jsonl", "--seeds", "4", "--quiet"])
        .args(["--concurrency", concurrency, "--out"])
        .arg(&out)
        .output()
        .unwrap();
    let said = Said::new(&said).exits(0);
    assert_eq!((&*said.stdout, &*said.stderr), ("", ""), "--quiet");
    fs::read_to_string(out.join("summary.json")).unwrap()
}

#[test]
fn concurrency_changes_nothing() {
    let folder = Folder::new();
    let one = run(&folder, "one", "1");
    let many = run(&folder, "many", "64");
    assert!(one == many, "summary.json differs");

    let said = folder.farm(["trace", "diff", "one", "many"]).exits(0);
    assert_eq!(said.stdout, "");
    assert_eq!(said.stderr, "0 of 120 sessions differ\n");
    assert_eq!(
        folder.read("one/scores.jsonl"),
        folder.read("many/scores.jsonl")
    );

    // What may differ between the two has no place in it.
    let manifest = folder.json("one/manifest.json");
    let timing = folder.json("one/timing.json");
    let host = &timing["spans"][0]["host"];
    let dir = folder.path("").display().to_string();
    let year = manifest["created"].as_str().unwrap().split('-').next();
    for (what, word) in [
        ("the run", manifest["run"].as_str().unwrap()),
        ("the host", &format!("\"{}\"", host.as_str().unwrap())),
        ("a path", &dir),
        ("the version", &format!("\"{}\"", env!("CARGO_PKG_VERSION"))),
        ("a date", &format!("{}-", year.unwrap())),
    ] {
        assert!(!word.is_empty() && !one.contains(word), "{what}: {word}");
    }
    for field in [
        "run", "ts", "created", "wall_s", "work_s", "host", "attempt", "retries",
    ] {
        assert!(!one.contains(&format!("\"{field}\":")), "{field}");
    }
}

#[test]
fn another_run_seed_is_another_run() {
    let folder = Folder::new();
    folder.write(
        "cases.jsonl",
        r#"{"id":"dice","task":"Roll.","script":[{"any_of":[{"answer":"1"},{"answer":"2"},{"answer":"3"}]}]}"#,
    );
    folder.write(
        "sealed.jsonl",
        r#"{"id":"dice","checks":[{"kind":"answer_equals","text":"1"}]}"#,
    );
    let run = |name: &str, run_seed: &str| {
        let args = [
            "run",
            "cases.jsonl",
            "--sealed",
            "sealed.jsonl",
            "--seeds",
            "20",
            "--quiet",
        ];
        let more = ["--run-seed", run_seed, "--out", name];
        folder.farm(args.iter().chain(&more)).exits(0);
    };
    run("a", "0");
    run("b", "7");
    let said = folder.farm(["trace", "diff", "a", "b"]).exits(1);
    assert!(said.stdout.contains("rng_seed"), "{}", said.stdout);
    assert_eq!(said.stderr, "20 of 20 sessions differ\n");
}
