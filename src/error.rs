//! The one error type of the library: what is wrong, where, and what to do.

use std::{fmt, path::Path};

/// Who has to act on an error; the binary maps it to an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The input is wrong: arguments, config, cases, sealed file. Nothing was run.
    Input,
    /// farm itself failed: store, scorer, internal.
    Internal,
}

/// One thing that is wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the user named it.
    pub file: String,
    /// From 1; 0 when the problem is of the whole file.
    pub line: usize,
    /// In characters, from 1; 0 when it is of the whole line.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Problem {
    /// A problem of a whole file.
    pub fn file(file: &Path, message: impl Into<String>) -> Self {
        Self::at(file, 0, 0, message)
    }

    /// A problem at a place in a file.
    pub fn at(file: &Path, line: usize, column: usize, message: impl Into<String>) -> Self {
        Self {
            file: file.display().to_string(),
            line,
            column,
            message: message.into(),
            hint: None,
        }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

/// An error of the library.
#[derive(Debug, thiserror::Error)]
pub struct Error {
    /// Who has to act.
    pub kind: ErrorKind,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
    /// The problems in files, shown together.
    pub problems: Vec<Problem>,
    /// What lies under it.
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What fallible functions of the library return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The input is wrong.
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    /// farm itself failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Problems in files.
    #[must_use]
    pub fn problems(problems: Vec<Problem>) -> Self {
        let message = match problems.len() {
            1 => "1 problem in the input".to_owned(),
            n => format!("{n} problems in the input"),
        };
        Self {
            problems,
            ..Self::input(message)
        }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds what lies under it.
    #[must_use]
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            problems: Vec::new(),
            source: None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Adds context to the errors of others.
pub trait Context<T> {
    /// An input error with `message` over the error at hand.
    fn input(self, message: impl FnOnce() -> String) -> Result<T>;
    /// An internal error with `message` over the error at hand.
    fn internal(self, message: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Box<dyn std::error::Error + Send + Sync>>> Context<T>
    for std::result::Result<T, E>
{
    fn input(self, message: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| Error::input(message()).caused_by(e))
    }

    fn internal(self, message: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| Error::internal(message()).caused_by(e))
    }
}

/// The nearest of `known` to `word`, if it is near enough to be meant.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|k| (strsim::jaro_winkler(word, k), k))
        .filter(|(score, _)| *score >= 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_is_near() {
        let known = ["calculator", "file_read", "web_fetch"];
        assert_eq!(nearest("calculater", known), Some("calculator"));
        assert_eq!(nearest("calc", known), Some("calculator"));
        assert_eq!(nearest("xyz", known), None);
    }

    #[test]
    fn a_problem_says_where() {
        let p = Problem::at(Path::new("a.jsonl"), 3, 7, "no").hint("do it");
        assert_eq!(p.to_string(), "a.jsonl:3:7: no; do it");
        assert_eq!(
            Problem::file(Path::new("a"), "empty").to_string(),
            "a: empty"
        );
    }
}
