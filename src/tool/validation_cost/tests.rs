use serde_json::json;

use super::*;

/// The least fuel that is enough, up to 2,000.
fn cost(schema: &Value, instance: &Value) -> Option<usize> {
    (0..2000).find(|fuel| is_affordable(schema, instance, *fuel))
}

/// Each of so many definitions has the next one twice.
fn doubling(levels: usize, twice: impl Fn(Value) -> Value) -> Value {
    let mut defs = Map::new();
    for n in 0..levels {
        let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
        defs.insert(format!("d{n}"), twice(next));
    }
    defs.insert(format!("d{levels}"), json!({"type": "object"}));
    json!({"$ref": "#/$defs/d0", "$defs": defs})
}

#[test]
fn checks_are_counted() {
    let two = json!({"a": 1, "b": [2, 3]});
    // A visit is one, and so is a keyword, with one more for each entry that it has.
    let table = [
        (json!(true), 1),
        (json!({}), 1),
        (json!({"type": "object"}), 2),
        (json!({"enum": [1, 2, 3]}), 5),
        (json!({"required": ["a", "b"]}), 4),
        (json!({"$defs": {"x": {"type": "object"}}}), 3),
        (
            json!({"properties": {"a": {"type": "integer"}, "z": true}}),
            4 + 2,
        ),
        (
            json!({"additionalProperties": {"type": "integer"}}),
            3 + 2 * 2,
        ),
        (json!({"additionalProperties": false}), 2 + 2),
        (json!({"patternProperties": {"x": {}, "y": {}}}), 4 + 4),
        (json!({"propertyNames": {"maxLength": 3}}), 3 + 2 * 2),
        (json!({"unevaluatedProperties": {}}), 2 + 2),
        (
            json!({"properties": {"b": {"items": {"minimum": 1}}}}),
            3 + 3 + 2 * 2,
        ),
        (
            json!({"properties": {"b": {"prefixItems": [{}, {}, {}]}}}),
            3 + 5 + 2,
        ),
        (
            json!({"properties": {"b": {"items": [{}], "additionalItems": {}}}}),
            3 + 4 + 1 + 2,
        ),
        (
            json!({"properties": {"b": {"contains": {}, "unevaluatedItems": {}}}}),
            3 + 3 + 2 + 2,
        ),
        (json!({"properties": {"a": {"items": {}}}}), 3 + 2),
        (json!({"allOf": [{}, {"minProperties": 1}]}), 4 + 1 + 2),
        (json!({"anyOf": [{}, true], "oneOf": [{}]}), 6 + 3),
        (json!({"not": {}, "if": {}, "then": {}, "else": {}}), 5 + 4),
        (
            json!({"dependentSchemas": {"z": {}}, "dependencies": {"a": ["b"]}}),
            5 + 2,
        ),
        (
            json!({"$ref": "#/$defs/x", "$defs": {"x": {"minProperties": 1}}}),
            4 + 2,
        ),
        // Nothing is known of these.
        (
            json!({"$ref": "#name", "$defs": {"x": {"$anchor": "name"}}}),
            4,
        ),
        (json!({"$ref": "other.json"}), 2),
    ];
    for (schema, want) in table {
        assert_eq!(cost(&schema, &two), Some(want), "{schema}");
    }
}

#[test]
fn pointers_are_followed_as_they_are_written() {
    let schema = json!({"$defs": {"a/b": 1, "c~d": 2, "<e>": 3, "%3Ce%3E": 4, "é": 5, "%": 6}});
    let table = [
        ("#", json!([schema])),
        ("#/$defs/a~1b", json!([1])),
        ("#/$defs/c~0d", json!([2])),
        // Read in one way or the other, it is one of the two.
        ("#/$defs/%3Ce%3E", json!([4, 3])),
        ("#/%24defs/%C3%A9", json!([5])),
        ("#/$defs/%", json!([6])),
        ("#/$defs/%zz", json!([])),
        ("#name", json!([])),
        ("", json!([])),
        ("x#/$defs", json!([])),
    ];
    for (reference, want) in table {
        let found: Value = targets(&schema, reference).into_iter().cloned().collect();
        assert_eq!(found, want, "{reference}");
    }
}

#[test]
fn what_may_explode_is_known_by_its_keywords() {
    let table = [
        (
            json!({"type": "object", "properties": {"a": {"enum": ["$ref"]}}}),
            false,
        ),
        (json!({"allOf": [{"items": {"$ref": "#"}}]}), true),
        (json!({"allOf": [{"$dynamicRef": "#a"}]}), true),
        (json!({"unevaluatedProperties": false}), true),
        (json!({"properties": {"a": {"unevaluatedItems": {}}}}), true),
        (json!(true), false),
    ];
    for (schema, want) in table {
        assert_eq!(may_explode(&schema), want, "{schema}");
    }
}

#[test]
fn bombs_are_too_costly() {
    let deep = |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "x": inner }));
    let tree = json!({"properties": {"x": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}});
    // `unevaluatedProperties` needs no reference.
    let looking_back = (0..28).fold(
        json!({}),
        |inner, _| json!({"if": inner, "then": true, "unevaluatedProperties": {"type": "integer"}}),
    );
    let chain = (0..200).fold(json!({"x": {}}), |mut defs, n| {
        let next = json!({"$ref": format!("#/$defs/d{}", (n + 1) % 200)});
        defs[format!("d{n}")] = json!({"not": {"not": next}});
        defs
    });
    let table = [
        (
            "allOf",
            doubling(40, |r| json!({"allOf": [r, r]})),
            json!({}),
        ),
        (
            "oneOf",
            doubling(40, |r| json!({"oneOf": [r, r]})),
            json!({}),
        ),
        (
            "if",
            doubling(40, |r| json!({"if": r, "then": r})),
            json!({}),
        ),
        ("properties", tree, deep(60)),
        ("itself", json!({"$ref": "#"}), json!({})),
        ("unevaluated", looking_back, json!({"a": 1})),
        (
            "depth",
            json!({"$ref": "#/$defs/d0", "$defs": chain}),
            json!({}),
        ),
        (
            "depth of the instance",
            json!({"additionalProperties": {"$ref": "#"}}),
            deep(200),
        ),
    ];
    for (name, schema, instance) in table {
        assert!(!is_affordable(&schema, &instance, 1_000_000), "{name}");
    }
}

#[test]
fn what_is_usual_is_cheap() {
    let json_value = json!({"$defs": {"json": {"anyOf": [
        {"type": ["string", "number", "boolean", "null"]},
        {"type": "array", "items": {"$ref": "#/$defs/json"}},
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/json"}},
    ]}}, "$ref": "#/$defs/json"});
    let row = json!({"id": 1, "name": "a", "tags": ["x", "y"], "at": {"lat": 1.0, "lon": 2.0}});
    let rows = json!({"rows": vec![row; 1000]});
    assert!(rows.to_string().len() > 50_000);
    let nested = (0..60).fold(json!(1), |inner, _| json!([inner]));
    for instance in [rows, nested] {
        assert!(is_affordable(&json_value, &instance, 1_000_000));
    }
    // A class that lists what it does not take.
    let closed = json!({
        "allOf": [{"properties": {"a": {}}}, {"$ref": "#/$defs/b"}],
        "$defs": {"b": {"properties": {"b": {}}}},
        "unevaluatedProperties": false,
    });
    assert!(is_affordable(&closed, &json!({"a": 1, "b": 2}), 100));
}
