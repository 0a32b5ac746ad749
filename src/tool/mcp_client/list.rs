//! What a server says of its tools, checked. Pure.

use std::{borrow::Cow, collections::BTreeSet};

use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{names::names, server::McpOptions};
use crate::{
    domain::{Hints, Redactor, ToolSpec, hex},
    tool::foreign_schema,
};

/// The most tools of one server.
pub(super) const MAX_TOOLS: usize = 256;

/// The longest description of a tool, in bytes.
const MAX_DESCRIPTION: usize = 16 << 10;

/// All tools of a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Listed {
    /// Sorted by what the server calls them.
    pub tools: Vec<ListedTool>,
    /// SHA-256 of the RFC 8785 form of all that is said of them, hex: the same in any order.
    pub sha256: String,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ListedTool {
    /// What the server calls it.
    pub name: String,
    /// What it is in farm.
    pub spec: ToolSpec,
}

/// Checks the tools of a server.
///
/// # Errors
/// What is wrong with them, in words.
pub(super) fn listed(server: &McpOptions, tools: Vec<Tool>) -> Result<Listed, String> {
    let mut tools = without_secrets(tools, &server.redactor)?;
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    let mut seen = BTreeSet::new();
    for tool in &tools {
        check(tool)?;
        if !seen.insert(&*tool.name) {
            return Err(format!("it has two tools called {:?}", tool.name));
        }
    }
    let of_server: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    let names = names(&server.name, &of_server);
    let sha256 = digest(&tools)?;
    let listed = tools.iter().zip(names).map(|(tool, name)| ListedTool {
        name: tool.name.clone().into_owned(),
        spec: ToolSpec {
            name,
            description: description(tool).to_owned(),
            parameters: parameters(tool),
            resumable: server.resumable,
            // What a stranger says of itself is not taken for granted.
            hints: Hints::default(),
        },
    });
    Ok(Listed {
        tools: listed.collect(),
        sha256,
    })
}

/// The same tools, without the secrets of the server.
fn without_secrets(tools: Vec<Tool>, redactor: &Redactor) -> Result<Vec<Tool>, String> {
    let said = serde_json::to_string(&tools);
    let said = said.map_err(|e| format!("what it says of its tools has no JSON: {e}"))?;
    match redactor.clean(&said) {
        Cow::Borrowed(_) => Ok(tools),
        Cow::Owned(cleaned) => serde_json::from_str(&cleaned)
            .map_err(|e| format!("its tools make no sense without its secrets: {e}")),
    }
}

fn check(tool: &Tool) -> Result<(), String> {
    let name = &*tool.name;
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    if !(1..=128).contains(&name.len()) || !name.bytes().all(is_allowed) {
        let shown: String = name.chars().take(128).collect();
        return Err(format!(
            "{shown:?} is not a name of a tool: 1 to 128 of A-Z a-z 0-9 _ - . are"
        ));
    }
    let length = description(tool).len();
    if length > MAX_DESCRIPTION {
        return Err(format!(
            "the description of tool {name:?} has {length} bytes; at most {MAX_DESCRIPTION} are taken"
        ));
    }
    foreign_schema::check(&parameters(tool))
        .map_err(|why| format!("the schema of tool {name:?} is not taken: {why}"))
}

fn parameters(tool: &Tool) -> Value {
    Value::Object(JsonObject::clone(&tool.input_schema))
}

fn description(tool: &Tool) -> &str {
    let said = tool.description.as_deref().or(tool.title.as_deref());
    said.unwrap_or_default()
}

