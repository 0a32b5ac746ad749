//! What `farm report --failures` tells: `farm.failures/1`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{CaseId, Code, Limit, SessionKey, Status, VariantName};

/// The version of what `farm report --failures --format json` prints.
pub const SCHEMA: &str = "farm.failures/1";

/// Why sessions of a run failed, those together that failed alike.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Failures {
    /// The version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The run's id.
    pub run: String,
    /// How many sessions failed, variant by variant in the order of the run.
    pub variants: Vec<VariantFailures>,
    /// Sessions that ended and whose checks do not all hold. The largest group first, then by the
    /// variant, the case and the seed of its example.
    pub failed: Vec<FailureGroup>,
    /// Sessions that infrastructure or their scoring failed, in the same order. They are in no
    /// figure.
    pub errored: Vec<FailureGroup>,
}

/// How many sessions of one variant failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VariantFailures {
    /// Its name.
    pub variant: VariantName,
    /// Sessions with a verdict.
    pub scored: u64,
    /// Those of them whose checks do not all hold.
    pub failed: u64,
    /// Sessions that infrastructure or their scoring failed.
    pub errored: u64,
    /// Failed and errored sessions in no group: there were too many groups already.
    pub ungrouped: u64,
}

/// Sessions of one variant that failed alike.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FailureGroup {
    /// Their variant.
    pub variant: VariantName,
    /// The checks that do not hold, by name and sorted; empty when they are errored.
    pub checks: Vec<String>,
    /// How they ended.
    pub status: Status,
    /// The limit that ended them.
    pub limit: Option<Limit>,
    /// What went wrong last in them; null when nothing did before they ended.
    pub error: Option<LastError>,
    /// How many sessions.
    pub sessions: u64,
    /// Their share of the variant's failed, or errored, sessions.
    pub share: f64,
    /// How many cases they belong to.
    pub cases: u64,
    /// The first of these cases, at most ten.
    pub case_ids: Vec<CaseId>,
    /// The first of the sessions.
    pub example: Example,
}

/// What went wrong last in a session: in its last bad step, or what ended it if it is errored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LastError {
    /// The kind, if a failing judgment names one: the sessions of a group have it in common.
    pub code: Option<Code>,
    /// The example's words. Those of the others may differ: without a code only in numbers and ids.
    pub message: String,
}

/// One session of a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Example {
    /// Which: `VARIANT/CASE/SEED`; `farm trace show` shows it.
    #[serde(serialize_with = "SessionKey::as_text")]
    #[schemars(with = "String")]
    pub session: SessionKey,
    /// Its first bad step, or its last step when none is bad; null when it has none or is errored.
    pub step: Option<BadStep>,
}

/// A step with its texts shortened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BadStep {
    /// Its number, from 0.
    pub step: u32,
    /// What the model thought.
    pub thought: Option<String>,
    /// What it called: the tool, and the arguments as JSON.
    pub call: Option<String>,
    /// What it answered.
    pub answer: Option<String>,
    /// Why the step is bad: its failing judgments, or the error that came back; null for a step in
    /// which nothing is wrong but what the checks say of the session.
    pub wrong: Option<String>,
}
