//! A line of the sealed file as it is written, and what it means.

use std::{collections::HashSet, num::NonZeroU32};

use serde::Deserialize;

use super::{
    scalar::{Args, Name, NotNegative, Pattern, Schema, ScoredStatus, Share, Text},
    sealed::{Bounds, Called, Check, Expect, Measure, Metric, SealedCase},
};
use crate::{domain::CaseId, error::nearest};

/// How far an answer may be off when the check does not say, absolute.
pub(super) const TOLERANCE: f64 = 1e-9;

/// One line.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `id` and `checks`, one a line"
)]
pub(super) struct Line {
    pub(super) id: CaseId,
    checks: Vec<NamedExpect>,
    #[serde(default)]
    metrics: Vec<NamedMeasure>,
    canary: Option<Text>,
}

impl Line {
    /// The sealed half, with every check named. Errors name places, never values.
    pub(super) fn into_case(self) -> Result<SealedCase, String> {
        if self.checks.is_empty() {
            return Err("checks: a case needs at least one".to_owned());
        }
        let given = self.checks.iter().map(|c| c.name.as_deref());
        if let Some((first, second)) = repeated(given) {
            return Err(format!(
                "checks[{second}].name: checks[{first}] has the same"
            ));
        }
        let metrics: Vec<Metric> = self.metrics.into_iter().map(NamedMeasure::name).collect();
        if let Some((first, second)) = repeated(metrics.iter().map(|m| Some(m.name.as_str()))) {
            return Err(format!(
                "metrics[{second}]: metrics[{first}] has the same name; give it a `name`"
            ));
        }
        Ok(SealedCase {
            checks: named(self.checks),
            metrics,
            canary: self.canary.map(|text| text.0),
        })
    }
}

/// The places of the first two equal names.
fn repeated<'a>(names: impl Iterator<Item = Option<&'a str>>) -> Option<(usize, usize)> {
    let names: Vec<Option<&str>> = names.collect();
    names.iter().enumerate().find_map(|(second, name)| {
        let first = names.iter().position(|other| other == name)?;
        (name.is_some() && first < second).then_some((first, second))
    })
}

/// Names what has no name: by its kind, then `kind#2` and so on, past names that are given.
fn named(checks: Vec<NamedExpect>) -> Vec<Check> {
    let mut taken: HashSet<String> = checks.iter().filter_map(|c| c.name.clone()).collect();
    checks
        .into_iter()
        .map(|check| {
            let kind = check.kind.name();
            let name = check.name.unwrap_or_else(|| {
                let mut name = kind.to_owned();
                let mut n = 1;
                while !taken.insert(name.clone()) {
                    n += 1;
                    name = format!("{kind}#{n}");
                }
                name
            });
            Check {
                name,
                not: check.not,
                expect: check.expect,
            }
        })
        .collect()
}

/// The kinds of checks.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum CheckKind {
    AnswerEquals,
    AnswerContains,
    AnswerRegex,
    AnswerNumber,
    AnswerJson,
    Status,
    Steps,
    ToolCalled,
    ToolNotCalled,
    BlockedSteps,
    ObservationContains,
    CostUsd,
    ModelGraded,
}

impl CheckKind {
    pub(super) const ALL: [Self; 13] = [
        Self::AnswerEquals,
        Self::AnswerContains,
        Self::AnswerRegex,
        Self::AnswerNumber,
        Self::AnswerJson,
        Self::Status,
        Self::Steps,
        Self::ToolCalled,
        Self::ToolNotCalled,
        Self::BlockedSteps,
        Self::ObservationContains,
        Self::CostUsd,
        Self::ModelGraded,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AnswerEquals => "answer_equals",
            Self::AnswerContains => "answer_contains",
            Self::AnswerRegex => "answer_regex",
            Self::AnswerNumber => "answer_number",
            Self::AnswerJson => "answer_json",
            Self::Status => "status",
            Self::Steps => "steps",
            Self::ToolCalled => "tool_called",
            Self::ToolNotCalled => "tool_not_called",
            Self::BlockedSteps => "blocked_steps",
            Self::ObservationContains => "observation_contains",
            Self::CostUsd => "cost_usd",
            Self::ModelGraded => "model_graded",
        }
    }
}

