//! Stub until the room is there.
#![allow(missing_docs)]
use std::{ffi::OsString, io, path::PathBuf, process::ExitStatus};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
#[derive(Debug, Clone, Default)]
pub struct Keeper;
pub struct Launch {
    pub command: Vec<OsString>,
    pub env: Vec<(OsString, OsString)>,
    pub folder: PathBuf,
}
pub struct Kept {
    pub stdin: Option<ChildStdin>,
    pub stdout: Option<ChildStdout>,
    pub stderr: Option<ChildStderr>,
}
impl Keeper {
    pub fn start(&self, _: &Launch) -> io::Result<Kept> {
        Err(io::Error::other("stub"))
    }
}
impl Kept {
    pub fn stop(&self) {}
    pub async fn ended(&self) -> io::Result<ExitStatus> {
        Err(io::Error::other("stub"))
    }
}
