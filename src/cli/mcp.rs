//! `farm mcp`: the tools over MCP, on stdin and stdout.

use std::{
    env,
    ffi::OsString,
    io::{self, IsTerminal as _},
    path::Path,
    process,
    sync::Arc,
    time::Duration,
};

use cap_std::{ambient_authority, fs::Dir};
use futures_util::future::join_all;
use tempfile::TempDir;
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{
    args::McpArgs,
    exit::{Exit, say},
    recordings::Recordings,
    setup, tools,
};
use crate::{
    config::{self, ConfigFile, Sources},
    error::{Context, Error, Result},
    mcp::{self, Server},
    tool::{self, BuiltinOptions, Registry, ToolContext},
};

/// How long servers of tools may take to end; what is left then their keepers end without farm.
const CLOSING: Duration = Duration::from_secs(1);

/// `farm mcp`. Nothing but the protocol goes to stdout.
pub(super) fn mcp(args: &McpArgs) -> Result<Exit> {
    let registry = registry(args)?;
    let all: Vec<&str> = match args.tools.is_empty() {
        true => registry.names().collect(),
        false => args.tools.iter().map(String::as_str).collect(),
    };
    let tools = registry
        .select(all)
        .map_err(|e| Error::input(format!("--tools: {e}")))?;
    let files = args.files.as_deref().map(folder).transpose()?;
    let servers: Vec<_> = tools.servers().cloned().collect();
    // Never in the folder of --files: that is the user's own, and these may write.
    let work = (!servers.is_empty()).then(work_folder).transpose()?;
    let context = ToolContext {
        files,
        work: work.as_ref().map(|work| work.path().to_owned()),
        ..ToolContext::default()
    };
    let server = Server {
        context,
        ..Server::new(tools)
    };
    if io::stdin().is_terminal() {
        say(
            "farm mcp talks to an MCP client that starts it, in JSON on stdin and stdout; \
             README.md says how clients are told of it.",
        );
    }
    let runtime = Runtime::new().internal(|| "the async runtime did not start".to_owned())?;
    let stop = CancellationToken::new();
    let served = runtime.block_on(async {
        hear_signals(&stop)?;
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        let processes = server.context.processes.clone();
        let served = mcp::serve(server, input, output, stop).await;
        let closing = async {
            processes.close().await;
            join_all(servers.iter().map(|server| server.close())).await;
        };
        if timeout(CLOSING, closing).await.is_err() {
            tracing::info!("servers of tools have not ended yet; their keepers see to it");
        }
        served
    });
    // A read of stdin cannot be broken off. Non-blocking pipes could be, but not every client hands
    // out pipes: Node's children have sockets.
    runtime.shutdown_background();
    served.map(|()| Exit::Done)
}

fn registry(args: &McpArgs) -> Result<Registry> {
    let Some(file) = &args.config else {
        return tool::builtin(&BuiltinOptions::default())
            .internal(|| "the built-in tools cannot be registered".to_owned());
    };
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let config = config::resolve(&Sources {
        file: ConfigFile::Named(file),
        env: &env,
        flags: &[],
        models: &[],
        known: setup::KNOWN,
        recordings: &Recordings::default(),
    })?;
    let is_used = |server: &str| args.tools.is_empty() || tools::is_named(server, &args.tools);
    tools::tools(&config, is_used).map(|tools| tools.registry)
}

fn folder(path: &Path) -> Result<Arc<Dir>> {
    let dir = Dir::open_ambient_dir(path, ambient_authority());
    let dir = dir.input(|| format!("--files: {} cannot be opened as a folder", path.display()))?;
    Ok(Arc::new(dir))
}

/// Where servers have their folders; it goes with farm.
fn work_folder() -> Result<TempDir> {
    let dir = tempfile::Builder::new().prefix("farm-mcp-").tempdir();
    let temp = env::temp_dir();
    dir.input(|| format!("{}: no folder can be made for servers", temp.display()))
}

/// SIGTERM and SIGINT end it as the end of the input does, with exit code 0: a client that stops its
/// server so has been served. The second one is for whoever does not want to wait for that.
fn hear_signals(stop: &CancellationToken) -> Result<()> {
    let heard = || "signals cannot be heard".to_owned();
    let mut interrupt = signal(SignalKind::interrupt()).internal(heard)?;
    let mut terminate = signal(SignalKind::terminate()).internal(heard)?;
    let stop = stop.clone();
    tokio::spawn(async move {
        for press in 1.. {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            match press {
                1 => stop.cancel(),
                _ => process::exit(Exit::Killed as i32),
            }
        }
    });
    Ok(())
}
