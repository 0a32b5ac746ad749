//! The tools of a registry over MCP: a server on a pair of pipes.
//!
//! rmcp speaks the protocol, in both of its eras, and sees requests only, under numbers of ours.
//! What it would drop or misread is settled before it: `line` reads, `open` decides, `shim` moves the
//! lines. `handler` is what both eras serve.

mod describe;
mod handler;
mod line;
mod open;
mod shim;

use std::io;

use tokio::io::{AsyncRead, AsyncWrite, duplex, split};
use tokio_util::sync::CancellationToken;

use self::{handler::Handler, shim::Requests};
use crate::{
    error::{Context, Error, Result},
    tool::{ToolContext, ToolSet},
    verify::Verifiers,
};

/// Bytes on their way between shim and protocol.
const PIPE: usize = 64 << 10;

/// What is served, and under which name.
#[derive(Clone)]
pub struct Server {
    /// The name that clients are told.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The tools, in the order in which they are listed.
    pub tools: ToolSet,
    /// What is lent to each call; its `progress` is replaced by what the client asks for.
    pub context: ToolContext,
}

impl Server {
    /// These tools, in farm's name, with nothing lent to them.
    #[must_use]
    pub fn new(tools: ToolSet) -> Self {
        Self {
            name: "farm".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tools,
            context: ToolContext::default(),
        }
    }
}

/// Serves tools to the client at the other end of `input` and `output`, until the input ends or
/// `stop` is cancelled.
///
/// At the end of the input, calls that run may end within 40 ms of the last; those that do not are
/// dropped, and the client is told. All answers are written, for as long as the client takes them. A
/// `stop` drops the calls at once, and 80 ms later it is over, whether the client reads or not. A client
/// that is gone is no error.
///
/// A program that hands in tokio's stdin should end with `Runtime::shutdown_background`, as a read of
/// it cannot be broken off.
///
/// # Errors
/// When the output cannot be written.
pub async fn serve<R, W>(server: Server, input: R, output: W, stop: CancellationToken) -> Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (outer, inner) = duplex(PIPE);
    let calls = stop.child_token();
    let requests = Requests::new(calls.clone());
    // However this ends, no call goes on.
    let _calls = calls.drop_guard();
    let verifiers = Verifiers::new(["schema"]).internal(|| "the schema verifier".to_owned())?;
    let handler = Handler::new(server, verifiers, requests.clone());
    let speaking = async {
        if let Ok(running) = rmcp::serve_server(handler, split(inner)).await {
            drop(running.waiting().await);
        }
    };
    let passed = tokio::select! {
        biased;
        passed = shim::pass(input, output, outer, &requests, &stop) => passed,
        () = speaking => return Err(Error::internal("the protocol ended before its input")),
    };
    match passed {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        passed => passed.internal(|| "the answers cannot be written".to_owned()),
    }
}

#[cfg(test)]
mod tests;
