//! From a command to a process that has been spoken with.

use std::{io, sync::Arc, time::Duration};

use rmcp::model::Tool;
use tokio::{
    io::{AsyncWrite, DuplexStream, duplex},
    sync::OwnedSemaphorePermit,
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    connection::{Connection, Greeting, NoList},
    incoming::{self, Heard, Incoming},
    process::{Folder, Process, Stop},
    server::McpOptions,
    start::{Said, Start, Started},
};

/// How long a process that did not come up may take to say why.
const LAST_WORDS: Duration = Duration::from_secs(3);

/// Bytes on their way from a process to the protocol.
const PIPE: usize = 64 << 10;

/// A process that nobody has spoken with. It ends when this is dropped.
pub(super) struct Launched {
    pipes: (DuplexStream, Box<dyn AsyncWrite + Send + Unpin>),
    heard: Arc<Heard>,
    said: Said,
    stop: Stop,
    ended: JoinHandle<()>,
}

impl Launched {
    /// Starts a process, with what moves its lines and what looks after it; that holds its slot and its
    /// folder until nothing of it runs any more.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(
        options: &McpOptions,
        start: &dyn Start,
        (slot, folder): (OwnedSemaphorePermit, Folder),
        running: &TaskTracker,
    ) -> io::Result<Self> {
        let path = folder.path()?;
        let redactor = options.redactor.clone();
        let said = Said::new(&options.name, redactor.clone());
        let stop = CancellationToken::new();
        let Started { from, to, ended } = start.start(&path, said.clone(), stop.clone())?;
        let heard = Arc::<Heard>::default();
        let incoming = Incoming::new(heard.clone(), redactor, &path.to_string_lossy());
        let (passed, ours) = duplex(PIPE);
        let passing = {
            let stop = stop.clone();
            async move {
                tokio::select! {
                    () = incoming::pass(from, passed, incoming) => {}
                    () = stop.cancelled() => {}
                }
            }
        };
        let ended = running.spawn(async move {
            tokio::join!(ended, passing);
            // What the server left there may be much.
            drop(spawn_blocking(|| drop(folder)).await);
            drop(slot);
        });
        Ok(Self {
            pipes: (ours, to),
            heard,
            said,
            stop: Stop::of(stop),
            ended,
        })
    }

    /// Speaks with it for the first time: what it is asked for are its tools.
    ///
    /// # Errors
    /// Why that came to nothing, in words; then it has been ended.
    pub async fn greet(
        self,
        options: &McpOptions,
        greeting: Greeting,
    ) -> Result<(Process, Vec<Tool>), String> {
        let Self {
            pipes,
            heard,
            said,
            stop,
            ended,
        } = self;
        let open = async {
            let connection = Connection::open(&options.name, greeting, heard, pipes).await?;
            match connection.tools().await {
                Ok(tools) => Ok((connection, tools)),
                Err(NoList::Ended(why) | NoList::Wrong(why)) => Err(why),
            }
        };
        let within = options.start_timeout;
        let opened = timeout(within, open).await.unwrap_or_else(|_| {
            let seconds = within.as_secs_f64();
            Err(format!("it did not list its tools within {seconds} s"))
        });
        match opened {
            Ok((connection, tools)) => Ok((Process::new(connection, stop, ended), tools)),
            Err(why) => {
                drop(stop);
                drop(timeout(LAST_WORDS, ended).await);
                Err(said.after(why))
            }
        }
    }
}
