//! A run that is there: its folder, manifest, cases and grid.

use std::{io, path::Path};

use super::{
    exit::say,
    summary::{self, Measure},
};
use crate::{
    aggregate,
    domain::{
        Case, Grid, KeyError, SUMMARY_SCHEMA, SessionId, SessionKey, Summary,
        failures::Failures,
        input,
        jsonl::{self, Secrecy},
        shell,
        trace::Record,
    },
    error::{Context, Error, Result},
    store::{Export, Head, Manifest, Reader, RunFolder, Score, manifest::RunStatus},
};

/// Where runs are, from where farm stands.
pub(super) const RUNS: &str = "results/runs";

/// A run as the user may name it: its id, or its folder.
pub(super) fn spec(folder: &RunFolder) -> String {
    folder.spec(Path::new(RUNS))
}

/// What RUN or RUN/VARIANT means, opened by `open`, with the variant if there is one. A whole that is a
/// run is that.
///
/// # Errors
/// What is wrong with the whole, unless the part before is a run.
pub(super) fn run_and_variant<T>(
    spec: &str,
    open: impl Fn(&str) -> Result<T>,
) -> Result<(T, Option<&str>)> {
    match (open(spec), spec.rsplit_once('/')) {
        (Ok(run), _) => Ok((run, None)),
        (Err(error), None) => Err(error),
        (Err(error), Some((run, variant))) => match open(run) {
            Ok(run) => Ok((run, Some(variant))),
            Err(_) => Err(error),
        },
    }
}

/// A run that is there.
pub(super) struct Opened {
    pub folder: RunFolder,
    pub manifest: Manifest,
    pub cases: Vec<Case>,
    pub grid: Grid,
}

impl Opened {
    /// Opens a run by its folder, its id, or `latest`.
    pub fn find(spec: &str) -> Result<Self> {
        Self::at(RunFolder::open(spec, Path::new(RUNS))?)
    }

    /// Opens the run in this folder.
    pub fn at(folder: RunFolder) -> Result<Self> {
        let manifest = folder.read_manifest()?;
        let is_whole = manifest
            .grid
            .variants
            .iter()
            .eq(manifest.variants.iter().map(|v| &v.name))
            && manifest.grid.seeds.start <= manifest.grid.seeds.end;
        if !is_whole {
            let path = folder.manifest();
            return Err(
                Error::input(format!("{} contradicts itself", path.display()))
                    .hint("restore it from a copy of the run"),
            );
        }
        if !folder.cases().exists() {
            let run = folder.path().display();
            let quoted = shell(&run.to_string());
            let hint = match folder.holder() {
                Ok(Some(holder)) if holder.pid != std::process::id() => {
                    "it is being set up: try again in a moment".to_owned()
                }
                _ => {
                    format!("its cases.jsonl is missing: `farm rm {quoted}` removes what is there")
                }
            };
            return Err(Error::input(format!("the run in {run} has not begun")).hint(hint));
        }
        let lines = jsonl::read::<Case>(&folder.cases(), Secrecy::Public);
        if !lines.problems.is_empty() {
            return Err(Error::problems(lines.problems));
        }
        let cases: Vec<Case> = lines.values.into_iter().map(|(_, case)| case).collect();
        if cases.len() as u64 != manifest.grid.cases {
            return Err(Error::input(format!(
                "{} has {} cases, and the run {}",
                folder.cases().display(),
                cases.len(),
                manifest.grid.cases
            ))
            .hint("restore it from a copy of the run"));
        }
        let grid = Grid::new(
            manifest.grid.variants.clone(),
            cases.iter().map(|case| case.id.clone()).collect(),
            manifest.grid.seeds.clone(),
        )
        .input(|| format!("{} is damaged", folder.manifest().display()))?;
        Ok(Self {
            folder,
            manifest,
            cases,
            grid,
        })
    }

    /// The run as the user may name it.
    pub fn spec(&self) -> String {
        spec(&self.folder)
    }

    /// Whether a run without a database had begun: then it was published, or the database is gone.
    /// A farm that died before the first session left its lock, and nothing of what comes after.
    pub fn had_begun(&self) -> bool {
        let folder = &self.folder;
        folder.taken().is_none()
            || folder.summary().exists()
            || folder.timing().exists()
            || (folder.database_log().exists() && !folder.database().exists())
    }

