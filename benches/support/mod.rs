//! What the benchmarks share: the suite, and farm as they run it.

#[path = "../../tests/shared/binary.rs"]
mod binary;

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Whether the benchmark is to leave out what takes long.
pub fn is_short() -> bool {
    env::var("FARM_BENCH").is_ok_and(|value| value == "short")
}

/// So many cases of two turns and one tool call, with their scripts and sealed halves.
pub fn write_suite(folder: &Path, of: u64) {
    let (mut cases, mut sealed) = (String::new(), String::new());
    for n in 0..of {
        let (a, b) = factors(n);
        writeln!(
            cases,
            r#"{{"id":"c{n:04}","task":"What is {a} * {b}?","tools":["calculator"],"script":[{{"thought":"I will multiply.","tool_call":{{"tool":"calculator","args":{{"expression":"{a} * {b}"}}}}}},{{"answer":"{a} * {b} = {{{{observation}}}}"}}]}}"#
        )
        .unwrap();
        writeln!(
            sealed,
            r#"{{"id":"c{n:04}","checks":[{{"kind":"answer_number","equals":{}}}]}}"#,
            a * b
        )
        .unwrap();
    }
    fs::write(folder.join("cases.jsonl"), cases).unwrap();
    fs::write(folder.join("sealed.jsonl"), sealed).unwrap();
}

/// What case `n` multiplies.
pub fn factors(n: u64) -> (u64, u64) {
    (n + 11, n % 97 + 2)
}

/// farm in that folder.
pub fn farm(folder: &Path) -> Command {
    let mut farm = binary::farm(env!("CARGO_BIN_EXE_farm"));
    farm.current_dir(folder).stdin(Stdio::null());
    farm
}

/// A run of the suite, and the folder of that name that it makes.
pub fn run(suite: &Path, name: &str, seeds: u64, concurrency: u32) -> (Command, PathBuf) {
    let out = suite.join(name);
    let mut farm = farm(suite);
    farm.args(["run", "cases.jsonl", "--config", "farm.toml"])
        .args(["--sealed", "sealed.jsonl", "--quiet"])
        .args(["--concurrency", &concurrency.to_string()])
        .args(["--seeds", &seeds.to_string()])
        .arg("--out")
        .arg(&out);
    (farm, out)
}

/// Checks that so many sessions passed, all that were planned. The run stays: file systems are slow
/// to make new files just after many were removed.
pub fn check(out: &Path, sessions: u64) {
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["ledger"]["passed"], sessions);
    assert_eq!(summary["ledger"]["planned"], sessions);
}
