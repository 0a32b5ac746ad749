//! The table of replies, row by row.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use farm::{
    domain::{Action, Call, Code, ToolMode},
    model::{
        ModelError, ModelErrorKind, Normalised, Options, Retry, gateway::retry_after,
        normalise::normalise,
    },
    tool::{BuiltinOptions, builtin},
    verify::{Context, DEFAULT, Item, Verifiers},
};

use crate::golden_table;

#[derive(Deserialize)]
struct Row {
    name: String,
    status: u16,
    body: Value,
    #[serde(default)]
    options: RowOptions,
    expect: Map<String, Value>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    excludes: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct RowOptions {
    tool_mode: ToolMode,
    text_calls: bool,
}

/// What the schema verifier says of a call behind `normalise`.
fn blocked(call: &Call) -> Option<Code> {
    let registry = builtin(&BuiltinOptions::default()).unwrap();
    let tools = registry.select(["calculator"]).unwrap();
    let judgments = Verifiers::new(DEFAULT).unwrap().pre_act(&Context {
        item: Item::Call(call),
        step: 0,
        max_steps: 8,
        tools: &tools,
        repeats: 1,
        observation: None,
    });
    judgments.iter().find(|j| !j.passed).and_then(|j| j.code)
}

fn seen(result: &Result<Normalised, ModelError>) -> Map<String, Value> {
    let mut seen = Map::new();
    let mut see = |name: &str, value: Value| {
        if !value.is_null() && value != json!([]) {
            seen.insert(name.into(), value);
        }
    };
    match result {
        Err(e) if e.kind == ModelErrorKind::Context => see("limit", json!("context")),
        Err(e) => {
            see("error", json!(e.kind.to_string()));
            let retry = match e.retry {
                Retry::Yes => json!(true),
                Retry::Once => json!("once"),
                Retry::No => json!(false),
                Retry::Later => unreachable!("said by the gateway alone"),
            };
            see("retry", retry);
        }
        Ok(reply) => {
            see("thought", json!(reply.thought));
            see("finish", json!(reply.finish));
            see("refused", json!(reply.refused.then_some(true)));
            see("usage", json!(reply.usage));
            see("repairs", json!(reply.repairs));
            match &reply.action {
                Action::Answer(answer) => see("answer", json!(answer)),
                Action::Malformed { code, .. } => see("malformed", json!(code)),
                Action::Calls(calls) => see(
                    "calls",
                    calls
                        .iter()
                        .map(|call| match blocked(call) {
                            Some(code) => json!({"tool": call.tool, "blocked": code}),
                            None => json!({"tool": call.tool, "args": call.args.as_ref().unwrap()}),
                        })
                        .collect(),
                ),
            }
        }
    }
    seen
}

#[test]
fn golden_replies() {
    let mut ran = 0;
    let now: Timestamp = "2026-10-21T07:00:00Z".parse().unwrap();
    for line in golden_table::read("replies.jsonl").lines() {
        let row: Row = serde_json::from_str(line).unwrap();
        let body = match &row.body {
            Value::String(text) => text.clone(),
            body => body.to_string(),
        };
        let options = Options {
            tool_mode: row.options.tool_mode,
            text_calls: row.options.text_calls,
        };
        let result = normalise(row.status, &body, options);
        let mut seen = seen(&result);
        let mut expect = row.expect;
        let header = |name: &str| row.headers.get(name).map(String::as_str);
        if let Some(wait) = retry_after(header, now) {
            match expect.contains_key("retry_after_until") {
                true => seen.insert("retry_after_until".into(), json!((now + wait).to_string())),
                false => seen.insert("retry_after_s".into(), json!(wait.as_secs_f64())),
            };
            if let Some(seconds) = expect.get_mut("retry_after_s") {
                *seconds = json!(seconds.as_f64());
            }
        }
        for only_if_given in ["usage", "finish", "retry"] {
            if !expect.contains_key(only_if_given) {
                seen.remove(only_if_given);
            }
        }
        expect.retain(|_, value| !value.is_null());
        assert_eq!(Value::from(seen), Value::from(expect), "{}", row.name);
        if let Some(secret) = row.excludes {
            assert!(!format!("{result:?}").contains(&secret), "{}", row.name);
        }
        ran += 1;
    }
    golden_table::check_count("replies.jsonl", ran, 89);
}
