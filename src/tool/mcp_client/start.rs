//! How the processes of a server are started.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, BufReader},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use crate::{
    domain::{BoxFuture, Redactor, shortened},
    fence::{Keeper, Launch},
    tool::lines::next_line,
};

/// The longest line of stderr that is read, in bytes.
const MAX_LINE: usize = 8 << 10;

/// How many characters of a line are kept.
const SHOWN: usize = 300;

/// How many of its last lines are kept.
const LINES: usize = 5;

/// How long stderr is read when nothing runs any more that could write to it: somebody else may hold it
/// open for ever.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Starts the processes of a server.
pub(super) trait Start: Send + Sync {
    /// Starts one that works in this folder, and ends when `stop` is cancelled.
    fn start(&self, folder: &Path, said: Said, stop: CancellationToken) -> io::Result<Started>;
}

/// A process that has been started.
pub(super) struct Started {
    /// What it says.
    pub from: Box<dyn AsyncRead + Send + Unpin>,
    /// What it is told.
    pub to: Box<dyn AsyncWrite + Send + Unpin>,
    /// Resolves when nothing of it runs any more.
    pub ended: BoxFuture<'static, ()>,
}

/// What a process said last on its stderr.
#[derive(Clone)]
pub(super) struct Said {
    server: String,
    redactor: Redactor,
    lines: Arc<Mutex<VecDeque<String>>>,
}

/// The program of a server, as a child process of this one.
#[derive(Clone)]
pub struct ServerCommand {
    /// What starts it and ends all that it started.
    pub keeper: Keeper,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// All its environment.
    pub env: Vec<(OsString, OsString)>,
}

impl Start for ServerCommand {
    fn start(&self, folder: &Path, said: Said, stop: CancellationToken) -> io::Result<Started> {
        let mut kept = self.keeper.start(&Launch {
            command: self.command.clone(),
            env: self.env.clone(),
            folder: folder.to_owned(),
        })?;
        let pipes = (kept.stdout.take(), kept.stdin.take(), kept.stderr.take());
        let (Some(from), Some(to), Some(stderr)) = pipes else {
            return Err(io::Error::other("it was started without pipes"));
        };
        let gone = CancellationToken::new();
        let hearing = {
            let gone = gone.clone();
            async move {
                let last_words = async {
                    gone.cancelled().await;
                    sleep(LAST_WORDS).await;
                };
                tokio::select! {
                    () = said.read(stderr) => {}
                    () = last_words => {}
                }
            }
        };
        let ending = async move {
            tokio::select! {
                _ = kept.ended() => {}
                () = stop.cancelled() => {
                    kept.stop();
                    // An error is that of a runtime which shuts down.
                    drop(kept.ended().await);
                }
            }
            gone.cancel();
        };
        Ok(Started {
            from: Box::new(from),
            to: Box::new(to),
            ended: Box::pin(async move {
                tokio::join!(ending, hearing);
            }),
        })
    }
}

impl Said {
    /// Nothing yet.
    pub fn new(server: &str, redactor: Redactor) -> Self {
        Self {
            server: server.to_owned(),
            redactor,
            lines: Arc::default(),
        }
    }

    /// Reads a stderr to its end.
    async fn read(self, stderr: impl AsyncRead + Unpin) {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        while let Ok(Some(is_whole)) = next_line(&mut stderr, &mut line, MAX_LINE).await {
            match is_whole {
                true => self.add(&String::from_utf8_lossy(&line)),
                false => self.add("(a line that is too long to be shown)"),
            }
        }
    }

    fn add(&self, line: &str) {
        let line = self.redactor.clean(line.trim_end());
        tracing::debug!(server = self.server, %line, "a server says");
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES {
            lines.pop_front();
        }
        lines.push_back(shortened(&line, SHOWN));
    }

    /// The lines, behind a reason.
    pub fn after(&self, why: String) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            return why;
        }
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        // One that goes over lines is whole only now.
        let lines = lines.join("\n");
        let lines = self.redactor.clean(&lines).replace('\n', " / ");
        format!("{why}; it said: {lines}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_lines_are_kept_without_secrets() {
        let keys = ["secret-value".into(), "one\nand another".into()];
        let said = Said::new("s", Redactor::of(&keys).unwrap());
        let after = |said: &Said| said.after("why".to_owned());
        assert_eq!(after(&said), "why");
        let text: String = (0..9).map(|n| format!("line {n}\n")).collect();
        said.clone().read(text.as_bytes()).await;
        let want = "why; it said: line 4 / line 5 / line 6 / line 7 / line 8";
        assert_eq!(after(&said), want);
        let (long, full) = ("x".repeat(MAX_LINE + 1), "y".repeat(295));
        let text = format!("{long}\n{full} secret-value\none\nand another\n");
        said.clone().read(text.as_bytes()).await;
        said.clone().read(&b"\xff\n"[..]).await;
        let want = format!(
            "why; it said: (a line that is too long to be shown) / {full} [key… / [key] / \u{fffd}"
        );
        assert_eq!(after(&said), want);
    }
}
