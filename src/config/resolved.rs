//! The config of a run, whole and checked.

use std::str::FromStr;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    ModelKind, SeedRange, Until, Variant,
    digest::digest,
    files::files_digest,
    kinds::Misfit,
    settings::{Located, Origin, Settings, parse_path},
    variants::{self, Known},
};
use crate::{
    domain::Reading,
    error::{Error, Problem, Result},
};

/// The config of a run: every value set, checked, and with where it came from.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// How results are read.
    pub suite: Suite,
    /// The run as a whole.
    pub run: Run,
    /// What all sessions share.
    pub session: Session,
    /// What the built-in tools need.
    pub tools: Tools,
    /// At least one, in the order of the config.
    pub variants: Vec<Variant>,
    pub(super) settings: Settings,
}

/// `[suite]`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Suite {
    /// Which reading of a pass rate comes first.
    pub cases: Reading,
    /// Confidence level of all intervals, in (0, 1).
    pub level: f64,
}

/// `[run]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The seeds of each case.
    pub seeds: SeedRange,
    /// The number that all randomness derives from.
    pub run_seed: u64,
    /// Sessions in flight per endpoint, at least 1.
    pub concurrency: u32,
    /// When it is to wind down.
    pub until: Until,
    /// The sealed halves, if named.
    pub sealed: Option<Located>,
    /// Whether to run without a scorer.
    pub unscored: bool,
}

/// The part of `[session]` that no variant changes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Session {
    /// What judges each step, in this order.
    pub verifiers: Vec<String>,
    /// Whether reasoning text is sent back to the model.
    pub send_reasoning: bool,
}

/// `[tools.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tools {
    /// The longest file that `file_read` reads, in bytes.
    pub file_read_max_bytes: u64,
    /// The pages that `web_fetch` serves.
    pub web_fetch_pages: Option<Pages>,
}

/// A folder of pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    /// Where it is.
    pub folder: Located,
    /// See [`files_digest`].
    pub sha256: String,
}

#[derive(Deserialize)]
struct RunTable {
    seeds: toml::Value,
    run_seed: u64,
    concurrency: u32,
    until: String,
    unscored: bool,
}

#[derive(Deserialize)]
struct FileReadTable {
    max_bytes: u64,
}

impl Resolved {
    pub(super) fn build(
        settings: Settings,
        known: Known<'_>,
        problems: &mut Vec<Problem>,
    ) -> Result<Self> {
        let run: RunTable = settings.read(&["run"])?;
        let seeds = match run.seeds {
            toml::Value::String(text) => text,
            other => other.to_string(),
        };
        let file_read: FileReadTable = settings.read(&["tools", "file_read"])?;
        Ok(Self {
            suite: settings.read(&["suite"])?,
            run: Run {
                seeds: parsed("run.seeds", &seeds)?,
                run_seed: run.run_seed,
                concurrency: run.concurrency,
                until: parsed("run.until", &run.until)?,
                sealed: settings.located(&["run", "sealed"]),
                unscored: run.unscored,
            },
            session: settings.read(&["session"])?,
            tools: Tools {
                file_read_max_bytes: file_read.max_bytes,
                web_fetch_pages: pages(&settings, problems),
            },
            variants: variants::build(&settings, known, problems)?,
            settings,
        })
    }

    /// Where the value of a key came from; none when it is not set. The path is written as in
    /// TOML: `run.seeds`, `models."gpt-4.1".kind`.
    #[must_use]
    pub fn origin(&self, path: &str) -> Option<&Origin> {
        let setting = self.settings.get(&parse_path(path)?)?;
        Some(&setting.origin)
    }

    /// A problem of the value of a key, at its place; the path is written as for
    /// [`Resolved::origin`].
    #[must_use]
    pub fn problem(&self, path: &str, message: impl Into<String>) -> Problem {
        let parts = parse_path(path).unwrap_or_default();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        self.settings.problem(&parts, Misfit::from(message.into()))
    }

    /// All that changes what sessions do: what a run's digest takes from its config. Files stand
    /// in it by their SHA-256, so that it does not matter where they are. A key that a later farm
    /// adds may stand in it only where it is not at its default: else no older run could go on.
    #[must_use]
    pub fn meaning(&self) -> Value {
        json!({
            // A text: canonical JSON would round it beyond 2^53.
            "run_seed": self.run.run_seed.to_string(),
            "verifiers": self.session.verifiers,
            "send_reasoning": self.session.send_reasoning,
            "tools": {
                "file_read": {"max_bytes": self.tools.file_read_max_bytes},
                "web_fetch": {
                    "pages_sha256": self.tools.web_fetch_pages.as_ref().map(|p| &p.sha256),
                },
            },
            "variants": self.variants.iter().map(Variant::meaning).collect::<Vec<_>>(),
        })
    }

    /// [`digest`] of [`Resolved::meaning`].
    ///
    /// # Errors
    /// Internal, see [`digest`].
    pub fn digest(&self) -> Result<String> {
        digest(&self.meaning())
    }
}

impl Variant {
    fn meaning(&self) -> Value {
        json!({
            "name": self.name,
            "model": self.model_meaning(),
            "prompt_sha256": self.prompt.sha256,
            "tools": self.tools,
            "limits": self.limits,
            "parameters": self.parameters,
        })
    }

    /// The name of a model's table and its latency mean nothing.
    fn model_meaning(&self) -> Value {
        let mut meaning = Map::new();
        match &self.model.kind {
            ModelKind::Scripted { scripts, .. } => {
                meaning.insert("kind".to_owned(), "scripted".into());
                let sha256 = scripts.as_ref().map(|s| s.sha256.as_str());
                meaning.insert("scripts_sha256".to_owned(), sha256.into());
            }
        }
        meaning.insert("tool_mode".to_owned(), json!(self.model.tool_mode));
        meaning.insert("text_calls".to_owned(), self.model.text_calls.into());
        Value::Object(meaning)
    }
}

/// What the text of a key says, which was checked when it was set.
fn parsed<T>(key: &str, text: &str) -> Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    text.parse()
        .map_err(|e: T::Err| Error::internal(key).caused_by(e))
}

fn pages(settings: &Settings, problems: &mut Vec<Problem>) -> Option<Pages> {
    let path = ["tools", "web_fetch", "pages"];
    let folder = settings.located(&path)?;
    match files_digest(&folder.path) {
        Ok(sha256) => Some(Pages { folder, sha256 }),
        Err(e) => {
            problems.push(settings.problem(&path, Misfit::from(e.to_string())));
            None
        }
    }
}
