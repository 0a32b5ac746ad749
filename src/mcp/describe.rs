//! Tools as MCP clients are told of them.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::domain::{Hints, ToolSpec};

/// What is said of a tool. Its parameters are the very schema that models get. Its description is that
/// of models, with what the hints say behind it: what models are sent stays what recorded runs sent.
pub(super) fn described(spec: &ToolSpec) -> Tool {
    let hints = spec.hints;
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .idempotent(hints.idempotent)
        .open_world(!hints.closed_world);
    Tool::new(
        spec.name.clone(),
        spec.description.clone() + &side_effects(hints),
        object(&spec.parameters),
    )
    .with_raw_output_schema(object(&output_schema()))
    .with_annotations(annotations)
}

/// What the hints are sure of, in words; nothing of what they leave open.
fn side_effects(hints: Hints) -> String {
    let effects = match (hints.read_only, hints.idempotent) {
        (true, _) => Some("Side effects: none."),
        (false, true) => Some("Side effects: the same call again adds none."),
        (false, false) => None,
    };
    let world = hints
        .closed_world
        .then_some("It reaches nothing but what farm lends it.");
    let said: Vec<&str> = effects.into_iter().chain(world).collect();
    match said.is_empty() {
        true => String::new(),
        false => format!("\n\n{}", said.join(" ")),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn side_effects_are_said_as_far_as_they_are_known() {
        let hints = |read_only, idempotent, closed_world| Hints {
            read_only,
            idempotent,
            closed_world,
        };
        let closed = "It reaches nothing but what farm lends it.";
        for (hints, said) in [
            (Hints::default(), String::new()),
            (
                Hints::LOOKS_ONLY,
                format!("\n\nSide effects: none. {closed}"),
            ),
            (
                hints(true, false, false),
                "\n\nSide effects: none.".to_owned(),
            ),
            (
                hints(false, true, false),
                "\n\nSide effects: the same call again adds none.".to_owned(),
            ),
            (hints(false, false, true), format!("\n\n{closed}")),
        ] {
            assert_eq!(side_effects(hints), said, "{hints:?}");
        }
    }
}
