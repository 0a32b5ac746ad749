//! Replies as live models give them: odd calls, no text, another provider; and what is sent to them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};

use crate::{
    live::{ends, folder, ledger, model, run, sessions, solve},
    stub::{Stub, http, message, says},
};

/// A call with arguments as they are written.
fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

#[test]
fn odd_calls_cost_steps_and_leave_the_history_valid() {
    let folder = folder(1);
    let oversized = format!("{{\"expression\": \"{}\"}}", "1 + ".repeat(200_000));
    let sent = Arc::new(Mutex::new(Value::Null));
    let stub = {
        let sent = sent.clone();
        Stub::start(move |asked| {
            if asked.n > 0 {
                *sent.lock().unwrap() = asked.body.clone();
                return says(&solve(asked.task()));
            }
            let calls = [
                call("a", "calculator", "{\"expression\": \"10 * 7\"}"),
                // The same id once more; arguments that are cut off, doubled, encoded twice, too long.
                call("a", "calculator", "{\"expression\": \"10 *"),
                call("b", "calculator", "{}\"\""),
                call("c", "calculator", "\"{\\\"expression\\\": \\\"2 * 3\\\"}\""),
                call("d", "calculator", &oversized),
                call("", "no such tool!", "{}"),
            ];
            message(&json!({"role": "assistant", "content": null, "tool_calls": calls}))
        })
    };
    folder.write("live.toml", model("m", &stub.base_url(), ""));
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(0);
    assert_eq!(ledger(&folder, "passed"), 1);

    let steps = &sessions(&folder, "run")["m/p-0/0"];
    let ok: Vec<bool> = steps
        .iter()
        .filter_map(|step| step["observation"]["ok"].as_bool())
        .collect();
    assert_eq!(ok, [true, false, false, true, false, false], "{steps:?}");
    assert_eq!(ends(&folder)["m/p-0/0"]["steps_used"], 7);

    // What went back is what any endpoint takes.
    let sent = sent.lock().unwrap();
    let messages = sent["messages"].as_array().unwrap();
    let calls = messages.iter().filter_map(|m| m["tool_calls"].as_array());
    let calls: Vec<&Value> = calls.flatten().collect();
    let ids: BTreeSet<&str> = calls.iter().map(|c| c["id"].as_str().unwrap()).collect();
    assert_eq!((calls.len(), ids.len()), (6, 6), "{sent}");
    for call in &calls {
        let arguments = call["function"]["arguments"].as_str().unwrap();
        assert!(
            serde_json::from_str::<Value>(arguments)
                .unwrap()
                .is_object()
        );
        let name = call["function"]["name"].as_str().unwrap();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        assert!(name.chars().all(is_plain), "{name}");
    }
    let results = messages.iter().filter_map(|m| m["tool_call_id"].as_str());
    assert_eq!(results.collect::<BTreeSet<_>>(), ids);
    assert!(
        sent.to_string().len() < 20_000,
        "the oversized one does not go back"
    );
}

#[test]
fn thinking_that_ate_the_budget_is_an_outcome() {
    let folder = folder(2);
    let stub = Stub::start(|_| {
        let message = json!({"role": "assistant", "content": null, "reasoning": "Let me see, "});
        let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 16}});
        http("200 OK", "", &body.to_string())
    });
    let table = "price = { input = 1, output = 1 }\nparameters = { max_tokens = 16 }";
    folder.write("live.toml", model("m", &stub.base_url(), table));
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(0);
    assert_eq!(
        (ledger(&folder, "failed"), ledger(&folder, "errored")),
        (2, 0)
    );
    for (key, end) in ends(&folder) {
        assert_eq!(end["status"], "fallback_stop", "{key}: {end}");
        assert!(
            (end["cost_usd"].as_f64().unwrap() - 3.0 * 116e-6).abs() < 1e-12,
            "{end}"
        );
    }
    assert_eq!(stub.counts().asked, 6, "no reply is asked for again");
}

#[test]
fn who_served_is_on_record_and_told_apart() {
    let folder = folder(4);
    // A router that sends each other request to another provider.
    let stub = Stub::start(|asked| {
        let provider = ["fp8", "int4"][asked.n % 2];
        let message = json!({"role": "assistant", "content": solve(asked.task())});
        let body = json!({"model": "m-2026", "provider": provider, "system_fingerprint": "fp_1",
            "choices": [{"index": 0, "message": message}]});
        http("200 OK", "", &body.to_string())
    });
    folder.write("live.toml", model("m", &stub.base_url(), ""));
    let said = run(&folder, "live.toml", &["--no-probe"]).exits(0);
    let served: BTreeSet<String> = sessions(&folder, "run")
        .into_values()
        .map(|records| records[1]["served"].to_string())
        .collect();
    let want = ["fp8", "int4"].map(|provider| {
        json!({"model": "m-2026", "provider": provider, "fingerprint": "fp_1"}).to_string()
    });
    assert_eq!(served, BTreeSet::from(want));
    for provider in ["fp8", "int4"] {
        assert!(said.stdout.contains(provider), "{}", said.stdout);
    }
}

#[test]
fn the_seed_that_goes_out_is_that_of_case_and_repeat_alone() {
    // What two runs send, one of them with its cases the other way round.
    let sent = |reversed: bool| {
        let folder = folder(5);
        if reversed {
            let cases = folder.read("cases.jsonl");
            let lines: Vec<&str> = cases.lines().rev().collect();
            folder.write("cases.jsonl", lines.join("\n"));
        }
        let seeds = Arc::new(Mutex::new(
            BTreeMap::<(String, String), BTreeSet<u64>>::new(),
        ));
        let stub = {
            let seeds = seeds.clone();
            Stub::start(move |asked| {
                let key = (asked.body["model"].to_string(), asked.task().to_owned());
                let seed = asked.body["seed"].as_u64().unwrap();
                let is_new = seeds.lock().unwrap().entry(key).or_default().insert(seed);
                assert!(is_new, "a repeat is asked for twice");
                says(&solve(asked.task()))
            })
        };
        let other = model("other", &stub.base_url(), "").replace("\"m\"", "\"other\"");
        folder.write("live.toml", model("m", &stub.base_url(), "") + &other);
        let more = ["--seeds", "6", "--quiet", "--no-probe"];
        run(&folder, "live.toml", &more).exits(0);
        assert_eq!(stub.counts().asked, 60);
        seeds.lock().unwrap().clone()
    };
    let first = sent(false);
    assert_eq!(first.len(), 10);
    for ((model, task), seeds) in &first {
        assert_eq!(seeds.len(), 6, "{model} {task}");
        let other = &first[&("\"m\"".to_owned(), task.clone())];
        assert_eq!(seeds, other, "models are compared on equal seeds");
    }
    assert_eq!(first, sent(true));
}
