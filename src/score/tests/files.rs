//! What is a sealed file and what is not.

use sha2::{Digest, Sha256};

use super::*;

fn problems(text: &str, cases: &[&str]) -> Vec<String> {
    match load_text(text, cases) {
        Ok(_) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

/// The only problem of a line with this check.
fn problem_of(check: &str) -> String {
    let text = format!(r#"{{"id":"a","checks":[{{"kind":"status","is":"completed"}},{check}]}}"#);
    let found = problems(&text, &["a"]);
    assert_eq!(found.len(), 1, "{check}: {found:?}");
    found[0].clone()
}

#[test]
fn a_wrong_check_is_named_by_place_and_field() {
    let table = [
        (
            r#"{"kind":"answer_equal","text":"x"}"#,
            "F:1:77: checks[1].kind: no such kind of check; did you mean `answer_equals`?",
        ),
        (
            r#"{"kind":"zzz"}"#,
            "no such kind of check; there are answer_equals, ",
        ),
        (r#"{"text":"x"}"#, "F:1:67: checks[1]: missing field `kind`"),
        (
            r#"{"kind":"answer_equals"}"#,
            "checks[1]: answer_equals needs `text`",
        ),
        (
            r#"{"kind":"answer_equals","text":" "}"#,
            "checks[1].text: must not be empty",
        ),
        (
            r#"{"kind":"answer_equals","text":3}"#,
            "checks[1].text: wrong type or value, expected a string",
        ),
        (
            r#"{"kind":"answer_equals","text":"x","pattern":"y"}"#,
            "checks[1]: `pattern` does not go with answer_equals",
        ),
        (
            r#"{"kind":"answer_equals","txt":"x"}"#,
            "F:1:80: checks[1]: unknown field `txt`, expected one of `kind`, `name`, ",
        ),
        (
            r#"{"kind":"answer_equals","txt":"x"}"#,
            "did you mean `text`?",
        ),
        (
            r#"{"kind":"model_graded","min_score":0.5}"#,
            "checks[1]: model_graded needs `rubric`",
        ),
        (
            r#"{"kind":"model_graded","rubric":"r","min_score":5}"#,
            "F:1:105: checks[1].min_score: must be from 0 to 1",
        ),
        (
            r#"{"kind":"steps","max":1,"min_score":0.5}"#,
            "checks[1]: `min_score` does not go with steps",
        ),
        (
            r#"{"kind":"answer_contains"}"#,
            "answer_contains needs `text`",
        ),
        (r#"{"kind":"answer_regex"}"#, "answer_regex needs `pattern`"),
        (
            r#"{"kind":"answer_regex","pattern":"a("}"#,
            "F:1:93: checks[1].pattern: not a regular expression: a group is not closed",
        ),
        (
            r#"{"kind":"answer_regex","pattern":"a)"}"#,
            "a group is closed that was not opened",
        ),
        (
            r#"{"kind":"answer_regex","pattern":"[a"}"#,
            "a character class is not closed",
        ),
        (
            r#"{"kind":"answer_regex","pattern":"(?=a)"}"#,
            "look-around is not supported",
        ),
        (
            r#"{"kind":"answer_regex","pattern":"(a)\\1"}"#,
            "back-references are not supported",
        ),
        (
            r#"{"kind":"answer_regex","pattern":"*a"}"#,
            "a repetition has nothing to repeat",
        ),
        (
            r#"{"kind":"answer_regex","pattern":"a{2,1}"}"#,
            "a repetition is malformed",
        ),
        (
            r#"{"kind":"answer_regex","pattern":"\\y"}"#,
            "an escape is unknown",
        ),
        (
            r#"{"kind":"answer_regex","pattern":"[b-a]"}"#,
            "a character range is malformed",
        ),
        (
            r#"{"kind":"answer_regex","pattern":"(\\w{999}){999}"}"#,
            "or too large a one",
        ),
        (
            r#"{"kind":"answer_number"}"#,
            "answer_number needs `equals`",
        ),
        (
            r#"{"kind":"answer_number","equals":"391"}"#,
            "checks[1].equals: wrong type or value, expected f64",
        ),
        (
            r#"{"kind":"answer_number","equals":1e999}"#,
            "checks[1].equals: number out of range",
        ),
        (
            r#"{"kind":"answer_number","equals":1,"tolerance":-0.1}"#,
            "checks[1].tolerance: must be 0 or more",
        ),
        (r#"{"kind":"answer_json"}"#, "answer_json needs `schema`"),
        (
            r#"{"kind":"answer_json","schema":{"type":"strin"}}"#,
            "checks[1].schema: not a JSON Schema",
        ),
        (
            r#"{"kind":"answer_json","schema":{"$ref":"http://127.0.0.1:9/s.json"}}"#,
            "checks[1].schema: not a JSON Schema, or its `$ref`",
        ),
        (
            r#"{"kind":"answer_json","schema":{"$ref":"file:///etc/passwd"}}"#,
            "checks[1].schema: not a JSON Schema, or its `$ref`",
        ),
        (r#"{"kind":"status"}"#, "status needs `is`"),
        (
            r#"{"kind":"status","is":"crashed"}"#,
            "checks[1].is: must be `completed`, `budget_exhausted` or `fallback_stop`",
        ),
        (r#"{"kind":"steps"}"#, "steps needs `min` or `max`"),
        (
            r#"{"kind":"steps","min":3,"max":2}"#,
            "`min` is greater than `max`",
        ),
        (
            r#"{"kind":"steps","max":2.5}"#,
            "`max` must be a whole number",
        ),
        (
            r#"{"kind":"steps","min":-1}"#,
            "checks[1].min: wrong type or value, expected a whole number, 0 or more",
        ),
        (r#"{"kind":"tool_called"}"#, "tool_called needs `tool`"),
        (
            r#"{"kind":"tool_called","tool":"t","args":[1]}"#,
            "checks[1].args: must be a JSON object",
        ),
        (
            r#"{"kind":"tool_called","tool":"t","times":1.5}"#,
            "checks[1].times: wrong type or value",
        ),
        (
            r#"{"kind":"tool_not_called","tool":"t","times":1}"#,
            "`times` does not go with tool_not_called",
        ),
        (
            r#"{"kind":"observation_contains"}"#,
            "observation_contains needs `text`",
        ),
        (
            r#"{"kind":"cost_usd","max":-1}"#,
            "checks[1].max: must be 0 or more",
        ),
        (r#"{"kind":"cost_usd","min":1}"#, "cost_usd needs `max`"),
        (
            r#"{"kind":"steps","max":1,"not":"yes"}"#,
            "checks[1].not: wrong type or value, expected a boolean",
        ),
        (
            r#"{"kind":"steps","max":1,"name":""}"#,
            "checks[1].name: a name has 1 to 64 characters",
        ),
        (
            r#"{"kind":"steps","max":1,"name":"a\u202eb"}"#,
            "checks[1].name: a name has 1 to 64 characters on one line, none of them invisible",
        ),
        (
            r#""steps""#,
            "checks[1]: wrong type or value, expected a check: an object with `kind`",
        ),
    ];
    for (check, wanted) in table {
        let found = problem_of(check);
        assert!(found.starts_with("F:1:"), "{found}");
        assert!(
            found.contains(wanted),
            "{check}: {found:?} should say {wanted:?}"
        );
    }
}

#[test]
fn a_wrong_line_is_named() {
    let ok = r#""checks":[{"kind":"steps","max":1}]"#;
    let table = [
        (r#"{"id":"a"}"#.to_owned(), "F:1:10: missing field `checks`"),
        (r#"{"id":"a","checks":[]}"#.to_owned(), "F:1: checks: a case needs at least one"),
        (format!(r#"{{"id":"a",{ok},"metric":[]}}"#), "unknown field `metric`, expected one of `id`, `checks`, `metrics`, `canary`; did you mean `metrics`?"),
        (format!(r#"{{"id":"a",{ok},"metrics":[{{"kind":"number_error","equal":1}}]}}"#), "metrics[0]: unknown field `equal`, expected one of `kind`, `name`, `optimal`, `equals`; did you mean `equals`?"),
        (format!(r#"{{"id":"a",{ok}"#), "EOF while parsing an object; the last line is cut off"),
        (format!(r#"{{"id":"a",{ok},"metrics":[{{"kind":"steps_over"}}]}}"#), "metrics[0].kind: no such kind of metric; did you mean `steps_over_optimal`?"),
        (format!(r#"{{"id":"a",{ok},"metrics":[{{"kind":"steps_over_optimal"}}]}}"#), "metrics[0]: steps_over_optimal takes `optimal` alone"),
        (format!(r#"{{"id":"a",{ok},"metrics":[{{"kind":"steps_over_optimal","optimal":0}}]}}"#), "metrics[0].optimal: wrong type or value, expected a nonzero u32"),
        (format!(r#"{{"id":"a",{ok},"metrics":[{{"kind":"number_error","optimal":1}}]}}"#), "metrics[0]: number_error takes `equals` alone"),
        (format!(r#"{{"id":"a",{ok},"metrics":[{{"kind":"number_error","equals":1}},{{"kind":"number_error","equals":1}}]}}"#), "F:1: metrics[1]: metrics[0] has the same name; give it a `name`"),
        (r#"{"id":"a","checks":[{"kind":"steps","max":1,"name":"n"},{"kind":"steps","max":2,"name":"n"}]}"#.to_owned(), "F:1: checks[1].name: checks[0] has the same"),
    ];
    for (line, wanted) in table {
        let found = problems(&line, &["a"]);
        assert!(
            found.len() == 1 && found[0].contains(wanted),
            "{line}: {found:?} should say {wanted:?}"
        );
    }
}

#[test]
fn the_join_is_checked_both_ways() {
    let line =
        |id: &str| format!("{{\"id\":\"{id}\",\"checks\":[{{\"kind\":\"steps\",\"max\":1}}]}}\n");
    let text = line("arith-01") + &line("other") + &line("other");
    assert_eq!(
        problems(&text, &["arith-001", "other"]),
        [
            "F:1: there is no case `arith-01`; did you mean `arith-001`? Else remove the line",
            "F:3: `other` has its sealed half on line 2 already",
            "F: the case `arith-001` has no sealed half; add a line for it, or run with `--unscored` to score later",
        ]
    );
    // The line of `b` is there, and broken.
    let text = line("a") + "{\"id\":\"b\"}\n";
    assert_eq!(
        problems(&text, &["a", "b"]),
        ["F:2:10: missing field `checks`"]
    );
    assert_eq!(problems("", &[]), [""; 0]);
}

#[test]
fn a_missing_file_says_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let found = load(&dir.path().join("no.jsonl"), &["a".parse().unwrap()]).unwrap_err();
    assert_eq!(found.len(), 1);
    let said = found[0].to_string();
    assert!(
        said.contains("cannot be read") && said.contains("--unscored"),
        "{said}"
    );
}

#[test]
fn a_metric_is_one_thing_over_all_cases() {
    let checks = json!([{"kind": "steps", "max": 1}]);
    let a = json!({"id": "a", "checks": checks, "metrics": [{"name": "m", "kind": "number_error", "equals": 1}]});
    let b = json!({"id": "b", "checks": checks, "metrics": [{"name": "m", "kind": "steps_over_optimal", "optimal": 1}]});
    assert_eq!(
        problems(&format!("{a}\n{b}\n"), &["a", "b"]),
        ["F:2: metrics[0]: line 1 has a metric of the same name and another kind"]
    );
}

#[test]
fn checks_without_a_name_get_one() {
    let suite = suite_of(&[json!({"id": "a", "checks": [
        {"kind": "steps", "max": 1},
        {"kind": "steps", "max": 2},
        {"kind": "status", "is": "completed", "name": "steps#3"},
        {"kind": "steps", "max": 3},
        {"kind": "cost_usd", "max": 3, "name": "cheap"},
    ]})]);
    let names: Vec<&str> = suite.cases["a"]
        .checks
        .iter()
        .map(|c| c.name.as_str())
        .collect();
    assert_eq!(names, ["steps", "steps#2", "steps#3", "steps#4", "cheap"]);
}

#[test]
fn the_digest_is_of_the_lines() {
    let line = "{\"id\":\"a\",\"checks\":[{\"kind\":\"steps\",\"max\":1}]}";
    let plain = format!("{line}\n");
    let of_bytes: String = Sha256::digest(&plain)
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let digest = |text: &str| load_text(text, &["a"]).unwrap().digest().to_owned();
    assert_eq!(digest(&plain), of_bytes);
    assert_eq!(digest(&format!("\u{feff}\r\n {line}\r\n\n")), of_bytes);
    assert_ne!(digest(&line.replace(":1}", ":2}")), of_bytes);
}
