//! Values of the sealed half that are validated as they are read, so that a problem has its
//! place. What is wrong is said in fixed words: `&'static str` cannot quote.

use jsonschema::Validator;
use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::domain::{Status, is_unseen};

/// A text that is not empty.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Text(pub(super) String);

impl TryFrom<String> for Text {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        if text.trim().is_empty() {
            return Err("must not be empty");
        }
        Ok(Self(text))
    }
}

/// A name that is published: at most 64 characters, all of which can be seen.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Name(pub(super) String);

impl TryFrom<String> for Name {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if name.trim().is_empty() || name.chars().count() > 64 || name.contains(is_unseen) {
            return Err("a name has 1 to 64 characters on one line, none of them invisible");
        }
        Ok(Self(name))
    }
}

/// A regular expression.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Pattern(pub(super) Regex);

/// What can be said of a pattern without quoting it: words of the regex crate, and ours.
const PATTERN_FAULTS: [(&str, &str); 9] = [
    ("look-around", "look-around is not supported"),
    ("backreferences", "back-references are not supported"),
    ("unclosed group", "a group is not closed"),
    ("unopened group", "a group is closed that was not opened"),
    (
        "unclosed character class",
        "a character class is not closed",
    ),
    ("missing expression", "a repetition has nothing to repeat"),
    ("unrecognized escape", "an escape is unknown"),
    ("repetition", "a repetition is malformed"),
    ("character class range", "a character range is malformed"),
];

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(pattern: String) -> Result<Self, Self::Error> {
        Regex::new(&pattern).map(Self).map_err(|e| {
            // The text ends with a line of fixed words; above it stands the pattern.
            let text = e.to_string();
            let reason = text.rsplit("error: ").next().unwrap_or_default();
            let said = PATTERN_FAULTS
                .iter()
                .find(|(theirs, _)| reason.contains(theirs));
            let Some((_, ours)) = said else {
                return "not a regular expression, or too large a one".to_owned();
            };
            format!("not a regular expression: {ours}")
        })
    }
}

/// A number that is 0 or more.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct NotNegative(pub(super) f64);

impl TryFrom<f64> for NotNegative {
    type Error = &'static str;

    fn try_from(number: f64) -> Result<Self, Self::Error> {
        if number >= 0.0 && number.is_finite() {
            Ok(Self(number))
        } else {
            Err("must be 0 or more")
        }
    }
}

/// A number from 0 to 1.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Share(pub(super) f64);

impl TryFrom<f64> for Share {
    type Error = &'static str;

    fn try_from(number: f64) -> Result<Self, Self::Error> {
        if (0.0..=1.0).contains(&number) {
            Ok(Self(number))
        } else {
            Err("must be from 0 to 1")
        }
    }
}

impl NotNegative {
    /// The number as a count; none when it is a fraction or too large.
    pub(super) fn whole(self) -> Option<u32> {
        let count = self.0 as u32;
        (f64::from(count) == self.0).then_some(count)
    }
}

/// A JSON Schema, compiled.
///
/// Free JSON is read as raw text first: the path to a fault in it would quote its keys.
#[derive(Deserialize)]
#[serde(try_from = "Box<RawValue>")]
pub(super) struct Schema(pub(super) Validator);

impl TryFrom<Box<RawValue>> for Schema {
    type Error = &'static str;

    fn try_from(raw: Box<RawValue>) -> Result<Self, Self::Error> {
        let schema: Value = serde_json::from_str(raw.get()).map_err(|_| "not readable as JSON")?;
        jsonschema::options()
            .offline()
            .build(&schema)
            .map(Self)
            .map_err(|_| "not a JSON Schema, or its `$ref` points nowhere inside it")
    }
}

/// Some arguments of a call.
#[derive(Deserialize)]
#[serde(try_from = "Box<RawValue>")]
pub(super) struct Args(pub(super) Map<String, Value>);

impl TryFrom<Box<RawValue>> for Args {
    type Error = &'static str;

    fn try_from(raw: Box<RawValue>) -> Result<Self, Self::Error> {
        serde_json::from_str(raw.get())
            .map(Self)
            .map_err(|_| "must be a JSON object")
    }
}

/// A status that a session can have when its checks are judged.
#[derive(Deserialize)]
#[serde(try_from = "String")]
pub(super) struct ScoredStatus(pub(super) Status);

impl ScoredStatus {
    pub(super) const ALL: [Status; 3] = [
        Status::Completed,
        Status::BudgetExhausted,
        Status::FallbackStop,
    ];
}

impl TryFrom<String> for ScoredStatus {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == name)
            .map(Self)
            .ok_or(
                "must be `completed`, `budget_exhausted` or `fallback_stop`: \
                 sessions that end otherwise are not scored",
            )
    }
}
