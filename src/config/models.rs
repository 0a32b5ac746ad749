//! `[models.NAME]`.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    audit::Audit,
    cassette::Cassette,
    digest::sha256_hex,
    keys::{KEYS, MODEL_KINDS},
    kinds::{Misfit, json_table},
    openai::{self, OpenAi},
    settings::{Located, Name},
};
use crate::{
    domain::{ToolMode, VariantName, input},
    error::{Error, Result},
};

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
    /// A live model.
    OpenAi(OpenAi),
    /// The replies of another run.
    Cassette(Cassette),
}

impl ModelKind {
    /// The name in configs and manifests.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Scripted { .. } => "scripted",
            Self::OpenAi(_) => "openai",
            Self::Cassette(_) => "cassette",
        }
    }
}

/// A file of scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptFile {
    /// Where it is.
    pub file: Located,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
}

pub(super) type Parameters = Map<String, Value>;

/// A model with its parameters.
#[derive(Clone)]
pub(super) struct Model {
    config: ModelConfig,
    parameters: Parameters,
}

impl Model {
    /// The model as one asks it who has parameters `over` its own.
    pub fn asked_with(&self, over: Parameters) -> (ModelConfig, Parameters) {
        let mut config = self.config.clone();
        let mut parameters = self.parameters.clone();
        parameters.extend(over);
        if let ModelKind::OpenAi(live) = &mut config.kind {
            live.output_limit = openai::output_limit(&parameters);
        }
        (config, parameters)
    }

    /// What is wrong with parameters that are sent to it.
    pub fn faults(&self, parameters: &Parameters) -> Vec<Misfit> {
        match self.config.kind {
            ModelKind::OpenAi(_) => openai::faults(parameters),
            ModelKind::Scripted { .. } | ModelKind::Cassette(_) => Vec::new(),
        }
    }
}

/// Models by the name of their table.
pub(super) type Models = BTreeMap<String, Model>;

#[derive(Deserialize)]
struct ModelTable {
    tool_mode: ToolMode,
    text_calls: bool,
    parameters: toml::Table,
}

#[derive(Deserialize)]
struct ScriptedTable {
    latency_ms: u32,
}

/// The models that could be made, of all `[models]`; of the others the problems are told.
pub(super) fn build(
    audit: &mut Audit<'_>,
    recorded: &BTreeMap<String, Cassette>,
) -> Result<Models> {
    let settings = audit.settings;
    let mut models = BTreeMap::new();
    for at in settings.names_of("models") {
        // The problem of a bad name has been told where it was read.
        let Ok(name) = VariantName::new(&at.name) else {
            continue;
        };
        if settings.is_missing(&["models", &at.name, "kind"]) {
            let kinds: Vec<String> = MODEL_KINDS.iter().map(|k| format!("{k:?}")).collect();
            let hint = format!("add kind = one of {}", kinds.join(", "));
            audit.tell_table(at, format!("model `{name}` has no kind"), hint);
        }
        let Some(kind) = settings.kind_of(&at.name) else {
            continue;
        };
        fits(audit, at, kind);
        let table: ModelTable = settings.read(&["models", &at.name])?;
        let parameters = parameters(&table.parameters)?;
        let kind = match kind {
            "openai" => openai::build(audit, at)?.map(ModelKind::OpenAi),
            "cassette" => recorded.get(&at.name).cloned().map(ModelKind::Cassette),
            _ => Some(scripted(audit, at)?),
        };
        let Some(kind) = kind else { continue };
        let config = ModelConfig {
            name,
            kind,
            tool_mode: table.tool_mode,
            text_calls: table.text_calls,
        };
        let model = Model { config, parameters };
        for misfit in model.faults(&model.parameters) {
            audit.tell(&["models", &at.name, "parameters"], misfit);
        }
        models.insert(at.name.clone(), model);
    }
    share(audit, &models);
    Ok(models)
}

