mod costly;

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{
    domain::{BadArgs, BoxFuture, MAX_ARGS_BYTES, Observation, ToolSpec},
    tool::{BUILTIN, BuiltinOptions, Registry, Tool, ToolContext, builtin},
};

fn builtin_tools() -> ToolSet {
    let registry = builtin(&BuiltinOptions::default()).unwrap();
    registry.select(BUILTIN).unwrap()
}

struct Foreign(ToolSpec);

impl Tool for Foreign {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(&'a self, _: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, Observation> {
        Box::pin(std::future::ready(Observation::ok("")))
    }
}

/// A session whose one tool is `t` with these parameters.
fn tools(parameters: Value) -> ToolSet {
    let mut registry = Registry::default();
    let spec = ToolSpec {
        name: "t".to_owned(),
        description: "d".to_owned(),
        parameters,
        resumable: false,
        hints: crate::domain::Hints::default(),
    };
    registry.add(Arc::new(Foreign(spec))).unwrap();
    registry.select(["t"]).unwrap()
}

fn judge(item: Item<'_>, tools: &ToolSet) -> Option<Judgment> {
    Schema.judge(&Context {
        item,
        step: 0,
        max_steps: 8,
        tools,
        repeats: 1,
        observation: None,
    })
}

fn call(tool: &str, args: Result<Value, BadArgs>, args_len: usize) -> Call {
    Call {
        id: "1".to_owned(),
        tool: tool.to_owned(),
        args,
        args_len,
    }
}

/// What it says of arguments that do not match.
fn reason(tools: &ToolSet, tool: &str, args: Value) -> String {
    let got = judge(Item::Call(&call(tool, Ok(args), 9)), tools).unwrap();
    assert_eq!(
        (got.score, got.passed, got.code),
        (0.0, false, Some(Code::Schema))
    );
    got.reason
}

#[test]
fn what_passes() {
    let tools = builtin_tools();
    let call = call(
        "calculator",
        Ok(json!({"expression": "17 * 23"})),
        MAX_ARGS_BYTES,
    );
    let table = [
        (Item::Call(&call), "args match calculator schema"),
        (
            Item::Answer("391"),
            "final answer step; no tool call to validate",
        ),
    ];
    for (item, reason) in table {
        let got = judge(item, &tools).unwrap();
        assert_eq!((got.score, got.passed, got.code), (1.0, true, None));
        assert_eq!((got.reason.as_str(), got.phase), (reason, Phase::PreAct));
    }
    let (code, reason) = (Code::Empty, "");
    assert_eq!(judge(Item::Malformed { code, reason }, &tools), None);
}

#[test]
fn what_fails_first() {
    let tools = builtin_tools();
    let over = MAX_ARGS_BYTES + 1;
    let unreadable = |code| {
        Err(BadArgs {
            code,
            reason: "mend it".to_owned(),
            text: "{\"a\": }".to_owned(),
        })
    };
    let table = [
        (
            call("calculater", unreadable(Code::NotJson), over),
            Code::UnknownTool,
            r#"no tool "calculater"; did you mean "calculator"? tools: calculator, file_read, web_fetch"#,
        ),
        (
            call("", Ok(json!({})), 2),
            Code::UnknownTool,
            r#"no tool ""; tools: calculator, file_read, web_fetch"#,
        ),
        (
            call("calculator", unreadable(Code::NotJson), over),
            Code::TooLarge,
            "the arguments are 65537 bytes long, at most 65536 are taken: call again with less",
        ),
        (
            call("calculator", unreadable(Code::NotJson), 7),
            Code::NotJson,
            "mend it",
        ),
        (
            call("calculator", unreadable(Code::CutOff), 7),
            Code::CutOff,
            "mend it",
        ),
    ];
    for (call, code, reason) in table {
        let got = judge(Item::Call(&call), &tools).unwrap();
        assert_eq!((got.score, got.passed, got.code), (0.0, false, Some(code)));
        assert_eq!(got.reason, reason);
    }
    let endless = call(&"x".repeat(10_000), Ok(json!({})), 2);
    assert!(judge(Item::Call(&endless), &tools).unwrap().reason.len() < 200);
}

