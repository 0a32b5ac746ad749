//! `farm compare`: which of two or more variants is better.

use serde_json::{Value, json};

use crate::support::{Folder, RUN};

/// Ten cases that `model` passes with a share of `passes` in 10, over twelve seeds, into `run`.
fn run(folder: &Folder, model: &str, passes: u32, run: &str) {
    let mut lines = [String::new(), String::new(), String::new()];
    for i in 0..10 {
        let id = format!("case-{i}");
        let script = json!({"case": id, "script": [{"any_of": [
            {"weight": passes, "answer": "yes"},
            {"weight": 10 - passes, "answer": "no"},
        ]}]});
        let case = json!({"id": id, "task": "Say yes."});
        let sealed = json!({"id": id, "checks": [{"kind": "answer_equals", "text": "yes"}]});
        for (text, line) in lines.iter_mut().zip([case, sealed, script]) {
            text.push_str(&format!("{line}\n"));
        }
    }
    let [cases, sealed, scripts] = lines;
    folder
        .write("cases.jsonl", cases)
        .write("sealed.jsonl", sealed);
    folder.write(&format!("{model}.jsonl"), scripts).write(
        "farm.toml",
        format!("[models.{model}]\nkind = \"scripted\"\nscripts = \"{model}.jsonl\"\n"),
    );
    run_again(folder, run);
}

/// What the folder holds now, into `run`.
fn run_again(folder: &Folder, run: &str) {
    let more = [run, "--config", "farm.toml", "--seeds", "12", "--quiet"];
    folder.farm(RUN[..5].iter().chain(&more)).exits(0);
}

fn three_runs() -> Folder {
    let folder = Folder::new();
    run(&folder, "weak", 3, "weak-run");
    run(&folder, "strong", 8, "strong-run");
    run(&folder, "even", 7, "even-run");
    folder
}

#[test]
fn two_runs_and_three() {
    let folder = three_runs();
    let said = folder.farm(["compare", "weak-run", "strong-run"]).exits(0);
    insta::assert_snapshot!(said.stdout);
    assert_eq!(said.stderr, "");
    let runs = ["weak-run", "strong-run/strong", "even-run"];
    let compare = |format: &[&str]| {
        folder
            .farm(["compare"].iter().chain(&runs).chain(format))
            .exits(0)
            .stdout
    };
    insta::assert_snapshot!(compare(&["--format", "md"]));
    let json: Value = serde_json::from_str(&compare(&["--format", "json"])).unwrap();
    crate::schemas::assert_is("comparison", &json);
    assert_eq!(json["leaderboard"][0]["name"], "strong-run/strong");
    assert_eq!(
        json["sides"][1]["differs"][0]["what"],
        "model.scripts_sha256"
    );
    let csv = compare(&["--format", "csv"]);
    assert_eq!(csv.lines().count(), 1 + 3 * 10);
    assert!(csv.starts_with("a,b,case,a_passed,"), "{csv}");
}

#[test]
fn the_same_run_differs_in_nothing() {
    let folder = Folder::new();
    run(&folder, "even", 5, "one");
    run(&folder, "even", 5, "two");
    let said = folder
        .farm(["compare", "one", "two", "--margin", "0.2"])
        .exits(0);
    insta::assert_snapshot!(said.stdout);
}

#[test]
fn what_cannot_be_compared_is_said() {
    let folder = three_runs();
    let sealed = folder.read("sealed.jsonl").replace("yes", "no");
    folder.write("sealed.jsonl", sealed);
    run_again(&folder, "other");
    for (sides, why) in [
        (&["weak-run"][..], "weak-run/weak alone cannot be compared"),
        (
            &["weak-run", "weak-run/weak"],
            "weak-run/weak is named twice",
        ),
        (
            &["weak-run", "weak-run/wek"],
            "run weak-run has no variant wek",
        ),
        (&["weak-run", "no-run/wek"], "no run no-run/wek"),
        (
            &["weak-run", "other"],
            "were not scored alike: their sealed halves are",
        ),
        (
            &["weak-run", "even-run", "--margin", "0"],
            "it is not between 0 and 1",
        ),
        (
            &["weak-run", "even-run", "--margin", "nan"],
            "it is not between 0 and 1",
        ),
    ] {
        let said = folder.farm(["compare"].iter().chain(sides)).exits(2);
        assert!(said.stderr.contains(why), "{sides:?}: {}", said.stderr);
        assert_eq!(said.stdout, "");
    }
}
