//! What the model gets back, from the first turn to the last.

use std::collections::HashSet;

use super::*;

#[test]
fn every_reply_leaves_one_assistant_message() {
    let long = format!(r#"{{"expression":"{}"}}"#, "1".repeat(65 << 10));
    let odd = calls(&[
        ("cal culator", "{}"),
        ("calculator", "[1"),
        ("calculator", &long),
        ("calculator", r#"{"expression":"1"}"#),
    ]);
    let told = reply(json!({"content": "I call"}), "tool_calls");
    let replies = [
        calculate("1"),
        empty(),
        odd,
        told,
        calculate("2"),
        answer("391"),
    ];
    let turns = replies.len();
    let done = drive(&spec(20), replies);
    let assistant = done.messages.iter().filter(|m| m["role"] == "assistant");
    assert_eq!(assistant.count(), turns);

    let call = |id: &str, name: &str, arguments: &str| {
        json!({"id": id, "type": "function",
        "function": {"name": name, "arguments": arguments}})
    };
    let result = |id: &str, step: usize| {
        json!({"role": "tool", "tool_call_id": id,
        "content": done.observation(step).1})
    };
    assert_eq!(
        done.messages[2..9],
        [
            json!({"role": "assistant", "content": "(no usable reply)"}),
            json!({"role": "user", "content": done.observation(1).1}),
            json!({"role": "assistant", "content": null, "tool_calls": [
                call("call_2_0", "invalid_tool", "{}"),
                call("c1", "calculator", "{}"),
                call("c2", "calculator", "{}"),
                call("c3", "calculator", r#"{"expression":"1"}"#),
            ]}),
            result("call_2_0", 2),
            result("c1", 3),
            result("c2", 4),
            result("c3", 5),
        ]
    );
    assert_eq!(
        done.messages[9],
        json!({"role": "assistant", "content": "I call"}),
        "the text of a failed reply stays"
    );
    assert_eq!(
        done.messages.last(),
        Some(&json!({"role": "assistant", "content": "391"}))
    );
}

#[test]
fn call_ids_are_unique_over_the_session_and_each_has_its_result() {
    let done = drive(
        &spec(20),
        [calculate("1"), calculate("2"), calculate("3"), answer("6")],
    );
    let ids = |role: &str, id: &dyn Fn(&Value) -> Vec<Value>| -> Vec<String> {
        let of_role = done.messages.iter().filter(|m| m["role"] == role);
        of_role
            .flat_map(id)
            .map(|id| id.as_str().unwrap().to_owned())
            .collect()
    };
    let called = ids("assistant", &|m| {
        let calls = m["tool_calls"].as_array().cloned().unwrap_or_default();
        calls.iter().map(|c| c["id"].clone()).collect()
    });
    let returned = ids("tool", &|m| vec![m["tool_call_id"].clone()]);
    assert_eq!(called, returned);
    assert_eq!(called.iter().collect::<HashSet<_>>().len(), 3);
}
