//! No answer reaches an agent: a mark inside everything that is sealed turns up in no byte that a
//! run leaves or says, whether checks pass, fail or cannot be judged.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use serde_json::json;

use crate::{
    stub::{Stub, error, says},
    support::{Folder, Said, farm, files},
};

/// Text and number that are sealed. They begin with what an answer here cannot hold by chance.
const MARK: &str = "kZq7Canary4Wv";
const NUMBER: u32 = 918_273_645;

/// How the marks could be spelled.
fn spellings() -> Vec<Vec<u8>> {
    let number = NUMBER.to_string();
    let mut all = Vec::new();
    for mark in [MARK, &number] {
        let bytes = mark.as_bytes();
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        all.extend([
            mark.into(),
            mark.to_lowercase(),
            mark.to_uppercase(),
            hex.to_uppercase(),
            hex,
        ]);
        // Base64 spells three ways, by what stands before; only whole digits are looked for.
        for before in 0..3 {
            let shifted = [&vec![0; before], bytes].concat();
            let inner = &base64(&shifted)[(8 * before).div_ceil(6)..8 * shifted.len() / 6];
            all.extend([inner.to_owned(), inner.replace('+', "-").replace('/', "_")]);
        }
        all.push(bytes.iter().rev().map(|b| char::from(*b)).collect());
    }
    all.extend(["918,273,645", "918_273_645", "9.18273645", "0x36bbcc2d"].map(str::to_owned));
    let mut all: Vec<Vec<u8>> = all.into_iter().map(String::into_bytes).collect();
    // As SQLite and others store numbers.
    all.extend([NUMBER.to_be_bytes().to_vec(), NUMBER.to_le_bytes().to_vec()]);
    let real = f64::from(NUMBER);
    all.extend([real.to_be_bytes().to_vec(), real.to_le_bytes().to_vec()]);
    all
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .fold(0u32, |group, b| group << 8 | u32::from(*b))
            << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let value = (group >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() {
                char::from(DIGITS[value as usize])
            } else {
                '='
            });
        }
    }
    text
}

/// The first spelling of a mark in these bytes.
fn find(bytes: &[u8]) -> Option<String> {
    let holds = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    let word = spellings().into_iter().find(|word| holds(word))?;
    Some(String::from_utf8_lossy(&word).into_owned())
}

#[track_caller]
fn assert_clean(what: &str, bytes: &[u8]) {
    if let Some(word) = find(bytes) {
        panic!("{what} holds {word}:\n{}", String::from_utf8_lossy(bytes));
    }
}

#[track_caller]
fn assert_silent(said: &Said) {
    assert_clean("stdout", said.stdout.as_bytes());
    assert_clean("stderr", said.stderr.as_bytes());
}

#[track_caller]
fn assert_folder_clean(folder: &Path) {
    for file in files(folder) {
        assert_clean(&file.display().to_string(), &fs::read(&file).unwrap());
        assert_clean("the name of a file", file.as_os_str().as_encoded_bytes());
    }
}

/// Every kind of check with a mark in every field that is sealed.
fn checks() -> Vec<serde_json::Value> {
    let pattern = format!("^(?:{MARK}|{NUMBER})$");
    let schema = json!({"type": "object", "title": MARK, "required": [MARK], "properties": {
        MARK: {"const": NUMBER}, "n": {"enum": [MARK, NUMBER], "pattern": MARK, "minimum": NUMBER}}});
    vec![
        json!({"kind": "answer_equals", "text": MARK}),
        json!({"kind": "answer_contains", "text": MARK}),
        json!({"kind": "answer_regex", "pattern": pattern}),
        json!({"kind": "answer_number", "equals": NUMBER}),
        json!({"kind": "answer_number", "equals": NUMBER, "tolerance": NUMBER}),
        json!({"kind": "answer_json", "schema": schema}),
        json!({"kind": "steps", "min": NUMBER}),
        json!({"kind": "steps", "min": 0, "max": NUMBER}),
        json!({"kind": "tool_called", "tool": MARK, "times": NUMBER, "args": {MARK: {MARK: [MARK, NUMBER]}}}),
        json!({"kind": "tool_called", "tool": "calculator", "args": {"expression": MARK}}),
        json!({"kind": "tool_not_called", "tool": MARK}),
        json!({"kind": "blocked_steps", "max": NUMBER}),
        json!({"kind": "observation_contains", "text": MARK}),
        json!({"kind": "cost_usd", "max": NUMBER}),
    ]
}

