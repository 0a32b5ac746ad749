//! `farm report --failures`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::{
    schemas::assert_is,
    support::{Folder, Said, farm, farm_at_home},
};

/// Three cases that fail, each in its way, and one that passes.
const CASES: &str = r##"
{"id":"dice","task":"Roll.","max_steps":3,"script":[{"any_of":[{"weight":1,"tool_call":{"tool":"dice"}}]}]}
{"id":"read","task":"Read.","script":[{"thought":"It is 4.","tool_call":{"tool":"file_read","args":{"path":"a4.txt"}}},{"answer":"4"}]}
{"id":"sum","task":"What is 1 + 1?","script":[{"answer":"2"}]}
{"id":"wrong","task":"What is 1 + 1?","script":[{"answer":"`*<b>`\n# Passed"}]}
"##;
const SEALED: &str = r#"
{"id":"dice","checks":[{"kind":"status","is":"completed"},{"kind":"answer_equals","text":"hidden-7","name":"the number"}]}
{"id":"read","checks":[{"kind":"answer_equals","text":"hidden-7"}]}
{"id":"sum","checks":[{"kind":"answer_equals","text":"2"}]}
{"id":"wrong","checks":[{"kind":"answer_equals","text":"hidden-7"}]}
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("cases.jsonl", CASES.trim_start());
    folder.write("sealed.jsonl", SEALED.trim_start());
    folder
}

fn report(folder: &Folder, more: &[&str]) -> Said {
    folder.farm(["report", "run", "--failures"].iter().chain(more))
}

