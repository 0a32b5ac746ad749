//! What it would cost to validate arguments, counted without validating.
//!
//! A validator cannot be interrupted, and a small schema can have it do any amount of work: a
//! definition that refers to the next one twice doubles it with every level, and so, by its rules,
//! does `unevaluatedProperties` within `unevaluatedProperties`. Deep ones overflow the stack. So the
//! work is counted first, up to a bound, by a walk that takes the ways of a validator, all of them.

use serde_json::{Map, Value};

/// How deep a validation may go: it takes up to 4 KiB of stack a level.
const MAX_DEPTH: u32 = 256;

/// An instance without parts: a name, where names are validated.
static NAME: Value = Value::Null;

/// Whether the work of validating can be out of proportion to the sizes of schema and instance.
pub(super) fn may_explode(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => members.iter().any(|(keyword, value)| {
            is_reference(keyword) || looks_back(keyword) || may_explode(value)
        }),
        Value::Array(items) => items.iter().any(may_explode),
        _ => false,
    }
}

/// Whether a keyword has another place of the schema validate the instance.
pub(super) fn is_reference(keyword: &str) -> bool {
    matches!(keyword, "$ref" | "$dynamicRef" | "$recursiveRef")
}

/// The places of a schema that `reference` means, if it is a JSON pointer into it: one, or two if its
/// percent signs may be read in two ways. A name (`#name`) or another document is none: of such a
/// schema the cost is not known.
pub(super) fn targets<'a>(schema: &'a Value, reference: &str) -> Vec<&'a Value> {
    let Some(pointer) = reference.strip_prefix('#') else {
        return Vec::new();
    };
    let decoded = percent_decoded(pointer);
    let decoded = (decoded != pointer).then(|| schema.pointer(&decoded));
    let as_written = schema.pointer(pointer);
    as_written.into_iter().chain(decoded.flatten()).collect()
}

fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut decoded = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).and_then(|d| std::str::from_utf8(d).ok());
        let byte = digits.and_then(|d| u8::from_str_radix(d, 16).ok());
        let (byte, after) = match (first, byte) {
            (b'%', Some(byte)) => (byte, after.get(2..).unwrap_or_default()),
            _ => (*first, after),
        };
        decoded.push(byte);
        rest = after;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Whether validating `instance` takes at most `fuel` checks, and a depth that the stack has room for.
/// A check is a keyword at one place of the instance; one with a list has as many as that is long.
///
/// Over-estimates rather than otherwise: every alternative is tried, and every pattern matches.
pub(super) fn is_affordable(schema: &Value, instance: &Value, fuel: usize) -> bool {
    left(schema, schema, instance, fuel).is_some()
}

/// Whether compiling what looks back takes at most `fuel` steps: a compiler goes from each
/// `unevaluated…` through all that may have looked at the same instance.
pub(super) fn is_compilable(root: &Value, mut fuel: usize) -> bool {
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                if members.keys().any(|k| looks_back(k)) {
                    // No instance: what is asked of its parts is compiled by itself, once.
                    match left(root, value, &NAME, fuel) {
                        Some(rest) => fuel = rest,
                        None => return false,
                    }
                }
                open.extend(members.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    true
}

/// The fuel that is left when an instance has been validated with a schema within `root`.
fn left(root: &Value, schema: &Value, instance: &Value, fuel: usize) -> Option<usize> {
    let open = Vec::new();
    let mut walk = Walk { root, open, fuel };
    walk.all(schema, instance)?;
    Some(walk.fuel)
}

/// Whether a keyword asks what others have looked at.
fn looks_back(keyword: &str) -> bool {
    keyword.starts_with("unevaluated")
}

/// What is still to be visited. Not by recursion: that is what it guards against.
struct Walk<'a> {
    root: &'a Value,
    open: Vec<Visit<'a>>,
    fuel: usize,
}

/// A schema at a place of the instance.
#[derive(Clone, Copy)]
struct Visit<'a> {
    schema: &'a Value,
    instance: &'a Value,
    depth: u32,
    /// Whether it is to be known what the schema has looked at, for an `unevaluated…` around it:
    /// its alternatives are validated for that, and then asked the same.
    is_marking: bool,
}

impl<'a> Walk<'a> {
    /// None when there is not enough fuel.
    fn all(&mut self, schema: &'a Value, instance: &'a Value) -> Option<()> {
        self.push(Visit {
            schema,
            instance,
            depth: 0,
            is_marking: false,
        })?;
        while let Some(visit) = self.open.pop() {
            if let Value::Object(keywords) = visit.schema {
                self.visit(visit, keywords)?;
            }
        }
        Some(())
    }

