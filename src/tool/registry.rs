use std::{collections::BTreeMap, sync::Arc, thread};

use jsonschema::{PatternOptions, Validator};
use serde_json::{Value, json};

use super::{Tool, ToolSet, foreign_schema, validation_cost};
use crate::{
    domain::{ToolSpec, is_wire_name},
    error::nearest,
};

/// The most checks that a validation may take: a fraction of a second.
const MAX_CHECKS: usize = 1_000_000;
/// The most checks that may have failed for the violations to be listed: each takes some 400 bytes.
const MAX_LISTED: usize = 50_000;
/// Bytes of stack for compiling a schema with references. Without optimisation a level takes up to
/// 18 KiB, and [`foreign_schema`] lets 1,000 through.
const COMPILER_STACK: usize = 32 << 20;
/// What a regular expression may take when it is compiled, in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 19;

/// The most regular expressions of all tools of servers: each is compiled, and may take as much.
const MAX_FOREIGN_PATTERNS: usize = 500;

/// All tools of a run, by name. Schemas are compiled once, here.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<Entry>>,
    /// Regular expressions in the schemas of tools of servers.
    foreign_patterns: usize,
}

/// A tool with its compiled schema.
pub struct Entry {
    tool: Arc<dyn Tool>,
    validator: Validator,
    /// Whether arguments may take more work than there is time for.
    may_explode: bool,
    wire: Value,
}

/// Why a tool cannot be registered or selected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Two tools of one name, or one selected twice.
    #[error("tool {0:?} is there twice")]
    Duplicate(String),
    /// A name that providers do not take.
    #[error("{0:?} is not a valid tool name: use 1 to 64 of A-Z a-z 0-9 _ -")]
    Name(String),
    /// A name that is not registered; says which are.
    #[error("{0}")]
    Unknown(String),
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
    /// When the name is taken or not fit for providers, or the schema does not compile: it must hold
    /// all that it refers to, and its patterns must do without look-around and be of a sane size, so
    /// that no schema reads a file, asks a network or takes more than linear time to match.
    /// That of a tool of a server is looked through first: compiling some takes all stack or memory.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), RegistryError> {
        let spec = tool.spec();
        let name = spec.name.clone();
        if !is_wire_name(&name) {
            return Err(RegistryError::Name(name));
        }
        if self.tools.contains_key(&name) {
            return Err(RegistryError::Duplicate(name));
        }
        let refused = |message| RegistryError::Schema {
            name: name.clone(),
            message,
        };
        if tool.server().is_some() {
            foreign_schema::check(&spec.parameters).map_err(refused)?;
            let patterns = self.foreign_patterns + foreign_schema::patterns(&spec.parameters);
            if patterns > MAX_FOREIGN_PATTERNS {
                let why = "the schemas of all tools of servers together have too many patterns";
                return Err(refused(why.to_owned()));
            }
            self.foreign_patterns = patterns;
        }
        let may_explode = validation_cost::may_explode(&spec.parameters);
        let compiled = match may_explode {
            true => compiled_with_room(&spec.parameters),
            false => compiled(&spec.parameters),
        };
        let validator = compiled.map_err(refused)?;
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
                may_explode,
                wire,
            }),
        );
        Ok(())
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// All tools, by name.
    #[must_use]
    pub fn all(&self) -> ToolSet {
        ToolSet::of(self.tools.values().cloned().collect())
    }

    /// The tools of a session: those named, in that order, as [`expand`](Self::expand) has them.
    ///
    /// # Errors
    /// The first name that is not registered or comes twice.
    pub fn select<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<ToolSet, RegistryError> {
        let names = self.expand(names)?;
        let entries = names.into_iter().filter_map(|name| self.tools.get(name));
        Ok(ToolSet::of(entries.cloned().collect()))
    }

    /// These names, with all that begin so and have not been named before in place of `PREFIX*`,
    /// sorted.
    ///
    /// # Errors
    /// The first name that is not registered or comes twice.
    pub fn expand<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<&str>, RegistryError> {
        let mut expanded: Vec<&str> = Vec::new();
        for name in names {
            let unknown = || RegistryError::Unknown(unknown(name, self.names()));
            if let Some(prefix) = name.strip_suffix('*') {
                let all: Vec<&str> = self.names().filter(|n| n.starts_with(prefix)).collect();
                if all.is_empty() {
                    return Err(unknown());
                }
                let new = all.into_iter().filter(|n| !expanded.contains(n));
                expanded.extend(new.collect::<Vec<_>>());
                continue;
            }
            let (known, _) = self.tools.get_key_value(name).ok_or_else(unknown)?;
            if expanded.contains(&name) {
                return Err(RegistryError::Duplicate(name.to_owned()));
            }
            expanded.push(known);
        }
        Ok(expanded)
    }
}

fn compiled(schema: &Value) -> Result<Validator, String> {
    jsonschema::options()
        .offline()
        // In all drafts it says something and asks nothing, as in the newest.
        .should_validate_formats(false)
        .with_pattern_options(PatternOptions::regex().size_limit(MAX_PATTERN_BYTES))
        .build(schema)
        .map_err(|e| e.to_string())
}

