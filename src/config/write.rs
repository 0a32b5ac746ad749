//! Writes a resolved config, each value with where it came from.

use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

use toml::Value;

use super::{
    Resolved,
    keys::{KEYS, Key},
    kinds::{Kind, is_path},
    settings::{Origin, Settings, show},
};
use crate::domain::absolute;

impl Resolved {
    /// The config as TOML, for a file in `folder`: paths are written relative to it. A config
    /// file of this text alone resolves to the same run.
    #[must_use]
    pub fn to_toml(&self, folder: &Path) -> String {
        self.to_toml_over(folder, "")
    }

    /// As [`Resolved::to_toml`], in place of the text `before` that it wrote for an earlier config
    /// of the run: a value that is still the same keeps the comment on where it came from. Nothing
    /// else of that text matters.
    #[must_use]
    pub fn to_toml_over(&self, folder: &Path, before: &str) -> String {
        let mut out = String::from("# Every value of this run, and where it came from.\n");
        for header in self.settings.headers() {
            let title = format!("\n[{}]", show(&header));
            let section = section(before, &title);
            let mut entries = String::new();
            for (key, path) in self.settings.keys_of(&header) {
                let Some(setting) = self.settings.get(&path) else {
                    continue;
                };
                let name = show(path.get(header.len()..).unwrap_or_default());
                let value = value_of(&self.settings, key, &path, &setting.value, folder);
                let entry = format!("{name} = {value} # ");
                let origin = comment(section, &entry)
                    .map_or_else(|| in_short(&setting.origin), str::to_owned);
                // A comment ends with its line, whatever a file is called.
                let origin = origin.replace(char::is_control, " ");
                let _ = writeln!(entries, "{entry}{origin}");
            }
            if !entries.is_empty() {
                let _ = write!(out, "{title}\n{entries}");
            }
        }
        out
    }
}

/// What stands below a table's title, up to the next one.
fn section<'a>(text: &'a str, title: &str) -> &'a str {
    let below = text.split_once(title).map_or("", |(_, below)| below);
    below.split_once("\n[").map_or(below, |(own, _)| own)
}

/// What stands behind an entry, which begins with a line of the section.
fn comment<'a>(section: &'a str, entry: &str) -> Option<&'a str> {
    let (_, behind) = section.split_once(&format!("\n{entry}"))?;
    behind.lines().next()
}

/// An origin without folders: where files are on a machine is no part of a run.
fn in_short(origin: &Origin) -> String {
    match origin {
        Origin::File { file, line, .. } => {
            let name = file.file_name().unwrap_or(file.as_os_str());
            format!("{}:{line}", name.to_string_lossy())
        }
        other => other.to_string(),
    }
}

fn value_of(
    settings: &Settings,
    key: &Key,
    path: &[String],
    value: &Value,
    folder: &Path,
) -> Value {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match (key.kind, value) {
        (Kind::Path, Value::String(written)) => {
            Value::String(relative(&settings.seen_from_here(&path, written), folder))
        }
        (Kind::Command, Value::Array(words)) => {
            let word = |word: &Value| match word.as_str().filter(|word| is_path(word)) {
                Some(written) => dotted(&settings.seen_from_here(&path, written), folder),
                None => word.clone(),
            };
            Value::Array(words.iter().map(word).collect())
        }
        _ => value.clone(),
    }
}

/// A path as seen from `folder` that is known as one in a command; a link at its end stays one.
fn dotted(path: &Path, folder: &Path) -> Value {
    let path = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Path::new(&relative(parent, folder)).join(name),
        _ => PathBuf::from(relative(path, folder)),
    };
    let path = path.to_string_lossy().into_owned();
    match is_path(&path) || Path::new(&path).is_absolute() {
        true => path.into(),
        false => format!("./{path}").into(),
    }
}

impl Settings {
    /// The tables that are written, in the order of [`KEYS`] and, within one section, of names.
    fn headers(&self) -> Vec<Vec<String>> {
        let mut headers: Vec<Vec<String>> = Vec::new();
        for key in KEYS {
            for mut path in self.paths_of(key) {
                path.truncate(key.header_len());
                if !headers.contains(&path) {
                    headers.push(path);
                }
            }
        }
        headers
    }

    fn keys_of(&self, header: &[String]) -> impl Iterator<Item = (&'static Key, Vec<String>)> {
        KEYS.iter().flat_map(|key| {
            let paths = self.paths_of(key).into_iter();
            paths
                .filter(|path| path.starts_with(header))
                .map(move |path| (key, path))
        })
    }
}

/// `path` as seen from `folder`, with `/` between its parts; absolute where there is no way.
#[must_use]
pub fn relative(path: &Path, folder: &Path) -> String {
    let (path, folder) = (absolute(path), absolute(folder));
    let shared = path
        .components()
        .zip(folder.components())
        .take_while(|(a, b)| a == b)
        .count();
    if shared == 0 {
        return path.to_string_lossy().into_owned();
    }
    let up = folder.components().skip(shared).map(|_| "..".to_owned());
    let down = path
        .components()
        .skip(shared)
        .map(|c| c.as_os_str().to_string_lossy().into_owned());
    let parts: Vec<String> = up.chain(down).collect();
    if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_from_another_folder() {
        let table = [
            ("/a/b/c", "/a/b", "c"),
            ("/a/b/../x", "/a/b/c", "../../x"),
            ("/a", "/a", "."),
            ("a/b", "a/./c", "../b"),
        ];
        for (path, folder, want) in table {
            assert_eq!(relative(Path::new(path), Path::new(folder)), want, "{path}");
        }
    }
}
