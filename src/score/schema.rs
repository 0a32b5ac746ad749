//! The JSON Schema of a line of the sealed file. What a line may say is no secret.

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{
    line::{CheckKind, MetricKind, TOLERANCE},
    scalar::ScoredStatus,
};
use crate::domain::CaseId;

/// The JSON Schema of one line of the sealed file.
#[must_use]
pub fn schema() -> Schema {
    let id = SchemaGenerator::default().subschema_for::<CaseId>();
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Sealed half",
        "description": "The sealed half of a case: how its sessions are checked and measured.",
        "type": "object",
        "properties": {
            "id": about("The case.", id.to_value()),
            "checks": {
                "description": "A session passes when all of them hold.",
                "type": "array",
                "items": {"$ref": "#/$defs/Check"},
                "minItems": 1,
            },
            "metrics": {
                "description": "Hidden metrics: numbers about sessions that are defined here alone.",
                "type": "array",
                "items": {"$ref": "#/$defs/Metric"},
            },
            "canary": or_null(text("A mark that must turn up nowhere else.")),
        },
        "additionalProperties": false,
        "required": ["id", "checks"],
        "$defs": {
            "Check": {
                "description": "One expectation on a finished session.",
                "oneOf": CheckKind::ALL.map(check),
            },
            "Metric": {
                "description": "A number about a session.",
                "oneOf": MetricKind::ALL.map(metric),
            },
            "Name": {
                "description": "What it is published as: one line, unique in its case. Absent: its kind.",
                "type": ["string", "null"],
                "maxLength": 64,
                "pattern": r"^.*\S.*$",
            },
            "Not": {
                "description": "Whether the check holds when the expectation does not.",
                "type": "boolean",
                "default": false,
            },
        },
    });
    match schema {
        Value::Object(schema) => schema.into(),
        _ => Schema::default(),
    }
}

