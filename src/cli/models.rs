//! From the models of a config to models that answer.

use std::{
    collections::BTreeMap,
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::{Map, Value};

use super::{
    live::{Live, host},
    recordings::Recordings,
};
use crate::{
    config::{ModelConfig, ModelKind, ScriptFile},
    domain::{Case, CaseId, Limits, Script},
    error::{Error, Problem, Result},
    model::{self, Cassette, Judge, Model, Scripted, Scripts, ScriptsError},
    report::text,
};

/// The file and line of a case.
pub(super) type Place<'a> = &'a dyn Fn(&CaseId) -> (&'a Path, usize);

/// What models are made of beside their config.
pub(super) struct Makings<'a> {
    /// The cases that are run.
    pub cases: &'a [Case],
    /// The seeds of each.
    pub seeds: Range<u64>,
    /// All scripts, by the file that they stand in.
    pub scripts: &'a BTreeMap<PathBuf, Vec<Script>>,
    /// All recordings.
    pub recordings: &'a Recordings,
    /// What live models share.
    pub live: &'a Live<'a>,
    /// Where the cases stand.
    pub place: Place<'a>,
}

/// How the model's replies are read.
pub(super) fn options(model: &ModelConfig) -> model::Options {
    model::Options {
        tool_mode: model.tool_mode,
        text_calls: model.text_calls,
    }
}

/// What shares a cap on sessions in flight.
pub(super) fn endpoint(model: &ModelConfig) -> String {
    match &model.kind {
        ModelKind::OpenAi(live) => match live.endpoint() {
            (address, Some(key)) => format!("{address} ({key})"),
            (address, None) => address.to_owned(),
        },
        kind => kind.as_str().to_owned(),
    }
}

impl Makings<'_> {
    /// A model that judges sessions of these of the cases. Scripts that stand in cases are not its
    /// own.
    ///
    /// # Errors
    /// When it could not answer.
    pub fn judge(
        &self,
        model: &ModelConfig,
        parameters: &Map<String, Value>,
        is_judged: impl Fn(&CaseId) -> bool,
    ) -> Result<Judge> {
        let judged = self.cases.iter().filter(|case| is_judged(&case.id));
        let bare = |case: &Case| Case {
            script: None,
            ..case.clone()
        };
        let judged: Vec<Case> = judged.map(bare).collect();
        let place = |case: &CaseId| (self.place)(case);
        let makings = Makings {
            cases: &judged,
            seeds: self.seeds.clone(),
            scripts: self.scripts,
            recordings: self.recordings,
            live: self.live,
            place: &place,
        };
        let name = match &model.kind {
            ModelKind::OpenAi(live) => format!("model {} at {}", model.name, host(&live.base_url)),
            _ => format!("model {}", model.name),
        };
        let model = makings.model(model, &Limits::default())?;
        Ok(Judge::new(model, &name, parameters))
    }

    /// The model that a config means, for sessions with these limits.
    ///
    /// # Errors
    /// When it could not answer.
    pub fn model(&self, model: &ModelConfig, limits: &Limits) -> Result<Arc<dyn Model>> {
        match &model.kind {
            ModelKind::Scripted { scripts, latency } => {
                self.scripted(model, scripts.as_ref(), *latency)
            }
            ModelKind::OpenAi(live) => self.live.model(model, live, options(model)),
            ModelKind::Cassette(cassette) => {
                let recording = self.recordings.of(cassette)?;
                let (tape, source) = (recording.tape, recording.source);
                let cassette = Cassette::new(model.name.as_str(), tape, source, options(model));
                Ok(Arc::new(cassette.within(limits.clone())))
            }
        }
    }

    /// A scripted model that has a script for every session.
    fn scripted(
        &self,
        model: &ModelConfig,
        from: Option<&ScriptFile>,
        latency: Duration,
    ) -> Result<Arc<dyn Model>> {
        let scripts = self.scripts_of(model, from)?;
        let latency = (!latency.is_zero()).then_some(latency);
        let (name, options) = (model.name.as_str(), options(model));
        Ok(Arc::new(Scripted::new(name, scripts, options, latency)))
    }

    /// The scripts of a scripted model, those of a file and of the cases: one for every session.
    ///
    /// # Errors
    /// When a case has none, or two.
    pub fn scripts_of(&self, model: &ModelConfig, from: Option<&ScriptFile>) -> Result<Scripts> {
        let name = model.name.as_str();
        let file = from.map(|from| from.file.path.as_path());
        let of_file = file.and_then(|file| self.scripts.get(file));
        let inline = self
            .cases
            .iter()
            .filter_map(|case| Some((case.id.clone(), case.script.clone()?)));
        let scripts =
            Scripts::new(of_file.cloned().unwrap_or_default(), inline).map_err(|errors| {
                let problem = |error: &ScriptsError| {
                    let (file, line) = (self.place)(error.case());
                    Problem::at(file, line, 0, format!("model {name}: {error}"))
                };
                Error::problems(errors.iter().map(problem).collect())
            })?;
        self.check_scripts(name, file, &scripts)?;
        Ok(scripts)
    }

    /// A session without a script would fail at its first turn: better to say so before anything
    /// runs.
    fn check_scripts(&self, model: &str, file: Option<&Path>, scripts: &Scripts) -> Result<()> {
        let without: Vec<&CaseId> = self
            .cases
            .iter()
            .filter(|case| !scripts.covers(&case.id, self.seeds.clone()))
            .map(|case| &case.id)
            .collect();
        let Some((at, line)) = without.first().map(|case| (self.place)(case)) else {
            return Ok(());
        };
        let some = text::named(&without, 5);
        let hint = match file {
            Some(file) => format!(
                "add lines {{\"case\":ID,\"script\":[…]}} to {}",
                file.display()
            ),
            None => {
                format!("give the cases a `script`, or name a file: `scripts` in [models.{model}]")
            }
        };
        let message = format!("model {model} has no script for {some}");
        let problem = Problem::at(at, line, 0, message).hint(hint);
        Err(Error::problems(vec![problem]))
    }
}