fn digest(tools: &[Tool]) -> Result<String, String> {
    let said = tools.iter().map(|tool| {
        json!({
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "outputSchema": tool.output_schema,
            "annotations": tool.annotations,
        })
    });
    let said: Value = said.collect();
    let canonical = serde_json_canonicalizer::to_vec(&said)
        .map_err(|e| format!("what it says of its tools has no canonical JSON: {e}"))?;
    Ok(hex(&Sha256::digest(canonical)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::Share;

    fn server(name: &str, resumable: bool) -> McpOptions {
        McpOptions {
            name: name.to_owned(),
            share: Share::Session,
            max_processes: 1,
            resumable,
            start_timeout: Duration::ZERO,
            timeout: Duration::ZERO,
            max_bytes: 1,
            redactor: Redactor::of(&["secret-value".into()]).unwrap(),
        }
    }

    fn tool(json: Value) -> Tool {
        serde_json::from_value(json).unwrap()
    }

    fn plain(name: &str) -> Tool {
        tool(json!({"name": name, "description": "d", "inputSchema": {"type": "object"}}))
    }

    #[test]
    fn tools_have_what_the_server_says() {
        let read = tool(json!({
            "name": "files.read", "title": "Read", "inputSchema": {"type": "object", "required": ["b", "a"]},
            "annotations": {"readOnlyHint": true},
        }));
        let listed = listed(&server("fs", true), vec![read, plain("a")]).unwrap();
        let [a, read] = &listed.tools[..] else {
            panic!("two")
        };
        assert_eq!((&*a.name, &*a.spec.name), ("a", "fs__a"));
        assert_eq!(
            (&*read.name, &*read.spec.name),
            ("files.read", "fs__files_read")
        );
        assert_eq!(
            (&*a.spec.description, &*read.spec.description),
            ("d", "Read")
        );
        assert_eq!(
            read.spec.parameters.to_string(),
            r#"{"type":"object","required":["b","a"]}"#
        );
        assert!(read.spec.resumable);
        assert_eq!(read.spec.hints, Hints::default());
    }

    #[test]
    fn the_digest_follows_what_is_said_and_not_its_order() {
        let of = |tools| listed(&server("s", false), tools).unwrap().sha256;
        let first = of(vec![plain("a"), plain("b")]);
        assert_eq!(of(vec![plain("b"), plain("a")]), first);
        let changes = [
            json!({"description": "other"}),
            json!({"title": "t"}),
            json!({"inputSchema": {"type": "object", "required": []}}),
            json!({"outputSchema": {"type": "object"}}),
            json!({"annotations": {"readOnlyHint": true}}),
        ];
        for change in changes {
            let mut b = serde_json::to_value(plain("b")).unwrap();
            b.as_object_mut()
                .unwrap()
                .extend(change.as_object().unwrap().clone());
            assert_ne!(of(vec![plain("a"), tool(b)]), first, "{change}");
        }
        assert_ne!(of(vec![plain("a")]), first);
    }

    #[test]
    fn secrets_are_taken_out_of_what_is_said_of_tools() {
        let said = |secret: &str| {
            tool(json!({
                "name": "a", "description": format!("of {secret}"),
                "inputSchema": {"type": "object", "default": {"key": secret}},
            }))
        };
        let listed = listed(&server("s", false), vec![said("secret-value")]).unwrap();
        let spec = &listed.tools[0].spec;
        assert_eq!(spec.description, "of [key]");
        assert_eq!(spec.parameters["default"]["key"], "[key]");
    }

    #[test]
    fn what_cannot_be_told_from_another_is_refused() {
        let long = "n".repeat(129);
        let talkative = tool(json!({
            "name": "a", "description": "x".repeat(MAX_DESCRIPTION + 1), "inputSchema": {},
        }));
        let table = [
            (
                vec![plain("a"), plain("a")],
                "it has two tools called \"a\"",
            ),
            (vec![plain("")], "\"\" is not a name of a tool"),
            (vec![plain("a b")], "\"a b\" is not a name of a tool"),
            (vec![plain("ä")], "\"ä\" is not a name of a tool"),
            (vec![plain(&long)], "\"nnn"),
            (
                vec![tool(json!({"name": "a", "inputSchema": {}}))],
                "the schema of tool \"a\" is not taken: it lacks \"type\": \"object\"",
            ),
            (
                vec![talkative],
                "the description of tool \"a\" has 16385 bytes",
            ),
        ];
        for (tools, why) in table {
            let error = listed(&server("s", false), tools).unwrap_err();
            assert!(error.starts_with(why), "{error}");
        }
    }
}
