//! The folder of a run: its name, its lock, its files, and how it is found again.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::{
    atomic::refused,
    lock::{self, Held, Holder},
    manifest::{Manifest, RunStatus},
};
use crate::{
    domain::absolute,
    error::{Error, ErrorKind, Result, nearest},
};
pub use place::{Place, check_out};
use place::{make_at, make_under};

/// The run that this path is in, or would be.
#[must_use]
pub fn run_around(path: &Path) -> Option<PathBuf> {
    let path = absolute(path);
    let run = path.ancestors().skip(1).find(|above| remove::is_run(above));
    run.map(Path::to_owned)
}

/// The folder of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

/// A run as [`RunFolder::list`] finds it.
#[derive(Debug)]
pub struct Listed {
    /// Its folder.
    pub folder: RunFolder,
    /// Its manifest, or why it cannot be read.
    pub manifest: Result<Manifest>,
}

/// `<UTC yyyymmddThhmmssZ>-<first 6 hex digits of the run digest>`.
#[must_use]
pub fn run_id(created: Timestamp, digest: &str) -> String {
    let digest = digest.get(..6).unwrap_or(digest);
    format!("{}-{digest}", created.strftime("%Y%m%dT%H%M%SZ"))
}

impl RunFolder {
    /// Makes the folder of a new run and takes its lock; gives the run's id too. Under
    /// [`Place::Under`] a name that is taken gets `-2`, `-3` and so on.
    ///
    /// # Errors
    /// When the folder holds something, or the disk refuses.
    pub fn create(
        place: Place<'_>,
        created: Timestamp,
        digest: &str,
        host: &str,
    ) -> Result<(Self, Held, String)> {
        let id = run_id(created, digest);
        let (path, id) = match place {
            Place::Under(runs) => make_under(runs, &id)?,
            Place::At(path) => (make_at(path)?, id),
        };
        let folder = Self { path };
        let held = folder.lock(host)?;
        Ok((folder, held, id))
    }

    /// Finds a run: `latest`, a folder, or an id under `runs`.
    ///
    /// # Errors
    /// When there is no such run; says what is there instead.
    pub fn open(spec: &str, runs: &Path) -> Result<Self> {
        let folder = Self::locate(spec, runs)?;
        match fs::metadata(folder.manifest()) {
            Ok(_) => Ok(folder),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Err(Error::input(format!(
                "{spec} is not a run: it has no manifest.json"
            ))
            .hint("`farm runs` lists the runs")),
            Err(e) => Err(Error::input(format!("{spec} cannot be read: {e}"))
                .hint("check the folder's permissions")
                .caused_by(e)),
        }
    }

    /// The folder that is meant, whatever is in it.
    fn locate(spec: &str, runs: &Path) -> Result<Self> {
        if spec.is_empty() {
            return Err(Error::input("the name of the run is empty")
                .hint("name a run folder, its id or `latest`; `farm runs` lists the runs"));
        }
        if spec == "latest" {
            return Self::latest(runs);
        }
        let named = Path::new(spec);
        let under = runs.join(spec);
        let path = if named.exists() {
            named.to_owned()
        } else if under.is_dir() {
            under
        } else {
            return Err(unknown(spec, runs));
        };
        if !path.is_dir() {
            return Err(
                Error::input(format!("{spec} is a file, not the folder of a run"))
                    .hint("name the folder that holds its manifest.json"),
            );
        }
        Ok(Self { path })
    }

