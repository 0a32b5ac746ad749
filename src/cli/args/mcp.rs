use std::path::PathBuf;

use clap::Args;

pub const HELP: &str = "\
An MCP client starts it, such as Claude Code:
  claude mcp add farm -- farm mcp --files /path/to/folder

It speaks the protocol of 2024-11-05, 2025-06-18, 2025-11-25 and 2026-07-28. It ends with its input, or
at SIGTERM; calls that still run are dropped then. A second signal ends it at once, with exit code 130.";

/// `farm mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// The tools to serve, in that order [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub tools: Vec<String>,
    /// The folder that `file_read` reads, and no other tool; without one it has no files
    #[arg(long, value_name = "DIR")]
    pub files: Option<PathBuf>,
    /// The config file whose [tools] are served; without one they are as they are by default
    #[arg(long, value_name = "FILE", env = "FARM_CONFIG")]
    pub config: Option<PathBuf>,
}
