//! What the protocol serves: a list of tools, and calls of them.

use std::{
    borrow::Cow,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
        CustomResult, ErrorCode, Implementation, InitializeRequestParams, InitializeResult,
        ListToolsResult, MetaObject, PaginatedRequestParams, ProgressNotificationParam,
        ProgressToken, ProtocolVersion, RequestId, ServerCapabilities, ServerConfig,
    },
    service::{Peer, RequestContext},
};
use serde_json::json;
use tokio::sync::mpsc::{Receiver, channel};

use super::{Server, describe::described, shim::Requests};
use crate::{
    domain::{Call, Observation, shortened},
    tool::{Progress, Report, ToolContext},
    verify::{self, Context, Item, Verifiers},
};

/// The versions that are spoken. 2025-03-26 is not: it has batches, and nobody else has.
const VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Where a result says who answers.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Requests whose parameters have a shape: one that does not fit is no unknown method.
const KNOWN: [&str; 5] = [
    "initialize",
    "ping",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// Reports of progress on their way; what is too much for a client is dropped.
const REPORTS: usize = 64;

/// Serves tools.
pub(super) struct Handler {
    server: Server,
    verifiers: Verifiers,
    requests: Requests,
}

impl Handler {
    pub fn new(server: Server, verifiers: Verifiers, requests: Requests) -> Self {
        Self {
            server,
            verifiers,
            requests,
        }
    }

    /// Runs a call as a session does: only if the verifiers let it. It is dropped when its request is
    /// cancelled, or all are.
    async fn run(
        &self,
        number: u64,
        call: &Call,
        context: &ToolContext,
    ) -> Result<Observation, ErrorData> {
        let tools = &self.server.tools;
        let judgments = self.verifiers.pre_act(&Context {
            item: Item::Call(call),
            step: 0,
            max_steps: 1,
            tools,
            repeats: 1,
            observation: None,
        });
        if let Some(blocked) = verify::blocked(&judgments) {
            return Ok(blocked);
        }
        let done = async {
            let server = tools
                .get(&call.tool)
                .and_then(|entry| entry.tool().server());
            if let Some(server) = server
                && let Err(lost) = server.ready(context).await
            {
                return Observation::error(lost.to_string());
            }
            tools.act(call, context).await
        };
        let _runs = self.requests.runs(number);
        tokio::select! {
            biased;
            () = self.dropped(number) => Ok(Observation::error("not done: the server ends")),
            done = unless_it_panics(done) => done,
        }
    }

    /// The same for one that reports its progress under `token`, all of it before the result.
    async fn run_with_progress(
        &self,
        number: u64,
        call: &Call,
        token: ProgressToken,
        client: &Peer<RoleServer>,
    ) -> Result<Observation, ErrorData> {
        let (say, reports) = channel(REPORTS);
        let to = say.downgrade();
        let context = ToolContext {
            progress: Progress::to(move |report| {
                if let Some(say) = to.upgrade() {
                    drop(say.try_send(report));
                }
            }),
            ..self.server.context.clone()
        };
        let running = async {
            let done = self.run(number, call, &context).await;
            // Whatever the tool has left behind, nobody listens to it.
            drop(say);
            done
        };
        tokio::join!(running, tell(reports, token, client)).0
    }

    /// Waits until a request is not to go on. Of one that was cancelled nobody is told any more.
    async fn dropped(&self, number: u64) {
        if let Some(cancelled) = self.requests.cancelled(number) {
            cancelled.cancelled().await;
        }
    }

    /// Who answers: results of the newer era say so, which has no handshake.
    fn signature(&self, context: &RequestContext<RoleServer>) -> Option<MetaObject> {
        let is_newer = context
            .protocol_version()
            .is_some_and(|version| !version.has_initialize());
        is_newer.then(|| {
            let Server { name, version, .. } = &self.server;
            let info = json!({"name": name, "version": version});
            MetaObject([(SERVER_INFO.to_owned(), info)].into_iter().collect())
        })
    }
}

/// Tells the client what is reported, until nothing more can be.
async fn tell(mut reports: Receiver<Report>, token: ProgressToken, client: &Peer<RoleServer>) {
    while let Some(report) = reports.recv().await {
        let mut param = ProgressNotificationParam::new(token.clone(), report.done);
        param.total = report.total;
        param.message = report.message;
        // A client that is gone has no use for it.
        drop(client.notify_progress(param).await);
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new(&*self.server.name, &*self.server.version);
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    /// As rmcp does, but for what it keeps of a client that shakes hands again: the version agreed
    /// on, and not the one asked for.
    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let agreed = self.negotiate_initialize(&request)?;
        request.protocol_version = agreed.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(agreed)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if request.is_some_and(|request| request.cursor.is_some()) {
            let why = "no list has such a cursor: all tools are on one page";
            return Err(ErrorData::invalid_params(why, None));
        }
        let tools = self.server.tools.specs().map(described).collect();
        let mut list = ListToolsResult::with_all_items(tools);
        list.meta = self.signature(&context);
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tools = &self.server.tools;
        let tool = shortened(&request.name, 64);
        if tools.get(&request.name).is_none() {
            tracing::info!(tool, "no such tool");
            return Err(ErrorData::invalid_params(
                tools.unknown(&request.name),
                None,
            ));
        }
        let args = request.arguments.unwrap_or_default();
        let call = Call::with_object(request.name.into_owned(), args);
        let token = context.meta.get_progress_token();
        let number = number(&context.id);
        let observation = match token {
            Some(token) => {
                self.run_with_progress(number, &call, token, &context.peer)
                    .await?
            }
            None => self.run(number, &call, &self.server.context).await?,
        };
        tracing::info!(tool, ok = observation.ok, "called");
        let mut result = result(&observation);
        result.meta = self.signature(&context);
        Ok(result.into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = shortened(&request.method, 64);
        if KNOWN.contains(&&*method) {
            let why = format!("the parameters of {method} do not have its shape");
            return Err(ErrorData::invalid_params(why, None));
        }
        Err(ErrorData::new(
            ErrorCode::METHOD_NOT_FOUND,
            format!("no method {method:?}"),
            None,
        ))
    }
}

/// The shim's number of a request.
fn number(id: &RequestId) -> u64 {
    match id {
        RequestId::Number(number) => u64::try_from(*number).unwrap_or(u64::MAX),
        // The shim gives no such ids.
        RequestId::String(_) => u64::MAX,
    }
}

/// What a call brings. If it panics its request is answered all the same; a session would crash.
async fn unless_it_panics(
    call: impl Future<Output = Observation>,
) -> Result<Observation, ErrorData> {
    let mut call = pin!(call);
    poll_fn(
        |cx| match catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx))) {
            Ok(polled) => polled.map(Ok),
            Err(_) => Poll::Ready(Err(ErrorData::internal_error("the tool crashed", None))),
        },
    )
    .await
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
