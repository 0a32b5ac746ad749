//! The values of all keys, each with where it came from.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use toml::Value;

use super::{
    keys::{KEYS, Key},
    kinds::Misfit,
};
use crate::error::{Error, Problem, Result};

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The default.
    Default,
    /// A config file.
    File {
        /// As the user named it.
        file: PathBuf,
        /// From 1.
        line: usize,
        /// In characters, from 1.
        column: usize,
    },
    /// The environment variable of this name.
    Env(String),
    /// The command line; names the option.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { file, line, .. } => write!(f, "{}:{line}", file.display()),
            Self::Env(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

impl Origin {
    /// A problem of the value that came from here.
    pub(super) fn problem(&self, message: impl Into<String>) -> Problem {
        match self {
            Self::File { file, line, column } => Problem::at(file, *line, *column, message),
            _ => Problem::file(Path::new(&self.to_string()), message),
        }
    }

    /// A problem of the value at `path` that came from here.
    pub(super) fn misfit(&self, path: &[String], misfit: Misfit) -> Problem {
        let mut problem = self.problem(format!("{}: {}", show(path), misfit.message));
        problem.hint = misfit.hint;
        problem
    }

    /// The folder that a path from here is relative to.
    fn folder(&self) -> Option<&Path> {
        match self {
            Self::File { file, .. } => file.parent(),
            _ => None,
        }
    }
}

/// A path as written in the config, and from where farm stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// As written.
    pub written: String,
    /// With the folder that it is relative to.
    pub path: PathBuf,
}

/// A value and where it came from.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    pub value: Value,
    pub origin: Origin,
}

/// A table whose name is free, such as `[models.NAME]`.
#[derive(Debug, Clone)]
pub(super) struct Name {
    pub section: &'static str,
    pub name: String,
    pub origin: Origin,
}

/// All that is set.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    values: BTreeMap<Vec<String>, Setting>,
    /// Keys with a value that does not fit: told already, so not missing.
    misfits: BTreeSet<Vec<String>>,
    /// In the order of the file.
    pub names: Vec<Name>,
}

impl Settings {
    /// Sets a value over the one that was there.
    ///
    /// # Errors
    /// When it does not fit the key.
    pub fn set(
        &mut self,
        key: &Key,
        path: &[String],
        value: Value,
        origin: Origin,
    ) -> Result<(), Problem> {
        if let Err(misfit) = key.kind.check(&value) {
            self.misfits.insert(path.to_owned());
            return Err(origin.misfit(path, misfit));
        }
        self.values
            .insert(path.to_owned(), Setting { value, origin });
        Ok(())
    }

    /// Whether a key has no value, not even one that does not fit.
    pub fn is_missing(&self, path: &[&str]) -> bool {
        let path = owned(path);
        !self.values.contains_key(&path) && !self.misfits.contains(&path)
    }

    /// As though it had not been set.
    pub fn forget(&mut self, path: &[&str]) {
        self.values.remove(&owned(path));
    }

    pub fn get(&self, path: &[String]) -> Option<&Setting> {
        self.values.get(path)
    }

    /// The names in such a section: `models`, `variants` or `tools.mcp`.
    pub fn names_of(&self, section: &str) -> impl Iterator<Item = &Name> {
        self.names.iter().filter(move |n| n.section == section)
    }

    pub fn names(&self, section: &str) -> impl Iterator<Item = &str> {
        self.names_of(section).map(|n| n.name.as_str())
    }

    pub fn has_name(&self, section: &str, name: &str) -> bool {
        self.names(section).any(|n| n == name)
    }

    /// Gives every key that is not set its default.
    pub fn fill_defaults(&mut self) -> Result<()> {
        for key in KEYS {
            let Some(default) = key.default else { continue };
            let value: Value = default
                .parse()
                .map_err(|e| Error::internal(format!("default of {}", key.path)).caused_by(e))?;
            for path in self.paths_of(key) {
                if self.goes_with(key, &path) {
                    self.set_default(path, value.clone());
                }
            }
        }
        Ok(())
    }

    /// The kind of a model, if it has one that there is.
    pub fn kind_of(&self, model: &str) -> Option<&str> {
        self.text(&["models", model, "kind"])
    }

    /// Whether a key goes with the kind of the model that `path` is about; not where the kind is
    /// not known.
    pub fn goes_with(&self, key: &Key, path: &[String]) -> bool {
        let kind = path.get(1).and_then(|model| self.kind_of(model));
        key.only.is_empty() || kind.is_some_and(|kind| key.only.contains(&kind))
    }

    /// Sets a value unless there is one.
    pub fn set_default(&mut self, path: Vec<String>, value: Value) {
        self.values.entry(path).or_insert(Setting {
            value,
            origin: Origin::Default,
        });
    }

    /// The paths that a key stands for: one for each name in place of its `*`.
    pub fn paths_of(&self, key: &Key) -> Vec<Vec<String>> {
        let Some(section) = key.section() else {
            return vec![key.parts().map(str::to_owned).collect()];
        };
        let path = |of: &Name| {
            let part = |part: &str| match part {
                "*" => of.name.clone(),
                part => part.to_owned(),
            };
            key.parts().map(part).collect()
        };
        self.names_of(section).map(path).collect()
    }

