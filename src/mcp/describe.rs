//! Tools as MCP clients are told of them.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::domain::ToolSpec;

/// What is said of a tool. Its parameters are the very schema that models get.
pub(super) fn described(spec: &ToolSpec) -> Tool {
    let hints = spec.hints;
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .idempotent(hints.idempotent)
        .open_world(!hints.closed_world);
    Tool::new(
        spec.name.clone(),
        spec.description.clone(),
        object(&spec.parameters),
    )
    .with_raw_output_schema(object(&output_schema()))
    .with_annotations(annotations)
}

/// Each result is one text.
fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "result": {"type": "string", "description": "What the tool brought, as a model reads it."},
        },
        "required": ["result"],
        "additionalProperties": false,
    })
}

fn object(schema: &Value) -> Arc<JsonObject> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}
