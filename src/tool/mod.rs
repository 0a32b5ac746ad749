//! Tools that an agent may call: the trait, the registry, one file a tool.

mod registry;

use std::sync::Arc;

use serde_json::Value;

use crate::domain::{BoxFuture, Observation, ToolSpec};

pub use registry::{Registry, ToolSet};

/// Something that an agent may call.
///
/// A tool reports what goes wrong as an [`Observation`] with `ok = false`, in words that help the
/// model; it never fails a session. `args` have matched the schema before `call` runs.
pub trait Tool: Send + Sync {
    /// What is said of it; made once.
    fn spec(&self) -> &ToolSpec;

    /// Runs it. Dropping the future must leave nothing running.
    fn call<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, Observation>;
}

/// What a session lends to its tools.
#[derive(Debug, Clone, Default)]
pub struct ToolContext {
    /// The session's own folder, if its case has `files`.
    pub files: Option<Arc<cap_std::fs::Dir>>,
}
