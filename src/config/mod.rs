//! What a run is to do: defaults < config file < `FARM_*` < command line, resolved and checked.
//!
//! [`KEYS`] names every key once, and [`schema()`] is its JSON Schema. [`resolve`] lays the layers
//! over one another and gives a [`Resolved`], in which each value knows where it came from.
//! [`load_cases`], [`load_scripts`] and [`select()`] read the other files that people write.
//! Nothing here reads the environment: the caller hands it in.

mod audit;
mod caps;
mod cases;
mod cassette;
mod changes;
mod differences;
mod digest;
mod file;
mod files;
mod guard;
mod headers;
mod judge;
mod keys;
mod kinds;
mod layers;
mod mcp;
mod models;
mod openai;
mod resolved;
mod schema;
mod scripts;
mod seeds;
mod select;
mod settings;
#[cfg(test)]
mod tests;
mod until;
mod url;
mod variants;
mod write;

use std::{ffi::OsString, path::Path};

pub use cases::{CaseRules, load_cases};
pub use cassette::{Cassette, Recordings};
pub use changes::{Change, operation_changes};
pub use differences::{Difference, differences};
pub use digest::{digest, sha256_hex};
pub use files::{FilesError, files_digest, list as list_files};
pub use guard::{FileId, Guard};
pub use judge::{Grader, Judge};
pub use keys::{Class, KEYS, Key};
pub use kinds::Kind;
pub use mcp::{McpServer, SERVER_ENV};
pub use models::{ModelConfig, ModelKind, ScriptFile};
pub use openai::OpenAi;
pub use resolved::{Pages, Resolved, Run, Session, Suite, Tools};
pub use schema::schema;
pub use scripts::load_scripts;
pub use seeds::{SeedError, SeedRange};
pub use select::{Selection, select};
pub use settings::{Located, Origin};
pub use until::{Until, UntilError};
pub use variants::{DEFAULT_JSON_PROMPT, DEFAULT_PROMPT, Known, Prompt, Variant};
pub use write::relative;

use crate::error::{Error, Problem, Result};
use kinds::did_you_mean;
use settings::Settings;

/// Where farm looks for its config, from where it stands.
pub const DEFAULT_FILE: &str = "configs/farm.toml";

/// Which config file to read.
#[derive(Debug, Clone, Copy)]
pub enum ConfigFile<'a> {
    /// One that the user named: it must be there.
    Named(&'a Path),
    /// That of a run that goes on. Its deadline was one of the process that is gone: it is left out.
    Recorded(&'a Path),
    /// [`DEFAULT_FILE`], or another that need not be there.
    IfPresent(&'a Path),
}

/// What a config is made of.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The file.
    pub file: ConfigFile<'a>,
    /// The environment; what does not begin with `FARM_` is ignored, and so are `FARM_CONFIG`
    /// and the variables of the tests. What is not UTF-8 is a problem.
    pub env: &'a [(OsString, OsString)],
    /// What the command line sets: paths of keys, such as `run.seeds`, with their values.
    pub flags: &'a [(&'a str, toml::Value)],
    /// The models that the command line selects; empty: all variants.
    pub models: &'a [String],
    /// The names that the rest of farm knows.
    pub known: Known<'a>,
    /// Where cassettes answer from.
    pub recordings: &'a dyn Recordings,
}

/// Lays the sources over one another and checks the whole.
///
/// # Errors
/// An input error with every problem of the config and its place; internal when farm contradicts
/// itself.
pub fn resolve(sources: &Sources<'_>) -> Result<Resolved> {
    let mut settings = Settings::default();
    let (file, is_required) = match sources.file {
        ConfigFile::Named(file) | ConfigFile::Recorded(file) => (file, true),
        ConfigFile::IfPresent(file) => (file, false),
    };
    let mut problems = file::read(file, is_required, &mut settings)?;
    if matches!(sources.file, ConfigFile::Recorded(_)) {
        settings.forget(&["run", "until"]);
    }
    layers::default_model(&mut settings);
    layers::env(sources.env, &mut settings, &mut problems);
    layers::flags(sources.flags, &mut settings, &mut problems);
    select_models(sources.models, &mut settings, &mut problems);
    settings.fill_defaults()?;
    let recorded = cassette::find(&mut settings, sources.recordings, &mut problems);
    let resolved = Resolved::build(settings, sources.known, &recorded, &mut problems)?;
    if problems.is_empty() {
        return Ok(resolved);
    }
    problems.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
    Err(Error::problems(problems))
}

/// Restricts a run to some models, each then a variant of its own, and to those that judge.
fn select_models(models: &[String], settings: &mut Settings, problems: &mut Vec<Problem>) {
    if models.is_empty() {
        return;
    }
    let known: Vec<&str> = settings.names("models").collect();
    let mut is_known = true;
    for model in models.iter().filter(|m| !known.contains(&m.as_str())) {
        let message = format!("unknown model `{model}`; known are {}", known.join(", "));
        let mut problem = Problem::file(Path::new("--model"), message);
        problem.hint = did_you_mean(model, &known);
        problems.push(problem);
        is_known = false;
    }
    if is_known {
        let judges = judge::names(settings).into_iter().map(str::to_owned);
        let judges: Vec<String> = judges.collect();
        let is_selected = |name: &str| models.iter().any(|m| m == name);
        let is_judge = |name: &str| judges.iter().any(|j| j == name);
        settings.keep_models(|name| is_selected(name) || is_judge(name));
        // What judges is no variant unless it is said to be one.
        if models.iter().any(|model| is_judge(model)) {
            settings.declare_variants(is_selected);
        }
    }
}
