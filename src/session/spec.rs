use std::sync::Arc;

use super::judge::StepJudge;
use crate::{domain::Limits, tool::ToolSet, verify::Verifiers};

/// What is fixed for a session before it begins.
#[derive(Clone)]
pub struct Spec {
    /// What it may spend.
    pub limits: Limits,
    /// What it may call.
    pub tools: ToolSet,
    /// What judges its steps.
    pub verifiers: Verifiers,
    /// The model that judges them too, where there is one.
    pub judge: Option<Arc<StepJudge>>,
}
