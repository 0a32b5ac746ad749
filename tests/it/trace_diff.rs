//! `trace diff` overlooks nothing but what may differ: every field of a real trace is changed,
//! removed and added to, one at a time.

use serde_json::{Value, json};

use farm::{domain::trace::FREE_FIELDS, report::diff::compare};

use crate::support::Folder;

/// One session with all shapes: calls at the same time, one of them blocked; a reply that cannot
/// be used; a call whose arguments do not parse; usage and ids of a provider; an answer.
const SCRIPT: &str = r#"[
    {"thought":"Two at once.","tool_calls":[
        {"tool":"calculator","args":{"expression":"2 * 3"}},
        {"tool":"dice","args":{"sides":[6,8]}}]},
    {"raw":{"id":"chatcmpl-1","created":1789700000,"system_fingerprint":"fp_1","model":"m",
        "choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":""}}]}},
    {"thought":"Again.","tool_call":{"tool":"calculator","args":{"expression":"3 + 3"}}},
    {"raw":{"id":"chatcmpl-2","created":1789700001,"system_fingerprint":"fp_2","model":"m",
        "choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,
            "tool_calls":[{"id":"c1","type":"function","function":{"name":"calculator","arguments":"{\"expression\": "}}]}}],
        "usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17}}},
    {"thought":"Divided by nothing.","tool_call":{"tool":"calculator","args":{"expression":"1 / 0"}}},
    {"thought":"Now I know.","answer":"6"}]"#;

/// Runs the session and returns its records.
fn trace(folder: &Folder) -> Vec<Value> {
    let script: Value = serde_json::from_str(SCRIPT).unwrap();
    let case = json!({"id": "all", "task": "Compute.", "script": script});
    folder.write("cases.jsonl", case.to_string()).write(
        "sealed.jsonl",
        r#"{"id":"all","checks":[{"kind":"status","is":"completed"}]}"#,
    );
    folder.run(&["--quiet"]).exits(0);
    folder.lines("run/traces/scripted/all.jsonl")
}

/// A way into a value: names of fields and places in lists.
type Path = Vec<Value>;

/// All values within `value`, and where they are.
fn walk(value: &Value, path: &Path, paths: &mut Vec<Path>) {
    paths.push(path.clone());
    let below = |part: Value| path.iter().cloned().chain([part]).collect();
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| walk(value, &below(json!(name)), paths)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(at, value)| walk(value, &below(json!(at)), paths)),
        _ => {}
    }
}

fn at<'a>(value: &'a mut Value, path: &[Value]) -> &'a mut Value {
    path.iter().fold(value, |value, part| match part.as_str() {
        Some(name) => value.get_mut(name).unwrap(),
        None => &mut value[part.as_u64().unwrap() as usize],
    })
}

/// The value changed a little, in each way that its type has.
fn changes(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![json!(""), json!(0), json!(false), json!({})],
        Value::Bool(is) => vec![json!(!is), Value::Null],
        Value::Number(n) => {
            let (whole, real) = (n.as_u64(), n.as_f64().unwrap());
            vec![
                whole.map_or_else(|| json!(real.next_up()), |n| json!(n + 1)),
                json!(n.to_string()),
                Value::Null,
            ]
        }
        Value::String(text) => vec![
            json!(format!("{text} ")),
            json!(text.to_uppercase() + "x"),
            Value::Null,
        ],
        Value::Array(items) => {
            let mut more = items.clone();
            more.push(items.last().cloned().unwrap_or_default());
            let mut turned = items.clone();
            turned.reverse();
            let mut ways = vec![json!(more), json!({}), Value::Null];
            ways.extend((turned != *items).then(|| json!(turned)));
            ways
        }
        Value::Object(fields) => {
            let mut more = fields.clone();
            more.insert("another".to_owned(), Value::Null);
            vec![json!(more), json!([]), Value::Null]
        }
    }
}

/// Every way to change one place of a record, with the place as `trace diff` names it.
fn variants(record: &Value) -> Vec<(String, Value)> {
    let mut paths = Vec::new();
    walk(record, &Vec::new(), &mut paths);
    let mut variants = Vec::new();
    for path in paths {
        let text = |v: &Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
        let name = path.iter().map(text).collect::<Vec<_>>().join(".");
        for value in changes(at(&mut record.clone(), &path)) {
            let mut changed = record.clone();
            *at(&mut changed, &path) = value;
            variants.push((name.clone(), changed));
        }
        let Some((last, above)) = path.split_last() else {
            continue;
        };
        let mut removed = record.clone();
        match at(&mut removed, above) {
            Value::Object(fields) => drop(fields.shift_remove(last.as_str().unwrap())),
            Value::Array(items) => drop(items.remove(last.as_u64().unwrap() as usize)),
            _ => unreachable!("only these hold others"),
        }
        variants.push((name, removed));
    }
    variants
}

