//! The schema and the reader agree on what is a sealed half.

use jsonschema::Validator;

use super::{
    line::{CheckKind, Line, MetricKind},
    *,
};
use crate::domain::jsonl::{Secrecy, parse};

/// A good value of every field but `kind`.
fn fields() -> Vec<(&'static str, Value)> {
    vec![
        ("name", json!("n")),
        ("not", json!(true)),
        ("text", json!("t")),
        ("pattern", json!("p")),
        ("equals", json!(1.5)),
        ("tolerance", json!(0.5)),
        ("schema", json!({"type": "object"})),
        ("is", json!("completed")),
        ("min", json!(1)),
        ("max", json!(2)),
        ("tool", json!("t")),
        ("times", json!(1)),
        ("args", json!({"a": 1})),
        ("rubric", json!("r")),
        ("min_score", json!(0.5)),
        ("optimal", json!(1)),
        ("unheard_of", json!(1)),
    ]
}

/// Whether a line is good, in the eyes of both.
fn is_good(validator: &Validator, line: &Value) -> bool {
    let read = match parse::<Line>(&line.to_string(), Secrecy::Sealed) {
        Ok(line) => line.into_case().map(drop),
        Err(fault) => Err(fault.message),
    };
    let errors: Vec<String> = validator.iter_errors(line).map(|e| e.to_string()).collect();
    assert_eq!(
        read.is_ok(),
        errors.is_empty(),
        "{line}: {read:?}, {errors:?}"
    );
    read.is_ok()
}

fn of_check(check: &Value) -> Value {
    json!({"id": "a", "checks": [check]})
}

fn of_metric(metric: &Value) -> Value {
    json!({"id": "a", "checks": [{"kind": "steps", "max": 1}], "metrics": [metric]})
}

/// How many good ones there are of this kind with up to two fields.
fn good_ones(validator: &Validator, kind: &str, line: fn(&Value) -> Value) -> usize {
    let fields = fields();
    let mut good = 0;
    for a in 0..=fields.len() {
        for b in a..=fields.len() {
            let mut item = json!({"kind": kind});
            for (name, value) in [a, b].iter().filter_map(|i| fields.get(*i)) {
                item[name] = value.clone();
            }
            good += usize::from(is_good(validator, &line(&item)));
        }
    }
    good
}

#[test]
fn fields_go_with_kinds() {
    let validator = jsonschema::validator_for(schema().as_value()).unwrap();
    for kind in CheckKind::ALL {
        let good = good_ones(&validator, kind.name(), of_check);
        assert!(good > 0, "{}", kind.name());
    }
    for kind in MetricKind::ALL {
        let good = good_ones(&validator, kind.name(), of_metric);
        assert!(good > 0, "{}", kind.name());
    }
    for wrong in ["answer_equal", ""] {
        assert_eq!(good_ones(&validator, wrong, of_check), 0);
        assert_eq!(good_ones(&validator, wrong, of_metric), 0);
    }
}

#[test]
fn values_go_with_fields() {
    let validator = jsonschema::validator_for(schema().as_value()).unwrap();
    let good = [
        json!({"kind": "answer_equals", "text": " x ", "name": null}),
        json!({"kind": "answer_regex", "pattern": ""}),
        json!({"kind": "answer_number", "equals": -1, "tolerance": 0}),
        json!({"kind": "answer_json", "schema": true}),
        json!({"kind": "status", "is": "fallback_stop"}),
        json!({"kind": "steps", "min": 0, "max": null}),
        json!({"kind": "tool_called", "tool": "t", "times": 0, "args": {}, "not": false}),
        json!({"kind": "cost_usd", "max": 0.5}),
        json!({"kind": "steps", "max": 4_294_967_295_u64, "name": "x".repeat(64)}),
        json!({"kind": "model_graded", "rubric": "r", "min_score": 0, "not": true}),
        json!({"kind": "model_graded", "rubric": "r", "min_score": null, "name": "n"}),
    ];
    let bad = [
        json!("steps"),
        json!({}),
        json!({"kind": null}),
        json!({"kind": "answer_equals", "text": " "}),
        json!({"kind": "answer_equals", "text": null}),
        json!({"kind": "answer_regex", "pattern": 1}),
        json!({"kind": "answer_number", "equals": "1"}),
        json!({"kind": "answer_number", "equals": 1, "tolerance": -1}),
        json!({"kind": "answer_json", "schema": []}),
        json!({"kind": "status", "is": "crashed"}),
        json!({"kind": "steps", "min": null}),
        json!({"kind": "steps", "min": -1}),
        json!({"kind": "steps", "max": 1.5}),
        json!({"kind": "steps", "max": 4_294_967_296_u64}),
        json!({"kind": "tool_called", "tool": "t", "args": [1]}),
        json!({"kind": "tool_called", "tool": "t", "times": 1.5}),
        json!({"kind": "tool_called", "tool": "t", "not": null}),
        json!({"kind": "cost_usd", "max": -0.5}),
        json!({"kind": "model_graded", "rubric": " "}),
        json!({"kind": "model_graded", "rubric": "r", "min_score": 1.01}),
        json!({"kind": "model_graded", "rubric": "r", "min_score": -0.01}),
        json!({"kind": "steps", "max": 1, "name": ""}),
        json!({"kind": "steps", "max": 1, "name": "a\nb"}),
        json!({"kind": "steps", "max": 1, "name": "x".repeat(129)}),
    ];
    for check in good {
        assert!(is_good(&validator, &of_check(&check)), "{check}");
    }
    for check in bad {
        assert!(!is_good(&validator, &of_check(&check)), "{check}");
    }
    let lines = [
        (
            json!({"id": "a", "checks": [{"kind": "steps", "max": 1}], "metrics": [], "canary": null}),
            true,
        ),
        (json!({"id": "a", "checks": []}), false),
        (
            json!({"id": "a b", "checks": [{"kind": "steps", "max": 1}]}),
            false,
        ),
        (json!({"checks": [{"kind": "steps", "max": 1}]}), false),
        (
            json!({"id": "a", "checks": [{"kind": "steps", "max": 1}], "canary": ""}),
            false,
        ),
        (
            json!({"id": "a", "checks": [{"kind": "steps", "max": 1}], "metric": []}),
            false,
        ),
        (
            of_metric(&json!({"kind": "steps_over_optimal", "optimal": 0})),
            false,
        ),
        (
            of_metric(&json!({"kind": "steps_over_optimal", "optimal": 1, "name": "e"})),
            true,
        ),
        (
            of_metric(&json!({"kind": "number_error", "equals": 1, "not": true})),
            false,
        ),
    ];
    for (line, wanted) in lines {
        assert_eq!(is_good(&validator, &line), wanted, "{line}");
    }
}
