//! The config's JSON Schema, out of [`KEYS`].

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{
    keys::{KEYS, Key, MODEL_KINDS},
    kinds::{self, Kind},
    mcp, seeds,
};
use crate::domain::VariantName;

/// What each table is about; `*` stands for any one name.
const TABLES: &[(&str, &str)] = &[
    (
        "",
        "What a run is to do: a config file, as the JSON that its TOML amounts to.",
    ),
    ("suite", "how results are read"),
    ("run", "how large a run is and what it may take"),
    ("session", "what every variant is given"),
    ("session.judge", "a model that judges each step"),
    ("score", "how finished sessions are scored"),
    ("tools", "settings of tools"),
    ("tools.file_read", "the tool that reads files"),
    ("tools.web_fetch", "the tool that fetches pages"),
    (
        "tools.mcp",
        "servers of tools over MCP, by name; the tool T of server S is called S__T, and S__* are all its tools",
    ),
    ("tools.mcp.*", "one such server, started as a child process"),
    ("models", "models by name"),
    ("models.*", "one model"),
    ("models.*.price", "what its tokens cost"),
    (
        "models.*.slots",
        "calls at the same time; models of one endpoint share them",
    ),
    (
        "models.*.rates",
        "what may be asked in a minute; models of one endpoint share it",
    ),
    (
        "variants",
        "ways of running cases, by name; without any, each model is a variant",
    ),
    ("variants.*", "one way of running cases"),
    ("variants.*.limits", "what one session may spend"),
];

/// The JSON Schema of a config file, as the JSON that its TOML amounts to. It knows the form of
/// values; whether the files, models and tools that they name exist is seen when they are read.
#[must_use]
pub fn schema() -> Schema {
    let mut schema = Map::new();
    schema.insert(
        "$schema".to_owned(),
        "https://json-schema.org/draft/2020-12/schema".into(),
    );
    schema.insert("title".to_owned(), "Config".into());
    schema.append(&mut table(&[]));
    schema.into()
}

