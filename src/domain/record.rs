use std::sync::Arc;

use serde_json::Value;

use super::{Outcome, SessionKey, trace::Step};

/// What the scorer is given of a finished session: all that checks may look at.
#[derive(Debug, Clone)]
pub struct SessionRecord {
    /// Whose it is.
    pub key: SessionKey,
    /// How it ended.
    pub outcome: Arc<Outcome>,
    /// Its steps, in order.
    pub steps: Vec<StepFacts>,
}

/// One step as checks see it.
#[derive(Debug, Clone, PartialEq)]
pub struct StepFacts {
    /// The tool that was called; none for answers and failed replies.
    pub tool: Option<String>,
    /// Its arguments; null when they were not JSON.
    pub args: Value,
    /// Whether a pre-act judgment failed, so that nothing ran.
    pub blocked: bool,
    /// What came back; none for an answer.
    pub observation: Option<Arc<str>>,
}

impl From<&Step> for StepFacts {
    fn from(step: &Step) -> Self {
        let call = step.decision.tool_call.as_ref();
        Self {
            tool: call.map(|c| c.tool.clone()),
            args: call.map_or(Value::Null, |c| c.args.clone()),
            blocked: step.is_blocked(),
            observation: step.observation.as_ref().map(|o| o.content.clone()),
        }
    }
}