impl TryFrom<String> for CheckKind {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        look_up("check", &word, &Self::ALL, Self::name)
    }
}

/// The kinds of metrics.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum MetricKind {
    StepsOverOptimal,
    NumberError,
}

impl MetricKind {
    pub(super) const ALL: [Self; 2] = [Self::StepsOverOptimal, Self::NumberError];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::StepsOverOptimal => "steps_over_optimal",
            Self::NumberError => "number_error",
        }
    }
}

impl TryFrom<String> for MetricKind {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        look_up("metric", &word, &Self::ALL, Self::name)
    }
}

/// The kind that `word` names. The error says which one is near, and does not quote the word.
fn look_up<K: Copy>(
    what: &str,
    word: &str,
    all: &[K],
    name: fn(K) -> &'static str,
) -> Result<K, String> {
    if let Some(kind) = all.iter().find(|kind| name(**kind) == word) {
        return Ok(*kind);
    }
    let known: Vec<&str> = all.iter().map(|kind| name(*kind)).collect();
    Err(match nearest(word, known.iter().copied()) {
        Some(near) => format!("no such kind of {what}; did you mean `{near}`?"),
        None => format!("no such kind of {what}; there are {}", known.join(", ")),
    })
}

/// A check with the fields of all kinds. Flat, for an enum tagged by `kind` would be buffered, and
/// its problems would have no place.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a check: an object with `kind`")]
struct CheckFields {
    kind: CheckKind,
    name: Option<Name>,
    #[serde(default)]
    not: bool,
    text: Option<Text>,
    pattern: Option<Pattern>,
    equals: Option<f64>,
    tolerance: Option<NotNegative>,
    schema: Option<Schema>,
    is: Option<ScoredStatus>,
    min: Option<u32>,
    max: Option<NotNegative>,
    tool: Option<Text>,
    times: Option<u32>,
    args: Option<Args>,
    rubric: Option<Text>,
    min_score: Option<Share>,
}

/// A check that may still lack a name.
#[derive(Deserialize)]
#[serde(try_from = "CheckFields")]
struct NamedExpect {
    kind: CheckKind,
    name: Option<String>,
    not: bool,
    expect: Expect,
}

impl TryFrom<CheckFields> for NamedExpect {
    type Error = String;

    fn try_from(mut f: CheckFields) -> Result<Self, String> {
        let name = f.kind.name();
        let lacks = |field: &str| format!("{name} needs `{field}`");
        let text = |f: &mut CheckFields| f.text.take().map(|t| t.0).ok_or_else(|| lacks("text"));
        let tool = |f: &mut CheckFields| f.tool.take().map(|t| t.0).ok_or_else(|| lacks("tool"));
        let expect = match f.kind {
            CheckKind::AnswerEquals => Expect::AnswerEquals {
                text: text(&mut f)?,
            },
            CheckKind::AnswerContains => Expect::AnswerContains {
                text: text(&mut f)?,
            },
            CheckKind::AnswerRegex => Expect::AnswerRegex {
                pattern: f.pattern.take().ok_or_else(|| lacks("pattern"))?.0,
            },
            CheckKind::AnswerNumber => Expect::AnswerNumber {
                equals: f.equals.take().ok_or_else(|| lacks("equals"))?,
                tolerance: f.tolerance.take().map_or(TOLERANCE, |t| t.0),
            },
            CheckKind::AnswerJson => Expect::AnswerJson {
                schema: f.schema.take().ok_or_else(|| lacks("schema"))?.0,
            },
            CheckKind::Status => Expect::Status {
                is: f.is.take().ok_or_else(|| lacks("is"))?.0,
            },
            CheckKind::Steps => Expect::Steps(bounds(&mut f)?),
            CheckKind::ToolCalled => Expect::ToolCalled(Called {
                tool: tool(&mut f)?,
                times: f.times.take(),
                args: f.args.take().map(|a| a.0).unwrap_or_default(),
            }),
            CheckKind::ToolNotCalled => Expect::ToolNotCalled {
                tool: tool(&mut f)?,
            },
            CheckKind::BlockedSteps => Expect::BlockedSteps(bounds(&mut f)?),
            CheckKind::ObservationContains => Expect::ObservationContains {
                text: text(&mut f)?,
            },
            CheckKind::CostUsd => Expect::CostUsd {
                max: f.max.take().ok_or_else(|| lacks("max"))?.0,
            },
            CheckKind::ModelGraded => Expect::ModelGraded {
                rubric: f.rubric.take().ok_or_else(|| lacks("rubric"))?.0,
                min_score: f.min_score.take().map(|score| score.0),
            },
        };
        if let Some(field) = left_over(&f) {
            return Err(format!("`{field}` does not go with {name}"));
        }
        Ok(Self {
            kind: f.kind,
            name: f.name.map(|n| n.0),
            not: f.not,
            expect,
        })
    }
}

