//! Between the pipes and the protocol: line by line, in both directions.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

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

use super::line::{Line, MAX, Open};

/// After the input has ended, calls may end by themselves for so long; and once they are dropped,
/// their answers may take so long to come.
const GRACE: Duration = Duration::from_millis(40);

/// How many requests may be open; more are read when some are answered.
const OPEN: usize = 1024;

/// Lines on their way to the output.
const QUEUE: usize = 64;

/// The requests that have not been answered, as shim and handler share them.
#[derive(Clone)]
pub(super) struct Requests(Arc<Shared>);

struct Shared {
    all: CancellationToken,
    open: Mutex<Open>,
    /// One was closed.
    closed: Notify,
}

impl Requests {
    /// None yet; `all` is to cancel all.
    pub fn new(all: CancellationToken) -> Self {
        Self(Arc::new(Shared {
            open: Mutex::new(Open::new(all.clone())),
            all,
            closed: Notify::new(),
        }))
    }

    /// What is cancelled when the request of this number is; none when it has been.
    pub fn cancelled(&self, number: u64) -> Option<CancellationToken> {
        self.open().cancelled(number)
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, line: &[u8]) -> Line {
        let read = self.open().read(line);
        // It may have been a cancellation.
        self.0.closed.notify_one();
        read
    }

    fn answered(&self, line: &[u8]) -> Option<Vec<u8>> {
        let answered = self.open().answered(line);
        self.0.closed.notify_one();
        answered
    }

    /// Waits until at most `most` are open. Only one may wait.
    async fn at_most(&self, most: usize) {
        while self.open().len() > most {
            self.0.closed.notified().await;
        }
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
    let (from_inner, to_inner) = split(inner);
    let (say, said) = channel(QUEUE);
    let over = &CancellationToken::new();
    let lines = read(BufReader::new(input), to_inner, say.clone(), requests);
    let reading = async move {
        tokio::select! {
            () = lines => drop(timeout(GRACE, requests.at_most(0)).await),
            () = stop.cancelled() => {}
        }
        requests.0.all.cancel();
        drop(timeout(GRACE, requests.at_most(0)).await);
        over.cancel();
        Ok(())
    };
    let answering = async move {
        answer(BufReader::new(from_inner), say, requests, over).await;
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

/// Lines of the client.
async fn read(
    mut input: impl AsyncBufRead + Unpin,
    mut inner: impl AsyncWrite + Unpin,
    say: Sender<Vec<u8>>,
    requests: &Requests,
) {
    let mut line = Vec::new();
    // An input that breaks has ended.
    while let Ok(Some(is_whole)) = next(&mut input, &mut line).await {
        let read = match is_whole {
            true => requests.read(&line),
            false => Open::too_long(),
        };
        let gone = match read {
            Line::Skip => false,
            Line::Pass(request) => {
                let line = request + "\n";
                inner.write_all(line.as_bytes()).await.is_err()
            }
            Line::Answer(answer) => say.send(answer.to_string().into_bytes()).await.is_err(),
        };
        if gone {
            return;
        }
        requests.at_most(OPEN - 1).await;
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
        if let Some(answer) = requests.answered(&line)
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

/// The next line without its end; false when it was longer than may be, and is not all there. None at
/// the end.
async fn next(
    input: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<Option<bool>> {
    line.clear();
    let (mut is_whole, mut any) = (true, false);
    loop {
        let bytes = input.fill_buf().await?;
        if bytes.is_empty() {
            return Ok(any.then_some(is_whole));
        }
        any = true;
        let end = bytes.iter().position(|b| *b == b'\n');
        let part = &bytes[..end.unwrap_or(bytes.len())];
        match line.len() + part.len() <= MAX {
            true if is_whole => line.extend_from_slice(part),
            _ => is_whole = false,
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(Some(is_whole));
        }
    }
}
