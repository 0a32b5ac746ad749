//! Exit codes, and how data, remarks and errors leave the process.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use crate::error::{Error, ErrorKind};

/// The exit codes of every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done; nothing errored or left to run.
    Done = 0,
    /// A comparison found differences, or a gate is not shown.
    Unmet = 1,
    /// The input is wrong; nothing was run.
    Input = 2,
    /// Some planned session is errored, not run or unexpectedly unscored.
    Incomplete = 3,
    /// farm itself failed.
    Failed = 4,
    /// Killed by a third signal.
    Killed = 130,
}

impl Exit {
    /// When both apply: 4, then 3, then 1.
    pub fn or(self, other: Self) -> Self {
        let rank = |exit| exit as u8;
        if rank(self) < rank(other) {
            other
        } else {
            self
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<&Error> for Exit {
    fn from(error: &Error) -> Self {
        match error.kind {
            ErrorKind::Input => Self::Input,
            ErrorKind::Internal => Self::Failed,
        }
    }
}

/// Says on stderr what went wrong.
pub(super) fn complain(error: &Error) {
    // stderr may be closed; there is no one to tell then.
    drop(io::stderr().write_all(
        crate::report::problems::render(error, super::screen::error_style()).as_bytes(),
    ));
}

/// Writes data to stdout. A reader that has seen enough (`farm report | head`) is no error.
pub(super) fn print(text: &str) -> crate::error::Result<()> {
    printed(text).map(drop)
}

/// The same; says whether anybody reads on.
pub(super) fn printed(text: &str) -> crate::error::Result<bool> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Error::internal("cannot write to standard output").caused_by(e)),
    }
}

/// Lets `write` write data to stdout, little by little. A reader that has seen enough ends it, and
/// is no error.
pub(super) fn stream(
    write: impl FnOnce(&mut dyn Write) -> crate::error::Result<()>,
) -> crate::error::Result<()> {
    let mut stdout = io::stdout().lock();
    match write(&mut stdout) {
        Err(e) if is_broken_pipe(&e) => Ok(()),
        done => done,
    }
}

fn is_broken_pipe(error: &Error) -> bool {
    let source = error.source.as_ref();
    source
        .and_then(|e| e.downcast_ref::<io::Error>())
        .is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

/// Tells a person something, on stderr.
pub(super) fn say(text: &str) {
    drop(writeln!(
        io::stderr(),
        "{}",
        crate::report::text::visible(text)
    ));
}
