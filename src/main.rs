//! The `farm` binary: parse, call, map the outcome to an exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    farm::cli::main()
}
