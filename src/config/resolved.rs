//! The config of a run, whole and checked.

use std::{collections::BTreeMap, str::FromStr};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Cassette, Grader, Judge, McpServer, ModelConfig, ModelKind, SeedRange, Until, Variant,
    audit::Audit,
    caps,
    digest::digest,
    files::files_digest,
    judge,
    kinds::{Misfit, number},
    mcp, models,
    settings::{Located, Origin, Settings, parse_path},
    variants::{self, Known},
};
use crate::{
    domain::{Reading, VariantName},
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
    /// What grades the checks of kind `model_graded`, if anything.
    pub score_judge: Option<Grader>,
    /// What tools need.
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
    /// The most US dollars that live models may cost in all.
    pub max_cost_usd: Option<f64>,
    /// Whether each live model is asked once before the run.
    pub probe: bool,
    /// The sealed halves, if named.
    pub sealed: Option<Located>,
    /// Whether to run without a scorer.
    pub unscored: bool,
}

/// The part of `[session]` that no variant changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// What judges each step, in this order.
    pub verifiers: Vec<String>,
    /// Whether reasoning text is sent back to the model.
    pub send_reasoning: bool,
    /// A model that judges each step too, if there is one.
    pub judge: Option<Judge>,
}

/// `[tools.NAME]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Tools {
    /// The longest file that `file_read` reads, in bytes.
    pub file_read_max_bytes: u64,
    /// The pages that `web_fetch` serves.
    pub web_fetch_pages: Option<Pages>,
    /// The servers of other tools, in the order of the config.
    pub mcp: Vec<McpServer>,
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
    max_cost_usd: toml::Value,
    probe: bool,
    unscored: bool,
}

#[derive(Deserialize)]
struct SessionTable {
    verifiers: Vec<String>,
    send_reasoning: bool,
}

#[derive(Deserialize)]
struct FileReadTable {
    max_bytes: u64,
}

impl Resolved {
    pub(super) fn build(
        settings: Settings,
        known: Known<'_>,
        recorded: &BTreeMap<String, Cassette>,
        problems: &mut Vec<Problem>,
    ) -> Result<Self> {
        let run: RunTable = settings.read(&["run"])?;
        let seeds = match run.seeds {
            toml::Value::String(text) => text,
            other => other.to_string(),
        };
        let session: SessionTable = settings.read(&["session"])?;
        let file_read: FileReadTable = settings.read(&["tools", "file_read"])?;
        let mut audit = Audit {
            settings: &settings,
            problems,
        };
        let models = models::build(&mut audit, recorded)?;
        let mcp = mcp::build(&mut audit)?;
        let tools = mcp::known(known.tools, settings.names(mcp::SECTION));
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        let known = Known {
            tools: &tools,
            ..known
        };
        let variants = variants::build(&mut audit, known, &models)?;
        let judge = judge::of_steps(&mut audit, &models)?;
        let score_judge = judge::of_answers(&mut audit, &models);
        caps::check(&mut audit, &variants, judge.as_ref(), score_judge.as_ref());
        Ok(Self {
            suite: settings.read(&["suite"])?,
            run: Run {
                seeds: parsed("run.seeds", &seeds)?,
                run_seed: run.run_seed,
                concurrency: run.concurrency,
                until: parsed("run.until", &run.until)?,
                max_cost_usd: number(&run.max_cost_usd),
                probe: run.probe,
                sealed: settings.located(&["run", "sealed"]),
                unscored: run.unscored,
            },
            session: Session {
                verifiers: session.verifiers,
                send_reasoning: session.send_reasoning,
                judge,
            },
            score_judge,
            tools: Tools {
                file_read_max_bytes: file_read.max_bytes,
                web_fetch_pages: pages(&settings, problems),
                mcp,
            },
            variants,
            settings,
        })
    }

    /// The models that are asked: of the variants, which may share one, and the judges.
    pub fn models(&self) -> impl Iterator<Item = &ModelConfig> {
        let judge = self.session.judge.as_ref().map(|judge| &judge.model);
        let grader = self.score_judge.as_ref().map(|grader| &grader.model);
        let variants = self.variants.iter().map(|variant| &variant.model);
        variants.chain(judge).chain(grader)
    }

    /// The names of tools that cases may choose from: those of `builtin`, and for each server
    /// `NAME__*`.
    #[must_use]
    pub fn tool_names(&self, builtin: &[&str]) -> Vec<String> {
        let servers = self.tools.mcp.iter().map(|server| server.name.as_str());
        mcp::known(builtin, servers)
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

    /// What is wrong with the names of a variant's tools, where they are set.
    #[must_use]
    pub fn tools_problem(&self, variant: &VariantName, message: impl Into<String>) -> Problem {
        let own = ["variants", variant.as_str(), "tools"];
        let path = match self.settings.is_set(&own) {
            true => &own[..],
            false => &["session", "tools"],
        };
        self.settings.problem(path, Misfit::from(message.into()))
    }

    /// What is wrong with the cap on what a session of a variant may cost, where it is set.
    #[must_use]
    pub fn cap_problem(&self, variant: &VariantName, message: impl Into<String>) -> Problem {
        let path = caps::session_cap(&self.settings, variant.as_str());
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        self.settings.problem(&path, Misfit::from(message.into()))
    }

    /// All that changes what sessions do: what a run's digest takes from its config. Files stand
    /// in it by their SHA-256, so that it does not matter where they are. A key that a later farm
    /// adds may stand in it only where it is not at its default: else no older run could go on.
    #[must_use]
    pub fn meaning(&self) -> Value {
        let mut meaning = json!({
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
        });
        if !self.tools.mcp.is_empty() {
            let servers = self.tools.mcp.iter().map(McpServer::meaning);
            meaning["tools"]["mcp"] = servers.collect();
        }
        if let Some(judge) = &self.session.judge {
            meaning["judge"] = json!({
                "model": judge.model.meaning(),
                "parameters": judge.parameters,
                "rubric": judge.rubric,
            });
        }
        if let Some(grader) = &self.score_judge {
            meaning["score_judge"] = json!({
                "model": grader.model.meaning(),
                "parameters": grader.parameters,
            });
        }
        meaning
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
            "model": self.model.meaning(),
            "prompt_sha256": self.prompt.sha256,
            "tools": self.tools,
            "limits": self.limits,
            "parameters": self.parameters,
        })
    }
}

impl ModelConfig {
    /// The name of a model's table means nothing, nor where it is asked, or how long that takes and
    /// what it costs.
    fn meaning(&self) -> Value {
        let mut meaning = Map::new();
        let mut say = |key: &str, value: Value| meaning.insert(key.to_owned(), value);
        say("kind", self.kind.as_str().into());
        match &self.kind {
            ModelKind::Scripted { scripts, .. } => {
                let sha256 = scripts.as_ref().map(|s| s.sha256.as_str());
                say("scripts_sha256", sha256.into());
            }
            ModelKind::OpenAi(live) => {
                let headers = live.headers.iter().cloned();
                say("model", live.model.as_str().into());
                say("headers", json!(headers.collect::<BTreeMap<_, _>>()));
                say("send_seed", live.send_seed.into());
                say("response_format", json!(live.response_format));
            }
            ModelKind::Cassette(cassette) => {
                say("replies_sha256", cassette.replies_sha256.as_str().into());
            }
        }
        say("tool_mode", json!(self.tool_mode));
        say("text_calls", self.text_calls.into());
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
