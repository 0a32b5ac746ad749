//! From the tables of the config to the variants of a run.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    digest::sha256_hex,
    kinds::{Misfit, check_names, did_you_mean, json_table},
    settings::{Located, Name, Settings},
};
use crate::{
    domain::{Limits, ToolMode, VariantName, input},
    error::{Error, Problem, Result},
};

/// The system prompt of a run whose config names none.
pub const DEFAULT_PROMPT: &str = include_str!("../../configs/prompts/react.md");

/// One way of running cases.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Unique in the run.
    pub name: VariantName,
    /// What answers.
    pub model: ModelConfig,
    /// What it is told.
    pub prompt: Prompt,
    /// What it may call; a case's own `tools` win.
    pub tools: Vec<String>,
    /// What one session may spend; a case's own `max_steps` wins.
    pub limits: Limits,
    /// Sent with each request: those of the model, with the variant's over them one by one.
    pub parameters: Map<String, Value>,
}

/// A `[models.NAME]` table, without its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig {
    /// The table's name.
    pub name: VariantName,
    /// What answers.
    pub kind: ModelKind,
    /// How it calls tools.
    pub tool_mode: ToolMode,
    /// Whether calls written into the text count.
    pub text_calls: bool,
}

/// What answers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelKind {
    /// Replies written in advance.
    Scripted {
        /// A file of scripts; none: those in the cases.
        scripts: Option<ScriptFile>,
        /// How long a reply takes.
        latency: Duration,
    },
}

/// A file of scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptFile {
    /// Where it is.
    pub file: Located,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
}

/// A system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The text, byte for byte.
    pub text: String,
    /// Its file; none: [`DEFAULT_PROMPT`].
    pub file: Option<Located>,
    /// SHA-256 of the text, hex.
    pub sha256: String,
}

/// The names that the rest of farm knows.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Of tools.
    pub tools: &'a [&'a str],
    /// Of verifiers.
    pub verifiers: &'a [&'a str],
}

#[derive(Deserialize)]
struct ModelTable {
    latency_ms: u32,
    tool_mode: ToolMode,
    text_calls: bool,
    parameters: toml::Table,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct VariantTable {
    model: Option<String>,
    tools: Option<Vec<String>>,
    limits: LimitsTable,
    parameters: toml::Table,
}

#[derive(Deserialize, Default)]
struct LimitsTable {
    max_steps: Option<u32>,
    max_tokens: Option<u64>,
    max_cost_usd: Option<f64>,
    max_seconds: Option<f64>,
}

impl LimitsTable {
    fn over(self, base: &Limits) -> Limits {
        Limits {
            max_steps: self.max_steps.unwrap_or(base.max_steps),
            max_tokens: self.max_tokens.or(base.max_tokens),
            max_cost_usd: self.max_cost_usd.or(base.max_cost_usd),
            max_seconds: self.max_seconds.or(base.max_seconds),
        }
    }
}

#[derive(Deserialize)]
struct SessionTable {
    tools: Vec<String>,
    verifiers: Vec<String>,
}

/// The variants of the run: those of `[variants]` if there are any, else one for each model.
pub(super) fn build(
    settings: &Settings,
    known: Known<'_>,
    problems: &mut Vec<Problem>,
) -> Result<Vec<Variant>> {
    let mut builder = Builder {
        settings,
        known,
        problems,
    };
    let models = builder.models()?;
    let base = builder.base()?;
    let declared = settings.names_of("variants").next().is_some();
    let section = if declared { "variants" } else { "models" };
    let mut variants = Vec::new();
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for at in settings.names_of(section) {
        if let Some(first) = seen.insert(at.name.to_ascii_lowercase(), &at.name) {
            let message = format!(
                "variant `{}` differs from `{first}` in its case alone",
                at.name
            );
            let problem = at.origin.problem(message);
            let hint = "some file systems take them for one";
            builder.problems.push(problem.hint(hint));
        }
        let table = if declared {
            settings.read(&["variants", &at.name])?
        } else {
            VariantTable {
                model: Some(at.name.clone()),
                ..VariantTable::default()
            }
        };
        variants.extend(builder.variant(at, table, &models, &base)?);
    }
    Ok(variants)
}

type Parameters = Map<String, Value>;

/// What `[session]` gives to every variant.
struct Base {
    prompt: Prompt,
    tools: Vec<String>,
    limits: Limits,
}

struct Builder<'a> {
    settings: &'a Settings,
    known: Known<'a>,
    problems: &'a mut Vec<Problem>,
}