/// One kind of check or metric.
struct Alternative {
    kind: &'static str,
    about: &'static str,
    required: Vec<(&'static str, Value)>,
    optional: Vec<(&'static str, Value)>,
}

fn check(kind: CheckKind) -> Value {
    let about = match kind {
        CheckKind::AnswerEquals => "The answer is this text, blanks around it aside.",
        CheckKind::AnswerContains => "The answer holds this text.",
        CheckKind::AnswerRegex => "The pattern is found in the answer.",
        CheckKind::AnswerNumber => "The last number in the answer is this one.",
        CheckKind::AnswerJson => "The answer is JSON that matches this schema.",
        CheckKind::Status => "The session ended so.",
        CheckKind::Steps => "The session took so many steps.",
        CheckKind::ToolCalled => "The tool was called; calls that were blocked do not count.",
        CheckKind::ToolNotCalled => {
            "The tool was not called; calls that were blocked do not count."
        }
        CheckKind::BlockedSteps => "So many steps were blocked.",
        CheckKind::ObservationContains => "What some step brought back holds this text.",
        CheckKind::CostUsd => "The session cost no more than this.",
        CheckKind::ModelGraded => {
            "A model, `score.judge` of the config, says that the session is good enough. It sees \
             this rubric, the task, the steps and the answer."
        }
    };
    let (required, optional) = match kind {
        CheckKind::AnswerEquals | CheckKind::AnswerContains | CheckKind::ObservationContains => {
            (vec![("text", text("The text."))], vec![])
        }
        CheckKind::AnswerRegex => {
            let pattern = "A regular expression as the Rust crate `regex` knows them: without \
                           look-around and back-references.";
            (
                vec![("pattern", json!({"description": pattern, "type": "string"}))],
                vec![],
            )
        }
        CheckKind::AnswerNumber => {
            let off = "How far off it may be, absolute.";
            let tolerance =
                json!({"description": off, "type": "number", "minimum": 0, "default": TOLERANCE});
            (vec![("equals", number())], vec![("tolerance", tolerance)])
        }
        CheckKind::AnswerJson => {
            let schema = json!({"description": "A JSON Schema.", "type": ["object", "boolean"]});
            (vec![("schema", schema)], vec![])
        }
        CheckKind::Status => {
            let is = json!({
                "description": "Sessions that end otherwise are not scored.",
                "type": "string",
                "enum": ScoredStatus::ALL.map(crate::domain::Status::as_str),
            });
            (vec![("is", is)], vec![])
        }
        CheckKind::Steps | CheckKind::BlockedSteps => (
            vec![],
            vec![("min", count("At least.")), ("max", count("At most."))],
        ),
        CheckKind::ToolCalled => {
            let args = json!({"description": "What the arguments must hold; they may hold more.", "type": "object"});
            let times = count("Exactly so often; absent: at least once.");
            (
                vec![("tool", text("Its name."))],
                vec![("times", times), ("args", args)],
            )
        }
        CheckKind::ToolNotCalled => (vec![("tool", text("Its name."))], vec![]),
        CheckKind::CostUsd => {
            let max = json!({"description": "US dollars.", "type": "number", "minimum": 0});
            (vec![("max", max)], vec![])
        }
        CheckKind::ModelGraded => {
            let enough = "The score that is enough, from 0 to 1; absent: the model says, and from \
                          0.5 on where it does not.";
            let min_score =
                json!({"description": enough, "type": "number", "minimum": 0, "maximum": 1});
            let rubric = text("What the model judges by; no agent sees it.");
            (vec![("rubric", rubric)], vec![("min_score", min_score)])
        }
    };
    let mut schema = Alternative {
        kind: kind.name(),
        about,
        required,
        optional,
    }
    .schema();
    schema["properties"]["not"] = json!({"$ref": "#/$defs/Not"});
    if matches!(kind, CheckKind::Steps | CheckKind::BlockedSteps) {
        // Null counts as absent.
        schema["anyOf"] = ["min", "max"]
            .map(|end| json!({"properties": {end: {"type": "integer"}}, "required": [end]}))
            .into();
    }
    schema
}

fn metric(kind: MetricKind) -> Value {
    let (about, required) = match kind {
        MetricKind::StepsOverOptimal => {
            let optimal = json!({
                "description": "The fewest steps that do it.",
                "type": "integer",
                "minimum": 1,
                "maximum": u32::MAX,
            });
            (
                "Steps taken by the fewest that do it.",
                ("optimal", optimal),
            )
        }
        MetricKind::NumberError => (
            "How far the last number in the answer is off, absolute.",
            ("equals", number()),
        ),
    };
    Alternative {
        kind: kind.name(),
        about,
        required: vec![required],
        optional: vec![],
    }
    .schema()
}

impl Alternative {
    fn schema(self) -> Value {
        let mut names = vec!["kind"];
        names.extend(self.required.iter().map(|(name, _)| *name));
        let mut properties = Map::new();
        properties.insert("kind".to_owned(), json!({"const": self.kind}));
        for (name, schema) in self.required {
            properties.insert(name.to_owned(), schema);
        }
        for (name, schema) in self.optional {
            properties.insert(name.to_owned(), or_null(schema));
        }
        properties.insert("name".to_owned(), json!({"$ref": "#/$defs/Name"}));
        json!({
            "description": self.about,
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
            "required": names,
        })
    }
}

fn text(about: &str) -> Value {
    json!({"description": about, "type": "string", "pattern": r"\S"})
}

fn number() -> Value {
    json!({"description": "The number.", "type": "number"})
}

fn count(about: &str) -> Value {
    json!({"description": about, "type": "integer", "minimum": 0, "maximum": u32::MAX})
}

fn about(text: &str, mut schema: Value) -> Value {
    schema["description"] = text.into();
    schema
}

/// What may be left out may also be null.
fn or_null(mut schema: Value) -> Value {
    schema["type"] = json!([schema["type"], "null"]);
    schema
}