    /// The run in this folder, if there is one.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        let folder = Self {
            path: path.to_owned(),
        };
        folder.manifest().exists().then_some(folder)
    }

    /// All runs under `runs`, oldest first by the time in their manifest, then by id. Those whose
    /// manifest cannot be read come first; none when there is no such folder.
    ///
    /// # Errors
    /// When `runs` cannot be read.
    pub fn list(runs: &Path) -> Result<Vec<Listed>> {
        let entries = match fs::read_dir(runs) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(|e| unreadable(runs, e))?,
        };
        let mut listed = Vec::new();
        for entry in entries {
            let folder = Self {
                path: entry.map_err(|e| unreadable(runs, e))?.path(),
            };
            if folder.manifest().exists() {
                let manifest = folder.read_manifest();
                listed.push(Listed { folder, manifest });
            }
        }
        listed.sort_by_cached_key(|l| {
            let created = l.manifest.as_ref().ok();
            let created = created.and_then(|m| m.created.parse::<Timestamp>().ok());
            (created, l.folder.name())
        });
        Ok(listed)
    }

    /// Its manifest as things stand: a run that is `running` and that nobody holds was interrupted.
    ///
    /// # Errors
    /// See [`Manifest::read`].
    pub fn read_manifest(&self) -> Result<Manifest> {
        let manifest = Manifest::read(&self.manifest())?;
        if manifest.status != RunStatus::Running || !matches!(self.holder(), Ok(None)) {
            return Ok(manifest);
        }
        // It may have come to its end between the two looks.
        let mut manifest = Manifest::read(&self.manifest())?;
        if manifest.status == RunStatus::Running {
            manifest.status = RunStatus::Interrupted;
        }
        Ok(manifest)
    }

    /// How a user names it who has its runs under `runs`: its id there, its path elsewhere.
    #[must_use]
    pub fn spec(&self, runs: &Path) -> String {
        match self.path.strip_prefix(runs) {
            Ok(id) if id.components().count() == 1 => id.display().to_string(),
            _ => self.path.display().to_string(),
        }
    }

    /// Takes the lock for this process on `host`.
    ///
    /// # Errors
    /// When another process holds it: says which, and where.
    pub fn lock(&self, host: &str) -> Result<Held> {
        lock::take(&self.path, host)
    }

    /// Who is at work in the folder now, if anybody.
    ///
    /// # Errors
    /// When the lock cannot be read.
    pub fn holder(&self) -> Result<Option<Holder>> {
        lock::holder(&self.path)
    }

    /// When who is at work in the folder, or was last, began: Unix seconds. None when no one knows.
    #[must_use]
    pub fn taken(&self) -> Option<f64> {
        lock::taken(&self.path)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `manifest.json`: written first.
    #[must_use]
    pub fn manifest(&self) -> PathBuf {
        self.path.join("manifest.json")
    }

    /// `farm.db`.
    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.path.join("farm.db")
    }

    /// `farm.db-wal`: what was committed and is not in `farm.db` yet.
    #[must_use]
    pub fn database_log(&self) -> PathBuf {
        self.path.join("farm.db-wal")
    }

    /// `config.toml`: the resolved config.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.path.join("config.toml")
    }

    /// `cases.jsonl`: the public halves.
    #[must_use]
    pub fn cases(&self) -> PathBuf {
        self.path.join("cases.jsonl")
    }

    /// `traces/`.
    #[must_use]
    pub fn traces(&self) -> PathBuf {
        self.path.join("traces")
    }

    /// `scores.jsonl`.
    #[must_use]
    pub fn scores(&self) -> PathBuf {
        self.path.join("scores.jsonl")
    }

    /// `summary.json`.
    #[must_use]
    pub fn summary(&self) -> PathBuf {
        self.path.join("summary.json")
    }

    /// `summary.md`.
    #[must_use]
    pub fn summary_md(&self) -> PathBuf {
        self.path.join("summary.md")
    }

    /// `STOP`: a run winds down when it is there.
    #[must_use]
    pub fn stop(&self) -> PathBuf {
        self.path.join("STOP")
    }

    /// `work/`: where sessions have their folders while they run.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.path.join("work")
    }

    /// `timing.json`.
    #[must_use]
    pub fn timing(&self) -> PathBuf {
        self.path.join("timing.json")
    }

    fn latest(runs: &Path) -> Result<Self> {
        let newest = Self::list(runs)?.pop();
        newest.map(|l| l.folder).ok_or_else(|| {
            Error::input(format!("there is no run under {}", runs.display()))
                .hint("`farm run CASES` makes one; a run made with --out is named by its folder")
        })
    }

    fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

fn unknown(spec: &str, runs: &Path) -> Error {
    let names: Vec<String> = RunFolder::list(runs)
        .unwrap_or_default()
        .iter()
        .map(|l| l.folder.name())
        .collect();
    let hint = match nearest(spec, names.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}? `farm runs` lists the runs"),
        None => "name a run folder, its id or `latest`; `farm runs` lists the runs".to_owned(),
    };
    Error::input(format!(
        "there is no run {spec}: neither a folder of that name nor one under {}",
        runs.display()
    ))
    .hint(hint)
}

/// A folder that cannot take a run is a wrong argument, unless the disk is full: nothing was run.
pub(super) fn unusable(path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Internal,
        _ => ErrorKind::Input,
    };
    Error {
        kind,
        ..refused(path, error)
    }
}

pub(super) fn unreadable(path: &Path, error: io::Error) -> Error {
    Error::input(format!("{} cannot be read: {error}", path.display()))
        .hint("check the permissions of the folder")
        .caused_by(error)
}

mod place;
mod remove;
#[cfg(test)]
mod tests;
