//! The protocol with one process of a server.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use rmcp::{
    ClientCacheConfig, ClientHandler, ClientLifecycleMode, ClientServiceExt as _, RoleClient,
    ServiceError,
    model::{
        CallToolRequestParams, ClientConfig, Implementation, JsonObject, PaginatedRequestParams,
        ProtocolVersion, Tool,
    },
    service::{ClientInitializeError, RunningService},
    transport::async_rw::AsyncRwTransport,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{sleep, timeout},
};

use super::{
    incoming::{Heard, MAX_LINE},
    list::{MAX_LIST, MAX_TOOLS},
    result::observation,
};
use crate::domain::{Observation, shortened};

/// The most pages of a list.
const MAX_PAGES: usize = 16;

/// How long the protocol may take to see what a process said last.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How many characters of what is wrong with a server are told.
const SHOWN: usize = 500;

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
    /// As one that is not known: in the newest way, and if it does not know that in the older. One
    /// that says nothing at all to the newest is given ten seconds.
    Unknown,
    /// It is asked what it can do; each request says the version.
    Discover,
    /// It is told of the client first.
    Initialize,
}

/// Why a server does not list its tools, in words.
#[derive(Debug)]
pub(super) enum NoList {
    /// It has ended.
    Ended(String),
    /// What it says is no list.
    Wrong(String),
}

/// A server that has been greeted.
pub(super) struct Connection {
    server: String,
    service: RunningService<RoleClient, Client>,
    heard: Arc<Heard>,
    /// After how many changes its tools were asked for.
    known: AtomicU64,
    /// How others of this server are greeted.
    pub greeting: Greeting,
    /// What it calls itself, with its version; empty if it does not say.
    pub program: String,
    /// The version of the protocol.
    pub protocol: String,
}

/// What farm is to a server: a client that offers nothing.
struct Client;

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let mut info = ClientConfig::default();
        info.protocol_version = ProtocolVersion::V_2025_11_25;
        info.client_info = Implementation::new("farm", env!("CARGO_PKG_VERSION"));
        info
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
        heard: Arc<Heard>,
        (from, to): (R, W),
    ) -> Result<Self, String>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        // What is longer has been dropped before; this is the line with its end.
        let transport = AsyncRwTransport::new_client(from, to).with_max_line_length(MAX_LINE + 1);
        let preferred_versions = vec![MODERN];
        let lifecycle = match greeting {
            Greeting::Unknown => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: Some(ProtocolVersion::V_2025_11_25),
            },
            Greeting::Discover => ClientLifecycleMode::Discover { preferred_versions },
            Greeting::Initialize => ClientLifecycleMode::Initialize,
        };
        // The most that a greeting asks.
        (0..3).for_each(|_| heard.asks());
        let service = Client.serve_with_lifecycle(transport, lifecycle).await;
        let service = service.map_err(|e| format!("it does not speak MCP: {}", in_words(&e)))?;
        // A list is asked for to see what has become of it.
        service
            .set_response_cache_config(ClientCacheConfig::disabled())
            .await;
        let Some(info) = service.peer_info() else {
            return Err("it does not say which version of MCP it speaks".to_owned());
        };
        let version = &info.protocol_version;
        if !VERSIONS.contains(version) {
            let shown = shortened(&version.to_string(), SHOWN);
            return Err(format!("it speaks MCP {shown}, which farm does not"));
        }
        let program = info.server_info.as_ref();
        let program = program.map(|program| {
            format!("{} {}", program.name, program.version)
                .trim()
                .to_owned()
        });
        Ok(Self {
            server: server.to_owned(),
            heard,
            known: AtomicU64::new(0),
            greeting: match *version == MODERN {
                true => Greeting::Discover,
                false => Greeting::Initialize,
            },
            program: shortened(&program.unwrap_or_default(), SHOWN),
            protocol: version.to_string(),
            service,
        })
    }

    /// All its tools, as it lists them.
    ///
    /// # Errors
    /// Why it does not.
    pub async fn tools(&self) -> Result<Vec<Tool>, NoList> {
        let mut tools = Vec::new();
        let mut bytes = 0;
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let page = cursor.map(|at| PaginatedRequestParams::default().with_cursor(Some(at)));
            self.heard.asks();
            let page = self.service.list_tools(page).await;
            let page = page.map_err(|e| {
                let why = shortened(&e.to_string(), SHOWN);
                let why = format!("it does not list its tools: {why}");
                match e {
                    ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                        NoList::Ended(why)
                    }
                    _ => NoList::Wrong(why),
                }
            })?;
            bytes += serde_json::to_vec(&page.tools).map_or(0, |json| json.len());
            tools.extend(page.tools);
            if tools.len() > MAX_TOOLS {
                let why = format!("it has more than {MAX_TOOLS} tools");
                return Err(NoList::Wrong(why));
            }
            if bytes > MAX_LIST {
                let why = format!("the list of its tools is longer than {MAX_LIST} bytes");
                return Err(NoList::Wrong(why));
            }
            match page.next_cursor {
                Some(next) => cursor = Some(next),
                None => return Ok(tools),
            }
        }
        let why = format!("the list of its tools has more than {MAX_PAGES} pages");
        Err(NoList::Wrong(why))
    }

    /// How often it has said that its tools changed.
    pub fn changes(&self) -> u64 {
        self.heard.changes.load(Relaxed)
    }

    /// Whether it has said so since they were known.
    pub fn has_changed(&self) -> bool {
        self.changes() > self.known.load(Relaxed)
    }

    /// Its tools are known, after it had said so many times that they changed.
    pub fn are_known(&self, changes: u64) {
        self.known.fetch_max(changes, Relaxed);
    }

    /// Whether it can still be asked.
    pub fn is_open(&self) -> bool {
        !self.service.is_transport_closed() && !self.heard.end.is_cancelled()
    }

    /// Closes both pipes.
    pub async fn close(self) {
        drop(self.service.cancel().await);
    }

    /// Calls a tool. A call that takes longer than `within` is told that nobody waits any more, and so
    /// is one whose future is dropped. False: it brought nothing in time, and no other did meanwhile.
    pub async fn call(
        &self,
        tool: &str,
        args: JsonObject,
        within: Duration,
        max_bytes: usize,
    ) -> (Observation, bool) {
        self.heard.asks();
        let before = self.heard.signs();
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
        // The protocol may be stuck over a pipe that nobody reads.
        let ended = async {
            self.heard.end.cancelled().await;
            sleep(LAST_WORDS).await;
        };
        let called = tokio::select! {
            called = timeout(within, self.service.call_tool_once(params)) => called,
            () = ended => Ok(Err(ServiceError::TransportClosed)),
        };
        match called {
            Ok(answer) => (observation(answer, &self.server, max_bytes), true),
            Err(_) => {
                let now = self.heard.signs();
                let long = match now.dropped > before.dropped {
                    true => "; a line of more than 8 MiB was dropped, ask for less",
                    false => "",
                };
                let why = format!(
                    "server {} gave no result within {} s{long}",
                    self.server,
                    within.as_secs_f64()
                );
                let is_alive = now != before;
                (Observation::error(why), is_alive)
            }
        }
    }
}

/// What went wrong with a greeting.
fn in_words(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::LegacyFallbackFailed { discover, fallback } => {
            format!("{}; {}", in_words(discover), in_words(fallback))
        }
        ClientInitializeError::ConnectionClosed(_) => {
            "it ended, or closed its output, before it had said what it is".to_owned()
        }
        error => shortened(&error.to_string(), SHOWN),
    }
}