#[test]
fn those_that_fail_alike_stand_together() {
    let folder = folder();
    let mut run = farm();
    run.args(crate::support::RUN)
        .args(["--seeds", "3", "--quiet"])
        .env("FARM_TEST_PANIC", "scripted/sum/1:score");
    folder.command(&mut run).exits(3);
    let said = report(&folder, &[]).exits(0);
    assert_eq!(said.stderr, "");
    insta::assert_snapshot!(said.stdout, @r#"
    9 of 11 scored sessions failed, in 3 groups; 1 errored, in 1 group.

    Failure 1: scripted, 3 sessions (33.3 % of its failed), 1 case
      checks   status, the number
      status   budget_exhausted (steps)
      error    unknown_tool
      cases    dice
      example  scripted/dice/0, step 1
        call     dice {}
        wrong    schema: no tool "dice"; tools: calculator, file_read, web_fetch
      farm trace show scripted/dice/0 --run run

    Failure 2: scripted, 3 sessions (33.3 % of its failed), 1 case
      checks   answer_equals
      status   completed
      error    this task has no files: answer without file_read
      cases    read
      example  scripted/read/0, step 1
        thought  It is 4.
        call     file_read {"path":"a4.txt"}
        wrong    this task has no files: answer without file_read
      farm trace show scripted/read/0 --run run

    Failure 3: scripted, 3 sessions (33.3 % of its failed), 1 case
      checks   answer_equals
      status   completed
      cases    wrong
      example  scripted/wrong/0, step 1
        answer   `*<b>` # Passed
      farm trace show scripted/wrong/0 --run run

    Error 1: scripted, 1 session (100.0 % of its errored), 1 case
      status   completed
      error    check 0 panicked
      cases    sum
      example  scripted/sum/1
      farm trace show scripted/sum/1 --run run
    "#);
    let said = report(&folder, &["--format", "md"]).exits(0);
    insta::assert_snapshot!(said.stdout, @r#"
    # Failures

    9 of 11 scored sessions failed, in 3 groups; 1 errored, in 1 group.

    ## Failure 1: scripted, 3 sessions (33.3 % of its failed), 1 case

    - checks: `status`, `the number`
    - status: `budget_exhausted (steps)`
    - error: `unknown_tool`
    - cases: `dice`
    - example: scripted/dice/0, step 1
      - call: `dice {}`
      - wrong: `schema: no tool "dice"; tools: calculator, file_read, web_fetch`

    `farm trace show scripted/dice/0 --run run`

    ## Failure 2: scripted, 3 sessions (33.3 % of its failed), 1 case

    - checks: `answer_equals`
    - status: `completed`
    - error: `this task has no files: answer without file_read`
    - cases: `read`
    - example: scripted/read/0, step 1
      - thought: `It is 4.`
      - call: `file_read {"path":"a4.txt"}`
      - wrong: `this task has no files: answer without file_read`

    `farm trace show scripted/read/0 --run run`

    ## Failure 3: scripted, 3 sessions (33.3 % of its failed), 1 case

    - checks: `answer_equals`
    - status: `completed`
    - cases: `wrong`
    - example: scripted/wrong/0, step 1
      - answer: `` `*<b>` # Passed ``

    `farm trace show scripted/wrong/0 --run run`

    ## Error 1: scripted, 1 session (100.0 % of its errored), 1 case

    - status: `completed`
    - error: `check 0 panicked`
    - cases: `sum`
    - example: scripted/sum/1

    `farm trace show scripted/sum/1 --run run`
    "#);
}

#[test]
fn every_failed_session_of_the_suite_is_in_one_group() {
    let folder = Folder::new();
    let out = folder.path("run");
    let run = [
        "run",
        "eval/cases.jsonl",
        "--seeds",
        "3",
        "--quiet",
        "--out",
    ];
    farm_at_home().args(run).arg(&out).assert().success();
    let said = report(&folder, &["--format", "json"]).exits(0);
    let failures: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_is("failures", &failures);

    // The same groups by what needs no step, counted from what the scorer said.
    let mut want: BTreeMap<String, u64> = BTreeMap::new();
    for line in folder.lines("run/scores.jsonl") {
        if line["state"] == "failed" {
            let checks = line["checks"].as_array().unwrap().iter();
            let failed = checks.filter(|c| c["passed"] == false);
            let mut names: Vec<&str> = failed.map(|c| c["name"].as_str().unwrap()).collect();
            names.sort_unstable();
            *want.entry(json!(names).to_string()).or_default() += 1;
        }
    }
    let groups = failures["failed"].as_array().unwrap();
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for group in groups {
        *found.entry(group["checks"].to_string()).or_default() +=
            group["sessions"].as_u64().unwrap();
    }
    assert!(groups.len() > 5);
    assert_eq!(found, want);
    let sizes: Vec<u64> = groups
        .iter()
        .map(|g| g["sessions"].as_u64().unwrap())
        .collect();
    assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
    assert_eq!(failures["errored"], json!([]));

    // The command that is named shows the example, and all groups are shown when all are wanted.
    let said = report(&folder, &["--all"]).exits(0);
    let commands: Vec<&str> = said
        .stdout
        .lines()
        .filter_map(|l| l.trim().strip_prefix("farm "))
        .collect();
    assert_eq!(commands.len(), groups.len());
    for (command, group) in commands.iter().zip(groups).take(3) {
        let shown = folder.farm(command.split(' ')).exits(0).stdout;
        assert!(
            shown.starts_with(group["example"]["session"].as_str().unwrap()),
            "{shown}"
        );
    }
}

#[test]
fn nothing_to_group_is_no_mistake() {
    let folder = Folder::with_one_case();
    folder.run(&["--quiet", "--seeds", "2"]).exits(0);
    let said = report(&folder, &[]).exits(0);
    assert_eq!(said.stdout, "No session failed, of 2 scored sessions.\n");
    let said = report(&folder, &["--format", "csv"]).exits(2);
    insta::assert_snapshot!(said.stderr, @r#"
    error: failures are not shown in this format
    hint: `--failures` goes with `--format md`, `--format json` or neither
    "#);
    std::fs::remove_file(folder.path("run/farm.db")).unwrap();
    let said = report(&folder, &[]).exits(2);
    insta::assert_snapshot!(said.stderr, @r#"
    error: run/farm.db is missing
    hint: a published run has a summary and no database; traces and sessions are read from one
    "#);
}
