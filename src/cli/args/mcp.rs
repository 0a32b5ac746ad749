use std::path::PathBuf;

use clap::Args;

/// `farm mcp`.
#[derive(Debug, Args)]
pub struct McpArgs {
    /// The tools to serve, in that order [default: all]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub tools: Vec<String>,
    /// The folder that `file_read` reads; without one it has no files
    #[arg(long, value_name = "DIR")]
    pub files: Option<PathBuf>,
    /// The config file whose [tools] are served; without one they are as they are by default
    #[arg(long, value_name = "FILE", env = "FARM_CONFIG")]
    pub config: Option<PathBuf>,
}
