//! The folder that traces are written to.

use std::{
    fs::{self, DirEntry},
    io,
    path::{Path, PathBuf},
};

use super::{atomic::refused, folder::unreadable};
use crate::{
    domain::VariantName,
    error::{Error, Result},
};

/// Makes room for traces: a folder that is absent or empty is left so, one that holds traces and
/// nothing else is emptied, so that no stale one stays.
///
/// # Errors
/// When the folder holds anything else (nothing is removed then), or the disk refuses.
pub(super) fn make(folder: &Path) -> Result<()> {
    for variant in held(folder)? {
        fs::remove_dir_all(&variant).map_err(|e| refused(&variant, e))?;
    }
    Ok(())
}

/// Whether traces can be written to this folder: it is absent, empty, or one of traces alone.
///
/// # Errors
/// When it is not.
pub fn check(folder: &Path) -> Result<()> {
    held(folder).map(drop)
}

/// The folders of variants that it holds.
fn held(folder: &Path) -> Result<Vec<PathBuf>> {
    let held = match list(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        held => held.map_err(|e| unreadable(folder, e))?,
    };
    let mut variants: Vec<PathBuf> = Vec::with_capacity(held.len());
    for entry in held {
        if !holds_traces(&entry).map_err(|e| unreadable(&entry.path(), e))? {
            return Err(Error::input(format!(
                "{} holds more than traces: {}",
                folder.display(),
                entry.path().display()
            ))
            .hint("move it away: farm writes traces to a folder of their own"));
        }
        variants.push(entry.path());
    }
    Ok(variants)
}

fn list(folder: &Path) -> io::Result<Vec<DirEntry>> {
    fs::read_dir(folder)?.collect()
}

/// Whether it is the folder of a variant, with files of traces alone.
fn holds_traces(entry: &DirEntry) -> io::Result<bool> {
    let name = entry.file_name();
    let is_variant = name
        .to_str()
        .is_some_and(|n| n.parse::<VariantName>().is_ok());
    if !is_variant || !entry.file_type()?.is_dir() {
        return Ok(false);
    }
    for file in list(&entry.path())? {
        let name = file.file_name();
        let name = name.to_string_lossy();
        // Also what an export that was broken off left behind.
        let is_trace = name.ends_with(".jsonl") || name.ends_with(".jsonl.tmp");
        if !is_trace || !file.file_type()?.is_file() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_traces_make_room() {
        let dir = tempfile::tempdir().unwrap();
        let of = |names: &[&str]| {
            let folder = dir.path().join("traces");
            let _ = fs::remove_dir_all(&folder);
            for name in names {
                let path = folder.join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            let made = make(&folder);
            let left = list(&folder).map_or(0, |held| held.len());
            made.map(|()| left).map_err(|e| (e.message, left))
        };
        assert_eq!(of(&[]), Ok(0));
        assert_eq!(of(&["v/a.jsonl", "v/.b.jsonl.tmp", "w/a.jsonl"]), Ok(0));
        for other in ["notes.txt", "v/notes.txt", "v/deep/a.jsonl", ".git/a.jsonl"] {
            let (message, left) = of(&["u/a.jsonl", other]).unwrap_err();
            assert!(message.contains("holds more than traces"), "{message}");
            assert_eq!(left, 2, "{other}");
        }
    }
}