#[test]
fn every_change_is_seen_but_those_that_are_free() {
    let folder = Folder::new();
    let records = trace(&folder);
    let kinds: Vec<&str> = records.iter().filter_map(|r| r["type"].as_str()).collect();
    assert_eq!(
        kinds.join(" "),
        "run_start step step step step step step step run_end"
    );
    assert_eq!(compare(&records, &records), []);

    let (mut seen, mut free) = (0, std::collections::BTreeSet::new());
    for (number, record) in records.iter().enumerate() {
        for (path, changed) in variants(record) {
            let mut other = records.clone();
            other[number] = changed;
            let is_free = FREE_FIELDS.contains(&&*path);
            for found in [compare(&records, &other), compare(&other, &records)] {
                assert_eq!(
                    found.is_empty(),
                    is_free,
                    "record {number}, `{path}`: {}",
                    other[number]
                );
            }
            if is_free {
                free.insert(path);
            } else {
                seen += 1;
            }
        }
        let (mut fewer, mut more, mut turned) = (records.clone(), records.clone(), records.clone());
        fewer.remove(number);
        more.insert(number, record.clone());
        turned.swap(number, (number + 1) % records.len());
        for other in [fewer, more, turned] {
            assert_ne!(compare(&records, &other), [], "record {number}");
            assert_ne!(compare(&other, &records), [], "record {number}");
        }
    }
    assert!(seen > 500, "only {seen} changes were tried");
    let in_this_trace: Vec<&str> = free.iter().map(String::as_str).collect();
    assert_eq!(
        in_this_trace,
        [
            "attempt",
            "reply.created",
            "reply.id",
            "reply.system_fingerprint",
            "run",
            "served.fingerprint",
            "ts"
        ]
    );
}

#[test]
fn a_free_field_may_come_and_go() {
    let folder = Folder::new();
    let records = trace(&folder);
    let step = records
        .iter()
        .position(|r| r["reply"]["id"] == "chatcmpl-2");
    let step = step.unwrap();
    for field in FREE_FIELDS {
        let path: Path = field.split('.').map(|part| json!(part)).collect();
        let (last, above) = path.split_last().unwrap();
        let mut other = records.clone();
        at(&mut other[step], above)[last.as_str().unwrap()] = json!({"any": "thing"});
        assert_eq!(compare(&records, &other), [], "{field}");
        // The same name elsewhere is another field.
        let mut other = records.clone();
        other[step]["judgments"][0][last.as_str().unwrap()] = json!(1);
        assert_eq!(compare(&records, &other).len(), 1, "judgments.0.{field}");
    }
}

