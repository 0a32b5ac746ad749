//! From the tables of the config to the variants of a run.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    audit::Audit,
    digest::sha256_hex,
    judge,
    models::{ModelConfig, Models, parameters, unreadable},
    settings::{Located, Name},
};
use crate::{
    domain::{Limits, ToolMode, VariantName, input},
    error::Result,
};

/// The system prompt of a run whose config names none.
pub const DEFAULT_PROMPT: &str = include_str!("../../configs/prompts/react.md");

/// The same of a variant whose model answers with one JSON object: it tells of the tools, which
/// nothing else does then.
pub const DEFAULT_JSON_PROMPT: &str = include_str!("../../configs/prompts/react-json.md");

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

/// A system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The text, byte for byte.
    pub text: String,
    /// Its file; none: [`DEFAULT_PROMPT`] or [`DEFAULT_JSON_PROMPT`].
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

/// The variants of the run: those of `[variants]` if there are any, else one for each model that is
/// no judge.
pub(super) fn build(
    audit: &mut Audit<'_>,
    known: Known<'_>,
    models: &Models,
) -> Result<Vec<Variant>> {
    let settings = audit.settings;
    let base = base(audit, known)?;
    let declared = settings.names_of("variants").next().is_some();
    let section = if declared { "variants" } else { "models" };
    let judges = judge::names(settings);
    let mut variants = Vec::new();
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for at in settings.names_of(section) {
        if !declared && judges.contains(&at.name.as_str()) {
            continue;
        }
        if let Some(first) = seen.insert(at.name.to_ascii_lowercase(), &at.name) {
            let message = format!(
                "variant `{}` differs from `{first}` in its case alone",
                at.name
            );
            audit.tell_table(at, message, "some file systems take them for one");
        }
        let table = if declared {
            settings.read(&["variants", &at.name])?
        } else {
            VariantTable {
                model: Some(at.name.clone()),
                ..VariantTable::default()
            }
        };
        let mut builder = Builder {
            audit: &mut *audit,
            known,
            models,
        };
        variants.extend(builder.variant(at, table, &base)?);
    }
    if seen.is_empty() {
        let at = settings.names_of(section).next();
        if let Some(at) = at {
            let message = "there is no variant: every model is a judge".to_owned();
            let hint = format!("add [variants.NAME] with model = \"{}\"", at.name);
            audit.tell_table(at, message, hint);
        }
    }
    Ok(variants)
}

/// What `[session]` gives to every variant.
struct Base {
    prompt: Option<Prompt>,
    tools: Vec<String>,
    limits: Limits,
}

fn base(audit: &mut Audit<'_>, known: Known<'_>) -> Result<Base> {
    let table: SessionTable = audit.settings.read(&["session"])?;
    let limits: LimitsTable = audit.settings.read(&["session"])?;
    let at = |key| ["session", key];
    audit.names("tool", &at("tools"), &table.tools, known.tools);
    audit.names(
        "verifier",
        &at("verifiers"),
        &table.verifiers,
        known.verifiers,
    );
    Ok(Base {
        prompt: prompt(audit, &at("prompt")),
        tools: table.tools,
        limits: limits.over(&Limits::default()),
    })
}

struct Builder<'a, 'b> {
    audit: &'a mut Audit<'b>,
    known: Known<'a>,
    models: &'a Models,
}

impl Builder<'_, '_> {
    fn variant(&mut self, at: &Name, table: VariantTable, base: &Base) -> Result<Option<Variant>> {
        let path = |key| ["variants", at.name.as_str(), key];
        if let Some(tools) = &table.tools {
            self.audit
                .names("tool", &path("tools"), tools, self.known.tools);
        }
        let prompt = prompt(self.audit, &path("prompt"));
        let model = self.model_of(at, table.model.as_deref());
        let (Ok(name), Some(model)) = (
            VariantName::new(&at.name),
            model.and_then(|model| self.models.get(model)),
        ) else {
            return Ok(None);
        };
        let own = parameters(&table.parameters)?;
        for misfit in model.faults(&own) {
            self.audit.tell(&path("parameters"), misfit);
        }
        let (model, parameters) = model.asked_with(own);
        Ok(Some(Variant {
            name,
            prompt: prompt
                .or_else(|| base.prompt.clone())
                .unwrap_or_else(|| built_in(model.tool_mode)),
            model,
            tools: table.tools.unwrap_or_else(|| base.tools.clone()),
            limits: table.limits.over(&base.limits),
            parameters,
        }))
    }

    /// The model that a variant names, if there is one of this name.
    fn model_of<'m>(&mut self, at: &Name, model: Option<&'m str>) -> Option<&'m str> {
        let path = ["variants", at.name.as_str(), "model"];
        if let Some(model) = model {
            return self.audit.model(&path, model).then_some(model);
        }
        if self.audit.settings.is_missing(&path) {
            let message = format!("variant `{}` has no model", at.name);
            let names: Vec<&str> = self.audit.settings.names("models").collect();
            let hint = format!("add model = one of {}", names.join(", "));
            self.audit.tell_table(at, message, hint);
        }
        None
    }
}

/// The prompt of a variant that names none.
fn built_in(tool_mode: ToolMode) -> Prompt {
    let text = match tool_mode {
        ToolMode::Native => DEFAULT_PROMPT,
        ToolMode::Json => DEFAULT_JSON_PROMPT,
    };
    Prompt {
        text: text.to_owned(),
        file: None,
        sha256: sha256_hex(text.as_bytes()),
    }
}

fn prompt(audit: &mut Audit<'_>, path: &[&str]) -> Option<Prompt> {
    let file = audit.settings.located(path)?;
    match input::text(&file.path) {
        Ok(text) if text.trim().is_empty() => {
            let message = format!("{} is empty", file.path.display());
            audit.tell(path, message);
            None
        }
        Ok(text) => Some(Prompt {
            sha256: sha256_hex(text.as_bytes()),
            text,
            file: Some(file),
        }),
        Err(e) => {
            audit.tell(path, unreadable(&file, &e));
            None
        }
    }
}
