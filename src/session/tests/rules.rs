//! What is verified, run, scored and fed back.

use super::*;
use crate::{
    domain::{BoxFuture, Code, Limit, Phase, Status, ToolSpec},
    tool::{Tool, ToolContext},
};

#[test]
fn the_example_of_the_trace() {
    let done = drive(&spec(8), [calculate("17 * 23"), answer("17 * 23 = 391")]);
    assert_eq!(
        done.judgments(0),
        [
            ("schema", 1.0, true, "args match calculator schema"),
            ("budget", 1.0, true, "step 1/8; headroom 1.00"),
        ]
    );
    assert_eq!(
        done.judgments(1),
        [
            (
                "schema",
                1.0,
                true,
                "final answer step; no tool call to validate"
            ),
            ("budget", 0.875, true, "step 2/8; headroom 0.88"),
        ]
    );
    let phases: Vec<Phase> = done.steps[0].judgments.iter().map(|j| j.phase).collect();
    assert_eq!(phases, [Phase::PreAct, Phase::PostAct]);
    assert_eq!(done.numbers(), [(0, 0, 0), (1, 1, 0)]);
    assert_eq!(
        done.outcome,
        Outcome {
            status: Status::Completed,
            limit: None,
            answer: Some("17 * 23 = 391".to_owned()),
            steps_used: 2,
            blocked: 0,
            mean_score: Some(0.96875),
            tokens_in: None,
            tokens_out: None,
            cost_usd: None,
            error: None,
            served: Vec::new(),
        }
    );
}

