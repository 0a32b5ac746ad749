//! Between the pipes and the protocol: line by line, in both directions.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{
        AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader,
        DuplexStream, split,
    },
    sync::{
        Notify,
        mpsc::{Receiver, Sender, channel},
    },
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    line::{MAX, Message, Spoken},
    open::{Line, Open},
};
use crate::tool::lines::next_line;

/// At the end, when nothing else has happened for so long, tools are not waited for any more.
const GRACE: Duration = Duration::from_millis(40);

/// Nor, after so long, are answers that need no tool. They come as soon as there is time for them,
/// and on a busy machine that is not at once.
const PATIENCE: Duration = Duration::from_secs(2);

/// Lines on their way to the output.
const QUEUE: usize = 64;

/// The requests that have not been answered, as shim and handler share them.
#[derive(Clone)]
pub(super) struct Requests(Arc<Shared>);

struct Shared {
    all: CancellationToken,
    open: Mutex<Open>,
    /// One was closed, or a tool has begun or ended.
    changed: Notify,
}

impl Requests {
    /// None yet; `all` is to cancel all.
    pub fn new(all: CancellationToken) -> Self {
        Self(Arc::new(Shared {
            open: Mutex::new(Open::new(all.clone())),
            all,
            changed: Notify::new(),
        }))
    }

    /// What is cancelled when the request of this number is; none when it has been.
    pub fn cancelled(&self, number: u64) -> Option<CancellationToken> {
        self.open().cancelled(number)
    }

    /// A tool is at work on this request until the guard is dropped.
    pub fn runs(&self, number: u64) -> Runs<'_> {
        self.set_runs(number, true);
        Runs {
            requests: self,
            number,
        }
    }

    fn set_runs(&self, number: u64, runs: bool) {
        self.open().set_runs(number, runs);
        self.0.changed.notify_one();
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What becomes of a line of the client.
    pub fn incoming(&self, message: Message) -> Line {
        self.open().take(message)
    }

    /// A line of the protocol as the client is to see it; none if it is about a request that was
    /// cancelled.
    pub fn outgoing(&self, line: &[u8]) -> Option<Vec<u8>> {
        let as_it_is = || line.trim_ascii_end().to_vec();
        match Spoken::read(line)? {
            Spoken::Answer(number, answer) => {
                let id = self.open().answered(number)?;
                self.0.changed.notify_one();
                Some(answer.to(&id))
            }
            Spoken::Progress(token) => {
                let is_told = self.open().is_told(&token);
                is_told.then(as_it_is)
            }
            Spoken::Other => Some(as_it_is()),
        }
    }

    /// Waits until none is open, or until only tools hold answers up and nothing has changed for a
    /// while; says whether none is open. Only one may wait.
    async fn settled(&self) -> bool {
        loop {
            let limit = {
                let open = self.open();
                match open.len() {
                    0 => return true,
                    _ if open.is_answered_soon() => PATIENCE,
                    _ => GRACE,
                }
            };
            if timeout(limit, self.0.changed.notified()).await.is_err() {
                return false;
            }
        }
    }
}

/// See [`Requests::runs`].
pub(super) struct Runs<'a> {
    requests: &'a Requests,
    number: u64,
}

impl Drop for Runs<'_> {
    fn drop(&mut self) {
        self.requests.set_runs(self.number, false);
    }
}

/// Passes lines on until the input ends or `stop` is cancelled, and answers what is open then.
///
/// # Errors
/// When the output cannot be written.
pub(super) async fn pass<R, W>(
    input: R,
    output: W,
    inner: DuplexStream,
    requests: &Requests,
    stop: &CancellationToken,
) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    // Here until all is written: the protocol takes the end of this pipe for the end of all.
    let (from_inner, mut to_inner) = split(inner);
    let mut from_inner = BufReader::new(from_inner);
    let (say, said) = channel(QUEUE);
    let over = &CancellationToken::new();
    let lines = read(BufReader::new(input), &mut to_inner, say.clone(), requests);
    let queue = say.clone();
    let reading = async move {
        tokio::select! {
            () = lines => drop(requests.settled().await),
            () = stop.cancelled() => {}
        }
        requests.0.all.cancel();
        // A client that reads slowly is waited for: as long as it has lines to take, more may come.
        while !requests.settled().await && queue.capacity() < queue.max_capacity() {}
        over.cancel();
        Ok(())
    };
    let answers = answer(&mut from_inner, say, requests, over);
    let answering = async move {
        answers.await;
        Ok(())
    };
    let flow = async {
        let writing = write(output, said);
        tokio::try_join!(reading, answering, writing).map(drop)
    };
    let cut = async {
        stop.cancelled().await;
        sleep(2 * GRACE).await;
    };
    tokio::select! {
        flown = flow => flown,
        () = cut => Ok(()),
    }
}

/// Lines of the client. They are read on whatever is open; who wants to be told what is wrong with one
/// has to take what he is told.
async fn read(
    mut input: impl AsyncBufRead + Unpin,
    mut inner: impl AsyncWrite + Unpin,
    say: Sender<Vec<u8>>,
    requests: &Requests,
) {
    let mut line = Vec::new();
    // An input that breaks has ended.
    while let Ok(Some(is_whole)) = next_line(&mut input, &mut line, MAX).await {
        let message = match is_whole {
            true => Message::read(&line),
            false => Message::too_long(),
        };
        let gone = match requests.incoming(message) {
            Line::Skip => false,
            Line::Pass(request) => {
                let line = format!("{}\n", Value::Object(request));
                inner.write_all(line.as_bytes()).await.is_err()
            }
            Line::Answer(answer) => say.send(answer.to_string().into_bytes()).await.is_err(),
        };
        if gone {
            return;
        }
    }
}

/// Lines of the protocol, until all is over.
async fn answer(
    mut inner: impl AsyncBufRead + Unpin,
    say: Sender<Vec<u8>>,
    requests: &Requests,
    over: &CancellationToken,
) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = tokio::select! {
            read = inner.read_until(b'\n', &mut line) => read,
            () = over.cancelled() => return,
        };
        if !matches!(read, Ok(1..)) {
            return;
        }
        if let Some(answer) = requests.outgoing(&line)
            && say.send(answer).await.is_err()
        {
            return;
        }
    }
}

/// Lines to the client.
async fn write(mut output: impl AsyncWrite + Unpin, mut said: Receiver<Vec<u8>>) -> io::Result<()> {
    while let Some(mut line) = said.recv().await {
        line.push(b'\n');
        output.write_all(&line).await?;
        if said.is_empty() {
            output.flush().await?;
        }
    }
    output.flush().await
}
