//! Where two JSON trees differ, leaf by leaf.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use serde_json::Value;

use super::settings::show;
use crate::domain::shortened;

/// How many characters of a value are shown.
const SHOWN: usize = 60;

/// One place in which two trees differ.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// As in TOML, such as `variants.v.limits.max_steps`: an item of a list by its `name` or `id`,
    /// or by its index from 0.
    pub path: String,
    /// What was there; none: nothing.
    pub from: Option<Value>,
    /// What is there; none: nothing.
    pub to: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        match (&self.from, &self.to) {
            (Some(from), Some(to)) => write!(f, " was {} and is {}", shown(from), shown(to)),
            (None, Some(to)) => write!(f, " is new: {}", shown(to)),
            (Some(from), None) => write!(f, " is gone: it was {}", shown(from)),
            (None, None) => Ok(()),
        }
    }
}

/// A value, cut to [`SHOWN`] characters; a SHA-256 by its first 8 digits.
fn shown(value: &Value) -> String {
    match value.as_str() {
        Some(text) if text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()) => {
            text.chars().take(8).collect()
        }
        _ => shortened(&value.to_string(), SHOWN),
    }
}

/// Where two trees differ: the leaves of `before` in its order, at each level followed by what is
/// new; what is gone or new is told as a whole. Lists whose items are objects are matched by the items' names; when these stand in
/// another order, the list itself is a difference, told by the names. The order of an object's
/// keys says nothing, and 1 is 1.0.
#[must_use]
pub fn differences(before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(&mut Vec::new(), Some(before), Some(after), &mut found);
    found
}

type Entries<'a> = Vec<(String, &'a Value)>;

fn walk(
    path: &mut Vec<String>,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    let entries = before.zip(after).and_then(|(a, b)| entries(a, b));
    let Some((old, new)) = entries else {
        if !is_same_leaf(before, after) {
            found.push(difference(path, before.cloned(), after.cloned()));
        }
        return;
    };
    let (in_old, in_new) = (by_name(&old), by_name(&new));
    let common = |entries: &Entries<'_>| -> Vec<String> {
        let names = entries.iter().map(|(name, _)| name.clone());
        names
            .filter(|name| in_old.contains_key(name.as_str()) && in_new.contains_key(name.as_str()))
            .collect()
    };
    let is_list = before.is_some_and(Value::is_array);
    if is_list && common(&old) != common(&new) {
        let names = |entries: &Entries<'_>| entries.iter().map(|(name, _)| name.clone()).collect();
        found.push(difference(path, Some(names(&old)), Some(names(&new))));
    }
    let added = new
        .iter()
        .filter(|(name, _)| !in_old.contains_key(name.as_str()));
    for (name, _) in old.iter().chain(added) {
        path.push(name.clone());
        let (a, b) = (in_old.get(name.as_str()), in_new.get(name.as_str()));
        walk(path, a.copied(), b.copied(), found);
        path.pop();
    }
}

fn difference(path: &[String], from: Option<Value>, to: Option<Value>) -> Difference {
    let path = show(path);
    Difference { path, from, to }
}

fn by_name<'a>(entries: &'a Entries<'_>) -> HashMap<&'a str, &'a Value> {
    entries
        .iter()
        .map(|(name, v)| (name.as_str(), *v))
        .collect()
}

/// What is below two values, if it can be compared one by one: both are objects or both are lists,
/// and not both of them are empty.
fn entries<'a>(before: &'a Value, after: &'a Value) -> Option<(Entries<'a>, Entries<'a>)> {
    let both = || [before, after].into_iter();
    let (old, new): (Entries<'a>, Entries<'a>) = if both().all(Value::is_object) {
        let below = |value: &'a Value| {
            let object = value.as_object().into_iter().flatten();
            object.map(|(name, v)| (name.clone(), v)).collect()
        };
        (below(before), below(after))
    } else if both().all(Value::is_array) {
        let label = ["name", "id"]
            .into_iter()
            .find(|label| both().all(|list| is_labelled(list, label)));
        let below = |value: &'a Value| {
            let items = value.as_array().into_iter().flatten();
            let name = |(i, item): (usize, &'a Value)| {
                let name = label.and_then(|label| item.get(label)?.as_str());
                (name.map_or_else(|| i.to_string(), str::to_owned), item)
            };
            items.enumerate().map(name).collect()
        };
        (below(before), below(after))
    } else {
        return None;
    };
    (!old.is_empty() || !new.is_empty()).then_some((old, new))
}

/// Whether each item of a list has a text of its own at `label`.
fn is_labelled(list: &Value, label: &str) -> bool {
    let mut seen = HashSet::new();
    let mut items = list.as_array().into_iter().flatten();
    items.all(|item| {
        let name = item.get(label).and_then(Value::as_str);
        name.is_some_and(|name| seen.insert(name))
    })
}

