//! What differs in operation between two configs of one run.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{
    Class, KEYS, Key, Kind, Resolved, SeedRange, Until,
    kinds::{json, number},
    settings::{Settings, show},
    write::relative,
};
use crate::domain::absolute;

/// A key of [`Class::Operation`] that has another value than before.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// As in TOML: `run.concurrency`, `models."gpt-4.1".latency_ms`.
    pub key: String,
    /// What it was; null: it was not set.
    pub from: Value,
    /// What it is; null: it is not set.
    pub to: Value,
}

/// Every key of [`Class::Operation`] whose value differs, in the order of [`KEYS`]. Values are
/// compared by what they say: 12 seeds are `0..12`, paths are equal that lead to one place, and
/// `90m` is `1h30m`. Paths are told as seen from `folder`, the run's.
#[must_use]
pub fn operation_changes(before: &Resolved, after: &Resolved, folder: &Path) -> Vec<Change> {
    let (before, after) = (&before.settings, &after.settings);
    let mut changes = Vec::new();
    for key in KEYS.iter().filter(|key| key.class == Class::Operation) {
        let old = before.paths_of(key);
        let mut new = after.paths_of(key);
        new.retain(|path| !old.contains(path));
        for path in old.iter().chain(&new) {
            if said(key, path, before) != said(key, path, after) {
                changes.push(Change {
                    key: show(path),
                    from: written(key, path, before, folder),
                    to: written(key, path, after, folder),
                });
            }
        }
    }
    changes
}

/// A setting as JSON; every kind of value but a date has one, and no key takes a date.
fn written(key: &Key, path: &[String], settings: &Settings, folder: &Path) -> Value {
    let parts: Vec<&str> = path.iter().map(String::as_str).collect();
    match settings.located(&parts) {
        Some(located) if key.kind == Kind::Path => relative(&located.path, folder).into(),
        _ => settings
            .get(path)
            .and_then(|setting| json(&setting.value).ok())
            .unwrap_or(Value::Null),
    }
}

/// What a value says, however it is spelled.
#[derive(PartialEq)]
enum Said {
    Seeds(Option<SeedRange>),
    Time(Option<Until>),
    Place(Option<PathBuf>),
    Number(Option<f64>),
    Plain(toml::Value),
}

fn said(key: &Key, path: &[String], settings: &Settings) -> Option<Said> {
    let value = &settings.get(path)?.value;
    Some(match key.kind {
        Kind::Seeds => {
            let number = value.to_string();
            Said::Seeds(value.as_str().unwrap_or(&number).parse().ok())
        }
        Kind::Time => Said::Time(value.as_str().and_then(|text| text.parse().ok())),
        Kind::Path => {
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            Said::Place(settings.located(&path).map(|at| absolute(&at.path)))
        }
        Kind::Amount | Kind::Share | Kind::Price | Kind::Seconds | Kind::Cap => {
            Said::Number(number(value))
        }
        _ => Said::Plain(value.clone()),
    })
}