#[test]
fn the_command_says_where() {
    let folder = Folder::new();
    let records = trace(&folder);
    let write = |name: &str, records: &[Value]| {
        let text: String = records.iter().map(|r| format!("{r}\n")).collect();
        folder.write(name, text);
    };
    write("a.jsonl", &records);
    let mut other = records.clone();
    other[1]["observation"]["content"] = json!("7");
    other[1]["ts"] = json!(0.0);
    other[4]["reply"]["choices"] = json!([1]);
    other[8]["answer"] = Value::Null;
    write("b.jsonl", &other);
    write("short.jsonl", &records[..8]);
    write(
        "other.jsonl",
        &[
            &[json!({"type":"run_start","variant":"v","case":"c","seed":1})],
            &records[1..],
        ]
        .concat(),
    );

    let said = folder
        .farm(["trace", "diff", "a.jsonl", "a.jsonl"])
        .exits(0);
    assert_eq!(
        (&*said.stdout, &*said.stderr),
        ("", "0 of 1 sessions differ\n")
    );
    let said = folder
        .farm(["trace", "diff", "a.jsonl", "b.jsonl"])
        .exits(1);
    insta::assert_snapshot!(said.stdout + &said.stderr, @r#"
    scripted/all/0
      step 0  observation.content: "6" → "7"
      step 3  reply.choices.0: {"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"Again.","tool_calls":[{"function":{"arg… → 1
      run_end  answer: "6" → null
    1 of 1 sessions differ
    "#);
    let said = folder
        .farm(["trace", "diff", "a.jsonl", "short.jsonl"])
        .exits(1);
    insta::assert_snapshot!(said.stdout + &said.stderr, @r#"
    scripted/all/0
      run_end: {"type":"run_end","status":"completed","limit":null,"answer":"6","steps_used":7,"mean_score":0.5982142857142857,"usage":… → (missing)
    1 of 1 sessions differ
    "#);
    let said = folder
        .farm(["trace", "diff", "a.jsonl", "other.jsonl"])
        .exits(1);
    assert!(
        said.stderr.contains("2 of 2 sessions differ"),
        "{}",
        said.stderr
    );
    let said = folder.farm(["trace", "diff", "a.jsonl", "run"]).exits(2);
    insta::assert_snapshot!(said.stderr, @r#"
    error: a.jsonl and run cannot be compared: one is a trace file, the other is not
    hint: name two runs, or two trace files; those of a run are RUN/traces/VARIANT/CASE.jsonl
    "#);
    let said = folder.farm(["trace", "diff", "run", "run", "--session", "scripted/all/1"]);
    insta::assert_snapshot!(said.exits(2).stderr, @r#"
    error: neither has the session scripted/all/1
    hint: a session is VARIANT/CASE/SEED
    "#);
}

#[test]
fn a_run_is_compared_by_its_database() {
    let folder = Folder::with_one_case();
    for run in ["a", "b"] {
        folder.run_into(run).exits(0);
    }
    let other = r#"{"id":"sum-1","task":"What is 1 + 1?","script":[{"answer":"2."}]}"#;
    folder.write("cases.jsonl", other);
    folder.run(&[]).exits(0);
    let diff = |a: &str, b: &str| {
        let said = folder.farm(["trace", "diff", a, b]);
        (said.code, said.stderr)
    };
    let (same, differs) = ("0 of 1 sessions differ\n", "1 of 1 sessions differ\n");
    // Neither stale nor missing files count.
    let file = "traces/scripted/sum-1.jsonl";
    std::fs::copy(
        folder.path(&format!("run/{file}")),
        folder.path(&format!("b/{file}")),
    )
    .unwrap();
    assert_eq!(diff("a", "b"), (0, same.to_owned()));
    std::fs::remove_dir_all(folder.path("b/traces")).unwrap();
    assert_eq!(diff("a", "b"), (0, same.to_owned()));
    assert_eq!(diff("a", "run"), (1, differs.to_owned()));
    // Without a database the files count.
    for held in ["farm.db", "farm.db-wal", "farm.db-shm"] {
        let _ = std::fs::remove_file(folder.path(&format!("run/{held}")));
    }
    assert_eq!(diff("a", "run"), (1, differs.to_owned()));
    std::fs::remove_dir_all(folder.path("run/traces")).unwrap();
    let (code, said) = diff("a", "run");
    assert_eq!(code, 2);
    assert!(
        said.contains("run has no sessions: neither farm.db nor traces/"),
        "{said}"
    );
}

#[test]
fn an_export_leaves_no_stale_traces_and_nothing_else_harmed() {
    let folder = Folder::with_one_case();
    folder.run_into("run").exits(0);
    let export = |to: &str| folder.farm(["trace", "export", "run", "--to", to]);
    folder.write("to/scripted/old.jsonl", "{}");
    export("to").exits(0);
    assert!(!folder.path("to/scripted/old.jsonl").exists());
    let file = "scripted/sum-1.jsonl";
    let exported = folder.read(&format!("to/{file}"));
    assert_eq!(exported, folder.read(&format!("run/traces/{file}")));
    folder.write("mine/notes.txt", "mine");
    let said = export("mine").exits(2).stderr;
    assert!(
        said.contains("mine holds more than traces: mine/notes.txt"),
        "{said}"
    );
    assert_eq!(folder.read("mine/notes.txt"), "mine");

    let lock = std::fs::File::open(folder.path("run/lock")).unwrap();
    lock.lock().unwrap();
    for to in ["run/traces", "run/traces/", "to/../run/traces"] {
        let said = export(to).exits(2).stderr;
        assert!(said.contains("run is in use by process"), "{to}: {said}");
    }
    export("to").exits(0);
}
