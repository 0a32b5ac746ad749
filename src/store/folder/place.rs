//! Where a new run may go.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{run_around, unreadable, unusable};
use crate::{
    domain::{absolute, shell},
    error::{Error, Result},
};

/// Where a new run goes.
#[derive(Debug, Clone, Copy)]
pub enum Place<'a> {
    /// A folder of its own, named by its id, under this one (`results/runs`).
    Under(&'a Path),
    /// This folder itself (`--out`): absent or empty.
    At(&'a Path),
}

/// Refuses a folder for a run (`--out`) in which other runs would be, or which is within one.
///
/// # Errors
/// When it is `runs` or holds it, or when a folder above it is a run.
pub fn check_out(out: &Path, runs: &Path) -> Result<()> {
    let hint = "name a folder that is absent or empty";
    let path = absolute(out);
    if absolute(runs).starts_with(&path) {
        return Err(Error::input(format!(
            "--out {}: runs are kept under {}, so it cannot be a run itself",
            out.display(),
            runs.display()
        ))
        .hint(hint));
    }
    match run_around(out) {
        Some(run) => Err(Error::input(format!(
            "--out {} lies in another run, {}",
            out.display(),
            run.display()
        ))
        .hint(hint)),
        None => Ok(()),
    }
}

/// Makes a folder named by the run's id, or by it and a number if that is taken; gives the name too.
pub(super) fn make_under(runs: &Path, id: &str) -> Result<(PathBuf, String)> {
    fs::create_dir_all(runs).map_err(|e| unusable(runs, e))?;
    let mut name = id.to_owned();
    for n in 2u32.. {
        let path = runs.join(&name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok((path, name)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => name = format!("{id}-{n}"),
            Err(e) => return Err(unusable(&path, e)),
        }
    }
    Err(Error::internal(format!(
        "no free name for {id} under {}",
        runs.display()
    )))
}

/// Makes a folder, unless it is there and empty.
pub(super) fn make_at(path: &Path) -> Result<PathBuf> {
    fs::create_dir_all(path).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            Error::input(format!("--out {}: a file is in the way", path.display()))
                .hint("name a folder that is absent or empty")
        }
        _ => unusable(path, e),
    })?;
    let entries = fs::read_dir(path).map_err(|e| unreadable(path, e))?;
    let mut held: Vec<String> = entries
        .filter_map(Result::ok)
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    if held.is_empty() {
        return Ok(path.to_owned());
    }
    held.sort();
    let is_run = held.iter().any(|name| name == "manifest.json");
    let hint = match is_run {
        true => format!(
            "it is a run: `farm resume {0}` goes on with it, `farm rm {0}` removes it",
            shell(&path.to_string_lossy())
        ),
        false => "name a folder that is absent or empty".to_owned(),
    };
    let more = match held.len() {
        n @ 4.. => format!(" and {} more", n - 3),
        _ => String::new(),
    };
    held.truncate(3);
    Err(Error::input(format!(
        "--out {} is not empty: it holds {}{more}",
        path.display(),
        held.join(", ")
    ))
    .hint(hint))
}
