//! A server at the other end of two pipes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient,
    model::{
        CallToolRequestParams, ClientConfig, Implementation, JsonObject, PaginatedRequestParams,
        ProtocolVersion, Tool,
    },
    service::{NotificationContext, RunningService},
    transport::async_rw::AsyncRwTransport,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

use super::{list::MAX_TOOLS, result::observation};
use crate::domain::Observation;

/// The longest line that is read, in bytes; a longer one is dropped.
const MAX_LINE: usize = 4 << 20;

/// The most pages of a list.
const MAX_PAGES: usize = 64;

/// The version without a handshake.
const MODERN: ProtocolVersion = ProtocolVersion::V_2026_07_28;

/// The versions that are spoken, the newest first.
const VERSIONS: [ProtocolVersion; 5] = [
    MODERN,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2024_11_05,
];

/// How a server is greeted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Greeting {
    /// As one that is not known: by the newest way, and if it does not know that by the older. One
    /// that says nothing at all to the newest is given ten seconds.
    Unknown,
    /// It is asked what it can do; each request says the version.
    Discover,
    /// It is told of the client first.
    Initialize,
}

/// A server that has been greeted.
pub(super) struct Connection {
    server: String,
    service: RunningService<RoleClient, Client>,
    greeting: Greeting,
    has_changed: Arc<AtomicBool>,
}

/// What farm is to a server: a client that offers nothing.
struct Client {
    has_changed: Arc<AtomicBool>,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.protocol_version = ProtocolVersion::V_2025_11_25;
        info.client_info = Implementation::new("farm", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.has_changed.store(true, Ordering::Relaxed);
    }
}

impl Connection {
    /// Greets a server, in the newest version that both know.
    ///
    /// # Errors
    /// Why it cannot be spoken with, in words.
    pub async fn open<R, W>(
        server: &str,
        greeting: Greeting,
        from: R,
        to: W,
    ) -> Result<Self, String>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let has_changed = Arc::new(AtomicBool::new(false));
        let client = Client {
            has_changed: has_changed.clone(),
        };
        let transport = AsyncRwTransport::new_client(from, to).with_max_line_length(MAX_LINE);
        let preferred_versions = vec![MODERN];
        let lifecycle = match greeting {
            Greeting::Unknown => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
            Greeting::Discover => ClientLifecycleMode::Discover { preferred_versions },
            Greeting::Initialize => ClientLifecycleMode::Initialize,
        };
        let service = client
            .serve_with_lifecycle(transport, lifecycle)
            .await
            .map_err(|e| format!("it does not speak MCP: {e}"))?;
        let info = service.peer_info();
        let version = info.map(|info| info.protocol_version.clone());
        match version {
            Some(version) if VERSIONS.contains(&version) => Ok(Self {
                server: server.to_owned(),
                service,
                greeting: match version == MODERN {
                    true => Greeting::Discover,
                    false => Greeting::Initialize,
                },
                has_changed,
            }),
            Some(version) => Err(format!("it speaks MCP {version}, which farm does not")),
            None => Err("it does not say which version of MCP it speaks".to_owned()),
        }
    }

    /// How others of this server are greeted.
    pub fn greeting(&self) -> Greeting {
        self.greeting
    }

    /// All its tools, as it lists them.
    ///
    /// # Errors
    /// Why it does not, in words.
    pub async fn tools(&self) -> Result<Vec<Tool>, String> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let page = cursor.map(|at| PaginatedRequestParams::default().with_cursor(Some(at)));
            let page = self.service.list_tools(page).await;
            let page = page.map_err(|e| format!("it does not list its tools: {e}"))?;
            tools.extend(page.tools);
            if tools.len() > MAX_TOOLS {
                return Err(format!("it has more than {MAX_TOOLS} tools"));
            }
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(tools),
            }
        }
        Err(format!(
            "the list of its tools has more than {MAX_PAGES} pages"
        ))
    }

    /// Whether it has said that its tools changed, and has not been asked since.
    pub fn has_changed(&self) -> bool {
        self.has_changed.load(Ordering::Relaxed)
    }

    /// The same, before it is asked.
    pub fn take_changed(&self) -> bool {
        self.has_changed.swap(false, Ordering::Relaxed)
    }

    /// Whether it can still be asked.
    pub fn is_open(&self) -> bool {
        !self.service.is_transport_closed()
    }

    /// Closes both pipes.
    pub async fn close(self) {
        drop(self.service.cancel().await);
    }

    /// Calls a tool. One that takes longer than `within` is told that nobody waits any more, and so
    /// is one whose future is dropped.
    pub async fn call(
        &self,
        tool: &str,
        args: JsonObject,
        within: Duration,
        max_bytes: usize,
    ) -> Observation {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        match timeout(within, self.service.call_tool_once(params)).await {
            Ok(answer) => observation(answer, &self.server, max_bytes),
            Err(_) => Observation::error(format!(
                "server {} gave no result within {} s",
                self.server,
                within.as_secs_f64()
            )),
        }
    }
}
