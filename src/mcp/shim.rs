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
    sync::mpsc::{Sender, channel},
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::line::{InFlight, Line, MAX};

/// After the input has ended, calls may end by themselves for so long.
const GRACE: Duration = Duration::from_millis(40);

/// Between two looks whether they have.
const LOOK: Duration = Duration::from_millis(2);

/// Lines on their way to the output.
const QUEUE: usize = 64;

type Ids = Arc<Mutex<InFlight>>;

/// Passes lines on until the input ends or `stop` is cancelled, which it does itself then.
///
/// # Errors
/// When the output cannot be written.
pub(super) async fn pass<R, W>(
    input: R,
    mut output: W,
    inner: DuplexStream,
    stop: CancellationToken,
) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (from_inner, to_inner) = split(inner);
    let (say, mut said) = channel::<Vec<u8>>(QUEUE);
    let ids = Ids::default();
    let reading = tokio::spawn(read(
        BufReader::new(input),
        to_inner,
        say.clone(),
        ids.clone(),
        stop.clone(),
    ));
    let answering = tokio::spawn(answer(BufReader::new(from_inner), say, ids));
    let writing = async {
        while let Some(mut line) = said.recv().await {
            line.push(b'\n');
            output.write_all(&line).await?;
            if said.is_empty() {
                output.flush().await?;
            }
        }
        Ok(())
    };
    let stopped = async {
        stop.cancelled().await;
        // What was answered by then is on its way out.
        sleep(GRACE).await;
    };
    let passed = tokio::select! {
        written = writing => written,
        () = stopped => Ok(()),
    };
    stop.cancel();
    reading.abort();
    answering.abort();
    passed
}

/// Lines of the client.
async fn read(
    mut input: impl AsyncBufRead + Unpin,
    mut inner: impl AsyncWrite + Unpin,
    say: Sender<Vec<u8>>,
    ids: Ids,
    stop: CancellationToken,
) {
    let mut line = Vec::new();
    // An input that breaks has ended.
    while let Ok(Some(is_whole)) = next(&mut input, &mut line).await {
        let read = match is_whole {
            true => lock(&ids).read(&line),
            false => InFlight::too_long(),
        };
        let gone = match read {
            Line::Skip => false,
            Line::Pass => {
                line.push(b'\n');
                inner.write_all(&line).await.is_err()
            }
            Line::Answer(answer) => say.send(answer.to_string().into_bytes()).await.is_err(),
        };
        if gone {
            break;
        }
    }
    let answered = async {
        while !lock(&ids).is_empty() {
            sleep(LOOK).await;
        }
    };
    drop(timeout(GRACE, answered).await);
    stop.cancel();
}

/// Lines of the protocol.
async fn answer(mut inner: impl AsyncBufRead + Unpin, say: Sender<Vec<u8>>, ids: Ids) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match inner.read_until(b'\n', &mut line).await {
            Ok(1..) => {}
            _ => return,
        }
        while line.last().is_some_and(u8::is_ascii_whitespace) {
            line.pop();
        }
        // Only once it is on its way: who asks again has had it.
        let answered = line.clone();
        if say.send(std::mem::take(&mut line)).await.is_err() {
            return;
        }
        lock(&ids).written(&answered);
    }
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

fn lock(ids: &Ids) -> MutexGuard<'_, InFlight> {
    ids.lock().unwrap_or_else(PoisonError::into_inner)
}
