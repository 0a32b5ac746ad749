//! What values a key takes.

use toml::Value;

use super::{SeedRange, Until};
use crate::error::nearest;

/// US dollars per million tokens: a dollar a token. What is above is a slip.
const MOST_PRICE: f64 = 1e6;

/// The kind of value that a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Switch,
    /// A whole number of at least `min` and at most `max`.
    Count {
        /// The smallest.
        min: i64,
        /// The largest.
        max: i64,
    },
    /// A positive, finite number.
    Amount,
    /// A price: a finite number, not negative.
    Price,
    /// The most US dollars that may be spent, or `"none"`.
    Cap,
    /// A number of seconds between a thousandth and a day.
    Seconds,
    /// A number between 0 and 1, both excluded.
    Share,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A text, not empty.
    Text,
    /// A path, relative to the folder of the file that it is written in.
    Path,
    /// Names, none twice.
    Names,
    /// A program and its arguments. What begins with `./` or `../` is a path, relative to the folder
    /// of the file that it is written in.
    Command,
    /// How many seeds, or `"A..B"`.
    Seeds,
    /// A deadline, see [`Until`].
    Time,
    /// A table of values that JSON can hold, sent on as it is.
    Json,
    /// A table of texts.
    Texts,
}

/// The shortest and the longest time of [`Kind::Seconds`].
pub(super) const SECONDS: (f64, f64) = (0.001, 86_400.0);

/// Why a value does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Misfit {
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl From<String> for Misfit {
    fn from(message: String) -> Self {
        Self {
            message,
            hint: None,
        }
    }
}

impl Kind {
    /// Whether a value of this kind can be written in an environment variable.
    pub(super) fn is_scalar(self) -> bool {
        !matches!(self, Self::Names | Self::Command | Self::Json | Self::Texts)
    }

    pub(super) fn check(self, value: &Value) -> Result<(), Misfit> {
        match (self, value) {
            (Self::Switch, Value::Boolean(_)) => Ok(()),
            (Self::Count { min, max }, Value::Integer(n)) => {
                if *n < min {
                    Err(format!("must be at least {min}, is {n}").into())
                } else if *n > max {
                    Err(format!("must be at most {max}, is {n}").into())
                } else {
                    Ok(())
                }
            }
            (Self::Amount, Value::Integer(_) | Value::Float(_)) => match number(value) {
                Some(n) if n.is_finite() && n > 0.0 => Ok(()),
                _ => Err(Misfit {
                    message: format!("must be a positive, finite number, is {value}"),
                    hint: Some("leave the key out to set no limit".to_owned()),
                }),
            },
            (Self::Price, Value::Integer(_) | Value::Float(_)) => match number(value) {
                Some(n) if (0.0..=MOST_PRICE).contains(&n) => Ok(()),
                _ => Err(format!("must be a number from 0 to {MOST_PRICE}, is {value}").into()),
            },
            (Self::Cap, Value::String(text)) if text == "none" => Ok(()),
            (Self::Cap, Value::Integer(_) | Value::Float(_) | Value::String(_)) => {
                match number(value) {
                    Some(n) if n.is_finite() && n > 0.0 => Ok(()),
                    _ => {
                        let message = "must be a positive, finite number of US dollars, or none";
                        Err(format!("{message}, is {value}").into())
                    }
                }
            }
            (Self::Seconds, Value::Integer(_) | Value::Float(_)) => {
                let (least, most) = SECONDS;
                match number(value) {
                    Some(n) if (least..=most).contains(&n) => Ok(()),
                    _ => Err(format!("must lie between {least} and {most}, is {value}").into()),
                }
            }
            (Self::Share, Value::Integer(_) | Value::Float(_)) => match number(value) {
                Some(n) if n > 0.0 && n < 1.0 => Ok(()),
                _ => Err(format!("must lie between 0 and 1, both excluded, is {value}").into()),
            },
            (Self::Choice(words), Value::String(word)) => {
                if words.contains(&word.as_str()) {
                    return Ok(());
                }
                Err(Misfit {
                    message: format!("{word:?} is not known here, only {}", words.join(", ")),
                    hint: did_you_mean(word, words),
                })
            }
            (Self::Text | Self::Path, Value::String(text)) if text.is_empty() => {
                Err("is empty".to_owned().into())
            }
            (Self::Text | Self::Path, Value::String(_)) => Ok(()),
            (Self::Names, Value::Array(items)) => names_are_unique(items),
            (Self::Command, Value::Array(words)) => command(words),
            (Self::Seeds, Value::Integer(n)) => seeds(&n.to_string()),
            (Self::Seeds, Value::String(text)) => seeds(text),
            (Self::Time, Value::String(text)) => until(text),
            (Self::Json, Value::Table(table)) => table
                .iter()
                .try_for_each(|(key, value)| {
                    json(value).map(drop).map_err(|e| format!("{key}: {e}"))
                })
                .map_err(Misfit::from),
            (Self::Texts, Value::Table(table)) => {
                let other = table.iter().find(|(_, value)| !value.is_str());
                match other {
                    Some((key, value)) => {
                        let is = type_name(value);
                        Err(format!("{key}: must be a text in quotes, is {is}").into())
                    }
                    None => Ok(()),
                }
            }
            _ => Err(format!("must be {}, is {}", self.words(), type_name(value)).into()),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Switch => "true or false",
            Self::Count { .. } => "a whole number",
            Self::Amount | Self::Share | Self::Price | Self::Seconds => "a number",
            Self::Cap => "a number, or \"none\"",
            Self::Choice(_) | Self::Text => "a text in quotes",
            Self::Path => "a path in quotes",
            Self::Names => "a list of names",
            Self::Command => "a list of texts: a program and its arguments",
            Self::Seeds => "a number of seeds, or a range in quotes such as \"3..5\"",
            Self::Time => "a time in quotes, such as \"8h\", \"07:00\" or \"none\"",
            Self::Json | Self::Texts => "a table",
        }
    }
}

