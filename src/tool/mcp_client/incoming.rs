//! Lines of a server before the protocol sees them. [`Incoming`] decides, [`pass`] moves them.
//!
//! The protocol's library answers whatever a server asks, and keeps the answers as long as the server
//! does not read: here what it is told is bounded. And here secrets and the session's folder are taken
//! out of all that is said.

use std::{
    borrow::Cow,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use serde::{Deserialize, de::IgnoredAny};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

use tokio_util::sync::CancellationToken;

use crate::{domain::Redactor, tool::lines::next_line};

/// The longest line that is taken, in bytes; a longer one is dropped.
pub(super) const MAX_LINE: usize = 8 << 20;

/// How many bytes a server may say between two answers before it is taken to be mad.
const BUDGET: usize = 16 << 20;

/// How many requests of a server are answered.
const MAX_REQUESTS: u32 = 1_000;

/// The longest of them.
const MAX_REQUEST: usize = 4 << 10;

/// The notification that a server's tools have changed.
const CHANGED: &str = "notifications/tools/list_changed";

/// What is known of what a process has said.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// How often that its tools have changed.
    pub changes: AtomicU64,
    /// Cancelled when nothing more comes.
    pub end: CancellationToken,
    /// How many requests it may have got.
    asked: AtomicU64,
    answers: AtomicU64,
    dropped: AtomicU64,
}

/// How often a process has shown that it is at work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Signs {
    /// By answers.
    pub answers: u64,
    /// By lines that were too long.
    pub dropped: u64,
}

impl Heard {
    /// It is about to be asked something.
    pub fn asks(&self) {
        self.asked.fetch_add(1, Relaxed);
    }

    /// Its signs of life.
    pub fn signs(&self) -> Signs {
        Signs {
            answers: self.answers.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
        }
    }

    /// An answer has come. False: it was not asked that often.
    fn answered(&self) -> bool {
        self.answers.fetch_add(1, Relaxed) < self.asked.load(Relaxed)
    }
}

/// What is done with the lines of one process.
pub(super) struct Incoming {
    heard: Arc<Heard>,
    redactor: Redactor,
    /// The path of the folder that it works in, as it is and as JSON writes it.
    folder: Vec<String>,
    spent: usize,
    requests: u32,
}

/// What becomes of a line.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// The protocol sees it.
    Pass(Cow<'a, str>),
    /// It does not.
    Drop,
    /// The process has said enough: for the protocol it has ended.
    Enough,
}

/// What a line is.
enum Kind {
    Answer,
    Request,
    /// The notification that tools have changed.
    Changed,
    /// Another notification, or no message at all.
    Noise,
}

impl Kind {
    fn of(text: &str) -> Self {
        let Ok(Head { method, id }) = serde_json::from_str(text) else {
            return Self::Noise;
        };
        match (method, id) {
            (None, Some(_)) => Self::Answer,
            (Some(_), Some(_)) => Self::Request,
            (Some(method), None) if method == CHANGED => Self::Changed,
            _ => Self::Noise,
        }
    }
}

/// The part of a message that tells what it is.
#[derive(Deserialize)]
struct Head {
    method: Option<String>,
    id: Option<IgnoredAny>,
}

impl Incoming {
    pub fn new(heard: Arc<Heard>, redactor: Redactor, folder: &str) -> Self {
        let quoted = serde_json::Value::from(folder).to_string();
        let quoted = quoted
            .strip_prefix('"')
            .and_then(|path| path.strip_suffix('"'));
        let quoted = quoted.unwrap_or_default().to_owned();
        let mut folder = vec![folder.to_owned(), quoted];
        folder.dedup();
        // Of a process that works in the root, every path would be cut.
        folder.retain(|path| path.len() > 1);
        Self {
            heard,
            redactor,
            folder,
            spent: 0,
            requests: 0,
        }
    }

    /// Looks at a line.
    pub fn take<'a>(&mut self, line: &'a [u8]) -> Line<'a> {
        self.spent += line.len();
        let text = str::from_utf8(line).unwrap_or_default();
        let is_passed = match Kind::of(text) {
            Kind::Answer if self.heard.answered() => {
                self.spent = 0;
                return Line::Pass(self.clean(text));
            }
            Kind::Request => {
                self.requests = self.requests.saturating_add(1);
                self.requests <= MAX_REQUESTS && text.len() <= MAX_REQUEST
            }
            Kind::Changed => {
                self.heard.changes.fetch_add(1, Relaxed);
                false
            }
            Kind::Answer | Kind::Noise => false,
        };
        match is_passed {
            _ if self.spent > BUDGET => Line::Enough,
            true => Line::Pass(text.into()),
            false => Line::Drop,
        }
    }

    /// A line that is longer than [`MAX_LINE`].
    pub fn take_long(&mut self) -> Line<'static> {
        self.heard.dropped.fetch_add(1, Relaxed);
        self.spent += MAX_LINE;
        match self.spent > BUDGET {
            true => Line::Enough,
            false => Line::Drop,
        }
    }

    fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = self.redactor.clean(text);
        // Another one in each run: it would tell runs apart, and models where they are.
        for folder in &self.folder {
            if text.contains(folder) {
                text = text.replace(folder, ".").into();
            }
        }
        text
    }
}