/// The same on a stack of its own: a compiler that follows references goes deep.
fn compiled_with_room(schema: &Value) -> Result<Validator, String> {
    let thread = thread::Builder::new().stack_size(COMPILER_STACK);
    thread::scope(|scope| {
        let compiling = thread.spawn_scoped(scope, || compiled(schema));
        let compiling = compiling.map_err(|e| format!("no thread to compile it: {e}"))?;
        let failed = |_| Err("it cannot be compiled".to_owned());
        compiling.join().unwrap_or_else(failed)
    })
}

/// Says that there is no tool of that name, which one may be meant and which there are.
pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    // No tool has a longer name, and a model may write anything.
    let shown: String = name.chars().take(64).collect();
    let mut text = format!("no tool {shown:?}");
    if let Some(near) = nearest(&shown, known.iter().copied()) {
        text.push_str(&format!("; did you mean {near:?}?"));
    } else {
        text.push(';');
    }
    if known.is_empty() {
        text.push_str(" there are no tools");
    } else {
        text.push_str(&format!(" tools: {}", known.join(", ")));
    }
    text
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

    /// Whether the [`validator`](Self::validator) may be asked about these arguments: it cannot be
    /// interrupted, and some schemas have it work for hours or overflow the stack.
    #[must_use]
    pub fn can_check(&self, args: &Value) -> bool {
        !self.may_explode || self.takes_at_most(MAX_CHECKS, args)
    }

    /// Whether the validator may be asked for all that is wrong with them.
    #[must_use]
    pub fn can_explain(&self, args: &Value) -> bool {
        self.takes_at_most(MAX_LISTED, args)
    }

    fn takes_at_most(&self, checks: usize, args: &Value) -> bool {
        validation_cost::is_affordable(&self.spec().parameters, args, checks)
    }

    /// What a chat request says of it.
    pub(super) fn wire(&self) -> &Value {
        &self.wire
    }

    /// Its compiled schema.
    #[must_use]
    pub fn validator(&self) -> &Validator {
        &self.validator
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{BoxFuture, Hints, Observation};
    use crate::tool::ToolContext;

    struct Named(ToolSpec);

    impl Tool for Named {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn call<'a>(&'a self, _: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, Observation> {
            Box::pin(std::future::ready(Observation::ok("")))
        }
    }

    fn tool(name: &str, parameters: Value) -> Arc<dyn Tool> {
        Arc::new(Named(ToolSpec {
            name: name.to_owned(),
            description: "d".to_owned(),
            parameters,
            resumable: true,
            hints: Hints::default(),
        }))
    }

    fn registry(names: &[&str]) -> Registry {
        let mut registry = Registry::default();
        for name in names {
            registry.add(tool(name, json!({"type": "object"}))).unwrap();
        }
        registry
    }

    #[test]
    fn names_are_checked() {
        let mut registry = registry(&["a", "A-b_9"]);
        let again = registry.add(tool("a", json!({})));
        assert_eq!(again, Err(RegistryError::Duplicate("a".to_owned())));
        for name in ["", "a.b", "a b", "\u{e4}", &"n".repeat(65)] {
            let got = registry.add(tool(name, json!({})));
            assert_eq!(got, Err(RegistryError::Name(name.to_owned())));
        }
        assert_eq!(registry.add(tool(&"n".repeat(64), json!({}))), Ok(()));
    }

    #[test]
    fn a_schema_stands_alone_and_is_linear() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "{}").unwrap();
        let table = [
            json!({"type": "nonsense"}),
            json!({"$ref": "http://127.0.0.1:9/schema.json"}),
            json!({"$ref": format!("file://{}", file.path().display())}),
            json!({"$ref": "#/$defs/missing"}),
            json!({"$schema": "https://example.org/own", "type": "object"}),
            json!({"pattern": "(?=a)b"}),
            json!({"pattern": "(a)\\1"}),
        ];
        for schema in table {
            let got = Registry::default().add(tool("a", schema.clone()));
            assert!(
                matches!(got, Err(RegistryError::Schema { .. })),
                "{schema}: {got:?}"
            );
        }
    }

    #[test]
    fn a_selection_keeps_its_order() {
        let registry = registry(&["a", "b", "calculator"]);
        let tools = registry.select(["calculator", "a"]).unwrap();
        assert_eq!(tools.names().collect::<Vec<_>>(), ["calculator", "a"]);
        assert_eq!(tools.wire()[0]["function"]["name"], "calculator");
        assert!(tools.get("b").is_none());
        let names = |names: &[&str]| -> Vec<String> {
            let tools = registry.select(names.iter().copied()).unwrap();
            tools.names().map(str::to_owned).collect()
        };
        assert_eq!(names(&["calc*", "*"]), ["calculator", "a", "b"]);
        assert_eq!(names(&["b", "b*"]), ["b"]);
        let table = [
            (vec!["x*"], r#"no tool "x*"; tools: a, b, calculator"#),
            (vec!["*", "a"], r#"tool "a" is there twice"#),
            (vec!["a", "a"], r#"tool "a" is there twice"#),
            (
                vec!["calculater"],
                r#"no tool "calculater"; did you mean "calculator"? tools: a, b, calculator"#,
            ),
            (vec!["zzz"], r#"no tool "zzz"; tools: a, b, calculator"#),
        ];
        for (names, why) in table {
            assert_eq!(registry.select(names).err().unwrap().to_string(), why);
        }
        let none = Registry::default().select(["a"]).err().unwrap();
        assert_eq!(none.to_string(), r#"no tool "a"; there are no tools"#);
    }
}
