//! The records of `farm.trace/1`: one session is a `run_start`, its steps and a `run_end`.

mod reading;

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, value::RawValue};

use super::{
    CaseId, Code, Decision, Judgment, Limit, Observation, Served, Status, Usage, VariantName, Wait,
};

/// The version written to `run_start`.
pub const SCHEMA: &str = "farm.trace/1";

/// What may differ between two equal runs, as paths into a record; `trace diff` compares without.
///
/// Nothing else varies: times, the run's own name, how often infrastructure made it begin anew,
/// waits and latencies, and the provider's ids.
pub const FREE_FIELDS: [&str; 10] = [
    "ts",
    "run",
    "attempt",
    "waits",
    "latency_s",
    "work_s",
    "reply.id",
    "reply.created",
    "reply.system_fingerprint",
    "served.fingerprint",
];

/// The first line of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunStart {
    /// The version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The run's id.
    pub run: String,
    /// The variant.
    pub variant: VariantName,
    /// The case.
    pub case: CaseId,
    /// The seed's index.
    pub seed: u64,
    /// The seed's number, in decimal: it needs all 64 bits.
    pub rng_seed: String,
    /// How often the session began anew.
    pub attempt: u32,
    /// The task as sent.
    pub task: String,
    /// The step budget.
    pub max_steps: u32,
    /// The tools of the session.
    pub tools: Vec<String>,
    /// Unix seconds.
    pub ts: f64,
}

/// One step: what the model decided, what was judged, what came back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// From 0 over the session.
    pub step: u32,
    /// The reply that it came from, from 0.
    pub turn: u32,
    /// Its place among the calls of the turn.
    pub call: u32,
    /// The model's part.
    pub decision: Decision,
    /// Of all verifiers, in their order.
    pub judgments: Vec<Judgment>,
    /// What came back; null for an answer.
    pub observation: Option<Observation>,
}

/// What belongs to a turn as a whole; stands on its first step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Turn {
    /// The reply as received.
    pub reply: Arc<RawValue>,
    /// Digest of the request, see [`crate::model::wire`].
    pub request_sha256: String,
    /// What `normalise` repaired to read it.
    pub repairs: Vec<String>,
    /// Why the model stopped, as the provider says.
    pub finish: Option<String>,
    /// Whether the answer is a refusal.
    pub refused: bool,
    /// What it took.
    pub usage: Option<Usage>,
    /// What answered, as far as the reply says.
    #[serde(default, skip_serializing_if = "Served::is_unknown")]
    pub served: Served,
    /// Seconds from the request to the last byte; absent when nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_s: Option<f64>,
    /// What the session waited for since the turn before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
}

/// A time that a reply took, to the millisecond; none for no time.
#[must_use]
pub fn seconds(latency: Duration) -> Option<f64> {
    (!latency.is_zero()).then(|| (latency.as_secs_f64() * 1e3).round() / 1e3)
}

/// The last line of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEnd {
    /// How it ended.
    pub status: Status,
    /// The limit that ended it.
    pub limit: Option<Limit>,
    /// The final answer.
    pub answer: Option<String>,
    /// Steps taken.
    pub steps_used: u32,
    /// Mean score of all judgments.
    pub mean_score: Option<f64>,
    /// Tokens of the session.
    pub usage: SessionUsage,
    /// US dollars.
    pub cost_usd: Option<f64>,
    /// Why it failed.
    pub error: Option<String>,
    /// What the session waited for after its last reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// Unix seconds; null when it has not ended.
    pub ts: Option<f64>,
}

/// Tokens of a whole session, unknown if those of any turn are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionUsage {
    /// Of all requests.
    pub tokens_in: Option<u64>,
    /// Of all replies.
    pub tokens_out: Option<u64>,
}

/// A line of a trace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", remote = "Self")]
pub enum Record {
    /// It begins.
    RunStart(RunStart),
    /// The model called a tool, or answered.
    Step(Box<StepLine>),
    /// It ended.
    RunEnd(RunEnd),
}

/// A step with what stands on the first step of its turn.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct StepLine {
    /// The step.
    #[serde(flatten)]
    pub step: Step,
    /// The reply as received, on the first step of a turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub reply: Option<Box<RawValue>>,
    /// Digest of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_sha256: Option<String>,
    /// What was repaired.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<String>,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<String>,
    /// Whether it refused.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// What it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// What answered, as far as the reply says.
    #[serde(default, skip_serializing_if = "Served::is_unknown")]
    pub served: Served,
    /// Seconds from the request to the last byte; absent when nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_s: Option<f64>,
    /// What the session waited for since the turn before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Wait>,
    /// Unix seconds.
    pub ts: f64,
}

impl Record {
    /// Reads a record whose fields are values; see [`reading`].
    fn of_fields<'de, D: Deserializer<'de>>(fields: D) -> Result<Self, D::Error> {
        // What is derived for `remote`, and not the trait.
        Self::deserialize(fields)
    }
}

impl Step {
    /// Whether a pre-act judgment failed, so that nothing ran.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.judgments
            .iter()
            .any(|j| !j.passed && j.phase == super::Phase::PreAct)
    }

    /// Whether the step counts as failed: blocked, or its observation is an error.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.is_blocked() || self.observation.as_ref().is_some_and(|o| !o.ok)
    }

    /// The kind of its first failing judgment that names one.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        self.judgments.iter().find_map(|j| j.code)
    }
}
