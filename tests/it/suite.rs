//! The shipped suite yields what was derived for it without farm, session by session.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Folder, Said, farm_at_home, files, lines};

/// What a session came to, in the words of `tests/suite/expected.jsonl`.
fn of_trace(records: &[Value], passed: &Value) -> Value {
    let start = &records[0];
    let end = records.last().unwrap();
    let is_blocked = |step: &&Value| {
        let judgments = step["judgments"].as_array().into_iter().flatten();
        judgments
            .clone()
            .any(|j| j["phase"] == "pre_act" && j["passed"] == false)
    };
    json!({
        "case": start["case"], "seed": start["seed"],
        "status": end["status"], "limit": end["limit"], "steps": end["steps_used"],
        "blocked": records.iter().filter(is_blocked).count(),
        "passed": passed,
    })
}

#[test]
fn the_shipped_suite_yields_what_was_derived() {
    let folder = Folder::new();
    let out = folder.path("run");
    let said = farm_at_home()
        .args(["run", "eval/cases.jsonl", "--seeds", "12", "--out"])
        .arg(&out)
        .output()
        .unwrap();
    Said::new(&said).exits(0);

    let mut passed: BTreeMap<String, Value> = folder
        .lines("run/scores.jsonl")
        .into_iter()
        .map(|line| {
            (
                line["key"].as_str().unwrap().to_owned(),
                line["passed"].clone(),
            )
        })
        .collect();
    let mut got = BTreeMap::new();
    for file in files(&out.join("traces")) {
        let records = lines(&fs::read_to_string(file).unwrap());
        for session in records.chunk_by(|_, next| next["type"] != "run_start") {
            let key = format!(
                "{}/{}",
                session[0]["case"].as_str().unwrap(),
                session[0]["seed"]
            );
            let passed = passed.remove(&format!("scripted/{key}")).unwrap();
            got.insert(key, of_trace(session, &passed));
        }
    }
    assert!(passed.is_empty(), "sessions without a trace: {passed:?}");

    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/expected.jsonl");
    let expected = lines(&fs::read_to_string(expected).unwrap());
    assert_eq!((expected.len(), got.len()), (360, 360));
    for want in &expected {
        let key = format!("{}/{}", want["case"].as_str().unwrap(), want["seed"]);
        assert_eq!(&got[&key], want, "{key}");
    }

    let held = expected
        .iter()
        .filter(|line| line["passed"] == true)
        .count();
    let ledger = json!({
        "planned": 360, "passed": held, "failed": 360 - held,
        "errored": 0, "killed": 0, "not_run": 0, "skipped": 0, "unscored": 0,
    });
    let summary = folder.json("run/summary.json");
    assert_eq!(summary["ledger"], ledger);
    assert_eq!(summary["variants"][0]["ledger"], ledger);
    assert_eq!(summary["status"], "complete");
    // 20 cases define it, and six answers of theirs name no number: that is not hidden.
    let error = &summary["variants"][0]["overall"]["metrics"]["error"];
    assert_eq!(
        (&error["n"], &error["n_planned"]),
        (&json!(234), &json!(240))
    );
}
