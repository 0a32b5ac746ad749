//! Models as judges, in the binary: of steps, and of finished sessions.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Folder, RUN, farm};

/// Two cases whose steps one scripted model judges, and another whose sessions.
fn folder() -> Folder {
    let folder = Folder::new();
    let (mut cases, mut sealed, mut scripts) = (String::new(), String::new(), String::new());
    for (id, score) in [("a", 0.75), ("b", 0.25)] {
        let call = json!({"tool": "calculator", "args": {"expression": "1 + 1"}});
        let script = json!([{"tool_call": call}, {"answer": "{{observation}}"}]);
        let case = json!({"id": id, "task": "What is 1 + 1?", "script": script});
        let checks = json!([
            {"kind": "model_graded", "rubric": "Is it brief?"},
            {"kind": "answer_equals", "text": "2"},
        ]);
        let grade = json!({"score": score, "reason": format!("it is {id}")}).to_string();
        cases.push_str(&format!("{case}\n"));
        sealed.push_str(&format!("{}\n", json!({"id": id, "checks": checks})));
        scripts.push_str(&format!(
            "{}\n",
            json!({"case": id, "script": [{"answer": grade}]})
        ));
    }
    folder
        .write("cases.jsonl", cases)
        .write("sealed.jsonl", sealed)
        .write("judge.jsonl", scripts)
        .write(
            "configs/farm.toml",
            r#"
[session.judge]
model = "judge"
rubric = "Is it to the point?"
[score]
judge = "judge"
[models.agent]
kind = "scripted"
[models.judge]
kind = "scripted"
scripts = "../judge.jsonl"
"#,
        );
    folder
}

/// What the judge said in a trace.
fn judgments(folder: &Folder, trace: &str) -> Vec<Value> {
    let lines = folder.lines(trace);
    let steps = lines.iter().filter(|line| line["type"] == "step");
    let of = |step: &Value| {
        let all = step["judgments"].as_array().unwrap();
        all.last().filter(|j| j["verifier"] == "judge").cloned()
    };
    steps.filter_map(of).collect()
}

#[test]
fn steps_have_judgments_and_sessions_grades() {
    let folder = folder();
    folder.run(&[]).exits(0);
    let judgment = |score: f64, passed: bool, reason: &str| {
        json!({"verifier": "judge", "phase": "post_act", "score": score, "passed": passed,
            "reason": reason})
    };
    for (trace, want) in [
        ("run/traces/agent/a.jsonl", judgment(0.75, true, "it is a")),
        ("run/traces/agent/b.jsonl", judgment(0.25, false, "it is b")),
    ] {
        assert_eq!(judgments(&folder, trace), [want.clone(), want], "{trace}");
    }
    let summary = folder.json("run/summary.json");
    assert_eq!(summary["ledger"]["passed"], 1);
    assert_eq!(summary["ledger"]["failed"], 1);
    let end = folder.lines("run/traces/agent/a.jsonl").pop().unwrap();
    let all = [1.0, 1.0, 0.75, 1.0, 0.875, 0.75];
    assert_eq!(end["mean_score"], all.iter().sum::<f64>() / 6.0);
    assert_eq!(end["cost_usd"], 0.0);
}

#[test]
fn a_run_that_dies_at_any_commit_comes_to_the_same_end() {
    let whole = folder();
    whole.run(&["--concurrency", "1"]).exits(0);
    let mut aborted = 0;
    for moment in ["before", "after"] {
        for commit in 1.. {
            let folder = folder();
            let output = farm()
                .args(RUN)
                .args(["--concurrency", "1", "--quiet"])
                .current_dir(folder.path(""))
                .env("FARM_TEST_ABORT", format!("commit:{commit}:{moment}"))
                .output()
                .unwrap();
            if output.status.success() {
                break;
            }
            assert_eq!(output.status.code(), None, "it was to abort");
            aborted += 1;
            folder.farm(["resume", "run", "--quiet"]).exits(0);
            let same = |file: &str| {
                let [a, b] = [&whole, &folder].map(|f| fs::read(f.path(file)).unwrap());
                assert!(
                    a == b,
                    "{file} differs after an abort {moment} commit {commit}"
                );
            };
            same("run/summary.json");
            same("run/scores.jsonl");
            let other = folder.path("run");
            let diff = ["trace", "diff", "run", other.to_str().unwrap()];
            whole.farm(diff).exits(0);
        }
    }
    // Of each of two sessions: its beginning, and two turns with steps and judgments; then its end
    // and its grade.
    assert!(aborted >= 2 * 2 * 4, "only {aborted} commits");
}

#[test]
fn runs_that_other_models_graded_are_not_compared() {
    let folder = folder();
    folder.run(&["--quiet"]).exits(0);
    let same = fs::read_to_string(folder.path("configs/farm.toml")).unwrap();
    let other = same.replace("[score]\njudge = \"judge\"", "[score]\njudge = \"strict\"");
    assert_ne!(same, other);
    let strict = "[models.strict]\nkind = \"scripted\"\nscripts = \"../strict.jsonl\"\n";
    let scripts = folder.read("judge.jsonl").replace("0.75", "0.6");
    folder
        .write("configs/farm.toml", other + strict)
        .write("strict.jsonl", scripts);
    folder.run_into("strict").exits(0);
    let said = folder.farm(["compare", "run", "strict"]).exits(2);
    assert!(
        said.stderr
            .contains("other models grade them (score.judge)"),
        "{}",
        said.stderr
    );
}
