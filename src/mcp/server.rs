//! What the protocol serves: a list of tools, and calls of them.

use std::borrow::Cow;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
        CustomResult, Implementation, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
        ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::describe::described;
use crate::{
    domain::{Call, Observation},
    tool::{ToolContext, ToolSet},
    verify::{self, Context, Item, Verifiers},
};

/// The versions that are spoken. 2025-03-26 is not: it has batches, and nobody else has.
const VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Requests whose parameters have a shape: one that does not fit is no unknown method.
const KNOWN: [&str; 5] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// Serves tools.
pub(super) struct Server {
    tools: ToolSet,
    context: ToolContext,
    verifiers: Verifiers,
    /// Calls that run are dropped.
    stop: CancellationToken,
}

impl Server {
    pub fn new(
        tools: ToolSet,
        context: ToolContext,
        verifiers: Verifiers,
        stop: CancellationToken,
    ) -> Self {
        Self {
            tools,
            context,
            verifiers,
            stop,
        }
    }

    /// Runs a call as a session does: only if the verifiers let it.
    async fn call(&self, call: &Call) -> Observation {
        let judgments = self.verifiers.pre_act(&Context {
            item: Item::Call(call),
            step: 0,
            max_steps: 1,
            tools: &self.tools,
            repeats: 1,
            observation: None,
        });
        if let Some(blocked) = verify::blocked(&judgments) {
            return blocked;
        }
        match (self.tools.get(&call.tool), &call.args) {
            (Some(entry), Ok(args)) => entry.tool().call(args, &self.context).await,
            // The schema verifier has blocked it.
            _ => Observation::error(self.tools.unknown(&call.tool)),
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("farm", env!("CARGO_PKG_VERSION"));
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            let why = "no list has such a cursor: all tools are on one page";
            return Err(ErrorData::invalid_params(why, None));
        }
        let tools = self.tools.specs().map(described).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.tools.get(&request.name).is_none() {
            let why = self.tools.unknown(&request.name);
            return Err(ErrorData::invalid_params(why, None));
        }
        let args = Value::Object(request.arguments.unwrap_or_default());
        let call = Call {
            id: String::new(),
            tool: request.name.into_owned(),
            args_len: args.to_string().len(),
            args: Ok(args),
        };
        let observation = tokio::select! {
            biased;
            () = self.stop.cancelled() => Observation::error("not done: the server ends"),
            // Nobody is told of it any more.
            () = context.ct.cancelled() => Observation::error("not done: it was cancelled"),
            observation = self.call(&call) => observation,
        };
        Ok(result(&observation).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        if KNOWN.contains(&method.as_str()) {
            let why = format!("the parameters of {method} do not have its shape");
            return Err(ErrorData::invalid_params(why, None));
        }
        Err(ErrorData::new(
            rmcp::model::ErrorCode::METHOD_NOT_FOUND,
            method,
            None,
        ))
    }
}

/// An observation as a result: its text as it is, and in a successful one also under `result`.
fn result(observation: &Observation) -> CallToolResult {
    let text = vec![ContentBlock::text(&*observation.content)];
    if !observation.ok {
        return CallToolResult::error(text);
    }
    let mut result = CallToolResult::success(text);
    result.structured_content = Some(json!({"result": &*observation.content}));
    result
}