    fn visit(&mut self, at: Visit<'a>, keywords: &'a Map<String, Value>) -> Option<()> {
        let has_unevaluated = keywords.keys().any(|k| looks_back(k));
        for (keyword, value) in keywords {
            self.spend(match value {
                Value::Array(list) => 1 + list.len(),
                Value::Object(members) => 1 + members.len(),
                _ => 1,
            })?;
            self.spend(length(keyword, value, at.instance))?;
            for schema in in_place(self.root, keyword, value) {
                let validated = Visit { schema, ..at }.deeper();
                let plain = Visit {
                    is_marking: false,
                    ..validated
                };
                self.push(plain)?;
                if at.is_marking || has_unevaluated {
                    self.push(Visit {
                        is_marking: true,
                        ..validated
                    })?;
                }
                if has_unevaluated && !at.is_marking {
                    self.push(plain)?;
                }
            }
            self.children(at, keyword, value)?;
        }
        Some(())
    }

    /// What a keyword has to say of the parts of the instance.
    fn children(&mut self, at: Visit<'a>, keyword: &str, value: &'a Value) -> Option<()> {
        let mut child = |schema, instance| {
            let is_marking = false;
            self.push(
                Visit {
                    schema,
                    instance,
                    is_marking,
                    ..at
                }
                .deeper(),
            )
        };
        match (keyword, value, at.instance) {
            ("properties", Value::Object(schemas), Value::Object(members)) => {
                for (name, schema) in schemas {
                    if let Some(member) = members.get(name) {
                        child(schema, member)?;
                    }
                }
            }
            ("patternProperties", Value::Object(schemas), Value::Object(members)) => {
                for schema in schemas.values() {
                    for member in members.values() {
                        child(schema, member)?;
                    }
                }
            }
            ("additionalProperties" | "unevaluatedProperties", schema, Value::Object(members)) => {
                for member in members.values() {
                    child(schema, member)?;
                }
            }
            ("propertyNames", schema, Value::Object(members)) => {
                for _ in members {
                    child(schema, &NAME)?;
                }
            }
            ("prefixItems" | "items", Value::Array(schemas), Value::Array(items)) => {
                for (schema, item) in schemas.iter().zip(items) {
                    child(schema, item)?;
                }
            }
            (
                "items" | "additionalItems" | "unevaluatedItems" | "contains",
                schema,
                Value::Array(items),
            ) => {
                for item in items {
                    child(schema, item)?;
                }
            }
            _ => {}
        }
        Some(())
    }

    fn push(&mut self, visit: Visit<'a>) -> Option<()> {
        self.spend(1)?;
        self.open.push(visit);
        (visit.depth <= MAX_DEPTH).then_some(())
    }

    fn spend(&mut self, fuel: usize) -> Option<()> {
        self.fuel = self.fuel.checked_sub(fuel)?;
        Some(())
    }
}

impl Visit<'_> {
    fn deeper(self) -> Self {
        let depth = self.depth + 1;
        Self { depth, ..self }
    }
}

/// What a keyword costs the more, the longer what it looks at is: in checks, of which one takes as long
/// as some eight bytes of a text against a short pattern.
fn length(keyword: &str, value: &Value, instance: &Value) -> usize {
    let against = |pattern: &str, bytes: usize| bytes / 8 * (1 + pattern.len() / 32);
    match (keyword, value, instance) {
        ("pattern", Value::String(pattern), Value::String(text)) => against(pattern, text.len()),
        ("patternProperties", Value::Object(schemas), Value::Object(members)) => {
            let names = members.keys().map(String::len).sum();
            schemas.keys().map(|pattern| against(pattern, names)).sum()
        }
        ("minLength" | "maxLength", _, Value::String(text)) => text.len() / 64,
        ("contentEncoding" | "contentMediaType" | "format", _, Value::String(text)) => {
            text.len() / 8
        }
        // It is looked for each time.
        (keyword, Value::String(reference), _) if is_reference(keyword) => reference.len() / 64,
        ("const" | "enum" | "uniqueItems", _, instance) => size(instance) / 8,
        _ => 0,
    }
}

/// The bytes of an instance, and one for each of its parts.
fn size(instance: &Value) -> usize {
    let (mut open, mut bytes) = (vec![instance], 0);
    while let Some(value) = open.pop() {
        bytes += 1;
        match value {
            Value::String(text) => bytes += text.len(),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                bytes += members.keys().map(String::len).sum::<usize>();
                open.extend(members.values());
            }
            _ => {}
        }
    }
    bytes
}

/// The schemas that a keyword puts to the instance itself.
fn in_place<'a>(root: &'a Value, keyword: &str, value: &'a Value) -> Vec<&'a Value> {
    match (keyword, value) {
        ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => schemas.iter().collect(),
        ("not" | "if" | "then" | "else", schema) => vec![schema],
        ("dependentSchemas" | "dependencies", Value::Object(schemas)) => schemas.values().collect(),
        (keyword, Value::String(reference)) if is_reference(keyword) => targets(root, reference),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;
