//! Schemas of tools that come from elsewhere: whether they are fit to be compiled and checked with.

use std::collections::BTreeSet;

use serde_json::Value;

use super::validation_cost::{is_compilable, is_reference, targets};
use crate::domain::shortened;

/// Bytes of a schema, as JSON.
const MAX_BYTES: usize = 65_536;
/// Lists and objects within one another.
const MAX_NESTING: usize = 32;
/// `$ref`s of a schema.
const MAX_REFS: usize = 200;
/// How deep all that is referred to is nested, in sum. A compiler that follows references goes as
/// deep, and takes stack for it.
const MAX_LEVELS: usize = 1000;
/// Regular expressions of a schema: some take half a megabyte.
const MAX_PATTERNS: usize = 50;
/// Steps of a compiler through what is under `unevaluatedProperties` and `unevaluatedItems`.
const MAX_LOOKING_BACK: usize = 20_000;
/// Characters of a reference that are told.
const MAX_SHOWN: usize = 100;

/// Whether the schema of a foreign tool may be taken: it describes an object, is of a sane size, and
/// refers to nothing but places of its own by JSON pointers (`#/$defs/name`), so that what it costs
/// to compile is bounded, and what it costs to check with can be counted.
///
/// # Errors
/// Why not, as what is said of the schema: `it is 70000 bytes long, at most 65536 are taken`.
pub fn check(schema: &Value) -> Result<(), String> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err("it lacks \"type\": \"object\" at its top".to_owned());
    }
    let dialect = schema.get("$schema").and_then(Value::as_str);
    if dialect.is_some_and(|d| d.contains("draft-04")) {
        return Err("it is of draft 4, in which `id` changes what references mean".to_owned());
    }
    let bytes = schema.to_string().len();
    at_most(bytes, MAX_BYTES, "is", "bytes long")?;
    let mut seen = Seen::default();
    seen.look(schema, 0)?;
    at_most(seen.refs.len(), MAX_REFS, "has", "`$ref`s")?;
    at_most(seen.patterns, MAX_PATTERNS, "has", "patterns")?;
    let mut levels = nesting(schema);
    for reference in BTreeSet::from_iter(seen.refs) {
        let found = targets(schema, reference);
        if found.is_empty() {
            return Err(format!(
                "it refers to {:?}, which is no place of it: `#/…` is followed",
                shortened(reference, MAX_SHOWN)
            ));
        }
        levels += found.into_iter().map(nesting).sum::<usize>();
    }
    let what = "levels with all that it refers to";
    at_most(levels, MAX_LEVELS, "has", what)?;
    match is_compilable(schema, MAX_LOOKING_BACK) {
        true => Ok(()),
        false => {
            let why = "too much is under its `unevaluatedProperties` or `unevaluatedItems`";
            Err(why.to_owned())
        }
    }
}

fn at_most(found: usize, max: usize, verb: &str, what: &str) -> Result<(), String> {
    match found <= max {
        true => Ok(()),
        false => Err(format!("it {verb} {found} {what}, at most {max} are taken")),
    }
}

/// Regular expressions of a schema.
pub fn patterns(schema: &Value) -> usize {
    let mut seen = Seen::default();
    // One that is not taken is not compiled.
    drop(seen.look(schema, 0));
    seen.patterns
}

/// What is found in a schema. Data in it (`default`, `examples`) is looked at as the rest is: a
/// reference may lead there.
#[derive(Default)]
struct Seen<'a> {
    refs: Vec<&'a str>,
    patterns: usize,
}

impl<'a> Seen<'a> {
    fn look(&mut self, value: &'a Value, depth: usize) -> Result<(), String> {
        if depth > MAX_NESTING {
            return Err(format!("it is nested more than {MAX_NESTING} levels deep"));
        }
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.look(item, depth + 1)),
            Value::Object(members) => members.iter().try_for_each(|(name, value)| {
                self.keyword(name, value, depth)?;
                self.look(value, depth + 1)
            }),
            _ => Ok(()),
        }
    }

    fn keyword(&mut self, name: &str, value: &'a Value, depth: usize) -> Result<(), String> {
        match (name, value) {
            ("$ref", Value::String(reference)) => self.refs.push(reference),
            ("pattern", Value::String(_)) => self.patterns += 1,
            ("patternProperties", Value::Object(patterns)) => self.patterns += patterns.len(),
            (_, Value::String(_)) if is_reference(name) => {
                return Err(format!("it has a `{name}`, which is not followed"));
            }
            ("$id" | "$schema", Value::String(_)) if depth > 0 => {
                return Err(format!(
                    "it has a `{name}` within, which changes what references mean"
                ));
            }
            _ => {}
        }
        Ok(())
    }
}

/// How many lists and objects are within one another.
fn nesting(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(nesting).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
