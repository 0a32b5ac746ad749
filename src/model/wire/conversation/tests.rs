use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    domain::{BadArgs, Code},
    model::{Options, normalise::normalise},
};

fn tools() -> Value {
    json!([{"type":"function","function":{"name":"x","parameters":{"type":"object","minimum":1.0}}}])
}

fn start(tool_mode: ToolMode, send_reasoning: bool) -> Conversation {
    let parameters = Map::from_iter([("temperature".to_owned(), json!(1e-7))]);
    let shape = Shape::new(&tools(), tool_mode, &parameters, send_reasoning);
    Conversation::opening(shape, "Be  brief.\n").about("What is 17 * 23?")
}

/// The messages after the prompt and the task.
fn history(conversation: &Conversation) -> Value {
    let all = conversation.to_value();
    Value::from(all.as_array().unwrap()[2..].to_vec())
}

fn read(message: &Value, finish: &str, tool_mode: ToolMode) -> Normalised {
    let body = json!({"choices":[{"finish_reason":finish,"message":message}]});
    let options = Options {
        tool_mode,
        text_calls: false,
    };
    normalise(200, &body.to_string(), options).unwrap()
}

fn native(message: Value) -> Normalised {
    read(&message, "stop", ToolMode::Native)
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"id":id,"type":"function","function":{"name":name,"arguments":arguments}})
}

fn calling(calls: &[Value]) -> Normalised {
    native(json!({"content":null,"tool_calls":calls}))
}

fn after(conversation: &mut Conversation, reply: &Normalised, results: &[&str]) -> Value {
    let observations: Vec<_> = results.iter().copied().map(Observation::ok).collect();
    conversation.push_turn(reply, &observations);
    history(conversation)
}

#[test]
fn begins_with_prompt_and_task_byte_for_byte() {
    let conversation = start(ToolMode::Native, false);
    assert_eq!(
        conversation.to_value(),
        json!([{"role":"system","content":"Be  brief.\n"},{"role":"user","content":"What is 17 * 23?"}])
    );
    assert_eq!(conversation.assistant_count(), 0);
    assert_eq!(conversation.last_observation(), "");
}

