//! What is wrong in the input is said with its place and a way out, and nothing is run.

use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::{ffi::OsStrExt, fs::symlink},
    process::Command,
    time::Duration,
};

use crate::support::{Folder, RUN, farm};

/// farm refuses, says why, and leaves the folder as it was.
#[track_caller]
fn refused(folder: &Folder, more: &[&str]) -> String {
    let before = folder.names();
    let said = folder.run(more).exits(2);
    assert_eq!(said.stdout, "");
    assert_eq!(folder.names(), before, "something was written");
    said.stderr
}

/// The same for a suite of one case, with this text as one of its files.
#[track_caller]
fn refused_with(name: &str, bytes: impl AsRef<[u8]>) -> String {
    let folder = Folder::with_one_case();
    folder.write(name, bytes);
    match name {
        "farm.toml" => refused(&folder, &["--config", "farm.toml"]),
        _ => refused(&folder, &[]),
    }
}

#[test]
fn case_files_that_cannot_be_read() {
    let folder = Folder::with_one_case();
    fs::remove_file(folder.path("cases.jsonl")).unwrap();
    insta::assert_snapshot!(refused(&folder, &[]), @r#"
    error: 1 problem in the input
      cases.jsonl: cannot be read: No such file or directory (os error 2); check the path
    "#);
    fs::create_dir(folder.path("cases.jsonl")).unwrap();
    insta::assert_snapshot!(refused(&folder, &[]), @r#"
    error: 1 problem in the input
      cases.jsonl: cannot be read: Is a directory (os error 21); name a file of JSON lines
    "#);
    insta::assert_snapshot!(refused_with("cases.jsonl", ""), @r#"
    error: 1 problem in the input
      cases.jsonl: no cases; write one a line: {"id":"sum-1","task":"What is 1 + 1?"}
    "#);
    insta::assert_snapshot!(refused_with("cases.jsonl", "\n  \n\n"), @r#"
    error: 1 problem in the input
      cases.jsonl: no cases; write one a line: {"id":"sum-1","task":"What is 1 + 1?"}
    "#);
    insta::assert_snapshot!(refused_with("cases.jsonl", b"{\"id\":\"sum-1\",\"task\":\"\xe4h\"}\n"), @r#"
    error: 1 problem in the input
      cases.jsonl:1:23: not UTF-8; save the file as UTF-8
    "#);
    insta::assert_snapshot!(refused_with("cases.jsonl", "[\n  {\"id\":\"sum-1\",\"task\":\"t\"}\n]\n"), @r#"
    error: 2 problems in the input
      cases.jsonl:1:1: not a JSON object; write each object on a line of its own, without a list around
      cases.jsonl:3:1: not a JSON object; write one object a line
    "#);
    insta::assert_snapshot!(refused_with("cases.jsonl", "{\"id\":\"sum-1\",\"task\":\"t\"}\n{\"id\":\"sum-2\",\"ta"), @r#"
    error: 1 problem in the input
      cases.jsonl:2:17: EOF while parsing a string; the last line is cut off: was the file written whole?
    "#);
}

#[test]
fn a_line_of_100_mb_is_refused_without_reading_it_whole() {
    let folder = Folder::with_one_case();
    let file = File::create(folder.path("cases.jsonl")).unwrap();
    file.set_len(100_000_000).unwrap();
    insta::assert_snapshot!(refused(&folder, &[]), @r#"
    error: 1 problem in the input
      cases.jsonl:1: the line is longer than 16 MiB; is it a file of one JSON object a line?
    "#);
}

#[test]
fn a_byte_order_mark_and_crlf_are_fine() {
    let folder = Folder::with_one_case();
    let case = folder.read("cases.jsonl");
    let sealed = folder.read("sealed.jsonl");
    folder
        .write("cases.jsonl", format!("\u{feff}{case}\r\n\r\n"))
        .write("sealed.jsonl", format!("\u{feff}\r\n{sealed}\r\n"));
    folder.run(&[]).exits(0);
    assert_eq!(folder.json("run/summary.json")["ledger"]["passed"], 1);
}

#[test]
fn all_that_is_wrong_with_cases_is_said_at_once() {
    let cases = r#"{"id":"sum-1","task":"t"}
{"id":"..","task":"t"}
{"id":"a/b","task":"t"}
{"id":"sum-1","task":"t"}
{"id":"c","task":"t","max_step":3}
{"id":"d","task":7}
{"id":"e","task":"t","tools":["calculater"]}
{"id":"f"}
["g","t"]
"h"
{"id":"i","task":"t","max_steps":-1}
{"id":"j","task":"t","files":"nowhere"}
{"id":"k","task":"t","script":[{"answer":"1","tool_call":{"tool":"calculator"}}]}
{"id":"l","task":"t","script":[{"any_of":[{"answer":"1"},{"answr":"2"}]}]}
{"id":"m","task":"t"} {"id":"n","task":"t"}
"#;
    insta::assert_snapshot!(refused_with("cases.jsonl", cases), @r#"
    error: 14 problems in the input
      cases.jsonl:2:10: id: ".." is not a valid case id: use 1 to 128 of A-Z a-z 0-9 . _ - and begin with a letter or digit
      cases.jsonl:3:11: id: "a/b" is not a valid case id: use 1 to 128 of A-Z a-z 0-9 . _ - and begin with a letter or digit
      cases.jsonl:4: id: `sum-1` is on line 1 already; ids are unique in a file
      cases.jsonl:5:22: unknown field `max_step`, expected one of `id`, `task`, `max_steps`, `tools`, `files`, `tags`, `cluster`, `script`, `metadata`; did you mean `max_steps`?
      cases.jsonl:6:18: task: invalid type: integer `7`, expected a string
      cases.jsonl:7: tools: unknown tool `calculater`; known are calculator, file_read, web_fetch; did you mean `calculator`?
      cases.jsonl:8:10: missing field `task`
      cases.jsonl:9:1: not a JSON object; write each object on a line of its own, without a list around
      cases.jsonl:10:1: not a JSON object; write one object a line
      cases.jsonl:11:35: max_steps: invalid value: integer `-1`, expected a whole number, 0 or more
      cases.jsonl:12: files: nowhere cannot be read: No such file or directory (os error 2)
      cases.jsonl:13: script[0]: an entry needs exactly one of tool_call, tool_calls, answer, raw, any_of; this one has tool_call and answer
      cases.jsonl:14:59: script[0].any_of[1]: unknown field `answr`, expected one of `thought`, `tool_call`, `tool_calls`, `answer`, `raw`, `any_of`, `weight`; did you mean `answer`?
      cases.jsonl:15:23: trailing characters
    "#);
}

#[test]
fn sealed_halves_join_their_cases_both_ways() {
    let folder = Folder::with_one_case();
    fs::remove_file(folder.path("sealed.jsonl")).unwrap();
    insta::assert_snapshot!(refused(&folder, &[]), @r#"
    error: 1 problem in the input
      sealed.jsonl: cannot be read: No such file or directory (os error 2); name the sealed half with `--sealed`, or run with `--unscored` to score later
    "#);
    let said = folder.farm(["run", "cases.jsonl", "--out", "run"]).exits(2);
    insta::assert_snapshot!(said.stderr, @r#"
    error: 1 problem in the input
      configs/sealed/cases.jsonl: cannot be read: No such file or directory (os error 2); name the sealed half with `--sealed`, or run with `--unscored` to score later
    "#);
    let two = r#"{"id":"sum-2","checks":[{"kind":"answer_equals","text":"2"}]}
{"id":"x","checks":[{"kind":"answer_equals","text":"2"}]}"#;
    insta::assert_snapshot!(refused_with("sealed.jsonl", two), @r#"
    error: 3 problems in the input
      sealed.jsonl:1: there is no case `sum-2`; did you mean `sum-1`? Else remove the line
      sealed.jsonl:2: there is no case `x`; add the case, or remove the line
      sealed.jsonl: the case `sum-1` has no sealed half; add a line for it, or run with `--unscored` to score later
    "#);
    let twice = r#"{"id":"sum-1","checks":[{"kind":"status","is":"completed"}]}
{"id":"sum-1","checks":[{"kind":"status","is":"completed"}]}"#;
    insta::assert_snapshot!(refused_with("sealed.jsonl", twice), @r#"
    error: 1 problem in the input
      sealed.jsonl:2: `sum-1` has its sealed half on line 1 already
    "#);
}

#[test]
fn sealed_halves_that_are_wrong() {
    let sealed = r#"{"id":"sum-1","checks":[{"kind":"answer_equal","text":"2"}]}
{"id":"b","checks":[]}
{"id":"c","check":[]}
{"id":"d","checks":[{"kind":"answer_number","text":"2"}]}
{"id":"e","checks":[{"kind":"answer_number"}]}
{"id":"f","checks":[{"kind":"answer_regex","pattern":"("}]}
{"id":"g","checks":[{"kind":"status","is":"killed"}]}
{"id":"h","checks":[{"kind":"steps"}]}
{"id":"i","checks":[{"kind":"status","is":"completed"}],"metrics":[{"kind":"number_eror","equals":2}]}
"#;
    insta::assert_snapshot!(refused_with("sealed.jsonl", sealed), @r#"
    error: 10 problems in the input
      sealed.jsonl:1:46: checks[0].kind: no such kind of check; did you mean `answer_equals`?
      sealed.jsonl:2: there is no case `b`; add the case, or remove the line
      sealed.jsonl:2: checks: a case needs at least one
      sealed.jsonl:3:11: unknown field `check`, expected one of `id`, `checks`, `metrics`, `canary`; did you mean `checks`?
      sealed.jsonl:4:56: checks[0]: answer_number needs `equals`
      sealed.jsonl:5:45: checks[0]: answer_number needs `equals`
      sealed.jsonl:6:57: checks[0].pattern: not a regular expression: a group is not closed
      sealed.jsonl:7:51: checks[0].is: must be `completed`, `budget_exhausted` or `fallback_stop`: sessions that end otherwise are not scored
      sealed.jsonl:8:37: checks[0]: steps needs `min` or `max`
      sealed.jsonl:9:88: metrics[0].kind: no such kind of metric; did you mean `number_error`?
    "#);
}

#[test]
fn a_config_that_is_wrong() {
    let config = r#"[run]
seed = 3
concurrency = 0

[session]
max_steps = "8"
tools = ["calculator", "calender"]
verifiers = ["shema"]
prompt = "nowhere.md"

[models.one]
kind = "script"

[models."two words"]
kind = "scripted"
scripts = "nowhere.jsonl"

[variants.three]
model = "on"

[sweet]
cases = "fixed"
"#;
    insta::assert_snapshot!(refused_with("farm.toml", config), @r#"
    error: 10 problems in the input
      farm.toml:2:1: unknown key `run.seed`; did you mean `seeds`?
      farm.toml:3:15: run.concurrency: must be at least 1, is 0
      farm.toml:6:13: session.max_steps: must be a whole number, is a text
      farm.toml:7:9: session.tools: unknown tool `calender`; known are calculator, file_read, web_fetch
      farm.toml:8:13: session.verifiers: unknown verifier `shema`; known are schema, budget, repeat; did you mean `schema`?
      farm.toml:9:10: session.prompt: nowhere.md cannot be read: No such file or directory (os error 2)
      farm.toml:12:8: models.one.kind: "script" is not known here, only scripted, openai, cassette; did you mean `scripted`?
      farm.toml:14:9: "two words" is not a valid variant name: use 1 to 128 of A-Z a-z 0-9 . _ - and begin with a letter or digit
      farm.toml:19:9: variants.three.model: unknown model `on`; known are one, two words; did you mean `one`?
      farm.toml:21:2: unknown key `sweet`; known here are suite, run, session, score, tools, models, variants
    "#);
    insta::assert_snapshot!(refused_with("farm.toml", "[run]\nseeds = 1\n[run\n"), @r#"
    error: 2 problems in the input
      farm.toml:3:5: not TOML: unclosed table, expected `]`
      farm.toml:3:2: not TOML: duplicate key
    "#);
    insta::assert_snapshot!(refused_with("farm.toml", b"[run]\n# \xff\n"), @r#"
    error: 1 problem in the input
      farm.toml:2:3: not UTF-8; save the file as UTF-8
    "#);
    let folder = Folder::with_one_case();
    insta::assert_snapshot!(refused(&folder, &["--config", "nowhere.toml"]), @r#"
    error: 1 problem in the input
      nowhere.toml: cannot be read: No such file or directory (os error 2); check the path given as config file
    "#);
}

#[test]
fn arguments_that_are_wrong() {
    let folder = Folder::with_one_case();
    insta::assert_snapshot!(refused(&folder, &["--seeds", "0"]), @r#"
    error: 1 problem in the input
      --seeds: run.seeds: 0 seeds are none: a run needs at least one, such as --seeds 1
    "#);
    insta::assert_snapshot!(refused(&folder, &["--seeds", "4..2"]), @r#"
    error: 1 problem in the input
      --seeds: run.seeds: the seeds 4..2 are empty: the end is not included, so write A..B with A < B
    "#);
    insta::assert_snapshot!(refused(&folder, &["--seeds", "0..18446744073709551615"]), @r#"
    error: 1 problem in the input
      --seeds: run.seeds: seed 18446744073709551615 is too large: at most 1000000000
    "#);
    insta::assert_snapshot!(refused(&folder, &["--seeds", "some"]), @r#"
    error: 1 problem in the input
      --seeds: run.seeds: "some" is no number of seeds: write 12, or a half-open range such as 3..5
    "#);
    insta::assert_snapshot!(refused(&folder, &["--model", "scriptet"]), @r#"
    error: 1 problem in the input
      --model: unknown model `scriptet`; known are scripted; did you mean `scripted`?
    "#);
    insta::assert_snapshot!(refused(&folder, &["--concurrency", "0"]), @r#"
    error: 1 problem in the input
      --concurrency: run.concurrency: must be at least 1, is 0
    "#);
    insta::assert_snapshot!(refused(&folder, &["--case", "prod-*"]), @r#"
    error: no case of 1 matches --case "prod-*"
    hint: the ids are sum-1
    "#);
    insta::assert_snapshot!(refused(&folder, &["--case", "sum-["]), @r#"
    error: --case "sum-[" is not a glob: unclosed character class; missing ']'
    hint: * stands for any text, ? for one character, [ab] for one of some
    "#);
    insta::assert_snapshot!(refused(&folder, &["--tag", "hard"]), @r#"
    error: no case of 1 matches --tag "hard"
    hint: there are no tags
    "#);
    insta::assert_snapshot!(refused(&folder, &["--limit", "0"]), @r#"
    error: --limit 0 selects no case
    hint: use --limit 1 or more
    "#);
    insta::assert_snapshot!(refused(&folder, &["--seedz", "3"]), @r#"
    error: unexpected argument '--seedz' found

      tip: a similar argument exists: '--seeds'

    Usage: farm run --sealed <FILE> --out <DIR> --seeds <N|A..B> <CASES>

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(refused(&folder, &["--log", "no/such/folder.log"]), @r#"
    error: the log no/such/folder.log cannot be written
    caused by: No such file or directory (os error 2)
    "#);
    insta::assert_snapshot!(folder.farm(["trace", "show", "scripted/sum-1"]).exits(2).stderr, @r#"
    error: there is no run under results/runs
    hint: `farm run CASES` makes one; a run made with --out is named by its folder
    "#);
}

#[test]
fn a_case_without_a_script_is_no_surprise_in_the_middle_of_a_run() {
    let case = r#"{"id":"sum-1","task":"What is 1 + 1?"}"#;
    insta::assert_snapshot!(refused_with("cases.jsonl", case), @r#"
    error: 1 problem in the input
      cases.jsonl:1: model scripted has no script for sum-1; give the cases a `script`, or name a file: `scripts` in [models.scripted]
    "#);
    let cases = r#"{"id":"sum-1","task":"t","script":[{"answer":"1"}]}
{"id":"sum-2","task":"t","script":null}
"#;
    let folder = Folder::with_one_case();
    folder.write("cases.jsonl", cases);
    let said = folder.farm(["check", "cases.jsonl", "--unscored"]).exits(2);
    assert!(
        said.stderr
            .contains("cases.jsonl:2: model scripted has no script for sum-2")
    );
    // A case and a file that both have one.
    folder
        .write(
            "scripts.jsonl",
            r#"{"case":"sum-1","script":[{"answer":"1"}]}"#,
        )
        .write(
            "farm.toml",
            "models.m = { kind = 'scripted', scripts = 'scripts.jsonl' }",
        );
    let args = [
        "check",
        "cases.jsonl",
        "--unscored",
        "--config",
        "farm.toml",
    ];
    let said = folder
        .farm(args.iter().chain(&["--case", "sum-1"]))
        .exits(2)
        .stderr;
    assert!(
        said.contains("cases.jsonl:1: model m: case sum-1 has two scripts"),
        "{said}"
    );
}

#[test]
fn verifiers_that_let_calls_run_unchecked() {
    insta::assert_snapshot!(refused_with("farm.toml", "[session]\nverifiers = ['budget']\n"), @r#"
    error: 1 problem in the input
      farm.toml:2:13: session.verifiers: the verifiers lack "schema": no call may run unchecked
    "#);
}

/// Each is read, somewhere, and none may be waited for or read for ever.
#[test]
fn inputs_that_are_no_regular_files() {
    let folder = Folder::with_one_case();
    let made = Command::new("mkfifo").arg(folder.path("pipe")).status();
    assert!(made.unwrap().success());
    fs::create_dir(folder.path("old")).unwrap();
    for special in ["pipe", "/dev/zero", "/dev/full"] {
        let path = folder.path(special);
        let config = |text: String| folder.write("farm.toml", text);
        let said = |args: &[&str]| {
            let said = folder.command(farm().args(args).timeout(Duration::from_secs(60)));
            let said = said.exits(2).stderr;
            assert!(said.contains("is not a regular file"), "{args:?}: {said}");
        };
        said(&["run", special, "--sealed", "sealed.jsonl"]);
        said(&["run", "cases.jsonl", "--sealed", special]);
        said(&["run", "cases.jsonl", "--config", special]);
        let with_config = ["run", "cases.jsonl", "--config", "farm.toml"];
        config(format!("session.prompt = '{special}'"));
        said(&with_config);
        config(format!(
            "models.m = {{ kind = 'scripted', scripts = '{special}' }}"
        ));
        said(&with_config);
        symlink(path, folder.path("old/manifest.json")).unwrap();
        said(&["report", "old"]);
        said(&["trace", "export", "old"]);
        fs::remove_file(folder.path("old/manifest.json")).unwrap();
    }
}

#[test]
fn environment_that_is_wrong() {
    let folder = Folder::with_one_case();
    let said = |name: &[u8], value: &[u8]| {
        let (name, value) = (OsStr::from_bytes(name), OsStr::from_bytes(value));
        let said = folder.command(farm().args(RUN).env(name, value)).exits(2);
        assert_eq!(folder.names(), ["cases.jsonl", "sealed.jsonl"]);
        said.stderr
    };
    insta::assert_snapshot!(said(b"FARM_RUN_SEED", b"3"), @r#"
    error: 1 problem in the input
      FARM_RUN_SEED: no key of the config has this environment variable; did you mean `FARM_RUN_SEEDS`?
    "#);
    insta::assert_snapshot!(said(b"FARM_MODE", b"fast"), @r#"
    error: 1 problem in the input
      FARM_MODE: no key of the config has this environment variable; unset it, or name a key: FARM_RUN_SEEDS sets run.seeds
    "#);
    insta::assert_snapshot!(said(b"FARM_RUN_CONCURRENCY", b"many"), @r#"
    error: 1 problem in the input
      FARM_RUN_CONCURRENCY: run.concurrency: must be a whole number, is a text
    "#);
    insta::assert_snapshot!(said(b"FARM_CONFIG", b"nowhere.toml"), @r#"
    error: 1 problem in the input
      nowhere.toml: cannot be read: No such file or directory (os error 2); check the path given as config file
    "#);
    insta::assert_snapshot!(said(b"FARM_RUN_SEEDS", b"\xff"), @r#"
    error: 1 problem in the input
      FARM_RUN_SEEDS: run.seeds: is not UTF-8; set it to a text, or unset it
    "#);
    insta::assert_snapshot!(said(b"FARM_RUN_SEEDS\xff", b"3"), @r#"
    error: 1 problem in the input
      FARM_RUN_SEEDS�: no key of the config has this environment variable; did you mean `FARM_RUN_SEEDS`?
    "#);
    insta::assert_snapshot!(said(b"FARM_TEST_PANIC", b"\xff"), @"error: FARM_TEST_PANIC is not UTF-8");
    insta::assert_snapshot!(said(b"FARM_TEST_PANIC", b"scripted/sum-1/0"), @"error: FARM_TEST_PANIC is KEY:TURN");
    insta::assert_snapshot!(said(b"FARM_TEST_ABORT", b"commit:x:before"), @"error: FARM_TEST_ABORT is commit:N:before or commit:N:after");
}

#[test]
fn more_sessions_than_can_be_numbered() {
    let folder = Folder::new();
    let lines = |line: &dyn Fn(usize) -> String| (0..1100).map(line).collect::<String>();
    let case =
        |n| format!("{{\"id\":\"c{n}\",\"task\":\"t\",\"script\":[{{\"answer\":\"1\"}}]}}\n");
    let half = |n| format!("{{\"id\":\"c{n}\",\"checks\":[{{\"kind\":\"steps\",\"max\":1}}]}}\n");
    folder.write("cases.jsonl", lines(&case));
    folder.write("sealed.jsonl", lines(&half));
    insta::assert_snapshot!(refused(&folder, &["--seeds", "1000000000"]), @"
    error: 1100 cases × 1 variants with the seeds 0..1000000000 are more sessions than a run can hold: at most 1099511627776, counted from seed 0
    hint: ask for fewer seeds, or select cases
    ");
}
