//! The files that `farm init` writes and `farm demo` runs.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("starter/", $name)))),*]
    };
}

const FILES: [(&str, &str); 5] = files![
    "eval/cases.jsonl",
    "eval/sandbox/notes/notes.txt",
    "configs/farm.toml",
    "configs/scripts/cases.jsonl",
    "configs/sealed/cases.jsonl",
];

/// What became of one file.
pub(super) enum Written {
    /// It is new.
    New(PathBuf),
    /// It was there, and stays as it is.
    Kept(PathBuf),
}

/// Writes the starter files under `dir`; files that are there are not touched.
pub(super) fn write(dir: &Path) -> io::Result<Vec<Written>> {
    let prompt = ("configs/prompts/react.md", crate::config::DEFAULT_PROMPT);
    let write_one = |(name, text): &(&str, &str)| {
        let path = dir.join(name);
        if path.exists() {
            return Ok(Written::Kept(path));
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, text)?;
        Ok(Written::New(path))
    };
    FILES.iter().chain([&prompt]).map(write_one).collect()
}
