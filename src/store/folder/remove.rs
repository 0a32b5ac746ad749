//! How a run goes: only what farm wrote, and only out of a folder that is a run.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{RunFolder, unreadable};
use crate::{
    error::{Error, Result},
    store::{lock, manifest},
};

/// What farm writes into a run folder besides `manifest.json` and `lock`, which go last: a removal
/// that broke off leaves what can still be told for a run.
const WRITTEN: [&str; 13] = [
    "config.toml",
    "cases.jsonl",
    "traces",
    "scores.jsonl",
    "summary.json",
    "summary.md",
    "timing.json",
    "work",
    "STOP",
    "farm.db-wal",
    "farm.db-shm",
    "farm.db-journal",
    "farm.db",
];

/// Whether farm made a run in this folder: its manifest says so or, where that is torn, farm's
/// lock beside a database.
pub(super) fn is_run(folder: &Path) -> bool {
    manifest::is_one(&folder.join("manifest.json"))
        || (lock::is_one(&folder.join("lock")) && folder.join("farm.db").is_file())
}

impl RunFolder {
    /// Finds a run that may be removed, as [`RunFolder::open`] does. Its path is then free of links,
    /// so that two names of one run are equal.
    ///
    /// # Errors
    /// When there is no such run, when the name is a link, or when the folder is no run of farm's or
    /// holds other runs.
    pub fn open_to_remove(spec: &str, runs: &Path) -> Result<Self> {
        let named = Self::locate(spec, runs)?.path;
        // Without a `/` or `/.` at its end, which would look through a link.
        let named: PathBuf = named.components().collect();
        let path = fs::canonicalize(&named).map_err(|e| unreadable(&named, e))?;
        if named.is_symlink() {
            return Err(Error::input(format!(
                "{spec} is a link to {}: nothing was removed",
                path.display()
            ))
            .hint("name the folder itself"));
        }
        if !is_run(&path) {
            return Err(Error::input(format!(
                "{spec} is not a run of farm: it has neither a manifest of farm nor a lock and a farm.db"
            ))
            .hint("`farm runs` lists the runs; remove other folders by other means"));
        }
        if let Some(other) = run_below(&path)? {
            return Err(Error::input(format!(
                "{spec} holds another run, {}: nothing was removed",
                other.display()
            ))
            .hint("remove that one first, or move it elsewhere"));
        }
        Ok(Self { path })
    }

    /// Removes what farm wrote, and the folder if nothing else is in it; `host` is who does it.
    /// Gives the names of what is left, sorted.
    ///
    /// # Errors
    /// When somebody is at work in it, or the disk refuses.
    pub fn remove(&self, host: &str) -> Result<Vec<String>> {
        let _held = self.lock(host)?;
        self.clear()
    }

    /// [`RunFolder::remove`] by who holds the lock.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn clear(&self) -> Result<Vec<String>> {
        for name in WRITTEN.into_iter().chain(["manifest.json", "lock"]) {
            for name in [format!(".{name}.tmp"), name.to_owned()] {
                remove(&self.path.join(name))?;
            }
        }
        let left = names(&self.path)?;
        if left.is_empty() {
            fs::remove_dir(&self.path).map_err(|e| stays(&self.path, e))?;
        }
        Ok(left)
    }
}

/// Removes a file, a link or a folder, if it is there.
fn remove(path: &Path) -> Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(e) => Err(e),
    };
    match removed {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(stays(path, e)),
        _ => Ok(()),
    }
}

fn stays(path: &Path, error: io::Error) -> Error {
    Error::internal(format!("{} cannot be removed: {error}", path.display()))
        .hint("check who owns the folder and the one above it")
        .caused_by(error)
}

/// A run in a folder somewhere below this one.
fn run_below(folder: &Path) -> Result<Option<PathBuf>> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| unreadable(&folder, e))? {
            let entry = entry.map_err(|e| unreadable(&folder, e))?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if is_run(&entry.path()) {
                    return Ok(Some(entry.path()));
                }
                folders.push(entry.path());
            }
        }
    }
    Ok(None)
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).map_err(|e| unreadable(folder, e))?;
    let mut names: Vec<String> = entries
        .filter_map(io::Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}
