//! How a server is started.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, BufReader};
use tokio_util::sync::CancellationToken;

use crate::{
    domain::BoxFuture,
    fence::{Keeper, Launch},
};

/// The longest line of stderr that is kept, in bytes.
const MAX_LINE: u64 = 500;

/// How many of its last lines are kept.
const LINES: usize = 5;

/// Starts the processes of a server.
pub(super) trait Start: Send + Sync {
    /// Starts one that works in this folder, and ends when `stop` is cancelled.
    fn start(&self, folder: &Path, stop: CancellationToken) -> io::Result<Started>;
}

/// A process that has been started.
pub(super) struct Started {
    /// What it says.
    pub from: Box<dyn AsyncRead + Send + Unpin>,
    /// What it is told.
    pub to: Box<dyn AsyncWrite + Send + Unpin>,
    /// The last lines of its stderr.
    pub said: Said,
    /// Resolves when nothing of it runs any more.
    pub ended: BoxFuture<'static, ()>,
}

/// What a process said last on its stderr.
#[derive(Debug, Clone, Default)]
pub(super) struct Said(Arc<Mutex<VecDeque<String>>>);

/// A server as a child process of this one.
#[derive(Debug, Clone)]
pub struct Command {
    /// What starts it and ends all that it started.
    pub keeper: Keeper,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// All its environment.
    pub env: Vec<(OsString, OsString)>,
}

impl Start for Command {
    fn start(&self, folder: &Path, stop: CancellationToken) -> io::Result<Started> {
        let mut kept = self.keeper.start(&Launch {
            command: self.command.clone(),
            env: self.env.clone(),
            folder: folder.to_owned(),
        })?;
        let pipes = (kept.stdout.take(), kept.stdin.take(), kept.stderr.take());
        let (Some(from), Some(to), Some(stderr)) = pipes else {
            return Err(io::Error::other("it was started without pipes"));
        };
        let said = Said::default();
        let stderr = said.clone().read(stderr);
        let ended = async move {
            tokio::select! {
                _ = kept.ended() => {}
                () = stop.cancelled() => {
                    kept.stop();
                    // An error is that of a runtime which shuts down.
                    drop(kept.ended().await);
                }
            }
        };
        Ok(Started {
            from: Box::new(from),
            to: Box::new(to),
            said,
            ended: Box::pin(async move {
                tokio::join!(ended, stderr);
            }),
        })
    }
}

impl Said {
    /// Reads a stderr to its end.
    async fn read(self, stderr: impl AsyncRead + Unpin) {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut stderr)
                .take(MAX_LINE)
                .read_until(b'\n', &mut line)
                .await
            {
                Ok(1..) => self.add(String::from_utf8_lossy(&line).trim_end()),
                _ => return,
            }
        }
    }

    fn add(&self, line: &str) {
        tracing::debug!(line, "a server says");
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(line.to_owned());
    }

    /// The lines, behind a reason.
    pub fn after(&self, why: String) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return why;
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        format!("{why}; it said: {}", lines.join(" / "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_lines_are_kept() {
        let said = Said::default();
        assert_eq!(said.after("why".to_owned()), "why");
        let text: String = (0..9).map(|n| format!("line {n}\n")).collect();
        said.clone().read(text.as_bytes()).await;
        let want = "why; it said: line 4 / line 5 / line 6 / line 7 / line 8";
        assert_eq!(said.after("why".to_owned()), want);
        let long = "x".repeat(1_200);
        said.clone().read(long.as_bytes()).await;
        let kept = said.after(String::new());
        assert_eq!(kept.matches('x').count(), 1_200, "in parts");
        said.read(&b"\xff\n"[..]).await;
    }
}
