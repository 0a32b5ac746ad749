//! Schemas that have a validator work for hours, overflow the stack or fill the memory. Those of
//! foreign tools are checked first; what is taken is checked with, or it is said that it cannot be.

use serde_json::Map;

use super::*;
use crate::tool::foreign_schema;

const TOO_COSTLY: &str = "the arguments are too costly to check against the schema of t";

/// What it says of arguments under a schema that a foreign tool may have.
fn said(schema: Value, args: Value) -> String {
    assert_eq!(foreign_schema::check(&schema), Ok(()));
    judge(Item::Call(&call("t", Ok(args), 9)), &tools(schema))
        .unwrap()
        .reason
}

/// Definitions `d0` to `dN`, each made of the reference to the next one; the last is `end`.
fn definitions(count: usize, end: Value, each: impl Fn(Value) -> Value) -> Value {
    let mut defs = Map::new();
    for n in 0..count {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        defs.insert(format!("d{n}"), each(next));
    }
    defs.insert(format!("d{count}"), end);
    json!({"type": "object", "$ref": "#/$defs/d0", "$defs": defs})
}

/// `{}` within so many members `x`.
fn deep(levels: usize) -> Value {
    (0..levels).fold(json!({}), |inner, _| json!({ "x": inner }))
}

#[test]
fn bombs_are_not_lit() {
    let twice = |keyword: &'static str| move |next: Value| json!({keyword: [next, next]});
    let tree = json!({
        "type": "object",
        "properties": {"x": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}},
    });
    // At each level of the instance it is looked at twice what the level below has looked at.
    let closed = json!({
        "type": "object",
        "allOf": [{"$ref": "#/$defs/a"}],
        "$defs": {"a": {
            "allOf": [{"additionalProperties": {"$ref": "#/$defs/a"}}],
            "unevaluatedProperties": {"$ref": "#/$defs/a"},
        }},
    });
    let integer = json!({"type": "integer"});
    let table = [
        (definitions(40, json!({}), twice("allOf")), json!({})),
        (definitions(40, integer.clone(), twice("anyOf")), json!({})),
        (definitions(40, integer, twice("oneOf")), json!({})),
        (tree, deep(60)),
        (closed, deep(60)),
    ];
    for (schema, args) in table {
        assert_eq!(said(schema, args), TOO_COSTLY);
    }
}

/// In a thread of 2 MiB, as those of the runtime are, and that of a test by default.
#[test]
fn the_stack_has_room_to_check() {
    let wraps: [fn(Value) -> Value; 10] = [
        |s| json!({"allOf": [s]}),
        |s| json!({"anyOf": [false, s]}),
        |s| json!({"oneOf": [false, s]}),
        |s| json!({"if": true, "then": s}),
        |s| json!({"not": s}),
        |s| json!({"dependentSchemas": {"x": s}}),
        |s| json!({"properties": {"x": s}, "required": ["y"]}),
        |s| json!({"additionalProperties": s, "required": ["y"]}),
        |s| json!({"additionalProperties": s, "propertyNames": {"maxLength": 0}}),
        |s| json!({"anyOf": [{"properties": {"x": s}, "required": ["y"]}, false]}),
    ];
    for wrap in wraps {
        // Two levels or three for each of these, of the 256 that are taken.
        let reason = said(definitions(84, json!({"required": ["z"]}), wrap), deep(120));
        assert_ne!(reason, TOO_COSTLY);
        let itself = wrap(json!({"$ref": "#/$defs/a"}));
        let schema = json!({"type": "object", "$ref": "#/$defs/a", "$defs": {"a": itself}});
        assert!(!said(schema, deep(84)).is_empty());
    }
    let schema = definitions(130, json!({}), |s| json!({"allOf": [s]}));
    assert_eq!(said(schema, json!({})), TOO_COSTLY);
}

/// As many levels as are taken.
#[test]
fn the_stack_has_room_to_compile() {
    let wraps: [fn(Value) -> Value; 6] = [
        |s| json!({"additionalProperties": s}),
        |s| json!({"unevaluatedProperties": s, "if": true}),
        |s| json!({"not": s}),
        |s| json!({"if": s, "then": true}),
        |s| json!({"contains": s}),
        |s| json!({"propertyNames": s}),
    ];
    for wrap in wraps {
        let each = |next| (0..28).fold(next, |inner, _| wrap(inner));
        assert!(!said(definitions(33, json!({}), each), json!({})).is_empty());
    }
}

#[test]
fn more_violations_than_memory_are_not_listed() {
    let strings = vec![json!({"type": "string"}); 500];
    let schema = json!({
        "type": "object",
        "properties": {"x": {"items": {"allOf": strings}}},
    });
    let few = said(schema.clone(), json!({"x": [1]}));
    assert!(
        few.starts_with(r#"/x/0: 1 is not of type "string"; "#),
        "{few}"
    );
    assert!(few.ends_with("; and 492 more"), "{few}");
    assert_eq!(
        said(schema, json!({"x": vec![1; 100]})),
        "the arguments do not match the schema of t, and there is too much in them to say where"
    );
}
