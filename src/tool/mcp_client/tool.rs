use std::sync::Arc;

use serde_json::Value;

use super::{list::ListedTool, server::McpServer};
use crate::{
    domain::{BoxFuture, Observation, ToolSpec},
    tool::{Tool, ToolContext},
};

/// A tool of a server.
struct McpTool {
    server: Arc<McpServer>,
    /// What the server calls it.
    name: String,
    spec: ToolSpec,
}

/// These tools of a server.
pub(super) fn tools(server: &Arc<McpServer>, listed: &[ListedTool]) -> Vec<Arc<dyn Tool>> {
    let tool = |tool: &ListedTool| -> Arc<dyn Tool> {
        Arc::new(McpTool {
            server: server.clone(),
            name: tool.name.clone(),
            spec: tool.spec.clone(),
        })
    };
    listed.iter().map(tool).collect()
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn server(&self) -> Option<&Arc<McpServer>> {
        Some(&self.server)
    }

    fn call<'a>(&'a self, args: &'a Value, ctx: &'a ToolContext) -> BoxFuture<'a, Observation> {
        let args = args.as_object().cloned().unwrap_or_default();
        Box::pin(self.server.call(&self.name, args, &ctx.hosts))
    }
}
