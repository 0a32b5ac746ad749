use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    McpServer, Processes, ServerLost, ToolContext,
    registry::{Entry, unknown},
};
use crate::domain::{Call, Observation, ToolSpec};

/// The tools of one session.
#[derive(Clone, Default)]
pub struct ToolSet {
    entries: Arc<[Arc<Entry>]>,
    /// The servers of some of them, sorted by name.
    servers: Arc<[Arc<McpServer>]>,
}

impl ToolSet {
    pub(super) fn of(entries: Vec<Arc<Entry>>) -> Self {
        let servers = entries.iter().filter_map(|e| e.tool().server());
        let servers: BTreeMap<&str, &Arc<McpServer>> = servers.map(|s| (s.name(), s)).collect();
        Self {
            servers: servers.into_values().cloned().collect(),
            entries: entries.into(),
        }
    }

    /// The servers that tools of these are called on.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<McpServer>> {
        self.servers.iter()
    }

    /// Whether these tools can be called without waiting for a server.
    #[must_use]
    pub fn is_ready<'a>(
        &self,
        mut names: impl Iterator<Item = &'a str>,
        processes: &Processes,
    ) -> bool {
        let server = |name| self.get(name).and_then(|entry| entry.tool().server());
        names.all(|name| server(name).is_none_or(|server| server.is_ready(processes)))
    }

    /// Sees to it that the session has a process of each of its servers, in the same order as all
    /// others: two that waited for a slot that the other has would wait for ever.
    ///
    /// # Errors
    /// The first server that is lost.
    pub async fn ready(&self, ctx: &ToolContext) -> Result<(), ServerLost> {
        for server in &*self.servers {
            server.ready(ctx).await?;
        }
        Ok(())
    }

    /// The tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.entries
            .iter()
            .find(|e| e.spec().name == name)
            .map(AsRef::as_ref)
    }

    /// Why [`get`](Self::get) has nothing for `name`, in words.
    #[must_use]
    pub fn unknown(&self, name: &str) -> String {
        unknown(name, self.names())
    }

    /// Runs a call that nothing blocks, on a server that is ready.
    pub async fn act(&self, call: &Call, ctx: &ToolContext) -> Observation {
        match (self.get(&call.tool), &call.args) {
            (Some(entry), Ok(args)) => entry.tool().call(args, ctx).await,
            // A verifier has blocked these.
            (None, _) => Observation::error(self.unknown(&call.tool)),
            (_, Err(_)) => Observation::error("the arguments are no JSON object"),
        }
    }

    /// Their names, in the order of the session.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|e| e.spec().name.as_str())
    }

    /// What is said of each, in that order.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.entries.iter().map(|e| e.spec())
    }

    /// The `tools` of a chat request.
    #[must_use]
    pub fn wire(&self) -> Value {
        self.entries.iter().map(|e| e.wire().clone()).collect()
    }

    /// What is said of them, for a prompt: for each a line with its name and what it does, and one
    /// with the schema of its arguments.
    #[must_use]
    pub fn in_words(&self) -> String {
        let lines = self.entries.iter().map(|entry| {
            let ToolSpec {
                name,
                description,
                parameters,
                ..
            } = entry.spec();
            format!("{name}: {description}\nArguments of {name}: {parameters}")
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}
