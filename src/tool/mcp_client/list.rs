//! What a server says of its tools, checked. Pure.

use std::collections::BTreeSet;

use rmcp::model::{JsonObject, Tool};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{names::names, server::McpOptions};
use crate::domain::{Hints, ToolSpec, hex, shortened};

/// The most tools of one server.
pub(super) const MAX_TOOLS: usize = 256;

/// The longest list, in bytes of JSON.
pub(super) const MAX_LIST: usize = 1 << 20;

/// The longest description of a tool, in bytes.
const MAX_DESCRIPTION: usize = 16 << 10;

/// How many characters of what differs are told.
const SHOWN: usize = 300;

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
    /// SHA-256 of what is said of it, as of all.
    sha256: String,
    /// What it is in farm.
    pub spec: ToolSpec,
}

/// Checks the tools of a server.
///
/// # Errors
/// What is wrong with them, in words.
pub(super) fn listed(server: &McpOptions, mut tools: Vec<Tool>) -> Result<Listed, String> {
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
    let said: Vec<Value> = tools.iter().map(said).collect();
    let sha256 = digest(&json!(said))?;
    let mut listed = Vec::with_capacity(tools.len());
    for ((tool, name), said) in tools.iter().zip(names).zip(&said) {
        listed.push(ListedTool {
            name: tool.name.clone().into_owned(),
            sha256: digest(said)?,
            spec: ToolSpec {
                name,
                description: description(tool).to_owned(),
                parameters: parameters(tool),
                resumable: server.resumable,
                // What a stranger says of itself is not taken for granted.
                hints: Hints::default(),
            },
        });
    }
    Ok(Listed {
        tools: listed,
        sha256,
    })
}

impl Listed {
    /// How another list differs, in words.
    pub fn difference(&self, now: &Self) -> String {
        let find = |list: &Self, name: &str| {
            let tool = list.tools.iter().find(|tool| tool.name == name);
            tool.map(|tool| tool.sha256.clone())
        };
        let mut differences = Vec::new();
        for ListedTool { name, sha256, .. } in &self.tools {
            match find(now, name) {
                None => differences.push(format!("{name} is gone")),
                Some(other) if other != *sha256 => {
                    differences.push(format!("{name} is described otherwise"));
                }
                Some(_) => {}
            }
        }
        let new = now
            .tools
            .iter()
            .filter(|tool| find(self, &tool.name).is_none());
        differences.extend(new.map(|tool| format!("{} is new", tool.name)));
        shortened(&differences.join(", "), SHOWN)
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
    Ok(())
}

fn parameters(tool: &Tool) -> Value {
    Value::Object(JsonObject::clone(&tool.input_schema))
}

fn description(tool: &Tool) -> &str {
    let said = tool.description.as_deref().or(tool.title.as_deref());
    said.unwrap_or_default()
}

/// What is said of a tool, as far as anybody makes something of it.
fn said(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input_schema,
        "outputSchema": tool.output_schema,
        "annotations": tool.annotations,
    })
}

fn digest(said: &Value) -> Result<String, String> {
    let canonical = serde_json_canonicalizer::to_vec(said)
        .map_err(|e| format!("what it says of its tools has no canonical JSON: {e}"))?;
    Ok(hex(&Sha256::digest(canonical)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::{Redactor, Scope};

    fn server(name: &str, resumable: bool) -> McpOptions {
        McpOptions {
            name: name.to_owned(),
            share: Scope::Session,
            max_processes: 1,
            resumable,
            start_timeout: Duration::ZERO,
            timeout: Duration::ZERO,
            max_bytes: 1,
            redactor: Redactor::default(),
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
    fn a_difference_says_which_tools() {
        let of = |tools| listed(&server("s", false), tools).unwrap();
        let before = of(vec![plain("a"), plain("b"), plain("c")]);
        let other = json!({"name": "b", "description": "other", "inputSchema": {"type": "object"}});
        let now = of(vec![tool(other), plain("c"), plain("d")]);
        let want = "a is gone, b is described otherwise, d is new";
        assert_eq!(before.difference(&now), want);
        assert_eq!(before.difference(&before), "");
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