#[test]
fn violations_name_the_place() {
    let builtin = builtin_tools();
    let table = [
        (
            json!({"expression": 3}),
            r#"/expression: 3 is not of type "string""#,
        ),
        (json!({}), r#""expression" is a required property"#),
        (
            json!({"expr": "1"}),
            r#"Additional properties are not allowed ('expr' was unexpected); "expression" is a required property"#,
        ),
        (json!("1 + 1"), r#""1 + 1" is not of type "object""#),
        (json!(null), r#"null is not of type "object""#),
    ];
    for (args, want) in table {
        assert_eq!(reason(&builtin, "calculator", args.clone()), want, "{args}");
    }
}

#[test]
fn many_and_long_violations_are_cut() {
    let list = tools(json!({"items": {"type": "string"}}));
    let got = reason(&list, "t", json!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    assert!(
        got.starts_with(r#"/0: 0 is not of type "string"; /1: "#),
        "{got}"
    );
    assert!(
        got.ends_with(r#"/7: 7 is not of type "string"; and 2 more"#),
        "{got}"
    );
    let got = reason(&list, "t", json!([0, 1, 2, 3, 4, 5, 6, 7]));
    assert!(got.ends_with(r#"/7: 7 is not of type "string""#), "{got}");

    let number =
        tools(json!({"properties": {"n": {"type": "integer"}}, "additionalProperties": false}));
    let got = reason(&number, "t", json!({"n": "ä".repeat(50_000)}));
    assert_eq!(
        got,
        format!(r#"/n: "{}… is not of type "integer""#, "ä".repeat(199))
    );
    let got = reason(&number, "t", json!({"k".repeat(50_000): 1}));
    assert!(got.chars().count() <= 601, "{got}");
}

#[test]
fn of_alternatives_the_nearest_is_told() {
    let by_kind = |kind: &str, field: &str| {
        json!({
            "type": "object",
            "properties": {"kind": {"const": kind}, field: {"type": "integer"}},
            "required": ["kind", field],
        })
    };
    for keyword in ["oneOf", "anyOf"] {
        let tools = tools(json!({
            "properties": {"x": {keyword: [{"type": "null"}, by_kind("a", "n"), by_kind("b", "m")]}},
        }));
        let table = [
            (
                json!({"kind": "b", "m": "3"}),
                r#"/x/m: "3" is not of type "integer""#,
            ),
            (json!({"kind": "a"}), r#""n" is a required property"#),
        ];
        for (x, nearest) in table {
            let got = reason(&tools, "t", json!({ "x": x }));
            let path = if nearest.starts_with('/') { "" } else { "/x: " };
            assert_eq!(
                got,
                format!("/x: matches none of 3 alternatives; the nearest says: {path}{nearest}")
            );
        }
    }
    let both = tools(json!({"oneOf": [{"type": "integer"}, {"minimum": 0}]}));
    assert!(reason(&both, "t", json!(3)).contains("more than one"));
}

#[test]
fn of_unions_the_one_that_is_tagged_is_told() {
    // As pydantic writes a tagged union, and a tag within a member of the right alternative.
    let pet = |tag: &str, field: &str| {
        json!({
            "type": "object",
            "properties": {
                "kind": {"const": tag},
                field: {"type": "integer"},
                "at": {"properties": {"unit": {"enum": ["m"]}}},
                "size": {"enum": ["s", "l"]},
            },
            "required": ["kind", field],
        })
    };
    let tools = tools(json!({
        "type": "object",
        "properties": {"pets": {"items": {"oneOf": [
            {"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}, {"type": "null"},
        ]}}},
        "$defs": {"Cat": pet("cat", "lives"), "Dog": pet("dog", "age")},
    }));
    let table = [
        (
            json!({"kind": "dog", "age": "3"}),
            r#"/pets/1/age: "3" is not of type "integer""#,
        ),
        (
            json!({"kind": "dog", "age": 3, "size": "m"}),
            r#"/pets/1/size: "m" is not one of "s" or "l""#,
        ),
        (
            json!({"kind": "dog", "age": 3, "at": {"unit": "km"}}),
            r#"/pets/1/at/unit: "km" is not one of "m""#,
        ),
        (
            json!({"kind": "dog"}),
            r#"/pets/1: "age" is a required property"#,
        ),
        (
            json!({"kind": "cow", "age": 3}),
            r#"/pets/1/kind: "dog" was expected"#,
        ),
        (json!(3), r#"/pets/1: 3 is not of type "object""#),
    ];
    for (pet, nearest) in table {
        let got = reason(&tools, "t", json!({"pets": [null, pet]}));
        assert_eq!(
            got,
            format!("/pets/1: matches none of 3 alternatives; the nearest says: {nearest}")
        );
    }
}