/// A suite whose cases have one check each, as it is and with `not`; then one with all of them,
/// whose scoring panics; then one whose cost is unknown, so that it cannot be judged.
fn suite(folder: &Folder) {
    let (mut cases, mut sealed) = (String::new(), String::new());
    let mut add = |id: &str, script: serde_json::Value, checks: serde_json::Value| {
        let case = json!({"id": id, "task": "Compute 6 * 7.", "script": script});
        let half = json!({"id": id, "checks": checks, "canary": MARK, "metrics": [
            {"name": "error", "kind": "number_error", "equals": NUMBER},
            {"name": "efficiency", "kind": "steps_over_optimal", "optimal": NUMBER}]});
        cases.push_str(&format!("{case}\n"));
        sealed.push_str(&format!("{half}\n"));
    };
    let script = || {
        json!([
            {"thought": "A product.", "tool_call": {"tool": "calculator", "args": {"expression": "6 * 7"}}},
            {"thought": "A tool that is not there.", "tool_call": {"tool": "abacus", "args": {}}},
            {"any_of": [{"answer": "42"}, {"answer": "{\"n\": 41}"}, {"answer": "it is forty"}]},
        ])
    };
    for (at, check) in checks().into_iter().enumerate() {
        let mut not = check.clone();
        not["not"] = json!(true);
        add(&format!("plain-{at}"), script(), json!([check]));
        add(&format!("not-{at}"), script(), json!([not]));
    }
    add("panics", script(), json!(checks()));
    let raw = json!([{"raw": {"choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "42"}}]}}]);
    add("raw", raw, json!([{"kind": "cost_usd", "max": NUMBER}]));
    folder
        .write("cases.jsonl", cases)
        .write("secret/sealed.jsonl", sealed);
}

#[test]
fn the_search_finds_what_it_looks_for() {
    assert_eq!(base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVhcw==");
    for before in ["", "a", "ab"] {
        let text = format!("{before}{MARK} and more");
        assert!(find(base64(text.as_bytes()).as_bytes()).is_some(), "{text}");
        assert!(find(format!("x{before}{NUMBER}").as_bytes()).is_some());
    }
    assert!(find(b"a plain text, 918273 and kZq7").is_none());
}

#[test]
fn a_run_leaves_and_says_nothing_sealed() {
    let folder = Folder::new();
    suite(&folder);
    let args = [
        "run",
        "cases.jsonl",
        "--sealed",
        "secret/sealed.jsonl",
        "--out",
        "run",
    ];
    let said = folder.command(
        farm()
            .args(args)
            .args(["--seeds", "3", "-vvv", "--log", "run.log"])
            .env("RUST_BACKTRACE", "full")
            .env("FARM_TEST_PANIC", "scripted/panics/1:score"),
    );
    // One session errored: its scoring panicked.
    let said = said.exits(3);
    assert_silent(&said);
    assert_clean("the log", &fs::read(folder.path("run.log")).unwrap());
    assert_folder_clean(&folder.path("run"));

    // The search is worth something: all kinds of verdicts are among the sessions.
    let scores = folder.lines("run/scores.jsonl");
    let count = |state: &str| scores.iter().filter(|line| line["state"] == state).count();
    assert!(count("passed") > 10 && count("failed") > 10, "{scores:?}");
    assert_eq!(count("errored"), 1);
    let panicked = scores
        .iter()
        .find(|line| line["state"] == "errored")
        .unwrap();
    assert_eq!(panicked["error"], "check 0 panicked");
    let log = folder.read("run.log");
    for said in [
        "run begins",
        "session begins",
        "step",
        "session settled",
        "caught a panic",
    ] {
        assert!(log.contains(said), "the log does not say `{said}`:\n{log}");
    }

    for args in [
        &["report", "run"][..],
        &["report", "run", "--all"],
        &["report", "run", "--failures", "--all"],
        &["report", "run", "--failures", "--format", "md"],
        &["report", "run", "--failures", "--format", "json"],
        &["plan", "run"],
        &["plan", "run", "--json"],
        &["report", "run", "--format", "md"],
        &["report", "run", "--format", "json"],
        &["report", "run", "--format", "csv"],
        &["report", "run", "--rows", "sessions"],
        &["report", "run", "--rows", "steps"],
        &["report", "run", "--format", "junit"],
        &["report", "run", "--format", "svg"],
        &["report", "run", "--format", "html", "--traces", "all"],
        &[
            "trace",
            "show",
            "scripted/panics/1",
            "--run",
            "run",
            "--full",
        ],
        &["trace", "export", "run"],
        &["trace", "diff", "run", "run"],
    ] {
        assert_silent(&folder.farm(args.iter().chain(&["-vvv"])).exits(0));
    }
    assert_folder_clean(&folder.path("run"));
}

/// Sessions that a model grades by a sealed rubric which it quotes, whether it gives a grade or not.
fn graded(folder: &Folder) {
    let reason = format!("{MARK} {NUMBER}");
    let grade = |score: u32| json!({"score": score, "reason": reason}).to_string();
    let says = [
        ("praised", grade(1)),
        ("blamed", grade(0)),
        ("unread", reason.clone()),
    ];
    let (mut cases, mut sealed, mut scripts) = (String::new(), String::new(), String::new());
    for (id, says) in says {
        let case = json!({"id": id, "task": "Be kind.", "script": [{"answer": "42"}]});
        let rubric = format!("Is it {MARK}, or {NUMBER}?");
        let check = json!({"kind": "model_graded", "rubric": rubric, "min_score": 0.5});
        let half = json!({"id": id, "canary": MARK, "checks": [
            {"kind": "answer_equals", "text": "42"}, check]});
        let script = json!({"case": id, "script": [{"answer": says}]});
        cases.push_str(&format!("{case}\n"));
        sealed.push_str(&format!("{half}\n"));
        scripts.push_str(&format!("{script}\n"));
    }
    folder
        .write("cases.jsonl", cases)
        .write("secret/sealed.jsonl", sealed)
        .write("secret/judge.jsonl", scripts)
        .write(
            "farm.toml",
            "models.agent.kind = \"scripted\"\n\
             models.judge = { kind = \"scripted\", scripts = \"secret/judge.jsonl\" }\n\
             score.judge = \"judge\"\n",
        );
}

#[test]
fn what_a_model_is_asked_to_grade_by_and_says_is_left_nowhere() {
    let folder = Folder::new();
    graded(&folder);
    let args = [
        "run",
        "cases.jsonl",
        "--config",
        "farm.toml",
        "--sealed",
        "secret/sealed.jsonl",
        "--out",
        "run",
        "--seeds",
        "3",
        "-vvv",
        "--log",
        "run.log",
    ];
    let said = folder.farm(args).exits(3);
    assert_silent(&said);
    assert_clean("the log", &fs::read(folder.path("run.log")).unwrap());
    assert_folder_clean(&folder.path("run"));
    assert!(folder.read("run.log").contains("grading begins"));
    let scores = folder.lines("run/scores.jsonl");
    let of = |case: &str| {
        let key = format!("agent/{case}/1");
        scores.iter().find(|line| line["key"] == *key).unwrap()
    };
    let checks = |graded: bool| json!([{"name": "answer_equals", "passed": true}, {"name": "model_graded", "passed": graded}]);
    assert_eq!(of("praised")["checks"], checks(true));
    assert_eq!(of("blamed")["checks"], checks(false));
    assert_eq!(
        of("unread")["error"],
        "check 1 was not graded: model judge: it gave no grade that can be read"
    );
    for args in [
        &["report", "run", "--failures", "--all"][..],
        &["report", "run", "--format", "html", "--traces", "all"],
        &["trace", "export", "run"],
    ] {
        assert_silent(&folder.farm(args.iter().chain(&["-vvv"])).exits(0));
    }

    folder.write("farm.toml", "models.agent.kind = \"scripted\"\n");
    let said = folder
        .farm(args[..6].iter().chain(&["--out", "none"]))
        .exits(2);
    assert_silent(&said);
    insta::assert_snapshot!(said.stderr, @r#"
    error: 1 problem in the input
      secret/sealed.jsonl: case praised has a check of kind model_graded, and score.judge names no model to grade it; name one of [models] in the config: score.judge = "NAME"
    "#);
    assert!(!folder.path("none").exists());
}

#[test]
fn an_endpoint_that_quotes_what_it_is_asked_gives_nothing_away() {
    let [agents, judges] = [(); 2].map(|()| Arc::<Mutex<Vec<String>>>::default());
    let agent = {
        let agents = agents.clone();
        Stub::start(move |asked| {
            agents.lock().unwrap().push(asked.text.clone());
            says("42")
        })
    };
    let judge = {
        let judges = judges.clone();
        Stub::start(move |asked| {
            let text = &asked.text;
            judges.lock().unwrap().push(text.clone());
            match ["Be fine.", "Be down."].map(|task| text.contains(task)) {
                [true, ..] => says(&json!({"score": 1, "reason": text}).to_string()),
                [_, true] => error(500, &format!("what is {text}?")),
                _ => error(401, &format!("what is {text}?")),
            }
        })
    };
    let folder = Folder::new();
    let (mut cases, mut sealed) = (String::new(), String::new());
    for id in ["fine", "down", "denied"] {
        let case = json!({"id": id, "task": format!("Be {id}.")});
        let check = json!({"kind": "model_graded", "rubric": format!("Is it {MARK} {NUMBER}?")});
        let half = json!({"id": id, "canary": MARK, "checks": [check]});
        cases.push_str(&format!("{case}\n"));
        sealed.push_str(&format!("{half}\n"));
    }
    let live = |stub: &Stub| {
        let url = stub.base_url();
        format!("kind = \"openai\"\nbase_url = \"{url}\"\nmodel = \"m\"\nmax_tries = 1\n")
    };
    let config = format!(
        "[score]\njudge = \"judge\"\n[models.agent]\n{}[models.judge]\n{}",
        live(&agent),
        live(&judge)
    );
    folder
        .write("cases.jsonl", cases)
        .write("secret/sealed.jsonl", sealed)
        .write("configs/farm.toml", config);
    let args = [
        "run",
        "cases.jsonl",
        "--sealed",
        "secret/sealed.jsonl",
        "--out",
        "run",
        "--no-probe",
        "-vvv",
        "--log",
        "run.log",
    ];
    let said = folder.farm(args).exits(3);
    assert_silent(&said);
    assert_clean("the log", &fs::read(folder.path("run.log")).unwrap());
    assert_folder_clean(&folder.path("run"));
    assert!(folder.read("run.log").contains("a call failed"));
    let parked = "parked: score.judge is not asked any more: auth: model judge at 127.0.0.1:";
    assert!(said.stderr.contains(parked), "{}", said.stderr);

    let asked = agents.lock().unwrap();
    assert_eq!(asked.len(), 3);
    asked
        .iter()
        .for_each(|body| assert_clean("a request of the agent", body.as_bytes()));
    let asked = judges.lock().unwrap();
    assert!(asked.len() >= 2, "{}", asked.len());
    for body in asked.iter() {
        assert!(
            find(body.as_bytes()).is_some(),
            "the judge is asked by the rubric"
        );
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["response_format"]["json_schema"]["name"], "grade");
    }
}

#[test]
fn a_run_that_is_killed_leaves_nothing_sealed() {
    let folder = Folder::new();
    suite(&folder);
    let output = farm()
        .current_dir(folder.path(""))
        .args([
            "run",
            "cases.jsonl",
            "--sealed",
            "secret/sealed.jsonl",
            "--out",
            "run",
            "-vvv",
            // So that there are as many commits, however busy the machine is.
            "--concurrency",
            "1",
        ])
        .env("FARM_TEST_ABORT", "commit:9:before")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), None, "it was to abort");
    assert_clean("stdout", &output.stdout);
    assert_clean("stderr", &output.stderr);
    assert!(folder.path("run/farm.db-wal").exists());
    assert_folder_clean(&folder.path("run"));
}

#[test]
fn check_names_the_place_of_a_leak_and_not_the_answer() {
    let folder = Folder::new();
    let case = |id: &str, task: &str, files: &str| {
        let script = json!([{"answer": "no"}]);
        let case = json!({"id": id, "task": task, "files": files, "script": script});
        format!("{case}\n")
    };
    folder
        .write("box/notes/key.txt", format!("the word is {MARK}."))
        .write(
            "cases.jsonl",
            case("told", &format!("Say {MARK}!"), "box")
                + &case("counted", "Is it 918,273,645?", "box"),
        );
    let half =
        |id: &str, check: serde_json::Value| format!("{}\n", json!({"id": id, "checks": [check]}));
    folder.write(
        "secret/sealed.jsonl",
        half("told", json!({"kind": "answer_equals", "text": MARK}))
            + &half(
                "counted",
                json!({"kind": "answer_number", "equals": NUMBER}),
            ),
    );
    let said = folder
        .farm(["check", "cases.jsonl", "--sealed", "secret/sealed.jsonl"])
        .exits(0);
    assert_silent(&said);
    insta::assert_snapshot!(said.stderr, @r#"
    warning: cases.jsonl:1: case told: task holds the answer of check `answer_equals`
    warning: cases.jsonl:1: case told: box/notes/key.txt holds the answer of check `answer_equals`
    warning: cases.jsonl:2: case counted: task holds the answer of check `answer_number`
    ok: 2 cases × 1 variant × 1 seed = 2 sessions
    "#);
}

#[test]
fn a_broken_sealed_file_is_not_quoted() {
    let folder = Folder::with_one_case();
    let good = json!({"id": "sum-1", "checks": checks(), "canary": MARK}).to_string();
    let broken = [
        // The marks where another value belongs; names of fields may be quoted.
        json!({"id": "sum-1", "checks": [{"kind": MARK}]}).to_string(),
        json!({"id": "sum-1", "checks": [{"kind": "status", "is": MARK}]}).to_string(),
        json!({"id": "sum-1", "checks": [{"kind": "answer_equals", "text": NUMBER}]}).to_string(),
        json!({"id": "sum-1", "checks": [{"kind": "answer_number", "equals": MARK}]}).to_string(),
        json!({"id": "sum-1", "checks": [{"kind": "answer_regex", "pattern": format!("({MARK}")}]}).to_string(),
        json!({"id": "sum-1", "checks": [{"kind": "answer_json", "schema": {"type": MARK}}]}).to_string(),
        json!({"id": "sum-1", "checks": [{"kind": "answer_json", "schema": {"$ref": format!("http://{MARK}/")}}]}).to_string(),
        json!({"id": "sum-1", "checks": MARK}).to_string(),
        json!({"id": "sum-1", "checks": [MARK]}).to_string(),
        json!({"id": "sum-1", "checks": checks(), "metrics": [{"kind": MARK, "equals": NUMBER}]}).to_string(),
        json!({"id": "sum-1", "checks": checks(), "metrics": [{"kind": "number_error", "equals": MARK}]}).to_string(),
        json!(MARK).to_string(),
        json!([MARK, NUMBER]).to_string(),
        // Texts that are no JSON.
        MARK.to_owned(),
        good.replace(&format!("{{\"{MARK}\":"), &format!("{{\"{MARK}\" ")),
        good.replace(&NUMBER.to_string(), &format!("{NUMBER}e999")),
        good.replace(MARK, &format!("{MARK}\\ud800")),
        good.replace(MARK, &format!("{MARK}\\x")),
        format!("{good} {MARK}"),
        format!("{good}{good}"),
        good[..good.len() - 3].to_owned(),
        good[..good.rfind(MARK).unwrap() + MARK.len()].to_owned(),
    ];
    for text in &broken {
        folder.write("sealed.jsonl", text);
        for command in ["run", "check"] {
            let said = folder.farm([command, "cases.jsonl", "--sealed", "sealed.jsonl", "-vvv"]);
            let said = said.exits(2);
            assert_silent(&said);
            assert!(said.stderr.contains("sealed.jsonl:1"), "{}", said.stderr);
        }
    }
    let latin = [good.as_bytes(), b"\xff"].concat();
    folder.write("sealed.jsonl", latin);
    assert_silent(&folder.run(&["-vvv"]).exits(2));
    assert!(!folder.path("run").exists());
}
