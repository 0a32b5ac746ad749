//! What tests of live models share: a suite, configs and how they are run.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::{Value, json};

use crate::support::{Folder, Said, files, lines};

/// A folder with a suite of so many cases: a product, computed by the calculator, and the answer of
/// four sessions in five; the fifth does not know. `scripted.toml` runs it by its scripts.
pub(crate) fn folder(cases: usize) -> Folder {
    let folder = Folder::new();
    let mut sealed = String::new();
    for n in 0..cases {
        let check = json!({"kind": "answer_number", "equals": (10 + n) * 7});
        sealed += &format!("{}\n", json!({"id": format!("p-{n}"), "checks": [check]}));
    }
    folder
        .write("cases.jsonl", suite(cases))
        .write("sealed.jsonl", sealed)
        .write("scripted.toml", "[models.m]\nkind = \"scripted\"\n");
    folder
}

/// The cases of such a folder.
pub(crate) fn suite(cases: usize) -> String {
    let case = |n: usize| {
        let product = format!("{} * 7", 10 + n);
        let script = json!([
            {"thought": "I multiply.", "tool_call": {"tool": "calculator", "args": {"expression": product}}},
            {"any_of": [{"weight": 4, "answer": "{{observation}}"}, {"weight": 1, "answer": "I do not know."}]},
        ]);
        let case = json!({"id": format!("p-{n}"), "task": format!("What is {product}?"), "script": script});
        format!("{case}\n")
    };
    (0..cases).map(case).collect()
}

/// The table of a live model.
pub(crate) fn model(name: &str, base_url: &str, more: &str) -> String {
    format!(
        "[models.{name}]\nkind = \"openai\"\nbase_url = \"{base_url}\"\nmodel = \"m\"\n{more}\n"
    )
}

/// The arguments of a run of the suite with this config, into `run`.
pub(crate) fn args<'a>(config: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let run = "run cases.jsonl --sealed sealed.jsonl --out run --config";
    run.split(' ')
        .chain([config])
        .chain(more.iter().copied())
        .collect()
}

/// Runs the suite with this config, into `run`.
pub(crate) fn run(folder: &Folder, config: &str, more: &[&str]) -> Said {
    folder.farm(args(config, more))
}

/// How many sessions of `run` are in this state.
pub(crate) fn ledger(folder: &Folder, state: &str) -> u64 {
    folder.json("run/summary.json")["ledger"][state]
        .as_u64()
        .unwrap()
}

/// All records of the traces of a run, by session.
pub(crate) fn sessions(folder: &Folder, run: &str) -> BTreeMap<String, Vec<Value>> {
    let mut sessions = BTreeMap::<String, Vec<Value>>::new();
    for file in files(&folder.path(&format!("{run}/traces"))) {
        let mut key = String::new();
        for record in lines(&fs::read_to_string(file).unwrap()) {
            if record["type"] == "run_start" {
                let of = |name: &str| record[name].as_str().unwrap();
                key = format!("{}/{}/{}", of("variant"), of("case"), record["seed"]);
            }
            sessions.entry(key.clone()).or_default().push(record);
        }
    }
    sessions
}

/// The last record of each session, by session.
pub(crate) fn ends(folder: &Folder) -> BTreeMap<String, Value> {
    let last = |(key, mut records): (String, Vec<Value>)| (key, records.pop().unwrap());
    sessions(folder, "run").into_iter().map(last).collect()
}

/// The sessions with a call whose arguments are no JSON.
pub(crate) fn malformed(folder: &Folder, run: &str) -> BTreeSet<String> {
    let is_broken = |step: &Value| {
        let judgments = step["judgments"].as_array();
        judgments.is_some_and(|all| all.iter().any(|j| j["code"] == "not_json"))
    };
    let sessions = sessions(folder, run).into_iter();
    let broken = sessions.filter(|(_, records)| records.iter().any(is_broken));
    broken.map(|(key, _)| key).collect()
}

/// The scores of a run, by session.
pub(crate) fn scores(folder: &Folder, run: &str) -> BTreeMap<String, Value> {
    let scores = folder.lines(&format!("{run}/scores.jsonl")).into_iter();
    let keyed = scores.map(|score| (score["key"].as_str().unwrap().to_owned(), score));
    keyed.collect()
}

/// What the run's books say: US dollars of all calls.
pub(crate) fn booked(folder: &Folder) -> f64 {
    let totals = &folder.json("run/manifest.json")["totals"];
    totals["booked_usd"].as_f64().unwrap_or(0.0)
}

/// Fails if more was charged than is booked; sums of binary fractions depend on their order.
#[track_caller]
pub(crate) fn assert_covered(charged: f64, booked: f64) {
    assert!(
        charged <= booked + 1e-9,
        "{charged} charged, {booked} booked"
    );
}

/// What answers a task of the suite.
pub(crate) fn solve(task: &str) -> String {
    let number = task.trim_start_matches("What is ").split(' ').next();
    let number: u64 = number.unwrap().parse().unwrap();
    (number * 7).to_string()
}

/// The status of `run` as `farm status` tells it.
pub(crate) fn status(folder: &Folder) -> Value {
    let said = folder.farm(["status", "run", "--json"]).exits(0);
    serde_json::from_str(&said.stdout).unwrap()
}

/// What is parked in it: what, and why.
pub(crate) fn parked(folder: &Folder) -> Vec<(String, String)> {
    let status = status(folder);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let parked = status["parked"].as_array().unwrap().iter();
    parked
        .map(|parked| (text(&parked["what"]), text(&parked["reason"])))
        .collect()
}

/// How many sessions of one variant are in this state.
pub(crate) fn of_variant(folder: &Folder, variant: usize, state: &str) -> u64 {
    let summary = folder.json("run/summary.json");
    let ledger = &summary["variants"][variant]["ledger"];
    ledger[state].as_u64().unwrap()
}

/// A row of numbers out of the run's database.
pub(crate) fn query(folder: &Folder, sql: &str) -> Vec<f64> {
    let db = rusqlite::Connection::open(folder.path("run/farm.db")).unwrap();
    let row = |row: &rusqlite::Row<'_>| {
        (0..row.as_ref().column_count())
            .map(|column| row.get::<_, f64>(column))
            .collect()
    };
    db.query_row(sql, [], row).unwrap()
}
