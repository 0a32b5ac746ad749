//! What is sealed. None of these types has `Debug` or `Serialize`; a test sees to it.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
};

use jsonschema::Validator;
use regex::Regex;
use serde_json::{Map, Value};

use crate::domain::{CaseId, Status};

/// The sealed halves of all cases of a suite. Opaque: outside `score` it can be held and handed to
/// the scorer, no more.
pub struct SealedSuite {
    pub(super) cases: HashMap<CaseId, SealedCase>,
    /// Those of all cases.
    pub(super) canaries: BTreeSet<String>,
    pub(super) metric_names: Vec<String>,
    pub(super) digest: String,
}

/// How one case is checked and measured.
pub(super) struct SealedCase {
    pub(super) checks: Vec<Check>,
    pub(super) metrics: Vec<Metric>,
    /// A mark that must turn up nowhere else.
    pub(super) canary: Option<String>,
}

/// One expectation on a finished session.
pub(super) struct Check {
    /// Public, and unique in its case.
    pub(super) name: String,
    /// Whether the check holds when the expectation does not.
    pub(super) not: bool,
    pub(super) expect: Expect,
}

/// What is expected.
pub(super) enum Expect {
    AnswerEquals {
        text: String,
    },
    AnswerContains {
        text: String,
    },
    AnswerRegex {
        pattern: Regex,
    },
    AnswerNumber {
        equals: f64,
        tolerance: f64,
    },
    AnswerJson {
        schema: Validator,
    },
    Status {
        is: Status,
    },
    Steps(Bounds),
    ToolCalled(Called),
    ToolNotCalled {
        tool: String,
    },
    BlockedSteps(Bounds),
    ObservationContains {
        text: String,
    },
    CostUsd {
        max: f64,
    },
    ModelGraded {
        rubric: String,
        /// The score that is enough; none: the model says.
        min_score: Option<f64>,
    },
}

impl Expect {
    /// Whether a model has to be asked.
    pub(super) fn is_graded(&self) -> bool {
        matches!(self, Self::ModelGraded { .. })
    }
}

/// A call that is expected.
pub(super) struct Called {
    pub(super) tool: String,
    /// Exactly so often; none: at least once.
    pub(super) times: Option<u32>,
    /// What the arguments must hold.
    pub(super) args: Map<String, Value>,
}

/// Both ends inclusive.
pub(super) struct Bounds {
    pub(super) min: Option<u32>,
    pub(super) max: Option<u32>,
}

/// A hidden metric of one case.
pub(super) struct Metric {
    /// Public, and unique in its case.
    pub(super) name: String,
    pub(super) measure: Measure,
}

impl SealedCase {
    /// Whether a model has to be asked for any check.
    pub(super) fn is_graded(&self) -> bool {
        self.checks.iter().any(|check| check.expect.is_graded())
    }
}

/// How a metric is computed.
pub(super) enum Measure {
    StepsOverOptimal { optimal: u32 },
    NumberError { equals: f64 },
}

impl SealedSuite {
    /// SHA-256, in hex, of the file's lines in order: each without surrounding blanks, followed by
    /// a line feed. Blank lines, CRLF and a byte order mark do not count; for a plain file of
    /// JSON lines it is what `sha256sum` says.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The names that hidden metrics are published by, in the order of the file.
    #[must_use]
    pub fn metric_names(&self) -> &[String] {
        &self.metric_names
    }

    /// Whether a case has a check for which a model has to be asked.
    #[must_use]
    pub fn is_graded(&self, case: &CaseId) -> bool {
        self.cases.get(case).is_some_and(SealedCase::is_graded)
    }

    /// The checks of a case that are about a tool: the name of each, and that of the tool.
    pub fn tools(&self, case: &CaseId) -> impl Iterator<Item = (&str, &str)> {
        let case = self.cases.get(case).into_iter();
        let checks = case.flat_map(|case| &case.checks);
        checks.filter_map(|check| match &check.expect {
            Expect::ToolCalled(Called { tool, .. }) | Expect::ToolNotCalled { tool } => {
                Some((check.name.as_str(), tool.as_str()))
            }
            _ => None,
        })
    }

    /// How long the rubrics of a case are that a model grades by, in bytes.
    pub fn rubrics(&self, case: &CaseId) -> impl Iterator<Item = usize> {
        let case = self.cases.get(case).into_iter();
        let checks = case.flat_map(|case| &case.checks);
        checks.filter_map(|check| match &check.expect {
            Expect::ModelGraded { rubric, .. } => Some(rubric.len()),
            _ => None,
        })
    }
}

impl fmt::Debug for SealedSuite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[sealed]")
    }
}