/// Whether two values without anything below them are equal.
fn is_same_leaf(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Number(x)), Some(Value::Number(y))) if x.is_f64() || y.is_f64() => {
            x.as_f64() == y.as_f64()
        }
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(before: &Value, after: &Value) -> String {
        let lines = differences(before, after);
        let lines: Vec<String> = lines.iter().map(Difference::to_string).collect();
        lines.join("\n")
    }

    #[test]
    fn each_leaf_that_differs_is_told() {
        let sha = |digit: &str| digit.repeat(64);
        let table = [
            (
                json!({"a": 1, "b": [1, {}]}),
                json!({"b": [1.0, {}], "a": 1}),
                "",
            ),
            (json!({"a": 1}), json!({"a": 2}), "a was 1 and is 2"),
            (json!({}), json!({"a": 9}), "a is new: 9"),
            (json!({"a": "x"}), json!({}), "a is gone: it was \"x\""),
            (json!({"a": null}), json!({}), "a is gone: it was null"),
            (json!({"a": null}), json!({"a": 1}), "a was null and is 1"),
            (json!({"a": {}}), json!({"a": []}), "a was {} and is []"),
            (json!({"a": {}}), json!({"a": {"b": 1}}), "a.b is new: 1"),
            (
                json!({"a": {"b": 1}}),
                json!({"a": 1}),
                "a was {\"b\":1} and is 1",
            ),
            (
                json!({"a": {"b": 1, "c": {}}}),
                json!({}),
                "a is gone: it was {\"b\":1,\"c\":{}}",
            ),
            (
                json!({"a": 1, "c": 1}),
                json!({"b": 2, "c": 3}),
                "a is gone: it was 1\nc was 1 and is 3\nb is new: 2",
            ),
            (
                json!({"a": ["x", "y"]}),
                json!({"a": ["y", "x", "z"]}),
                "a.0 was \"x\" and is \"y\"\na.1 was \"y\" and is \"x\"\na.2 is new: \"z\"",
            ),
            (
                json!({"a": u64::MAX}),
                json!({"a": u64::MAX - 1}),
                "a was 18446744073709551615 and is 18446744073709551614",
            ),
            (
                json!({"sha256": sha("a")}),
                json!({"sha256": sha("b")}),
                "sha256 was aaaaaaaa and is bbbbbbbb",
            ),
            (
                json!({"a": ""}),
                json!({"a": "ä".repeat(99)}),
                &format!("a was \"\" and is \"{}…", "ä".repeat(59)),
            ),
            (json!(1), json!(1), ""),
        ];
        for (before, after, want) in table {
            assert_eq!(said(&before, &after), want, "{before} {after}");
        }
    }

    #[test]
    fn items_are_matched_by_their_names() {
        let variant =
            |name: &str, steps: u64| json!({"name": name, "limits": {"max_steps": steps}});
        let table = [
            (
                json!({"variants": [variant("v", 8), variant("gpt-4.1", 8)]}),
                json!({"variants": [variant("v", 9), variant("gpt-4.1", 7)]}),
                "variants.v.limits.max_steps was 8 and is 9\n\
                 variants.\"gpt-4.1\".limits.max_steps was 8 and is 7",
            ),
            (
                json!([variant("v", 8)]),
                json!([variant("w", 8), variant("v", 8)]),
                "w is new: {\"name\":\"w\",\"limits\":{\"max_steps\":8}}",
            ),
            (
                json!({"v": [variant("a", 1), variant("b", 1), variant("c", 1)]}),
                json!({"v": [variant("b", 1), variant("a", 2)]}),
                "v was [\"a\",\"b\",\"c\"] and is [\"b\",\"a\"]\n\
                 v.a.limits.max_steps was 1 and is 2\n\
                 v.c is gone: it was {\"name\":\"c\",\"limits\":{\"max_steps\":1}}",
            ),
            (
                json!([{"id": "x", "n": 1}]),
                json!([{"id": "y", "n": 1}, {"id": "x", "n": 2}]),
                "x.n was 1 and is 2\ny is new: {\"id\":\"y\",\"n\":1}",
            ),
            // Names that do not tell items apart.
            (
                json!([{"name": "x", "n": 1}, {"name": "x", "n": 1}]),
                json!([{"name": "x", "n": 1}, {"name": "x", "n": 2}]),
                "1.n was 1 and is 2",
            ),
            (
                json!([{"name": "x"}, 1]),
                json!([{"name": "y"}, 1]),
                "0.name was \"x\" and is \"y\"",
            ),
        ];
        for (before, after, want) in table {
            assert_eq!(said(&before, &after), want, "{before} {after}");
        }
    }
}
