//! What is on a tape, what a request that is not there differs in, and damaged traces.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::*;
use crate::{
    domain::{CaseId, Observation, VariantName, trace},
    model::{Caller, Conversation, Shape},
};

mod ends;
mod tape;

const PROMPT: &str = "Be brief.";
const TASK: &str = "What is 17 * 23?";

/// A reply that calls the calculator.
fn call(expression: &str) -> Value {
    let arguments = json!({"expression": expression}).to_string();
    json!({"choices": [{"finish_reason": "tool_calls", "message": {"content": null, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "calculator", "arguments": arguments}}
    ]}}], "usage": {"prompt_tokens": 100, "completion_tokens": 10}})
}

fn answer(text: &str) -> Value {
    json!({"model": "large-2", "choices": [{"finish_reason": "stop", "message": {"content": text}}],
        "usage": {"prompt_tokens": 200, "completion_tokens": 20, "cost": 0.5}})
}

/// What a session is asked with.
#[derive(Clone)]
struct Way {
    prompt: &'static str,
    task: &'static str,
    tools: Vec<&'static str>,
    describe: &'static str,
    mode: ToolMode,
    parameters: Value,
    send_reasoning: bool,
}

impl Default for Way {
    fn default() -> Self {
        Self {
            prompt: PROMPT,
            task: TASK,
            tools: vec!["calculator", "file_read"],
            describe: "a tool",
            mode: ToolMode::Native,
            parameters: json!({"temperature": 0.5, "stop": ["\n"]}),
            send_reasoning: false,
        }
    }
}

impl Way {
    fn conversation(&self) -> Conversation {
        let about = self.describe;
        let tools: Vec<Value> = self
            .tools
            .iter()
            .map(|name| json!({"function": {"name": name, "description": about}}))
            .collect();
        let parameters = self.parameters.as_object().unwrap();
        let shape = Shape::new(&json!(tools), self.mode, parameters, self.send_reasoning);
        Conversation::opening(shape, self.prompt).about(self.task)
    }
}

/// Adds turns, each a reply and what its calls brought.
fn go_on(conversation: &mut Conversation, turns: &[(Value, &[&str])]) {
    for (body, came_back) in turns {
        let reply = super::super::normalise::normalise(200, &body.to_string(), Options::default());
        let came_back: Vec<Observation> = came_back.iter().map(|t| Observation::ok(*t)).collect();
        conversation.push_turn(&reply.unwrap(), &came_back);
    }
}

/// The trace of a session that took these turns and ended so.
fn trace_of(case: &str, seed: u64, turns: &[(Value, &[&str])], end: &Value) -> String {
    let mut lines = vec![json!({
        "type": "run_start", "schema": trace::SCHEMA, "run": "r", "variant": "v", "case": case,
        "seed": seed, "rng_seed": "1", "attempt": 0, "task": TASK, "max_steps": 4,
        "tools": ["calculator", "file_read"], "ts": 0.5,
    })];
    let mut conversation = Way::default().conversation();
    for (number, (body, came_back)) in turns.iter().enumerate() {
        let request = conversation.digest();
        // An answer is a step without an observation.
        let steps = came_back
            .iter()
            .map(Some)
            .chain(came_back.is_empty().then_some(None));
        for (call, content) in steps.enumerate() {
            let mut line = json!({
                "type": "step", "step": number + call, "turn": number, "call": call,
                "decision": {"thought": null, "tool_call": null, "answer": null},
                "judgments": [],
                "observation": content.map(|content| json!({"ok": true, "content": content})),
                "ts": 1.5,
            });
            if call == 0 {
                line["reply"] = body.clone();
                line["request_sha256"] = json!(request);
            }
            lines.push(line);
        }
        go_on(&mut conversation, &[(body.clone(), came_back)]);
    }
    let mut over = json!({
        "type": "run_end", "status": "completed", "limit": null, "answer": null, "steps_used": 0,
        "mean_score": null, "usage": {"tokens_in": null, "tokens_out": null}, "cost_usd": null,
        "error": null, "ts": 2.5,
    });
    over.as_object_mut()
        .unwrap()
        .extend(end.as_object().unwrap().clone());
    lines.push(over);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn recorded_turns() -> Vec<(Value, &'static [&'static str])> {
    vec![(call("17 * 23"), &["391"]), (answer("It is 391."), &[])]
}

fn variant() -> VariantName {
    "v".parse().unwrap()
}

