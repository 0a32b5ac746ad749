//! `farm trace diff`: two traces, compared without what may differ between two equal runs.

mod line;

use std::fmt::Write as _;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

pub use line::Line;

use super::text::visible;
use crate::domain::{shortened, trace::FREE_FIELDS};

/// Texts longer than this are shown as a diff of their lines.
const SHORT: usize = 60;

/// One place where two traces differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// The record, such as `step 3`, counted from 0 as in the trace.
    pub record: String,
    /// The field, such as `judgments.0.reason`; empty for a whole record.
    pub path: String,
    /// Its value in the first trace; none when it is missing there.
    pub a: Option<Value>,
    /// Its value in the second.
    pub b: Option<Value>,
}

/// Compares the records of one session; [`FREE_FIELDS`] may differ.
#[must_use]
pub fn compare(a: &[Value], b: &[Value]) -> Vec<Difference> {
    let mut differences = Vec::new();
    for at in 0..a.len().max(b.len()) {
        let (a, b) = (a.get(at), b.get(at));
        let record = a.or(b).map_or_else(String::new, name);
        let before = differences.len();
        compare_values(a, b, "", &mut differences);
        differences[before..]
            .iter_mut()
            .for_each(|d| d.record.clone_from(&record));
    }
    differences
}

fn name(record: &Value) -> String {
    let kind = record["type"].as_str().unwrap_or("record");
    record["step"]
        .as_u64()
        .map_or_else(|| kind.to_owned(), |step| format!("{kind} {step}"))
}

fn compare_values(
    a: Option<&Value>,
    b: Option<&Value>,
    path: &str,
    differences: &mut Vec<Difference>,
) {
    if a == b || FREE_FIELDS.contains(&path) {
        return;
    }
    let at = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    match (a, b) {
        (Some(Value::Object(x)), Some(Value::Object(y))) => {
            for key in x.keys().chain(y.keys().filter(|key| !x.contains_key(*key))) {
                compare_values(x.get(key), y.get(key), &at(key), differences);
            }
        }
        (Some(Value::Array(x)), Some(Value::Array(y))) => {
            for i in 0..x.len().max(y.len()) {
                compare_values(x.get(i), y.get(i), &at(&i.to_string()), differences);
            }
        }
        _ => differences.push(Difference {
            record: String::new(),
            path: path.to_owned(),
            a: a.cloned(),
            b: b.cloned(),
        }),
    }
}

/// The differences of one session as text, the first `limit` of them.
#[must_use]
pub fn render(session: &str, differences: &[Difference], limit: usize) -> String {
    let mut text = format!("{session}\n");
    for difference in differences.iter().take(limit) {
        let Difference { record, path, a, b } = difference;
        let place = if path.is_empty() {
            record.clone()
        } else {
            format!("{record}  {path}")
        };
        match (a, b) {
            (Some(Value::String(a)), Some(Value::String(b))) if a.len().max(b.len()) > SHORT => {
                let _ = writeln!(text, "  {place}");
                lines(&mut text, a, b);
            }
            _ => {
                let _ = writeln!(
                    text,
                    "  {place}: {} → {}",
                    short(a.as_ref()),
                    short(b.as_ref())
                );
            }
        }
    }
    if let Some(more) = differences
        .len()
        .checked_sub(limit)
        .filter(|more| *more > 0)
    {
        let _ = writeln!(text, "  and {more} more");
    }
    visible(&text)
}

fn lines(text: &mut String, a: &str, b: &str) {
    for change in TextDiff::from_lines(a, b).iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        let _ = writeln!(text, "    {sign} {}", change.value().trim_end_matches('\n'));
    }
}

fn short(value: Option<&Value>) -> String {
    match value {
        Some(value) => shortened(&value.to_string(), 2 * SHORT),
        None => "(missing)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use serde_json::json;

    use super::*;

    #[test]
    fn free_fields_may_differ_and_others_not() {
        let a = json!({"type":"step","step":2,"ts":1.0,"reply":{"id":"x","n":1},"judgments":[{"ts":1}]});
        let mut b = a.clone();
        b["ts"] = json!(2.0);
        b["reply"]["id"] = json!("y");
        assert_eq!(compare(from_ref(&a), from_ref(&b)), []);
        b["reply"]["n"] = json!(2);
        b["judgments"][0]["ts"] = json!(2);
        let places: Vec<String> = compare(&[a], &[b])
            .into_iter()
            .map(|d| format!("{} {}", d.record, d.path))
            .collect();
        assert_eq!(places, ["step 2 reply.n", "step 2 judgments.0.ts"]);
    }

    #[test]
    fn nothing_that_differs_is_unseen() {
        let of = |content: &str| [json!({"type":"step","step":0,"content":content})];
        let long = "x".repeat(SHORT);
        for (a, b) in [("1", "1\u{202e}"), (&*long, &*format!("{long}\u{202e}"))] {
            let text = render("v/c/0", &compare(&of(a), &of(b)), 1);
            assert!(
                text.contains("1\\u{202e}") || text.contains("x\\u{202e}"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_shown_as_written_is_compared() {
        let of = |reply: &str| -> [Value; 1] {
            let text = format!(r#"{{"type":"step","step":0,"reply":{reply}}}"#);
            [serde_json::from_str::<Line>(&text).unwrap().0]
        };
        let a = r#"{"id":"x","odd":"1 \ud83d"}"#;
        let table = [
            (a, None),
            (r#"{"id":"y","odd":"1 \ud83d"}"#, None),
            (
                r#"{"id":"x","odd":"1 \ud83e"}"#,
                Some("reply.odd.(as written)"),
            ),
            (r#"{"id":"x","odd":"1 "}"#, Some("reply.odd")),
            (r#"{"id":"x","odd":"\"1 \\ud83d\""}"#, Some("reply.odd")),
        ];
        for (b, want) in table {
            let found = compare(&of(a), &of(b));
            let places: Vec<&str> = found.iter().map(|d| &*d.path).collect();
            assert_eq!(places, want.into_iter().collect::<Vec<_>>(), "{b}");
        }
    }

    #[test]
    fn a_missing_record_is_a_difference() {
        let a = json!({"type":"run_end","status":"completed"});
        let found = compare(std::slice::from_ref(&a), &[]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].record.as_str(), &found[0].b), ("run_end", &None));
    }
}