fn bounds(f: &mut CheckFields) -> Result<Bounds, String> {
    let kind = f.kind.name();
    let min = f.min.take();
    let max = f
        .max
        .take()
        .map(|max| max.whole().ok_or("`max` must be a whole number"))
        .transpose()?;
    match (min, max) {
        (None, None) => Err(format!("{kind} needs `min` or `max`")),
        (Some(min), Some(max)) if min > max => Err("`min` is greater than `max`".to_owned()),
        _ => Ok(Bounds { min, max }),
    }
}

/// The first field that the kind did not take.
fn left_over(f: &CheckFields) -> Option<&'static str> {
    [
        ("text", f.text.is_some()),
        ("pattern", f.pattern.is_some()),
        ("equals", f.equals.is_some()),
        ("tolerance", f.tolerance.is_some()),
        ("schema", f.schema.is_some()),
        ("is", f.is.is_some()),
        ("min", f.min.is_some()),
        ("max", f.max.is_some()),
        ("tool", f.tool.is_some()),
        ("times", f.times.is_some()),
        ("args", f.args.is_some()),
        ("rubric", f.rubric.is_some()),
        ("min_score", f.min_score.is_some()),
    ]
    .into_iter()
    .find_map(|(name, is_left)| is_left.then_some(name))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a metric: an object with `kind`")]
struct MetricFields {
    kind: MetricKind,
    name: Option<Name>,
    optimal: Option<NonZeroU32>,
    equals: Option<f64>,
}

/// A metric that may still lack a name.
#[derive(Deserialize)]
#[serde(try_from = "MetricFields")]
struct NamedMeasure {
    kind: MetricKind,
    name: Option<String>,
    measure: Measure,
}

impl NamedMeasure {
    fn name(self) -> Metric {
        Metric {
            name: self.name.unwrap_or_else(|| self.kind.name().to_owned()),
            measure: self.measure,
        }
    }
}

impl TryFrom<MetricFields> for NamedMeasure {
    type Error = &'static str;

    fn try_from(f: MetricFields) -> Result<Self, Self::Error> {
        let measure = match (f.kind, f.optimal, f.equals) {
            (MetricKind::StepsOverOptimal, Some(optimal), None) => Measure::StepsOverOptimal {
                optimal: optimal.get(),
            },
            (MetricKind::StepsOverOptimal, ..) => {
                return Err("steps_over_optimal takes `optimal` alone");
            }
            (MetricKind::NumberError, None, Some(equals)) => Measure::NumberError { equals },
            (MetricKind::NumberError, ..) => return Err("number_error takes `equals` alone"),
        };
        Ok(Self {
            kind: f.kind,
            name: f.name.map(|n| n.0),
            measure,
        })
    }
}