/// Passes lines on until the process has ended or has said enough.
pub(super) async fn pass(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut incoming: Incoming,
) {
    let _end = incoming.heard.end.clone().drop_guard();
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    // What cannot be read has ended.
    while let Ok(Some(is_whole)) = next_line(&mut from, &mut line, MAX_LINE).await {
        let taken = match is_whole {
            true => incoming.take(&line),
            false => incoming.take_long(),
        };
        let passed = match taken {
            Line::Pass(text) => match to.write_all(text.as_bytes()).await {
                Ok(()) => to.write_all(b"\n").await,
                Err(e) => Err(e),
            },
            Line::Drop => Ok(()),
            Line::Enough => return,
        };
        // The protocol is over.
        if passed.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incoming() -> Incoming {
        let redactor = Redactor::of(&["secret-value".into()]).unwrap();
        let heard = Arc::<Heard>::default();
        (0..2).for_each(|_| heard.asks());
        Incoming::new(heard, redactor, "/runs/a \"b\"")
    }

    #[test]
    fn answers_and_requests_pass() {
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#;
        let request = r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#;
        for text in [answer, error, request] {
            let mut incoming = incoming();
            assert_eq!(incoming.take(text.as_bytes()), Line::Pass(text.into()));
        }
        let noise: [&[u8]; 8] = [
            b"",
            b"Listening on stdio",
            b"{",
            b"[]",
            b"null",
            b"{}",
            b"\xff\xfe",
            br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#,
        ];
        for line in noise {
            assert_eq!(incoming().take(line), Line::Drop, "{line:?}");
        }
    }

    #[test]
    fn what_is_told_of_tools_is_heard() {
        let mut incoming = incoming();
        let changed = format!(r#"{{"method":"{CHANGED}"}}"#);
        assert_eq!(incoming.heard.changes.load(Relaxed), 0);
        assert_eq!(incoming.take(changed.as_bytes()), Line::Drop);
        assert_eq!(incoming.heard.changes.load(Relaxed), 1);
        assert_eq!(incoming.heard.signs().answers, 0);
        incoming.take(br#"{"id":1,"result":{}}"#);
        incoming.take_long();
        let signs = incoming.heard.signs();
        assert_eq!((signs.answers, signs.dropped), (1, 1));
    }

    #[test]
    fn secrets_and_the_folder_are_taken_out() {
        let table = [
            (
                r#"{"id":1,"result":"it is secret-value"}"#,
                r#"{"id":1,"result":"it is [key]"}"#,
            ),
            (
                r#"{"id":1,"result":"in /runs/a \"b\"/c"}"#,
                r#"{"id":1,"result":"in ./c"}"#,
            ),
        ];
        for (said, passed) in table {
            assert_eq!(incoming().take(said.as_bytes()), Line::Pass(passed.into()));
        }
        let heard = Arc::<Heard>::default();
        heard.asks();
        let mut of_root = Incoming::new(heard, Redactor::default(), "/");
        let said = r#"{"id":1,"result":"/etc/a"}"#;
        assert_eq!(of_root.take(said.as_bytes()), Line::Pass(said.into()));
    }

    #[test]
    fn one_that_says_much_and_answers_nothing_is_cut_off() {
        let long = vec![b'x'; 1 << 20];
        let mut incoming = incoming();
        for _ in 0..16 {
            assert_eq!(incoming.take(&long), Line::Drop);
        }
        assert_eq!(incoming.take(&long), Line::Enough);
        // An answer shows that it is at work, if it was asked.
        assert!(matches!(
            incoming.take(br#"{"id":1,"result":{}}"#),
            Line::Pass(_)
        ));
        assert_eq!(incoming.take(&long), Line::Drop);
        assert_eq!(incoming.take_long(), Line::Drop);
        assert_eq!(incoming.take_long(), Line::Enough);
        incoming.take(br#"{"id":2,"result":{}}"#);
        assert_eq!(incoming.take(br#"{"id":3,"result":{}}"#), Line::Drop);
    }

    #[test]
    fn requests_are_answered_up_to_a_number() {
        let mut incoming = incoming();
        let ping = br#"{"id":"x","method":"ping"}"#;
        for _ in 0..MAX_REQUESTS {
            assert!(matches!(incoming.take(ping), Line::Pass(_)));
        }
        assert_eq!(incoming.take(ping), Line::Drop);
        let long = format!(r#"{{"id":"{}","method":"ping"}}"#, "x".repeat(MAX_REQUEST));
        assert_eq!(
            super::Incoming::new(Arc::default(), Redactor::default(), "/a").take(long.as_bytes()),
            Line::Drop
        );
    }
}
