use serde_json::{Map, json};

use super::*;

/// An object with these members.
fn with(members: Value) -> Value {
    let mut schema = json!({"type": "object"});
    for (name, value) in members.as_object().unwrap() {
        schema[name] = value.clone();
    }
    schema
}

/// `value` within so many lists.
fn nested(value: Value, lists: usize) -> Value {
    (0..lists).fold(value, |value, _| json!([value]))
}

#[test]
fn what_servers_describe_is_taken() {
    let table = [
        json!({"type": "object"}),
        with(json!({"properties": {}, "additionalProperties": false})),
        // As pydantic writes unions, and zod what occurs twice.
        with(json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": "https://example.org/tool",
            "properties": {
                "pet": {"anyOf": [{"$ref": "#/$defs/Cat"}, {"type": "null"}]},
                "again": {"$ref": "#/properties/pet"},
                "of": {"$ref": "#/definitions/List%3Cstring%3E"},
            },
            "$defs": {"Cat": {"type": "object"}},
            "definitions": {"List<string>": {"items": {"type": "string"}}},
        })),
        // A class that is closed and has a base.
        with(json!({
            "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"b": {"type": "string"}}}],
            "$defs": {"base": {"properties": {"a": {"type": "string"}}}},
            "unevaluatedProperties": false,
        })),
        // A tree.
        with(json!({"properties": {"children": {"items": {"$ref": "#"}}}})),
        // Members that are named as keywords are.
        with(json!({"properties": {
            "$ref": {"type": "string"}, "$id": {"type": "string"}, "$dynamicRef": true,
            "pattern": {"type": "string"}, "type": {"type": "integer"},
        }})),
        with(json!({"x": nested(json!([]), 30)})),
        with(json!({"x": vec![json!({"$ref": "#"}); 200]})),
    ];
    for schema in table {
        assert_eq!(check(&schema), Ok(()), "{schema}");
    }
}

#[test]
fn what_is_refused_is_told() {
    let many = |keyword: &str, value: &str, count: usize| {
        with(json!({"x": vec![json!({keyword: value}); count]}))
    };
    let patterns: Map<_, _> = (0..51).map(|n| (n.to_string(), json!({}))).collect();
    // 120 definitions, each 9 deep with what holds it.
    let defs: Map<_, _> = (0..120)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/d{}", (n + 1) % 120)});
            (
                format!("d{n}"),
                json!({"additionalProperties": nested(next, 7)}),
            )
        })
        .collect();
    // Through references, and by its own rules.
    let doubled: Map<_, _> = (0..12)
        .map(|n| {
            let next = json!({"$ref": format!("#/$defs/d{}", (n + 1) % 12)});
            (format!("d{n}"), json!({"allOf": [next, next]}))
        })
        .collect();
    let within = (0..28).fold(
        json!({}),
        |inner, _| json!({"if": inner, "then": true, "unevaluatedItems": false}),
    );
    let looking_back = "too much is under its `unevaluatedProperties` or `unevaluatedItems`";
    let no_object = r#"it lacks "type": "object" at its top"#;
    let table = [
        (json!(null), no_object),
        (json!(true), no_object),
        (json!({}), no_object),
        (json!({"type": "string"}), no_object),
        (json!({"type": ["object", "null"]}), no_object),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}),
            no_object,
        ),
        (
            with(json!({"description": "x".repeat(65_536)})),
            "it is 65570 bytes long, at most 65536 are taken",
        ),
        (
            with(json!({"x": nested(json!([]), 32)})),
            "it is nested more than 32 levels deep",
        ),
        (
            many("$ref", "#", 201),
            "it has 201 `$ref`s, at most 200 are taken",
        ),
        (
            many("pattern", "a", 51),
            "it has 51 patterns, at most 50 are taken",
        ),
        (
            with(json!({"patternProperties": patterns})),
            "it has 51 patterns, at most 50 are taken",
        ),
        (
            with(json!({"$ref": "#/$defs/d0", "$defs": defs})),
            "it has 1091 levels with all that it refers to, at most 1000 are taken",
        ),
        (
            with(json!({
                "$ref": "#/$defs/d0", "$defs": doubled, "unevaluatedProperties": false,
            })),
            looking_back,
        ),
        (with(json!({"not": within})), looking_back),
        (
            many("$dynamicRef", "#a", 1),
            "it has a `$dynamicRef`, which is not followed",
        ),
        (
            many("$recursiveRef", "#", 1),
            "it has a `$recursiveRef`, which is not followed",
        ),
        (
            many("$id", "b", 1),
            "it has a `$id` within, which changes what references mean",
        ),
        (
            many("$schema", "http://json-schema.org/draft-04/schema#", 1),
            "it has a `$schema` within, which changes what references mean",
        ),
        (
            with(json!({"$schema": "http://json-schema.org/draft-04/schema#"})),
            "it is of draft 4, in which `id` changes what references mean",
        ),
        (
            many("$ref", "#/$defs/missing", 1),
            r##"it refers to "#/$defs/missing", which is no place of it: `#/…` is followed"##,
        ),
        (
            many("$ref", "#name", 1),
            r##"it refers to "#name", which is no place of it: `#/…` is followed"##,
        ),
        (
            many("$ref", "http://127.0.0.1:9/a.json", 1),
            r#"it refers to "http://127.0.0.1:9/a.json", which is no place of it: `#/…` is followed"#,
        ),
    ];
    for (schema, why) in table {
        assert_eq!(check(&schema), Err(why.to_owned()));
    }
}
