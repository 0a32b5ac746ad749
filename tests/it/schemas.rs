//! The JSON Schemas of all formats: what is committed is what farm prints, what ships and what
//! farm writes fits them, and what people get wrong does not.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::support::farm_at_home;

/// What people write. In it an unknown field is an error, in what farm writes it is not.
const WRITTEN_BY_PEOPLE: [&str; 4] = ["case", "config", "script", "sealed"];
const WRITTEN_BY_FARM: [&str; 10] = [
    "comparison",
    "failures",
    "forecast",
    "manifest",
    "plan",
    "scores",
    "status",
    "summary",
    "timing",
    "trace",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn farm(args: &[&str]) -> String {
    let done = farm_at_home().args(args).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

fn committed(name: &str) -> PathBuf {
    root().join(format!("configs/schemas/{name}.json"))
}

fn schema(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(committed(name)).unwrap()).unwrap()
}

fn validator(name: &str) -> Validator {
    jsonschema::validator_for(&schema(name)).unwrap()
}

/// A document that farm printed fits the schema of its format.
pub(crate) fn assert_is(name: &str, value: &Value) {
    assert_fits(&validator(name), value, name);
}

/// Every line of a file of JSON lines fits.
fn assert_lines_fit(validator: &Validator, file: &Path) {
    let text = fs::read_to_string(file).unwrap();
    assert!(!text.is_empty(), "{} is empty", file.display());
    for (i, line) in text.lines().enumerate() {
        let place = format!("{}:{}", file.display(), i + 1);
        assert_fits(validator, &serde_json::from_str(line).unwrap(), &place);
    }
}

fn assert_fits(validator: &Validator, value: &Value, place: &str) {
    let errors: Vec<String> = validator
        .iter_errors(value)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{place}: {}", errors.join("; "));
}

fn toml(file: &Path) -> Value {
    toml::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

fn json(file: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn the_committed_schemas_are_those_that_farm_prints() {
    let remake = "run `for n in $(farm schema); do farm schema $n > configs/schemas/$n.json; done`";
    let list = farm(&["schema"]);
    let names: BTreeSet<&str> = list.lines().collect();
    let known = WRITTEN_BY_PEOPLE.into_iter().chain(WRITTEN_BY_FARM);
    assert_eq!(names, known.collect());
    for name in &names {
        let file = committed(name);
        let there = fs::read_to_string(&file).unwrap_or_default();
        let is_same = there == farm(&["schema", name]);
        assert!(is_same, "{} is out of date: {remake}", file.display());
    }
    for entry in fs::read_dir(committed("case").parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(names.contains(name), "{} is no format", path.display());
    }
}

/// All schemas in a schema, with their place.
fn parts<'a>(schema: &'a Value, place: &str, found: &mut Vec<(String, &'a Value)>) {
    found.push((place.to_owned(), schema));
    for word in ["properties", "$defs", "patternProperties"] {
        for (name, part) in schema[word].as_object().into_iter().flatten() {
            parts(part, &format!("{place}/{word}/{name}"), found);
        }
    }
    for word in ["items", "additionalProperties"] {
        if schema[word].is_object() {
            parts(&schema[word], &format!("{place}/{word}"), found);
        }
    }
    for (i, part) in schema["oneOf"].as_array().into_iter().flatten().enumerate() {
        parts(part, &format!("{place}/oneOf/{i}"), found);
    }
}

#[test]
fn schemas_explain_themselves() {
    for name in WRITTEN_BY_PEOPLE.into_iter().chain(WRITTEN_BY_FARM) {
        let schema = schema(name);
        assert!(schema["title"].is_string(), "{name}");
        let mut found = Vec::new();
        parts(&schema, name, &mut found);
        for (place, part) in &found {
            // Tags, items and branches that only restrict say by their place what they are.
            let speaks = part.get("const").is_some()
                || part.get("$ref").is_some()
                || part.get("not").is_some()
                || part == &&json!({"type": "null"})
                || place.ends_with("/items")
                || place.ends_with("/additionalProperties")
                || part.get("type").is_none() && part.get("required").is_some();
            let about = part["description"].as_str();
            assert!(about.is_some() || speaks, "{place} is not explained");
            // Words and links of the code.
            for word in ["[`", "\n", "None", "Option", "Vec"] {
                let leaks = about.is_some_and(|about| about.contains(word));
                assert!(!leaks, "{place}: {about:?}");
            }
        }
        let by_people = WRITTEN_BY_PEOPLE.contains(&name);
        for (place, part) in found {
            let is_open = part.get("additionalProperties") != Some(&json!(false));
            // Free data, maps, and branches of a closed object.
            let may_be_open = part["properties"].is_null() || part["type"].is_null();
            assert!(
                if by_people {
                    !is_open || may_be_open
                } else {
                    is_open || part.get("patternProperties").is_some()
                },
                "{place}: additionalProperties is wrong"
            );
        }
    }
}

#[test]
fn what_ships_fits() {
    for suite in [root().to_owned(), root().join("src/cli/starter")] {
        let lines = [
            ("case", "eval/cases.jsonl"),
            ("script", "configs/scripts/cases.jsonl"),
            ("sealed", "configs/sealed/cases.jsonl"),
        ];
        for (name, file) in lines {
            assert_lines_fit(&validator(name), &suite.join(file));
        }
        let config = suite.join("configs/farm.toml");
        assert_fits(&validator("config"), &toml(&config), "farm.toml");
    }
}

#[test]
fn what_farm_writes_fits() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let out = run.to_str().unwrap();
    farm(&[
        "run",
        "eval/cases.jsonl",
        "--seeds",
        "2",
        "--quiet",
        "--out",
        out,
    ]);
    for name in ["manifest", "summary", "timing"] {
        let file = format!("{name}.json");
        assert_fits(&validator(name), &json(&run.join(&file)), &file);
    }
    assert_lines_fit(&validator("scores"), &run.join("scores.jsonl"));
    assert_lines_fit(&validator("case"), &run.join("cases.jsonl"));
    let config = toml(&run.join("config.toml"));
    assert_fits(&validator("config"), &config, "config.toml");
    let trace = validator("trace");
    let mut traces = 0;
    for entry in fs::read_dir(run.join("traces/scripted")).unwrap() {
        assert_lines_fit(&trace, &entry.unwrap().path());
        traces += 1;
    }
    assert_eq!(traces, 30);
}

#[test]
fn mistakes_do_not_fit() {
    let of_check = |check: Value| json!({"id": "a", "checks": [check]});
    let of_entry = |entry: Value| json!({"case": "a", "script": [entry]});
    let table = [
        ("case", json!({"id": "a"})),
        ("case", json!({"id": "a b", "task": "t"})),
        ("case", json!({"id": "a", "task": " "})),
        ("case", json!({"id": "a", "task": 3})),
        ("case", json!({"id": "a", "task": "t", "max_step": 3})),
        ("case", json!({"id": "a", "task": "t", "max_steps": 0})),
        (
            "case",
            json!({"id": "a", "task": "t", "tools": "calculator"}),
        ),
        ("case", json!({"id": "a", "task": "t", "tools": ["x", "x"]})),
        ("case", json!({"id": "a", "task": "t", "script": []})),
        (
            "case",
            json!({"id": "a", "task": "t", "script": [{"answr": "1"}]}),
        ),
        ("script", json!({"case": "a"})),
        ("script", json!({"case": "a", "script": []})),
        (
            "script",
            json!({"case": "a", "seed": -1, "script": [{"answer": "1"}]}),
        ),
        ("script", of_entry(json!({}))),
        ("script", of_entry(json!({"answer": 1}))),
        ("script", of_entry(json!({"answer": "1", "raw": {}}))),
        ("script", of_entry(json!({"thought": "t", "raw": {}}))),
        ("script", of_entry(json!({"tool_calls": []}))),
        (
            "script",
            of_entry(json!({"tool_call": {"name": "calculator"}})),
        ),
        (
            "script",
            of_entry(json!({"any_of": [{"weight": 0, "answer": "1"}]})),
        ),
        ("script", of_entry(json!({"any_of": [{"weight": 1}]}))),
        ("sealed", json!({"id": "a", "checks": []})),
        ("sealed", json!({"id": "a", "checks": [], "check": []})),
        (
            "sealed",
            of_check(json!({"kind": "answer_equal", "text": "x"})),
        ),
        (
            "sealed",
            of_check(json!({"kind": "answer_equals", "txt": "x"})),
        ),
        (
            "sealed",
            of_check(json!({"kind": "answer_equals", "pattern": "x"})),
        ),
        (
            "sealed",
            of_check(json!({"kind": "answer_number", "equals": "1"})),
        ),
        ("sealed", of_check(json!({"kind": "steps"}))),
        (
            "sealed",
            of_check(json!({"kind": "status", "is": "crashed"})),
        ),
        ("config", json!({"runs": {"seeds": 1}})),
        ("config", json!({"run": {"seed": 1}})),
        ("config", json!({"run": {"seeds": 0}})),
        ("config", json!({"run": {"concurrency": "64"}})),
        ("config", json!({"models": {"m": {}}})),
        ("config", json!({"models": {"m": {"kind": "script"}}})),
        (
            "config",
            json!({"variants": {"v": {"model": "m", "max_steps": 1}}}),
        ),
        ("trace", json!({"type": "stop"})),
        ("trace", json!({"type": "run_start"})),
        (
            "scores",
            json!({"key": "v/a/0", "state": "done", "passed": true, "checks": [], "error": null}),
        ),
        ("summary", json!({"schema": "farm.summary/0"})),
    ];
    for (name, value) in table {
        assert!(!validator(name).is_valid(&value), "{name} takes {value}");
    }
    // The same without the mistakes, so that none is refused for another reason.
    let table = [
        (
            "case",
            json!({"id": "a", "task": "t", "max_steps": 3, "tools": ["x"], "script": [{"answer": "1"}]}),
        ),
        (
            "script",
            json!({"case": "a", "seed": 1, "script": [{"answer": "1", "raw": null}]}),
        ),
        ("script", of_entry(json!({"raw": {"choices": []}}))),
        (
            "script",
            of_entry(json!({"thought": "t", "tool_call": {"tool": "calculator"}})),
        ),
        (
            "script",
            of_entry(json!({"any_of": [{"weight": 1, "answer": "1"}]})),
        ),
        (
            "sealed",
            of_check(json!({"kind": "answer_equals", "text": "x", "not": true})),
        ),
        (
            "sealed",
            of_check(json!({"kind": "answer_number", "equals": 1, "name": "n"})),
        ),
        ("sealed", of_check(json!({"kind": "steps", "max": 1}))),
        (
            "sealed",
            of_check(json!({"kind": "status", "is": "completed"})),
        ),
        (
            "config",
            json!({"run": {"seeds": "1..2", "concurrency": 64}}),
        ),
        ("config", json!({"models": {"m": {"kind": "scripted"}}})),
        (
            "config",
            json!({"variants": {"v": {"model": "m", "limits": {"max_steps": 1}}}}),
        ),
        (
            "scores",
            json!({"key": "v/a/0", "state": "passed", "passed": true, "checks": [], "error": null, "new": 1}),
        ),
    ];
    for (name, value) in table {
        assert_fits(&validator(name), &value, name);
    }
}