/// The table at `path`, with all that is below it.
fn table(path: &[&str]) -> Map<String, Value> {
    let mut entries = Map::new();
    let mut required = Vec::new();
    for key in KEYS {
        let parts: Vec<&str> = key.parts().collect();
        let Some([name, below @ ..]) = parts.strip_prefix(path) else {
            continue;
        };
        if below.is_empty() {
            entries.insert((*name).to_owned(), value(key));
            let is_of_all = key.only.is_empty() || path.len() > 2;
            required.extend((key.is_required && is_of_all).then_some(*name));
        } else if !entries.contains_key(*name) {
            let inner = table(&[path, &[name]].concat());
            entries.insert((*name).to_owned(), Value::Object(inner));
        }
    }
    let mut schema = Map::new();
    let full = path.join(".");
    if let Some((_, about)) = TABLES.iter().find(|(table, _)| *table == full) {
        schema.insert("description".to_owned(), (*about).into());
    }
    schema.insert("type".to_owned(), "object".into());
    if let Some(any) = entries.remove("*") {
        let name = match full.as_str() {
            mcp::SECTION => json!({"type": "string", "pattern": mcp::NAME}),
            _ => SchemaGenerator::default()
                .subschema_for::<VariantName>()
                .to_value(),
        };
        schema.insert("propertyNames".to_owned(), name);
        schema.insert("additionalProperties".to_owned(), any);
        return schema;
    }
    schema.insert("properties".to_owned(), Value::Object(entries));
    schema.insert("additionalProperties".to_owned(), false.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    if path == ["models", "*"] {
        let rules: Vec<Value> = MODEL_KINDS.iter().map(|kind| rules_of(kind)).collect();
        schema.insert("allOf".to_owned(), rules.into());
    }
    schema
}

/// What a model of this kind must have, and what it cannot have.
fn rules_of(kind: &str) -> Value {
    let mut required = Vec::new();
    let mut others = Map::new();
    for key in KEYS.iter().filter(|key| !key.only.is_empty()) {
        let Some(name) = key.parts().nth(2) else {
            continue;
        };
        if !key.only.contains(&kind) {
            others.insert(name.to_owned(), false.into());
        } else if key.is_required && key.parts().count() == 3 {
            required.push(name);
        }
    }
    json!({
        "if": {"properties": {"kind": {"const": kind}}, "required": ["kind"]},
        "then": {"properties": others, "required": required},
    })
}

fn value(key: &Key) -> Value {
    let mut schema = Map::new();
    schema.insert("description".to_owned(), key.doc.into());
    if let Value::Object(mut takes) = takes(key.kind) {
        schema.append(&mut takes);
    }
    let default = key.default.and_then(|toml| toml.parse().ok());
    if let Some(default) = default.and_then(|toml| kinds::json(&toml).ok()) {
        schema.insert("default".to_owned(), default);
    }
    Value::Object(schema)
}

/// What [`Kind::check`] accepts.
fn takes(kind: Kind) -> Value {
    match kind {
        Kind::Switch => json!({"type": "boolean"}),
        Kind::Count { min, max: i64::MAX } => json!({"type": "integer", "minimum": min}),
        Kind::Count { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Amount => json!({"type": "number", "exclusiveMinimum": 0}),
        Kind::Price => json!({"type": "number", "minimum": 0}),
        Kind::Cap => json!({
            "type": ["number", "string"],
            "exclusiveMinimum": 0,
            "pattern": "^none$",
        }),
        Kind::Seconds => {
            let (least, most) = kinds::SECONDS;
            json!({"type": "number", "minimum": least, "maximum": most})
        }
        Kind::Share => json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        Kind::Choice(words) => json!({"type": "string", "enum": words}),
        Kind::Text | Kind::Path => json!({"type": "string", "minLength": 1}),
        Kind::Names => json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
        Kind::Command => json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
        Kind::Seeds => json!({
            "type": ["integer", "string"],
            "minimum": 1,
            "maximum": seeds::MAX_SEED,
            "pattern": r"^\s*(0*[1-9][0-9]*|[0-9]+\s*\.\.\s*0*[1-9][0-9]*)\s*$",
        }),
        Kind::Time => json!({
            "type": "string",
            "pattern": concat!(
                "^(none",
                r"|(?=[0-9dhms]*[1-9])([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?",
                r"|([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?",
                r"|[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9].*([Zz]|[+-][0-9].*))$",
            ),
        }),
        Kind::Json => json!({"type": "object"}),
        Kind::Texts => json!({"type": "object", "additionalProperties": {"type": "string"}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every table with its path.
    fn tables(path: &str, schema: &Value, found: &mut Vec<(String, Value)>) {
        found.push((path.to_owned(), schema.clone()));
        let below = |name: &str| match path {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        let any = &schema["additionalProperties"];
        if any["type"] == "object" {
            tables(&below("*"), any, found);
        }
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            if inner["properties"].is_object() || inner["additionalProperties"]["type"] == "object"
            {
                tables(&below(name), inner, found);
            }
        }
    }

    #[test]
    fn every_table_and_every_key_is_there_and_explained() {
        let mut found = Vec::new();
        tables("", schema().as_value(), &mut found);
        let mut paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        let mut known: Vec<&str> = TABLES.iter().map(|(path, _)| *path).collect();
        paths.sort_unstable();
        known.sort_unstable();
        assert_eq!(paths, known);
        for key in KEYS {
            let (table, name) = key.path.rsplit_once('.').unwrap();
            let (_, schema) = found.iter().find(|(path, _)| path == table).unwrap();
            let property = &schema["properties"][name];
            assert_eq!(property["description"], key.doc, "{}", key.path);
            assert_eq!(
                property.get("default").is_some(),
                key.default.is_some(),
                "{}",
                key.path
            );
        }
    }
}
