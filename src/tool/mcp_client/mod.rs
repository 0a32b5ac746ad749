//! Tools of foreign MCP servers.
//!
//! A server is a child process that speaks over its pipes: one for each session, or one for a run.
//! What it says of its tools is read once, before the run ([`McpServer::tools`]); a process that
//! says something else later is no server of that run. Whatever else it does after it has been greeted
//! is an error observation of the calls that it was to answer.

mod connection;
mod incoming;
mod launch;
mod list;
mod names;
mod process;
mod result;
mod server;
mod start;
mod tool;

pub use names::SEPARATOR;
pub use process::Processes;
pub use server::{McpOptions, McpServer, ServerInfo, ServerLost};
pub use start::ServerCommand;

#[cfg(test)]
mod tests;
