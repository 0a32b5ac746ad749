use std::{collections::BTreeMap, sync::Arc};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::Tool;
use crate::domain::ToolSpec;

/// All tools of a run, by name. Schemas are compiled once, here.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<Entry>>,
}

/// A tool with its compiled schema.
pub struct Entry {
    tool: Arc<dyn Tool>,
    validator: Validator,
    wire: Value,
}

/// Why a tool cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum RegistryError {
    /// Two tools of one name.
    #[error("two tools are named {0:?}")]
    Duplicate(String),
    /// A name that providers do not take.
    #[error("tool name {0:?}: use 1 to 64 of A-Z a-z 0-9 _ -")]
    Name(String),
    /// The parameters are not a JSON Schema.
    #[error("the schema of tool {name:?} is not valid: {message}")]
    Schema {
        /// The tool.
        name: String,
        /// What the validator says.
        message: String,
    },
}

impl Registry {
    /// Adds a tool.
    ///
    /// # Errors
    /// When the name is taken or not fit for providers, or the schema does not compile.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        let spec = tool.spec();
        let name = spec.name.clone();
        if !is_wire_name(&name) {
            return Err(RegistryError::Name(name));
        }
        if self.tools.contains_key(&name) {
            return Err(RegistryError::Duplicate(name));
        }
        let validator =
            jsonschema::options()
                .build(&spec.parameters)
                .map_err(|e| RegistryError::Schema {
                    name: name.clone(),
                    message: e.to_string(),
                })?;
        let wire = json!({
            "type": "function",
            "function": {
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters,
            },
        });
        self.tools.insert(
            name,
            Arc::new(Entry {
                tool,
                validator,
                wire,
            }),
        );
        Ok(())
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// The tools of a session: those named, in that order.
    ///
    /// # Errors
    /// The first name that is not registered.
    pub fn select<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<ToolSet, String> {
        names
            .into_iter()
            .map(|name| self.tools.get(name).cloned().ok_or_else(|| name.to_owned()))
            .collect::<Result<Vec<_>, _>>()
            .map(|entries| ToolSet {
                entries: entries.into(),
            })
    }
}

/// The tools of one session.
#[derive(Clone, Default)]
pub struct ToolSet {
    entries: Arc<[Arc<Entry>]>,
}

impl ToolSet {
    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|e| e.spec().name == name)
            .map(AsRef::as_ref)
    }

    /// Their names, in the order of the session.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|e| e.spec().name.as_str())
    }

    /// The `tools` of a chat request.
    #[must_use]
    pub fn wire(&self) -> Value {
        self.entries.iter().map(|e| e.wire.clone()).collect()
    }
}

impl Entry {
    /// What is said of it.
    #[must_use]
    pub fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    /// The tool itself.
    #[must_use]
    pub fn tool(&self) -> &Arc<dyn Tool> {
        &self.tool
    }

    /// Its compiled schema.
    #[must_use]
    pub fn validator(&self) -> &Validator {
        &self.validator
    }
}

/// Whether providers take `name` as the name of a tool: `[A-Za-z0-9_-]{1,64}`.
#[must_use]
pub fn is_wire_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
