//! The tools of a registry over MCP: a server on a pair of pipes.
//!
//! rmcp speaks the protocol, in both of its eras; the shim before it answers the lines that rmcp would
//! drop; [`server`] is what both serve.

mod describe;
mod line;
mod server;
mod shim;

use tokio::io::{AsyncRead, AsyncWrite, duplex, split};
use tokio_util::sync::CancellationToken;

use self::server::Server;
use crate::{
    error::{Context, Result},
    tool::{ToolContext, ToolSet},
    verify::Verifiers,
};

/// Bytes on their way between shim and protocol.
const PIPE: usize = 64 << 10;

/// Serves these tools until the input ends or `stop` is cancelled; then calls that still run are
/// dropped.
///
/// # Errors
/// When the output cannot be written.
pub async fn serve<R, W>(
    input: R,
    output: W,
    tools: ToolSet,
    context: ToolContext,
    stop: CancellationToken,
) -> Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (outer, inner) = duplex(PIPE);
    let verifiers = Verifiers::new(["schema"]).internal(|| "the schema verifier".to_owned())?;
    let server = Server::new(tools, context, verifiers, stop.clone());
    let (read, write) = split(inner);
    let speaking = async {
        // One that ends before anything was said has been served as well.
        if let Ok(running) = rmcp::serve_server(server, (read, write)).await {
            drop(running.waiting().await);
        }
    };
    let shim = shim::pass(input, output, outer, stop.clone());
    let speaking = tokio::spawn(speaking);
    let passed = shim.await;
    stop.cancel();
    speaking.abort();
    passed.internal(|| "the answers cannot be written".to_owned())
}

#[cfg(test)]
mod tests;
