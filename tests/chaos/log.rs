//! What a process of farm says in its log (`-vv`): which turns it asked a model for, and how far
//! it has come.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

/// One turn of one attempt of a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    pub(crate) key: String,
    pub(crate) attempt: u32,
    pub(crate) turn: u32,
}

/// A log that is read as it grows.
pub(crate) struct Log {
    path: PathBuf,
    read: u64,
    rest: String,
    /// Turns that the model was asked for, as often as it was.
    pub(crate) asked: Vec<Turn>,
    /// Sessions that began or went on.
    pub(crate) begun: BTreeSet<String>,
    /// Sessions that were scored.
    pub(crate) settled: u64,
    /// Whether all sessions are done, so that traces and summary are to be written.
    pub(crate) is_over: bool,
    /// How many commits the store counted, once it is closed.
    pub(crate) commits: Option<u64>,
}

impl Log {
    pub(crate) fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read: 0,
            rest: String::new(),
            asked: Vec::new(),
            begun: BTreeSet::new(),
            settled: 0,
            is_over: false,
            commits: None,
        }
    }

    /// Reads what has come. It is not there before farm has begun.
    pub(crate) fn read(&mut self) {
        let Ok(mut file) = File::open(&self.path) else {
            return;
        };
        file.seek(SeekFrom::Start(self.read)).unwrap();
        let mut text = std::mem::take(&mut self.rest).into_bytes();
        self.read += file.read_to_end(&mut text).unwrap() as u64;
        let mut text = String::from_utf8(text).unwrap();
        self.rest = text.split_off(text.rfind('\n').map_or(0, |end| end + 1));
        text.lines().for_each(|line| self.line(line));
    }

    fn line(&mut self, line: &str) {
        if let Some((_, fields)) = line.split_once("asks key=") {
            self.asked.push(Turn {
                key: fields.split(' ').next().unwrap().to_owned(),
                attempt: field(fields, "attempt").unwrap() as u32,
                turn: field(fields, "turn").unwrap() as u32,
            });
        } else if let Some((_, fields)) = line.split_once("session begins key=") {
            self.begun
                .insert(fields.split(' ').next().unwrap().to_owned());
        } else if line.contains("session settled ") {
            self.settled += 1;
        } else if line.contains("run over ") {
            self.is_over = true;
        } else if let Some((_, fields)) = line.split_once("store closed ") {
            self.commits = field(fields, "commits");
        }
    }
}

/// The number in `name=…`.
fn field(fields: &str, name: &str) -> Option<u64> {
    let of = |word: &str| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok();
    fields.split(' ').find_map(of)
}
