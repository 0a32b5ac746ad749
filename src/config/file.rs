//! Reads a config file: each value with its place, every problem with its place.

use std::{io, path::Path};

use serde::{Deserialize, de::IntoDeserializer};
use toml::{
    Spanned, Value,
    de::{DeTable, DeValue},
};

use super::{
    keys::{self, Found, KEYS, Key},
    mcp,
    settings::{Name, Origin, Settings, show},
};
use crate::{
    domain::{VariantName, input},
    error::{Error, Problem, Result},
};

/// Reads `file` into `settings` and gives what is wrong with its keys and values. A file that is
/// not there is an error only if it `is_required`.
///
/// # Errors
/// When it cannot be read, or is not TOML: what else it seems to say, or to lack, may come from
/// that, so it is not looked at.
pub(super) fn read(
    file: &Path,
    is_required: bool,
    settings: &mut Settings,
) -> Result<Vec<Problem>> {
    let one = |problem| Error::problems(vec![problem]);
    let bytes = match input::bytes(file) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound && !is_required => return Ok(Vec::new()),
        Err(e) => {
            let problem = Problem::file(file, format!("cannot be read: {e}"));
            return Err(one(problem.hint("check the path given as config file")));
        }
    };
    let text = str::from_utf8(&bytes).map_err(|e| {
        let before = bytes.get(..e.valid_up_to()).unwrap_or_default();
        let (line, column) = place(&String::from_utf8_lossy(before), before.len());
        let problem = Problem::at(file, line, column, "not UTF-8");
        one(problem.hint("save the file as UTF-8"))
    })?;
    let (root, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let problem = |e: &toml::de::Error| {
            let (line, column) = place(text, e.span().map_or(0, |span| span.start));
            Problem::at(file, line, column, format!("not TOML: {}", e.message()))
        };
        return Err(Error::problems(errors.iter().map(problem).collect()));
    }
    let mut walk = Walk {
        file,
        text,
        settings,
        problems: Vec::new(),
    };
    walk.table(&mut Vec::new(), root.get_ref());
    Ok(walk.problems)
}

struct Walk<'a> {
    file: &'a Path,
    text: &'a str,
    settings: &'a mut Settings,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn table(&mut self, path: &mut Vec<String>, table: &DeTable<'_>) {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        for (name, value) in entries {
            path.push(name.get_ref().to_string());
            self.entry(path, self.origin(name.span().start), value);
            path.pop();
        }
    }

    fn entry(&mut self, path: &mut Vec<String>, at_name: Origin, value: &Spanned<DeValue<'_>>) {
        let at_value = self.origin(value.span().start);
        match keys::find(path) {
            Found::Unknown(meant) => {
                let mut problem = at_name.problem(format!("unknown key `{}`", show(path)));
                problem.hint = meant;
                self.problems.push(problem);
            }
            Found::Table => match value.get_ref() {
                DeValue::Table(table) => {
                    self.name(path, &at_name);
                    self.table(path, table);
                }
                _ => self
                    .problems
                    .push(at_value.problem(format!("{}: must be a table", show(path)))),
            },
            Found::Key(key) => match Value::deserialize(value.clone().into_deserializer()) {
                Ok(toml) => self
                    .problems
                    .extend(self.settings.set(key, path, toml, at_value).err()),
                Err(e) => {
                    let offset = e.span().map_or(value.span().start, |span| span.start);
                    let message = format!("{}: {}", show(path), e.message());
                    self.problems.push(self.origin(offset).problem(message));
                }
            },
        }
    }

    /// Notes the name of a model, a variant or a server.
    fn name(&mut self, path: &[String], origin: &Origin) {
        let Some((name, section)) = path.split_last() else {
            return;
        };
        let section = section.join(".");
        let mut sections = KEYS.iter().filter_map(Key::section);
        let Some(section) = sections.find(|s| *s == section) else {
            return;
        };
        let wrong = match section {
            mcp::SECTION => mcp::check_name(name).err(),
            _ => VariantName::new(name).err().map(|e| e.to_string()),
        };
        self.problems
            .extend(wrong.map(|wrong| origin.problem(wrong)));
        self.settings.names.push(Name {
            section,
            name: name.clone(),
            origin: origin.clone(),
        });
    }

    fn origin(&self, offset: usize) -> Origin {
        let (line, column) = place(self.text, offset);
        Origin::File {
            file: self.file.to_owned(),
            line,
            column,
        }
    }
}

/// Line and column, in characters, of a byte offset; both from 1.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
    (line, column)
}
