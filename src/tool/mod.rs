//! Tools that an agent may call: the trait, the registry, one file a tool.

mod builtin;
pub mod calculator;
mod fenced_read;
mod file_read;
mod files;
pub(crate) mod foreign_schema;
mod function;
pub(crate) mod lines;
pub mod mcp_client;
mod progress;
mod registry;
mod set;
mod spec;
mod validation_cost;
mod web_fetch;

use std::{path::PathBuf, sync::Arc};

use serde::Deserialize;
use serde_json::Value;

use crate::domain::{BoxFuture, Observation, ToolSpec};

pub use builtin::{BUILTIN, BuiltinOptions, builtin};
pub use fenced_read::DEFAULT_MAX_BYTES;
pub use file_read::FileRead;
pub use files::SessionFiles;
pub use function::from_fn;
pub use mcp_client::{McpServer, Processes, ServerLost};
pub use progress::{Progress, Report};
pub use registry::{Entry, Registry, RegistryError};
pub use set::ToolSet;
pub use spec::spec;
pub use web_fetch::WebFetch;

use fenced_read::{ReadError, fenced_read};

/// Something that an agent may call.
///
/// A tool reports what goes wrong as an [`Observation`] with `ok = false`, in words that help the
/// model; it never fails a session. `args` have matched the schema before `call` runs.
pub trait Tool: Send + Sync {
    /// What is said of it; made once.
    fn spec(&self) -> &ToolSpec;

    /// The server that it is called on; none: farm itself runs it.
    fn server(&self) -> Option<&Arc<McpServer>> {
        None
    }

    /// Runs it, on a server that is ready. Dropping the future must leave nothing of it running; a server
    /// is told that nobody waits any more, and runs on.
    fn call<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, Observation>;
}

/// What a session, or who else calls a tool, lends to it.
#[derive(Debug, Clone, Default)]
pub struct ToolContext {
    /// The session's own folder, if its case has `files`.
    pub files: Option<Arc<cap_std::fs::Dir>>,
    /// The path of that folder.
    pub folder: Option<PathBuf>,
    /// Where folders are made for processes of servers that have none of the session's.
    pub work: Option<PathBuf>,
    /// The processes of servers that it has.
    pub processes: Processes,
    /// Where a tool that takes its time says how far it has come.
    pub progress: Progress,
}

/// The arguments of a call as a tool wants them; an observation that says why not, should the
/// schema not have been checked.
fn parse<'a, Args: Deserialize<'a>>(args: &'a Value) -> Result<Args, Observation> {
    Args::deserialize(args).map_err(|e| Observation::error(format!("invalid arguments: {e}")))
}

/// Runs short blocking work off the runtime's own threads. Its panic is the caller's panic.
async fn blocking(work: impl FnOnce() -> Observation + Send + 'static) -> Observation {
    match tokio::task::spawn_blocking(work).await {
        Ok(observation) => observation,
        Err(e) => match e.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Observation::error("not done: farm is shutting down"),
        },
    }
}