#[test]
fn calls_and_their_results_go_back_in_order() {
    let reply = native(json!({
        "content": "Two at once.",
        "tool_calls": [call("a", "x", r#"{"b": 1, "a": 2}"#), call("b", "y", "{}")],
    }));
    let mut conversation = start(ToolMode::Native, false);
    assert_eq!(
        after(&mut conversation, &reply, &["1", "2"]),
        json!([
            {"role":"assistant","content":"Two at once.","tool_calls":[
                call("a", "x", r#"{"b":1,"a":2}"#), call("b", "y", "{}")]},
            {"role":"tool","tool_call_id":"a","content":"1"},
            {"role":"tool","tool_call_id":"b","content":"2"},
        ])
    );
    assert_eq!(conversation.assistant_count(), 1);
    assert_eq!(conversation.last_observation(), "2");
}

#[test]
fn a_call_without_a_step_still_gets_a_result() {
    let reply = calling(&[call("a", "x", "{}"), call("b", "x", "{}")]);
    let history = after(&mut start(ToolMode::Native, false), &reply, &["1"]);
    assert_eq!(history[0]["content"], json!(null));
    assert_eq!(history[2]["content"], json!("(not run)"));
}

#[test]
fn arguments_go_back_as_a_valid_object() {
    let long = format!(r#"{{"a":"{}"}}"#, "1".repeat(MAX_ARGS_BYTES));
    let edge = format!(r#"{{"a":"{}"}}"#, "1".repeat(MAX_ARGS_BYTES - 8));
    assert_eq!(edge.len(), MAX_ARGS_BYTES);
    let table = [
        (r#"{"a":1}"#, r#"{"a":1}"#),
        (r#"{"a":1}"""#, "{}"),
        (r#"{"a":1,"a":2}"#, "{}"),
        ("[1]", "{}"),
        ("\"text\"", "{}"),
        ("", "{}"),
        (&long, "{}"),
        (&edge, &edge),
    ];
    for (written, sent) in table {
        let reply = calling(&[call("a", "x", written)]);
        let history = after(&mut start(ToolMode::Native, false), &reply, &["1"]);
        let arguments = &history[0]["tool_calls"][0]["function"]["arguments"];
        assert_eq!(arguments, sent, "{written:.40}");
    }
}

#[test]
fn names_that_providers_refuse_go_back_as_invalid_tool() {
    for (written, sent) in [
        ("calculater", "calculater"),
        ("functions.calculator", "invalid_tool"),
        ("", "invalid_tool"),
        (&"x".repeat(65), "invalid_tool"),
    ] {
        let reply = calling(&[call("a", written, "{}")]);
        let history = after(&mut start(ToolMode::Native, false), &reply, &["1"]);
        assert_eq!(history[0]["tool_calls"][0]["function"]["name"], sent);
    }
}

#[test]
fn call_ids_are_unique_over_the_whole_conversation() {
    let mut conversation = start(ToolMode::Native, false);
    let reply = calling(&[call("a", "x", "{}"), call("a", "x", "{}")]);
    after(&mut conversation, &reply, &["1", "2"]);
    let history = after(&mut conversation, &reply, &["3", "4"]);
    let ids: Vec<_> = history
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|m| m["tool_call_id"].as_str())
        .collect();
    assert_eq!(ids, ["a", "call_1", "call_1_0", "call_1_1"]);
    let sent = |turn: usize, index: usize| history[turn]["tool_calls"][index]["id"].as_str();
    assert_eq!(
        [sent(0, 0), sent(0, 1), sent(3, 0), sent(3, 1)].map(Option::unwrap),
        ids[..]
    );
}

#[test]
fn a_failed_reply_leaves_its_text_or_a_placeholder_and_its_reason() {
    let lost = read(&json!({"content":"391"}), "tool_calls", ToolMode::Native);
    let empty = native(json!({"content":"  "}));
    let cut = read(&json!({"content":"<think>hm"}), "length", ToolMode::Native);
    let prose = read(&json!({"content":"It is 6."}), "stop", ToolMode::Json);
    for (reply, text) in [
        (lost, "391"),
        (empty, "(no usable reply)"),
        (cut, "(no usable reply)"),
        (prose, "It is 6."),
    ] {
        let Action::Malformed { reason, .. } = &reply.action else {
            panic!("{reply:?}")
        };
        for mode in [ToolMode::Native, ToolMode::Json] {
            let mut conversation = start(mode, false);
            assert_eq!(
                after(&mut conversation, &reply, &[]),
                json!([{"role":"assistant","content":text},{"role":"user","content":reason}])
            );
            assert_eq!(conversation.last_observation(), reason);
            assert_eq!(conversation.assistant_count(), 1);
        }
    }
}

#[test]
fn reasoning_goes_back_only_when_asked_for() {
    let reply = native(json!({"content":"391","reasoning":"17*23"}));
    let without = after(&mut start(ToolMode::Native, false), &reply, &[]);
    assert_eq!(without, json!([{"role":"assistant","content":"391"}]));
    let with = after(&mut start(ToolMode::Native, true), &reply, &[]);
    assert_eq!(
        with,
        json!([{"role":"assistant","content":"391","reasoning_content":"17*23"}])
    );
    let silent = native(json!({"reasoning":"r","tool_calls":[call("a", "x", "{}")]}));
    let history = after(&mut start(ToolMode::Native, false), &silent, &["1"]);
    assert_eq!(
        history[0]["content"],
        json!(null),
        "a thought is no content"
    );
}

#[test]
fn json_mode_speaks_in_objects_and_plain_users() {
    let mut conversation = start(ToolMode::Json, false);
    let text = "Sure: {\"answer\": null, \"tool_call\": {\"args\": {\"b\":1}, \"tool\": \"x\"}, \"thought\": \"t\"}";
    let reply = read(&json!({"content":text}), "stop", ToolMode::Json);
    after(&mut conversation, &reply, &["1"]);
    let reply = read(&json!({"content":"{\"answer\":6}"}), "stop", ToolMode::Json);
    let history = after(&mut conversation, &reply, &[]);
    assert_eq!(
        history,
        json!([
            {"role":"assistant","content":r#"{"thought":"t","tool_call":{"tool":"x","args":{"b":1}}}"#},
            {"role":"user","content":"1"},
            {"role":"assistant","content":r#"{"answer":"6"}"#},
        ])
    );
}

#[test]
fn native_calls_in_json_mode_go_back_as_one_object() {
    let message = json!({"tool_calls":[call("a", "x", "{}"), call("b", "no.name", "[")]});
    let reply = read(&message, "tool_calls", ToolMode::Json);
    let mut conversation = start(ToolMode::Json, false);
    assert_eq!(
        after(&mut conversation, &reply, &["1", "2"]),
        json!([
            {"role":"assistant",
             "content":r#"{"tool_calls":[{"tool":"x","args":{}},{"tool":"invalid_tool","args":{}}]}"#},
            {"role":"user","content":"1\n\n2"},
        ])
    );
    assert_eq!(conversation.last_observation(), "1\n\n2");
}

#[test]
fn the_digest_hides_nothing_that_a_model_sees() {
    let digest = |mode, parameters: Value, tools: &Value, system, task| {
        let parameters = parameters.as_object().unwrap().clone();
        Conversation::opening(Shape::new(tools, mode, &parameters, false), system)
            .about(task)
            .digest()
    };
    let base = || digest(ToolMode::Native, json!({}), &tools(), "s", "t");
    assert_eq!(base(), base());
    assert_eq!(base().len(), 64);
    for other in [
        digest(ToolMode::Json, json!({}), &tools(), "s", "t"),
        digest(ToolMode::Native, json!({"top_p":1}), &tools(), "s", "t"),
        digest(ToolMode::Native, json!({}), &json!([]), "s", "t"),
        digest(ToolMode::Native, json!({}), &tools(), "st", ""),
        digest(ToolMode::Native, json!({}), &tools(), "s", "t "),
    ] {
        assert_ne!(base(), other);
    }
}

/// The digest as DESIGN defines it, over the whole request at once.
fn digest_of_all(conversation: &Conversation, tool_mode: ToolMode) -> String {
    let request = json!({
        "messages": conversation.to_value(),
        "tools": tools(),
        "tool_mode": tool_mode,
        "parameters": {"temperature": 1e-7},
    });
    let canonical = serde_json_canonicalizer::to_vec(&request).unwrap();
    let digest = Sha256::digest(&canonical);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn any_reply() -> impl Strategy<Value = Normalised> {
    let args = prop_oneof![
        any::<String>().prop_map(|text| Ok(json!({ text.clone(): [text, 1.0, -0.0, 1e21] }))),
        any::<String>().prop_map(|text| Err(BadArgs {
            code: Code::NotJson,
            reason: text.clone(),
            text,
        })),
    ];
    let call = (any::<String>(), "[a-b.]{0,2}", args).prop_map(|(id, tool, args)| Call {
        id,
        tool,
        args,
        args_len: 0,
    });
    let action = prop_oneof![
        prop::collection::vec(call, 1..3).prop_map(Action::Calls),
        any::<String>().prop_map(Action::Answer),
        any::<String>().prop_map(|reason| Action::Malformed {
            code: Code::Empty,
            reason,
        }),
    ];
    let text = || prop::option::of(any::<String>());
    (text(), text(), action).prop_map(|(text, reasoning, action)| Normalised {
        thought: None,
        reasoning,
        text,
        action,
        finish: None,
        refused: false,
        usage: None,
        served: crate::domain::Served::default(),
        repairs: vec![],
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_running_digest_is_that_of_the_whole(
        turns in prop::collection::vec((any_reply(), any::<String>()), 0..4),
        send_reasoning: bool,
        json_mode: bool,
    ) {
        let mode = if json_mode { ToolMode::Json } else { ToolMode::Native };
        let mut conversation = start(mode, send_reasoning);
        for (turn, (reply, result)) in turns.iter().enumerate() {
            prop_assert_eq!(conversation.digest(), digest_of_all(&conversation, mode));
            conversation.push_turn(reply, &[Observation::ok(result.as_str()), Observation::error("no")]);
            let all = conversation.to_value();
            let said = |m: &&Value| m["role"] == "assistant";
            prop_assert_eq!(all.as_array().unwrap().iter().filter(said).count(), turn + 1);
        }
        prop_assert_eq!(conversation.digest(), digest_of_all(&conversation, mode));
        let mut bytes = vec![];
        conversation.write_messages(&mut bytes);
        prop_assert_eq!(&bytes, &serde_json_canonicalizer::to_vec(&conversation.to_value()).unwrap());
    }
}