    /// What its traces are written with.
    pub fn with_export<T>(&self, then: impl FnOnce(&Export<'_>) -> Result<T>) -> Result<T> {
        let reader = self.reader()?;
        let head = |variant: usize, case: usize| self.head(variant, case);
        let export = Export {
            reader: &reader,
            grid: &self.grid,
            run: &self.manifest.run,
            run_seed: self.manifest.run_seed,
            head: &head,
        };
        reader.at_once(|| then(&export))
    }

    /// The number of a session, by name.
    pub fn session(&self, key: &str) -> Result<SessionId> {
        let key: SessionKey = key
            .parse()
            .map_err(|e: KeyError| Error::input(e.to_string()))?;
        self.grid.find(&key).ok_or_else(|| {
            let known: Vec<&str> = self.grid.variants.iter().map(|v| v.as_str()).collect();
            Error::input(format!("{key} is not in run {}", self.manifest.run)).hint(format!(
                "it has the variants {}, {} cases and the seeds {}..{}",
                known.join(", "),
                self.grid.cases.len(),
                self.grid.seeds.start,
                self.grid.seeds.end,
            ))
        })
    }

    /// The records of one session.
    pub fn records(&self, id: SessionId) -> Result<Vec<Record>> {
        if self.is_published() {
            return self.published_records(id);
        }
        let mut lines = Vec::new();
        if !self.with_export(|export| export.session(id, &mut lines))? {
            return Err(Error::input(format!("{} has not begun", self.grid.key(id))));
        }
        serde_json::Deserializer::from_slice(&lines)
            .into_iter()
            .collect::<Result<Vec<Record>, _>>()
            .internal(|| format!("the trace of {} cannot be read", self.grid.key(id)))
    }

    /// What the scorer said of a session, if it did.
    pub fn score(&self, id: SessionId) -> Result<Option<Score>> {
        if self.is_published() {
            return self.published_score(id);
        }
        Ok(self.reader()?.session(id)?.and_then(|row| row.score))
    }

    /// The summary as it was written, if the run has ended; else, and when there is none or it cannot
    /// be used, computed now, without hidden metrics.
    pub fn summary(&self) -> Result<Summary> {
        // While a resume is at work, or after it died, the one that is there is of an earlier day.
        let has_ended =
            [RunStatus::Finished, RunStatus::Interrupted].contains(&self.manifest.status);
        match self.written_summary().filter(|_| has_ended) {
            Some(Ok(summary)) => Ok(summary),
            Some(Err(why)) => {
                let path = self.folder.summary();
                say(&format!(
                    "warning: {} {why}: the figures are computed from farm.db, hidden metrics left out",
                    path.display()
                ));
                self.compute(None)
            }
            None => self.compute(None),
        }
    }

    /// The summary as it was written, or why that cannot be used; none when there is none.
    pub fn written_summary(&self) -> Option<Result<Summary, String>> {
        let bytes = match input::bytes(&self.folder.summary()) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return None,
            Err(e) => return Some(Err(format!("cannot be read ({e})"))),
        };
        Some(match serde_json::from_slice::<Summary>(&bytes) {
            Ok(summary) if summary.schema != SUMMARY_SCHEMA => {
                Err(format!("is of another version, {}", summary.schema))
            }
            Ok(summary) if !summary.is_of(&self.grid) => Err("is not of this run".to_owned()),
            Ok(summary) => match summary.flaw() {
                Some(flaw) => Err(format!("is damaged ({flaw})")),
                None => Ok(summary),
            },
            Err(e) => Err(format!("is damaged ({e})")),
        })
    }

    /// Computes the figures; without `measure`, hidden metrics are left out.
    pub fn compute(&self, measure: Option<Measure<'_>>) -> Result<Summary> {
        let clusters = summary::clusters(&self.cases);
        let suite = &self.manifest.suite;
        let options = aggregate::Options {
            level: summary::level(suite.level)?,
            reading: suite.cases,
            clusters: &clusters,
            measure,
        };
        let reader = self.reader()?;
        reader.at_once(|| aggregate::summarise(&reader, &self.grid, &options))
    }

    /// Why its sessions failed.
    pub fn failures(&self) -> Result<Failures> {
        let reader = self.reader()?;
        reader.at_once(|| aggregate::failures(&reader, &self.grid, &self.manifest.run))
    }

    /// Opened only when it is asked for: a summary can be shown without it.
    fn reader(&self) -> Result<Reader> {
        Reader::open(&self.folder.database())?.of(&self.manifest.run, &self.grid)
    }

    /// The same of a run that may not have begun: none while its database is not made.
    pub fn reader_if_begun(&self) -> Result<Option<Reader>> {
        let reader = Reader::open_if_begun(&self.folder.database())?;
        let of = |reader: Reader| reader.of(&self.manifest.run, &self.grid);
        reader.map(of).transpose()
    }

    fn head(&self, variant: usize, case: usize) -> Head {
        let (case, variant) = (&self.cases[case], &self.manifest.variants[variant]);
        Head {
            task: case.task.clone(),
            max_steps: case.max_steps.unwrap_or(variant.limits.max_steps),
            tools: case.tools.clone().unwrap_or_else(|| variant.tools.clone()),
        }
    }
}