impl Builder<'_> {
    fn models(&mut self) -> Result<BTreeMap<String, (ModelConfig, Parameters)>> {
        let mut models = BTreeMap::new();
        for at in self.settings.names_of("models") {
            // The problem of a bad name has been told where it was read.
            let Ok(name) = VariantName::new(&at.name) else {
                continue;
            };
            let table: ModelTable = self.settings.read(&["models", &at.name])?;
            if self.settings.is_missing(&["models", &at.name, "kind"]) {
                let problem = at.origin.problem(format!("model `{name}` has no kind"));
                self.problems.push(problem.hint("add kind = \"scripted\""));
            }
            let model = ModelConfig {
                name,
                kind: ModelKind::Scripted {
                    scripts: self.scripts(&at.name),
                    latency: Duration::from_millis(table.latency_ms.into()),
                },
                tool_mode: table.tool_mode,
                text_calls: table.text_calls,
            };
            models.insert(at.name.clone(), (model, parameters(&table.parameters)?));
        }
        Ok(models)
    }

    fn base(&mut self) -> Result<Base> {
        let table: SessionTable = self.settings.read(&["session"])?;
        let limits: LimitsTable = self.settings.read(&["session"])?;
        self.check(
            "tool",
            &["session", "tools"],
            &table.tools,
            self.known.tools,
        );
        self.check(
            "verifier",
            &["session", "verifiers"],
            &table.verifiers,
            self.known.verifiers,
        );
        let prompt = self
            .prompt(&["session", "prompt"])
            .unwrap_or_else(|| Prompt {
                text: DEFAULT_PROMPT.to_owned(),
                file: None,
                sha256: sha256_hex(DEFAULT_PROMPT.as_bytes()),
            });
        Ok(Base {
            prompt,
            tools: table.tools,
            limits: limits.over(&Limits::default()),
        })
    }

    fn variant(
        &mut self,
        at: &Name,
        table: VariantTable,
        models: &BTreeMap<String, (ModelConfig, Parameters)>,
        base: &Base,
    ) -> Result<Option<Variant>> {
        if let Some(tools) = &table.tools {
            let path = ["variants", at.name.as_str(), "tools"];
            self.check("tool", &path, tools, self.known.tools);
        }
        let prompt = self.prompt(&["variants", &at.name, "prompt"]);
        let model = self.model_of(at, table.model.as_deref());
        let (Ok(name), Some((model, base_parameters))) = (
            VariantName::new(&at.name),
            model.and_then(|m| models.get(m)),
        ) else {
            return Ok(None);
        };
        let mut merged = base_parameters.clone();
        merged.extend(parameters(&table.parameters)?);
        Ok(Some(Variant {
            name,
            model: model.clone(),
            prompt: prompt.unwrap_or_else(|| base.prompt.clone()),
            tools: table.tools.unwrap_or_else(|| base.tools.clone()),
            limits: table.limits.over(&base.limits),
            parameters: merged,
        }))
    }

    /// The model that a variant names, if there is one of this name.
    fn model_of<'m>(&mut self, at: &Name, model: Option<&'m str>) -> Option<&'m str> {
        let names: Vec<&str> = self
            .settings
            .names_of("models")
            .map(|n| n.name.as_str())
            .collect();
        let path = ["variants", at.name.as_str(), "model"];
        let Some(model) = model else {
            if !self.settings.is_missing(&path) {
                return None;
            }
            let message = format!("variant `{}` has no model", at.name);
            let hint = format!("add model = one of {}", names.join(", "));
            self.problems.push(at.origin.problem(message).hint(hint));
            return None;
        };
        if names.contains(&model) {
            return Some(model);
        }
        let misfit = Misfit {
            message: format!("unknown model `{model}`; known are {}", names.join(", ")),
            hint: did_you_mean(model, &names),
        };
        self.tell(&path, misfit);
        None
    }

    fn scripts(&mut self, model: &str) -> Option<ScriptFile> {
        let path = ["models", model, "scripts"];
        let file = self.settings.located(&path)?;
        match input::bytes(&file.path) {
            Ok(bytes) => Some(ScriptFile {
                sha256: sha256_hex(&bytes),
                file,
            }),
            Err(e) => {
                self.tell(&path, unreadable(&file, &e));
                None
            }
        }
    }

    fn prompt(&mut self, path: &[&str]) -> Option<Prompt> {
        let file = self.settings.located(path)?;
        match input::text(&file.path) {
            Ok(text) if text.trim().is_empty() => {
                let message = format!("{} is empty", file.path.display());
                self.tell(path, message.into());
                None
            }
            Ok(text) => Some(Prompt {
                sha256: sha256_hex(text.as_bytes()),
                text,
                file: Some(file),
            }),
            Err(e) => {
                self.tell(path, unreadable(&file, &e));
                None
            }
        }
    }

    fn check(&mut self, what: &str, path: &[&str], names: &[String], known: &[&str]) {
        for misfit in check_names(what, names, known) {
            self.tell(path, misfit);
        }
    }

    fn tell(&mut self, path: &[&str], misfit: Misfit) {
        self.problems.push(self.settings.problem(path, misfit));
    }
}

fn unreadable(file: &Located, error: &std::io::Error) -> Misfit {
    format!("{} cannot be read: {error}", file.path.display()).into()
}

fn parameters(table: &toml::Table) -> Result<Parameters> {
    json_table(table).map_err(Error::internal)
}