/// A folder of traces: `a` with the seeds 0, 1 and 4, and `b`, which ended otherwise.
fn recording(folder: &Path) {
    let turns = recorded_turns();
    let completed = json!({});
    let a: String = [0, 1, 4]
        .map(|seed| trace_of("a", seed, &turns, &completed))
        .concat();
    fs::write(folder.join("a.jsonl"), a).unwrap();
    let steps = json!({"status": "budget_exhausted", "limit": "steps"});
    let context = json!({"status": "budget_exhausted", "limit": "context"});
    let lost = json!({"status": "model_error", "error": "timeout: no answer in 600 s"});
    let cost = json!({"status": "budget_exhausted", "limit": "cost_usd"});
    let seconds = json!({"status": "budget_exhausted", "limit": "seconds"});
    let b = [steps, context, lost, cost, seconds];
    let b: String = (0..)
        .zip(&b)
        .map(|(seed, end)| trace_of("b", seed, &turns[..1], end))
        .collect();
    fs::write(folder.join("b.jsonl"), b).unwrap();
}

fn limits() -> Limits {
    Limits {
        max_cost_usd: Some(0.25),
        max_seconds: Some(30.0),
        ..Limits::default()
    }
}

fn source(cost: Cost) -> Source {
    let way = Way::default();
    Source {
        name: "r/v".to_owned(),
        farm: "0.1.0".to_owned(),
        prompt: PROMPT.to_owned(),
        parameters: way.parameters.as_object().unwrap().clone(),
        tool_mode: Some(way.mode),
        text_calls: Some(false),
        send_reasoning: Some(false),
        limits: Some(limits()),
        cost,
    }
}

fn cassette(folder: &Path, cost: Cost) -> Cassette {
    let tape = Tape::load(folder, &variant()).unwrap();
    Cassette::new(
        "replay",
        Arc::new(tape),
        Arc::new(source(cost)),
        Options::default(),
    )
}

async fn ask(
    cassette: &Cassette,
    case: &str,
    seed: u64,
    conversation: &Conversation,
) -> Result<Reply, ModelError> {
    let case: CaseId = case.parse().unwrap();
    let caller = Caller::of_a_test();
    let request = Request {
        case: &case,
        seed,
        rng_seed: 0,
        conversation,
        caller: &caller,
    };
    cassette.complete(&request).await
}

#[tokio::test]
async fn the_same_requests_get_the_same_replies() {
    let dir = tempfile::tempdir().unwrap();
    recording(dir.path());
    let price = Price {
        input: 1000.0,
        cached: None,
        output: 10_000.0,
    };
    let cassette = cassette(dir.path(), Cost::Priced(price));
    for seed in [0, 1, 4] {
        let mut conversation = Way::default().conversation();
        for (body, came_back) in recorded_turns() {
            let reply = ask(&cassette, "a", seed, &conversation).await.unwrap();
            assert_eq!(reply.body.get(), body.to_string());
            assert_eq!(reply.latency, Duration::ZERO);
            go_on(&mut conversation, &[(body, came_back)]);
        }
    }
    let mut conversation = Way::default().conversation();
    let first = ask(&cassette, "a", 0, &conversation).await.unwrap();
    go_on(&mut conversation, &recorded_turns()[..1]);
    let last = ask(&cassette, "a", 0, &conversation).await.unwrap();
    assert_eq!(last.content.served.model.as_deref(), Some("large-2"));
    // The provider's own price comes before that of its tokens.
    for (reply, costs) in [
        (&first, [Some(0.2), Some(0.0), None]),
        (&last, [Some(0.5), Some(0.5), Some(0.5)]),
    ] {
        let ways = [Cost::Priced(price), Cost::Nothing, Cost::Unknown];
        let said = ways.map(|cost| {
            let cassette = self::cassette(dir.path(), cost);
            cassette.cost(reply.content.usage.as_ref())
        });
        assert_eq!(said, costs);
    }
    assert_eq!(cassette.cost(None), None);
}

