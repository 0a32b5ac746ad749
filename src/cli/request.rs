//! What is to be read and put together, whether `farm run` asks or `farm resume`.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use toml::Value;

use super::{args::InputArgs, recordings::Recordings};
use crate::{
    config::{self, ConfigFile, Selection},
    domain::{Case, CaseId},
    error::{Context, Error, Problem, Result},
};

/// Where sealed halves are looked for when nothing names them.
pub(super) const SEALED_FOLDER: &str = "configs/sealed";

/// What is to be read and put together.
pub(super) struct Request {
    /// The case file.
    pub cases: PathBuf,
    /// Which of its cases.
    pub pick: Pick,
    /// The config file.
    pub config: Config,
    /// The models that are selected; none: all variants.
    pub models: Vec<String>,
    /// What the command line sets: paths of keys with their values.
    pub flags: Vec<(&'static str, Value)>,
    /// Where the sealed halves are, unless the config says.
    pub sealed: PathBuf,
    /// The recordings that have been read.
    pub recordings: Recordings,
    /// Nothing will be run: no key is needed.
    pub is_dry: bool,
}

/// Which config file is read.
pub(super) enum Config {
    /// [`config::DEFAULT_FILE`], if it is there.
    Default,
    /// This one.
    Named(PathBuf),
    /// That of a run that goes on.
    Recorded(PathBuf),
}

/// Which cases are taken.
pub(super) enum Pick {
    /// Those that the command line selects.
    Selected {
        globs: Vec<String>,
        tags: Vec<String>,
        limit: Option<usize>,
    },
    /// These, in this order: those of a run that goes on.
    These(Vec<CaseId>),
}

impl InputArgs {
    /// What these arguments ask for.
    pub fn request(&self) -> Result<Request> {
        let mut flags = Flags::default();
        flags.text("run.seeds", self.seeds.as_deref());
        flags.number("run.run_seed", "--run-seed", self.run_seed)?;
        flags.number("run.concurrency", "--concurrency", self.concurrency)?;
        flags.text("run.until", self.until.as_deref());
        flags.money(self.money.max_cost.as_deref(), self.money.no_probe);
        flags.sealed(self.sealed.as_deref())?;
        if self.unscored {
            flags.set("run.unscored", true.into());
        }
        Ok(Request {
            cases: self.cases.clone(),
            pick: Pick::Selected {
                globs: self.case.clone(),
                tags: self.tag.clone(),
                limit: self.limit,
            },
            config: self.config.clone().map_or(Config::Default, Config::Named),
            models: self.models.clone(),
            flags: flags.0,
            sealed: sealed_of(&self.cases),
            recordings: Recordings::default(),
            is_dry: false,
        })
    }
}

impl Config {
    /// As config reads it.
    pub fn file(&self) -> ConfigFile<'_> {
        match self {
            Self::Default => ConfigFile::IfPresent(Path::new(config::DEFAULT_FILE)),
            Self::Named(path) => ConfigFile::Named(path),
            Self::Recorded(path) => ConfigFile::Recorded(path),
        }
    }
}

impl Pick {
    /// The cases that are to be run, out of all in `file`.
    pub fn from(&self, cases: Vec<Case>, file: &Path) -> Result<Vec<Case>> {
        match self {
            Self::Selected { globs, tags, limit } => {
                let limit = *limit;
                config::select(cases, Selection { globs, tags, limit })
            }
            Self::These(ids) => these(ids, cases, file),
        }
    }
}

fn these(ids: &[CaseId], cases: Vec<Case>, file: &Path) -> Result<Vec<Case>> {
    let by_id = |case: Case| (case.id.clone(), case);
    let mut by_id: HashMap<_, _> = cases.into_iter().map(by_id).collect();
    let gone = |id: &CaseId| Problem::file(file, format!("the case {id} of the run is gone"));
    let mut problems = Vec::new();
    let mut picked = Vec::with_capacity(ids.len());
    for id in ids {
        match by_id.remove(id) {
            Some(case) => picked.push(case),
            None => problems.push(gone(id)),
        }
    }
    if problems.is_empty() {
        return Ok(picked);
    }
    Err(Error::problems(problems).hint("restore the case file, or begin a new run"))
}

/// Where the sealed halves of a case file are when nothing names them.
pub(super) fn sealed_of(cases: &Path) -> PathBuf {
    let stem = cases.file_stem().unwrap_or_default();
    Path::new(SEALED_FOLDER).join(stem).with_extension("jsonl")
}

/// Values of the command line on their way into the config.
#[derive(Default)]
pub(super) struct Flags(pub Vec<(&'static str, Value)>);

impl Flags {
    pub fn set(&mut self, key: &'static str, value: Value) {
        self.0.push((key, value));
    }

    pub fn text(&mut self, key: &'static str, text: Option<&str>) {
        if let Some(text) = text {
            self.set(key, text.into());
        }
    }

    pub fn number(&mut self, key: &'static str, flag: &str, number: Option<u64>) -> Result<()> {
        if let Some(number) = number {
            let number =
                i64::try_from(number).input(|| format!("{flag} is larger than 2^63 - 1"))?;
            self.set(key, number.into());
        }
        Ok(())
    }

    /// What is spent, and whether live models are asked before that.
    pub fn money(&mut self, max_cost: Option<&str>, no_probe: bool) {
        if let Some(text) = max_cost {
            // A text that is no number is refused with the place where it stands.
            let number = text.parse().map(Value::Float);
            self.set("run.max_cost_usd", number.unwrap_or_else(|_| text.into()));
        }
        if no_probe {
            self.set("run.probe", false.into());
        }
    }

    pub fn sealed(&mut self, path: Option<&Path>) -> Result<()> {
        if let Some(path) = path {
            let path = path
                .to_str()
                .ok_or_else(|| Error::input("--sealed is not UTF-8: rename the file"))?;
            self.set("run.sealed", path.into());
        }
        Ok(())
    }
}
