//! A stdio server of tools of one's own, written with farm's library alone: those that the conformance
//! suite of MCP calls by name, and one that never comes back.

use std::{error::Error, time::Duration};

use farm::{
    domain::{Hints, Observation, ToolSpec},
    mcp::{self, Server},
    tool::{Registry, ToolContext, from_fn},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut registry = Registry::default();
    registry.add(from_fn(
        spec("test_simple_text", "Returns a simple text.", nothing()),
        async |_, _| Observation::ok("This is a simple text response for testing."),
    ))?;
    registry.add(from_fn(
        spec("test_error_handling", "Fails.", nothing()),
        async |_, _| Observation::error("This tool intentionally returns an error for testing"),
    ))?;
    registry.add(from_fn(
        spec("test_tool_with_progress", "Takes its time.", nothing()),
        counts,
    ))?;
    registry.add(from_fn(
        spec(
            "json_schema_2020_12_tool",
            "Tool with JSON Schema 2020-12 features",
            keywords(),
        ),
        async |args, _| Observation::ok(args.to_string()),
    ))?;
    registry.add(from_fn(
        spec("never", "Never comes back.", nothing()),
        async |_, _| std::future::pending().await,
    ))?;
    let server = Server {
        name: "conformance".to_owned(),
        version: "1".to_owned(),
        ..Server::new(registry.all())
    };
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    mcp::serve(server, input, output, CancellationToken::new()).await?;
    Ok(())
}

async fn counts(_: Value, ctx: ToolContext) -> Observation {
    ctx.progress.at(0.0, 100.0, None);
    for done in [50.0, 100.0] {
        tokio::time::sleep(Duration::from_millis(50)).await;
        ctx.progress.at(done, 100.0, "halves");
    }
    Observation::ok("All of it is done.")
}

fn spec(name: &str, description: &str, parameters: Value) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters,
        resumable: true,
        hints: Hints::LOOKS_ONLY,
    }
}

fn nothing() -> Value {
    json!({"type": "object", "additionalProperties": false})
}

/// The schema that the suite wants to see again, whole.
fn keywords() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}