/// The hint that offers the nearest known word.
pub(super) fn did_you_mean(word: &str, known: &[&str]) -> Option<String> {
    nearest(word, known.iter().copied()).map(|near| format!("did you mean `{near}`?"))
}

/// What is wrong with a list of names of which only `known` ones exist.
pub(super) fn check_names<'a>(
    what: &str,
    names: impl IntoIterator<Item = &'a String>,
    known: &[&str],
) -> Vec<Misfit> {
    names
        .into_iter()
        .filter(|name| !known.iter().any(|known| is_named(known, name)))
        .map(|name| Misfit {
            message: format!("unknown {what} `{name}`; known are {}", known.join(", ")),
            hint: did_you_mean(name, known),
        })
        .collect()
}

/// Whether a name is one that `known` stands for: it itself, or, of one that ends with `*`, all that
/// begin as it does.
fn is_named(known: &str, name: &str) -> bool {
    match known.strip_suffix('*') {
        Some(prefix) => name.len() > prefix.len() && name.starts_with(prefix),
        None => known == name,
    }
}

fn seeds(text: &str) -> Result<(), Misfit> {
    text.parse::<SeedRange>()
        .map(drop)
        .map_err(|e| e.to_string().into())
}

fn until(text: &str) -> Result<(), Misfit> {
    text.parse::<Until>()
        .map(drop)
        .map_err(|e| e.to_string().into())
}

fn names_are_unique(items: &[Value]) -> Result<(), Misfit> {
    for (i, item) in items.iter().enumerate() {
        let Some(name) = item.as_str() else {
            return Err(format!("must be a list of names, holds {}", type_name(item)).into());
        };
        if items.iter().take(i).any(|earlier| earlier == item) {
            return Err(format!("names `{name}` twice").into());
        }
    }
    Ok(())
}

/// Whether a word of a command is a path, relative to the file that it is written in.
pub(super) fn is_path(word: &str) -> bool {
    word.starts_with("./") || word.starts_with("../")
}

fn command(words: &[Value]) -> Result<(), Misfit> {
    for word in words {
        match word.as_str() {
            None => {
                return Err(format!("must be a list of texts, holds {}", type_name(word)).into());
            }
            Some(word) if word.contains('\0') => {
                return Err(format!("{word:?} holds a zero byte").into());
            }
            Some(_) => {}
        }
    }
    match words.first().and_then(Value::as_str) {
        None | Some("") => Err("names no program".to_owned().into()),
        Some(program)
            if program.contains('/') && !program.starts_with('/') && !is_path(program) =>
        {
            Err(Misfit {
                message: format!("{program:?} is neither a program's name nor a path"),
                hint: Some(format!(
                    "write \"./{program}\" for what lies beside this file"
                )),
            })
        }
        Some(_) => Ok(()),
    }
}

pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        #[expect(clippy::cast_precision_loss, reason = "limits are far below 2^53")]
        Value::Integer(n) => Some(*n as f64),
        Value::Float(n) => Some(*n),
        _ => None,
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "a text",
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number with a point",
        Value::Boolean(_) => "true or false",
        Value::Datetime(_) => "a date or time",
        Value::Array(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// A TOML value as JSON; dates, `nan` and `inf` have no JSON.
pub(super) fn json(value: &Value) -> Result<serde_json::Value, String> {
    Ok(match value {
        Value::String(s) => s.as_str().into(),
        Value::Integer(n) => (*n).into(),
        Value::Float(n) => serde_json::Number::from_f64(*n)
            .ok_or_else(|| format!("{value} cannot be written as JSON"))?
            .into(),
        Value::Boolean(b) => (*b).into(),
        Value::Datetime(d) => {
            return Err(format!("write the date {d} in quotes: JSON has no dates"));
        }
        Value::Array(items) => items.iter().map(json).collect::<Result<_, _>>()?,
        Value::Table(table) => serde_json::Value::Object(json_table(table)?),
    })
}

/// A TOML table as a JSON object.
pub(super) fn json_table(
    table: &toml::Table,
) -> Result<serde_json::Map<String, serde_json::Value>, String> {
    table
        .iter()
        .map(|(key, value)| Ok((key.clone(), json(value)?)))
        .collect()
}

#[cfg(test)]
mod tests;