#[tokio::test]
async fn an_error_says_what_differs() {
    let dir = tempfile::tempdir().unwrap();
    recording(dir.path());
    let cassette = cassette(dir.path(), Cost::Nothing);
    let way = Way::default;
    let called: &[(Value, &[&str])] = &recorded_turns()[..1];
    let other_result: &[(Value, &[&str])] = &[(call("17 * 23"), &["17 times 23 is 392"])];
    let other_call: &[(Value, &[&str])] = &[(call("17 * 24"), &["391"])];
    let two_results: &[(Value, &[&str])] = &[(call("17 * 23"), &[])];
    let no_turns: &[(Value, &[&str])] = &[];
    type Row<'a> = (&'a str, u64, Way, &'a [(Value, &'a [&'a str])], &'a str);
    let table: Vec<Row<'_>> = vec![
        (
            "c",
            0,
            way(),
            no_turns,
            "turn 0: the case is none of the 2 recorded",
        ),
        (
            "a",
            2,
            way(),
            no_turns,
            "turn 0: seed 2 was not recorded, only 0..2, 4..5",
        ),
        (
            "a",
            1,
            Way {
                prompt: "Be very brief.",
                ..way()
            },
            no_turns,
            r#"turn 0: the prompt differs: recorded "Be brief.", asked "Be very brief.""#,
        ),
        (
            "a",
            1,
            Way {
                task: "What is 17 * 24?",
                ..way()
            },
            no_turns,
            r#"turn 0: the task differs: recorded "What is 17 * 23?", asked "What is 17 * 24?""#,
        ),
        (
            "a",
            0,
            way(),
            other_result,
            r#"turn 1: message 3 (tool, turn 0) differs: recorded "391", asked "17 times 23 is 392""#,
        ),
        (
            "a",
            0,
            way(),
            two_results,
            r#"turn 1: message 3 (tool, turn 0) differs: recorded "391", asked "(not run)""#,
        ),
        (
            "a",
            0,
            way(),
            other_call,
            r#"turn 1: message 2 (assistant, turn 0) differs: recorded …sion\":\"17 * 23\"}","name":"calculator"},"id":"c1…, asked …sion\":\"17 * 24\"}","name":"calculator"},"id":"c1…"#,
        ),
        (
            "a",
            0,
            Way {
                parameters: json!({"temperature": 0.7, "top_p": 1}),
                ..way()
            },
            no_turns,
            r#"turn 0: parameter temperature differs: recorded 0.5, asked 0.7; parameter stop differs: recorded ["\n"], asked nothing; parameter top_p differs: recorded nothing, asked 1"#,
        ),
        (
            "a",
            0,
            Way {
                tools: vec!["calculator"],
                ..way()
            },
            no_turns,
            r#"turn 0: the list of tools differs: recorded ["calculator","file_read"], asked ["calculator"]"#,
        ),
        (
            "a",
            0,
            Way {
                mode: ToolMode::Json,
                ..way()
            },
            no_turns,
            r#"turn 0: tool_mode differs: recorded "native", asked "json""#,
        ),
        (
            "a",
            0,
            Way {
                describe: "another tool",
                ..way()
            },
            no_turns,
            "turn 0: the request differs in what no trace tells: the descriptions of tools, or how farm reads replies (recorded by farm 0.1.0)",
        ),
        (
            "b",
            0,
            way(),
            called,
            "turn 1: the recorded session ended after 1 turn: budget_exhausted of max_steps 4",
        ),
        (
            "b",
            2,
            way(),
            called,
            "turn 1: the recorded session ended after 1 turn: model_error: timeout: no answer in 600 s",
        ),
    ];
    for (case, seed, way, turns, want) in table {
        let mut conversation = way.conversation();
        go_on(&mut conversation, turns);
        let error = ask(&cassette, case, seed, &conversation).await.unwrap_err();
        assert_eq!(
            (error.kind, error.retry),
            (ModelErrorKind::NoReply, Retry::No)
        );
        let want = format!("model replay has no reply on r/v for case {case}, seed {seed}, {want}");
        assert_eq!(error.message, want);
    }
    // 1 is 1.0, and the order of names says nothing.
    let same = Way {
        parameters: json!({"stop": ["\n"], "temperature": 0.50}),
        ..way()
    };
    assert!(ask(&cassette, "a", 0, &same.conversation()).await.is_ok());
}

/// What is said of tools in a prompt is told by the list of tools, if anything else differs.
#[tokio::test]
async fn a_prompt_may_tell_of_tools() {
    let dir = tempfile::tempdir().unwrap();
    recording(dir.path());
    let tape = Arc::new(Tape::load(dir.path(), &variant()).unwrap());
    let source = Source {
        prompt: "Be {{tools}}.".to_owned(),
        ..source(Cost::Nothing)
    };
    let cassette = Cassette::new("replay", tape, Arc::new(source), Options::default());
    let said = async |way: Way| {
        let error = ask(&cassette, "a", 0, &way.conversation())
            .await
            .unwrap_err();
        error.message.split_once("turn 0: ").unwrap().1.to_owned()
    };
    let fewer = Way {
        prompt: "Be a calculator.",
        tools: vec!["calculator"],
        ..Way::default()
    };
    assert_eq!(
        said(fewer).await,
        r#"the list of tools differs: recorded ["calculator","file_read"], asked ["calculator"]"#
    );
    let other = Way {
        prompt: "Be a calculator!",
        ..Way::default()
    };
    assert_eq!(
        said(other).await,
        r#"the prompt differs: recorded "Be {{tools}}.", asked "Be a calculator!""#
    );
}

#[tokio::test]
async fn a_trace_that_is_gone_explains_nothing_and_still_answers() {
    let dir = tempfile::tempdir().unwrap();
    recording(dir.path());
    let cassette = cassette(dir.path(), Cost::Nothing);
    fs::remove_file(dir.path().join("a.jsonl")).unwrap();
    let conversation = Way::default().conversation();
    assert!(ask(&cassette, "a", 0, &conversation).await.is_ok());
    let other = Way {
        task: "Other",
        ..Way::default()
    }
    .conversation();
    let error = ask(&cassette, "a", 0, &other).await.unwrap_err();
    assert!(
        error
            .message
            .contains("its trace cannot be read any more: No such file"),
        "{error}"
    );
}
