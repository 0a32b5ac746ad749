//! Tools of foreign MCP servers.
//!
//! A server is a child process that speaks over its pipes: one for each session, or one for a run.
//! What it says of its tools is read once, before the run ([`McpServer::tools`]); a process that
//! says something else later is no server of that run. Whatever it does after it has been greeted
//! costs a session no more than an error observation.

mod connection;
mod list;
mod names;
mod process;
mod result;
mod server;
mod tool;

pub use names::SEPARATOR;
pub use process::Command;
pub use server::{HostLost, Hosts, McpOptions, McpServer};

#[cfg(test)]
mod tests;
