use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{RecursiveTransform, Transform},
};

use crate::domain::{Hints, ToolSpec};

/// What is said of a tool whose arguments are `Args`: the schema comes from the type, self-contained
/// and without what only a person at a schema browser would read (`title`, `$schema`).
///
/// `Args` should deny unknown fields and describe each field with its limits and an example.
#[must_use]
pub fn spec<Args: JsonSchema>(
    name: &str,
    description: &str,
    resumable: bool,
    hints: Hints,
) -> ToolSpec {
    let settings = SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<Args>();
    RecursiveTransform(|schema: &mut Schema| {
        schema.remove("title");
    })
    .transform(&mut schema);
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: schema.into(),
        resumable,
        hints,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Args {
        /// A field that is named as a keyword is.
        title: String,
        /// A nested one.
        inner: Inner,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Inner {
        count: Option<u8>,
    }

    #[test]
    fn the_schema_is_bare_and_self_contained() {
        let spec = spec::<Args>("t", "d", true, Hints::default());
        assert_eq!(
            spec.parameters,
            json!({
                "type": "object",
                "properties": {
                    "title": {"type": "string", "description": "A field that is named as a keyword is."},
                    "inner": {
                        "type": "object",
                        "description": "A nested one.",
                        "properties": {
                            "count": {
                                "type": ["integer", "null"],
                                "format": "uint8",
                                "minimum": 0,
                                "maximum": 255,
                            },
                        },
                        "additionalProperties": false,
                    },
                },
                "required": ["title", "inner"],
                "additionalProperties": false,
            })
        );
    }
}
