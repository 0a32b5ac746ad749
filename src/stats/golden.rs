//! The golden table, row by row (`tests/golden/stats.json`).

mod answers;
mod inputs;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use answers::answer;
use inputs::Inputs;

/// Figures as text: `report::text` runs these rows.
const TEXT: &str = "format";

#[derive(Deserialize)]
struct Table {
    tolerance: Tolerance,
    count: usize,
    cases: Vec<Row>,
}

#[derive(Deserialize)]
struct Tolerance {
    rel: f64,
    abs: f64,
}

#[derive(Deserialize)]
struct Row {
    id: String,
    method: String,
    inputs: Inputs,
    expected: Map<String, Value>,
}

/// Real numbers within rel or abs; nulls, counts and strings exactly.
fn agree(got: &Value, want: &Value, tolerance: &Tolerance) -> bool {
    match (got, want) {
        (Value::Number(got), Value::Number(want)) if got.is_f64() => {
            let (got, want) = (got.as_f64().unwrap(), want.as_f64().unwrap());
            let off = (got - want).abs();
            off <= tolerance.abs || off <= tolerance.rel * want.abs()
        }
        (Value::Array(got), Value::Array(want)) => {
            let both = got.iter().zip(want);
            got.len() == want.len() && both.into_iter().all(|(g, w)| agree(g, w, tolerance))
        }
        _ => got == want,
    }
}

#[test]
fn golden_stats() {
    let table: Table = serde_json::from_str(&crate::golden::read("stats.json")).unwrap();
    assert_eq!(table.cases.len(), table.count, "rows in the table");

    let (mut ran, mut skipped, mut wrong) = (BTreeMap::new(), 0, Vec::new());
    for row in &table.cases {
        if row.method == TEXT {
            skipped += 1;
            continue;
        }
        let Some(got) = answer(&row.method, &row.inputs) else {
            panic!("{}: unknown method {}", row.id, row.method);
        };
        assert!(!row.expected.is_empty(), "{}: nothing to compare", row.id);
        for (name, want) in &row.expected {
            let got = got
                .get(name)
                .unwrap_or_else(|| panic!("{}: no {name} in answer", row.id));
            if !agree(got, want, &table.tolerance) {
                wrong.push(format!("{} {name}: got {got}, want {want}", row.id));
            }
        }
        *ran.entry(row.method.as_str()).or_insert(0) += 1;
    }
    assert!(
        wrong.is_empty(),
        "{} values differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let rows: usize = ran.values().sum();
    assert_eq!(rows + skipped, table.count);
    crate::golden::check_count("stats.json", rows, 232);
}