    /// Keeps these models and no variants.
    pub fn keep_models(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.names
            .retain(|n| n.section == "models" && is_kept(&n.name));
        self.values.retain(|path, _| match &path[..] {
            [section, ..] if section == "variants" => false,
            [section, name, ..] if section == "models" => is_kept(name),
            _ => true,
        });
    }

    /// Makes a variant of each of these models, as though the file said so.
    pub fn declare_variants(&mut self, is_one: impl Fn(&str) -> bool) {
        let origin = Origin::Flag("--model".to_owned());
        let models: Vec<String> = self.names("models").map(str::to_owned).collect();
        for name in models.into_iter().filter(|name| is_one(name)) {
            let path = owned(&["variants", &name, "model"]);
            let value = Value::String(name.clone());
            let origin = origin.clone();
            self.names.push(Name {
                section: "variants",
                name,
                origin: origin.clone(),
            });
            self.values.insert(path, Setting { value, origin });
        }
    }

    /// Whether a key has a value that is not its default.
    pub fn is_set(&self, path: &[&str]) -> bool {
        let setting = self.values.get(&owned(path));
        setting.is_some_and(|setting| setting.origin != Origin::Default)
    }

    /// Puts another value in the place of one that is set: the same, said more exactly.
    pub fn refine(&mut self, path: &[&str], value: Value) {
        if let Some(setting) = self.values.get_mut(&owned(path)) {
            setting.value = value;
        }
    }

    /// The text that is set at a key.
    pub fn text(&self, path: &[&str]) -> Option<&str> {
        self.get(&owned(path))?.value.as_str()
    }

    /// The table at `path`, read as a `T`.
    pub fn read<T: DeserializeOwned>(&self, path: &[&str]) -> Result<T> {
        let mut table = toml::Table::new();
        for (full, setting) in &self.values {
            if path.len() < full.len() && path.iter().zip(full).all(|(a, b)| a == b) {
                let rest = full.get(path.len()..).unwrap_or_default();
                put(&mut table, rest, &setting.value);
            }
        }
        Value::Table(table)
            .try_into()
            .map_err(|e| Error::internal(format!("config table {}", path.join("."))).caused_by(e))
    }

    /// The path that is set at a key.
    pub fn located(&self, path: &[&str]) -> Option<Located> {
        let written = self.text(path)?.to_owned();
        let path = self.seen_from_here(path, &written);
        Some(Located { written, path })
    }

    /// A path that is written at a key, from where farm stands.
    pub fn seen_from_here(&self, path: &[&str], written: &str) -> PathBuf {
        self.folder(path).unwrap_or(Path::new("")).join(written)
    }

    /// The folder that a path is relative to which is set at a key.
    pub fn folder(&self, path: &[&str]) -> Option<&Path> {
        let setting = self.get(&owned(path))?;
        Some(setting.origin.folder().unwrap_or(Path::new("")))
    }

    /// A problem of the value at `path`.
    pub fn problem(&self, path: &[&str], misfit: Misfit) -> Problem {
        let path = owned(path);
        let origin = self.get(&path).map_or(&Origin::Default, |s| &s.origin);
        origin.misfit(&path, misfit)
    }
}

fn owned(path: &[&str]) -> Vec<String> {
    path.iter().map(|part| (*part).to_owned()).collect()
}

fn put(table: &mut toml::Table, path: &[String], value: &Value) {
    match path {
        [] => {}
        [last] => {
            table.insert(last.clone(), value.clone());
        }
        [first, rest @ ..] => {
            let inner = table
                .entry(first.clone())
                .or_insert_with(|| Value::Table(toml::Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
    }
}

/// A path as TOML writes it: `models."gpt-4.1".kind`.
pub(super) fn show(path: &[String]) -> String {
    let quoted: Vec<String> = path.iter().map(|name| show_name(name)).collect();
    quoted.join(".")
}

fn show_name(name: &str) -> String {
    let is_bare = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if !name.is_empty() && name.bytes().all(is_bare) {
        name.to_owned()
    } else {
        Value::String(name.to_owned()).to_string()
    }
}

/// Reads what [`show`] writes.
pub(super) fn parse_path(text: &str) -> Option<Vec<String>> {
    let mut table: toml::Table = format!("{text} = 0").parse().ok()?;
    let mut path = Vec::new();
    loop {
        let mut entries = std::mem::take(&mut table).into_iter();
        let (Some((name, value)), None) = (entries.next(), entries.next()) else {
            return None;
        };
        path.push(name);
        match value {
            Value::Table(inner) => table = inner,
            _ => return Some(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_round_trip() {
        for text in ["run.seeds", "models.\"gpt-4.1\".kind", "a.\"\""] {
            let path = parse_path(text).unwrap();
            assert_eq!(show(&path), text);
        }
        assert_eq!(parse_path("models.\"gpt-4.1\".kind").unwrap().len(), 3);
        for bad in ["", "a..b", "a b", "a = 1\nb"] {
            assert!(parse_path(bad).is_none(), "{bad:?}");
        }
    }
}
