//! Runs that an older farm left: `tests/fixtures/schema-1` is one that died half way.

use std::{fs, path::Path};

use serde_json::Value;

use crate::support::Folder;

/// A copy of the fixture, which may be written.
fn schema_1() -> Folder {
    let folder = Folder::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/schema-1");
    for file in crate::support::files(&from) {
        let name = file.strip_prefix(&from).unwrap();
        folder.write(name.to_str().unwrap(), fs::read(&file).unwrap());
    }
    folder
}

/// A value without the fields that `to` does not have: an older farm did not know them.
fn restricted(value: &Value, to: &Value) -> Value {
    match (value, to) {
        (Value::Object(all), Value::Object(known)) => all
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), restricted(value, known.get(name)?))))
            .collect(),
        (Value::Array(all), Value::Array(known)) if all.len() == known.len() => {
            let pairs = all.iter().zip(known);
            pairs.map(|(value, to)| restricted(value, to)).collect()
        }
        _ => value.clone(),
    }
}

#[test]
fn it_can_be_read_and_stays_as_it_is() {
    let folder = schema_1();
    let before = fs::read(folder.path("run/farm.db")).unwrap();
    let said = folder.farm(["report", "run", "--format", "json"]).exits(0);
    let summary: Value = serde_json::from_str(&said.stdout).unwrap();
    let ledger = &summary["ledger"];
    let of = |state: &str| ledger[state].as_u64().unwrap();
    assert_eq!(
        [
            of("planned"),
            of("passed"),
            of("failed"),
            of("errored"),
            of("not_run")
        ],
        [15, 5, 1, 1, 8]
    );
    let said = folder
        .farm(["trace", "show", "scripted/reads/0", "--run", "run"])
        .exits(0);
    assert!(said.stdout.contains("heron"), "{}", said.stdout);
    folder
        .farm(["trace", "export", "run", "--to", "traces"])
        .exits(0);
    assert!(folder.path("traces/scripted/loops.jsonl").is_file());
    assert_eq!(fs::read(folder.path("run/farm.db")).unwrap(), before);
}

#[test]
fn it_goes_on_to_what_it_would_have_become() {
    let folder = schema_1();
    let said = folder.farm(["resume", "run"]).exits(2);
    insta::assert_snapshot!(said.stderr, @r"
    error: the run does not say where its case file, cases.jsonl, is
    hint: name it with --cases
    ");
    let resume = ["resume", "run", "--cases", "eval/cases.jsonl", "--quiet"];
    let said = folder.farm(resume).exits(0);
    assert_eq!((&*said.stdout, &*said.stderr), ("", ""));
    let [now, then] = ["run/summary.json", "summary.json"]
        .map(|name| serde_json::from_str::<Value>(&folder.read(name)).unwrap());
    assert_eq!(restricted(&now, &then), then);
    // From now on it knows.
    folder
        .farm(["resume", "run", "--quiet", "--seeds", "4"])
        .exits(0);
}

#[test]
fn a_change_is_refused_by_its_digest() {
    let folder = schema_1();
    let config = folder.read("run/config.toml");
    folder.write(
        "run/config.toml",
        config.replace("max_steps = 8", "max_steps = 9"),
    );
    let resume = ["resume", "run", "--cases", "eval/cases.jsonl"];
    let said = folder.farm(resume).exits(2);
    insta::assert_snapshot!(said.stderr);
}