/// Tells which keys do not go with the kind of the model, and which it lacks.
fn fits(audit: &mut Audit<'_>, at: &Name, kind: &str) {
    let settings = audit.settings;
    for key in KEYS.iter().filter(|key| !key.only.is_empty()) {
        let path: Vec<&str> = key
            .parts()
            .map(|part| if part == "*" { at.name.as_str() } else { part })
            .collect();
        if key.only.contains(&kind) {
            // What a table within the table needs is told with that.
            let is_needed = key.is_required && path.len() == 3;
            if is_needed && settings.is_missing(&path) {
                let name = path.last().copied().unwrap_or_default();
                let message = format!("model `{}` has no {name}", at.name);
                audit.tell_table(at, message, example(name));
            }
        } else if settings.is_set(&path) {
            let of = key.only.join(" or ");
            audit.tell(
                &path,
                Misfit {
                    message: format!("goes with models of kind {of}, and this one is {kind}"),
                    hint: Some(format!("remove it, or set kind = {of:?}")),
                },
            );
        }
    }
}

fn example(key: &str) -> &'static str {
    match key {
        "base_url" => "add base_url = \"https://HOST/v1\", the address before /chat/completions",
        "model" => "add model = \"NAME\", as the endpoint knows it",
        _ => "add from = \"RUN/VARIANT\": a run's folder, its id, or latest, and a variant of it",
    }
}

fn scripted(audit: &mut Audit<'_>, at: &Name) -> Result<ModelKind> {
    let table: ScriptedTable = audit.settings.read(&["models", &at.name])?;
    Ok(ModelKind::Scripted {
        scripts: scripts(audit, &at.name),
        latency: Duration::from_millis(table.latency_ms.into()),
    })
}

fn scripts(audit: &mut Audit<'_>, model: &str) -> Option<ScriptFile> {
    let path = ["models", model, "scripts"];
    let file = audit.settings.located(&path)?;
    match input::bytes(&file.path) {
        Ok(bytes) => Some(ScriptFile {
            sha256: sha256_hex(&bytes),
            file,
        }),
        Err(e) => {
            audit.tell(&path, unreadable(&file, &e));
            None
        }
    }
}

/// Tells which models share an endpoint, by address and key, and not its slots and rates.
fn share(audit: &mut Audit<'_>, models: &Models) {
    let mut seen: Vec<(&str, &OpenAi)> = Vec::new();
    for at in audit.settings.names_of("models") {
        let Some(ModelKind::OpenAi(this)) = models.get(&at.name).map(|m| &m.config.kind) else {
            continue;
        };
        let mut others = seen.iter();
        let Some((name, first)) = others.find(|(_, o)| o.endpoint() == this.endpoint()) else {
            seen.push((&at.name, this));
            continue;
        };
        for (key, of) in SHARED {
            let (theirs, own) = (of(first), of(this));
            if theirs != own {
                let shown = |n: Option<u64>| n.map_or("not set".to_owned(), |n| n.to_string());
                let (theirs, own) = (shown(theirs), shown(own));
                let path: Vec<&str> = ["models", &at.name].into_iter().chain(key).collect();
                audit.tell_within(
                    at,
                    &path,
                    Misfit {
                        message: format!(
                            "is {own} here and {theirs} for model `{name}` on the same endpoint"
                        ),
                        hint: Some("give both the same: they share it".to_owned()),
                    },
                );
            }
        }
    }
}

/// What models of one endpoint share.
type Share = ([&'static str; 2], fn(&OpenAi) -> Option<u64>);
const SHARED: [Share; 4] = [
    (["slots", "start"], |o| Some(o.slots_start.into())),
    (["slots", "max"], |o| o.slots_max.map(u64::from)),
    (["rates", "requests_per_minute"], |o| o.requests_per_minute),
    (["rates", "tokens_per_minute"], |o| o.tokens_per_minute),
];

pub(super) fn unreadable(file: &Located, error: &std::io::Error) -> Misfit {
    format!("{} cannot be read: {error}", file.path.display()).into()
}

pub(super) fn parameters(table: &toml::Table) -> Result<Parameters> {
    json_table(table).map_err(Error::internal)
}