#[test]
fn a_blocked_call_costs_a_step_and_its_error_goes_back() {
    let bad = calls(&[("calculator", r#"{"expresion":"1"}"#)]);
    let done = drive(&spec(8), [bad, answer("?")]);
    assert!(done.ran.is_empty());
    assert_eq!((done.outcome.steps_used, done.outcome.blocked), (2, 1));
    let (verifier, score, passed, reason) = done.judgments(0)[0];
    assert_eq!((verifier, score, passed), ("schema", 0.0, false));
    assert!(reason.contains("expression"), "{reason}");
    assert_eq!(done.judgments(0)[1].0, "budget");
    let (ok, content) = done.observation(0);
    assert!(!ok);
    assert_eq!(content, format!("blocked by schema: {reason}"));
    assert_eq!(
        done.messages[1],
        json!({"role": "tool", "tool_call_id": "c0", "content": content})
    );
}

#[test]
fn an_unknown_tool_is_told_the_nearest() {
    let done = drive(&spec(8), [calls(&[("calculater", "{}")]), answer("?")]);
    assert_eq!(
        done.observation(0).1,
        r#"blocked by schema: no tool "calculater"; did you mean "calculator"? tools: calculator, file_read"#
    );
    assert_eq!(done.steps[0].code(), Some(Code::UnknownTool));
}

#[test]
fn parallel_calls_are_steps_of_one_turn_in_their_order() {
    let three = calls(&[
        ("calculator", r#"{"expression":"1"}"#),
        ("file_read", r#"{"path":"a"}"#),
        ("calculator", r#"{"expression":"2"}"#),
    ]);
    let done = drive(&spec(8), [calculate("0"), three, answer("done")]);
    assert_eq!(
        done.numbers(),
        [(0, 0, 0), (1, 1, 0), (2, 1, 1), (3, 1, 2), (4, 2, 0)]
    );
    assert_eq!(done.ran, [vec!["c0"], vec!["c0", "c1", "c2"]]);
    let seen: Vec<&str> = (1..4).map(|step| done.observation(step).1).collect();
    assert_eq!(
        seen,
        [
            r#"[{"expression":"1"}]"#,
            r#"[{"path":"a"}]"#,
            r#"[{"expression":"2"}]"#
        ]
    );
    assert_eq!(done.judgments(3)[1].3, "step 4/8; headroom 0.62");
}

#[test]
fn valid_siblings_of_a_blocked_call_run() {
    let mixed = calls(&[
        ("calculator", r#"{"expression":"1"}"#),
        ("nonsense", "{}"),
        ("calculator", r#"{"expression":"2"}"#),
    ]);
    let done = drive(&spec(8), [mixed, answer("done")]);
    assert_eq!(done.ran, [["c0", "c2"]]);
    let ok: Vec<bool> = (0..3).map(|step| done.observation(step).0).collect();
    assert_eq!(ok, [true, false, true]);
    assert_eq!(done.observation(2).1, r#"[{"expression":"2"}]"#);
    assert_eq!((done.outcome.steps_used, done.outcome.blocked), (4, 1));
}

#[test]
fn only_the_steps_that_are_left_run() {
    let three = calls(&[
        ("calculator", r#"{"expression":"1"}"#),
        ("nonsense", "{}"),
        ("calculator", r#"{"expression":"2"}"#),
    ]);
    for (max_steps, ran) in [(1, vec!["c0"]), (2, vec!["c0"]), (3, vec!["c0", "c2"])] {
        let done = drive(&spec(max_steps), [three.clone(), answer("never asked")]);
        assert_eq!(done.ran, [ran]);
        assert_eq!(done.steps.len(), max_steps as usize);
        assert_eq!(done.outcome.status, Status::BudgetExhausted);
        assert_eq!(done.outcome.limit, Some(Limit::Steps));
        assert_eq!(done.outcome.steps_used, max_steps);
        assert_eq!(done.outcome.answer, None);
        let results = done.messages.iter().filter(|m| m["role"] == "tool");
        assert_eq!(results.count(), 3, "every call has its result");
    }
}

#[test]
fn text_without_a_call_is_the_answer_even_if_it_was_cut() {
    for finish in ["stop", "length"] {
        let text = reply(json!({"content": "391"}), finish);
        assert_eq!(text.finish.as_deref(), Some(finish), "the trace has it");
        let done = drive(&spec(8), [text]);
        assert_eq!(done.outcome.status, Status::Completed);
        assert_eq!(done.outcome.answer.as_deref(), Some("391"));
        assert_eq!(done.steps[0].decision.answer.as_deref(), Some("391"));
        assert_eq!(done.steps[0].observation, None);
    }
}

#[test]
fn a_failed_reply_is_a_failed_step_with_its_reason_fed_back() {
    let thinking = json!({"content": null, "reasoning_content": "17 * 23 is"});
    let table = [
        (empty(), Code::Empty),
        (
            reply(json!({"content": "So I call"}), "tool_calls"),
            Code::LostCall,
        ),
        (reply(thinking, "length"), Code::CutOff),
        (
            reply(json!({"content": null}), "content_filter"),
            Code::ContentFilter,
        ),
        (
            read(
                &json!({"error": {"code": "content_filter", "message": "no"}}),
                NATIVE,
            )
            .unwrap(),
            Code::ContentFilter,
        ),
    ];
    for (failed, code) in table {
        let text = failed.text.clone();
        let Action::Malformed { reason, .. } = failed.action.clone() else {
            panic!("{failed:?}")
        };
        let done = drive(&spec(8), [failed, answer("391")]);
        assert_eq!(
            done.judgments(0),
            [
                ("reply", 0.0, false, &*reason),
                ("budget", 1.0, true, "step 1/8; headroom 1.00"),
            ]
        );
        let step = &done.steps[0];
        assert_eq!((step.code(), step.is_failed()), (Some(code), true));
        assert_eq!(
            (&step.decision.tool_call, &step.decision.answer),
            (&None, &None)
        );
        assert_eq!(done.observation(0), (false, &*reason));
        let said = text.as_deref().unwrap_or("(no usable reply)");
        assert_eq!(
            done.messages[..2],
            [
                json!({"role": "assistant", "content": said}),
                json!({"role": "user", "content": reason}),
            ]
        );
        assert_eq!(done.outcome.status, Status::Completed, "{code:?}");
        assert_eq!((done.outcome.steps_used, done.outcome.blocked), (2, 1));
    }
}

#[test]
fn arguments_that_do_not_parse_are_kept_raw() {
    let cut = reply(
        json!({"content": "t", "tool_calls": [{"id": "c0", "function":
            {"name": "calculator", "arguments": "{\"expression\": \"1"}}]}),
        "length",
    );
    let table = [
        (
            calls(&[("calculator", "{expression: 1}")]),
            "{expression: 1}",
            Code::NotJson,
        ),
        (cut, "{\"expression\": \"1", Code::CutOff),
    ];
    for (bad, raw, code) in table {
        let done = drive(&spec(8), [bad, answer("?")]);
        let call = done.steps[0].decision.tool_call.as_ref().unwrap();
        assert_eq!(
            (&call.args, call.args_raw.as_deref()),
            (&Value::Null, Some(raw))
        );
        assert_eq!(done.steps[0].code(), Some(code));
        assert!(done.ran.is_empty());
        assert_eq!(
            done.messages[0]["tool_calls"][0]["function"]["arguments"],
            "{}"
        );
    }
    let done = drive(&spec(8), [calculate("1"), answer("?")]);
    let call = done.steps[0].decision.tool_call.as_ref().unwrap();
    assert_eq!(call.args_raw, None);
}

#[test]
fn three_failed_turns_in_a_row_stop_a_session() {
    let done = drive(&spec(8), [unknown(), empty(), calculate("fail")]);
    assert_eq!(done.outcome.status, Status::FallbackStop);
    assert_eq!((done.outcome.steps_used, done.outcome.limit), (3, None));

    let one_good = calls(&[("nonsense", "{}"), ("calculator", r#"{"expression":"1"}"#)]);
    let repaired = [
        unknown(),
        unknown(),
        one_good,
        unknown(),
        unknown(),
        unknown(),
    ];
    let done = drive(&spec(20), repaired);
    assert_eq!(done.outcome.status, Status::FallbackStop);
    assert_eq!(done.outcome.steps_used, 7, "a good call resets the count");

    let all_bad = calls(&[("nonsense", "{}"), ("nonsense", "{}")]);
    let done = drive(&spec(20), [all_bad]);
    assert_eq!(done.outcome.steps_used, 6, "turns count, not steps");
}

#[test]
fn the_repeat_verifier_counts_identical_calls_in_a_row() {
    struct Any(ToolSpec);
    impl Tool for Any {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn call<'a>(&'a self, _: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, Observation> {
            unreachable!("the machine runs nothing")
        }
    }
    let mut registry = builtin(&BuiltinOptions::default()).unwrap();
    let any = ToolSpec {
        name: "any".to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
        resumable: true,
        hints: crate::domain::Hints::default(),
    };
    registry.add(Arc::new(Any(any))).unwrap();
    let spec = Spec {
        tools: registry.select(["calculator", "any"]).unwrap(),
        verifiers: Verifiers::new(["schema", "budget", "repeat"]).unwrap(),
        ..spec(20)
    };
    let one = r#"{"expression":"1"}"#;
    let done = drive(
        &spec,
        [
            calculate("1"),
            calculate("1"),
            calls(&[("calculator", one), ("any", r#"{"a":1,"b":2}"#)]),
            empty(),
            calls(&[("any", r#"{"b":2,"a":1}"#)]),
            calls(&[("any", one)]),
            calculate("1"),
            answer("done"),
        ],
    );
    let scores: Vec<Option<f64>> = done
        .steps
        .iter()
        .map(|s| s.judgments.iter().find(|j| j.verifier == "repeat"))
        .map(|j| j.map(|j| j.score))
        .collect();
    let third = 1.0 / 3.0;
    assert_eq!(
        scores,
        [
            Some(1.0),
            Some(0.5),
            Some(third),
            Some(1.0),
            None,
            Some(0.5),
            Some(1.0),
            Some(1.0),
            None
        ]
    );
    assert!(!done.steps[1].is_blocked(), "a repeated call runs");
    assert_eq!(done.ran[1], ["c0"]);
}

#[test]
fn checks_see_each_step() {
    let mixed = calls(&[("calculator", r#"{"expression":"1"}"#), ("nonsense", "{")]);
    let mut machine = machine(&spec(8), ToolMode::Native);
    machine.step(Event::Begin);
    machine.step(after_reply(mixed));
    machine.step(Event::Observed {
        observations: vec![Observation::ok("1")],
        work_s: 0.0,
    });
    machine.step(after_reply(empty()));
    machine.step(after_reply(answer("391")));
    let facts = machine.take_facts();
    let seen: Vec<_> = facts
        .iter()
        .map(|f| (f.tool.as_deref(), f.blocked, f.observation.is_some()))
        .collect();
    assert_eq!(
        seen,
        [
            (Some("calculator"), false, true),
            (Some("nonsense"), true, true),
            (None, true, true),
            (None, false, false),
        ]
    );
    assert_eq!(facts[0].args, json!({"expression": "1"}));
    assert_eq!(facts[1].args, Value::Null);
}
