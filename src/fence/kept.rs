//! farm's side: starts a program under a keeper, and looks after the keeper.

use std::{
    ffi::OsString,
    fmt, io,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::{
    io::Errno,
    process::{Pid, WaitId, WaitIdOptions, waitid},
};
use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command},
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
    task::spawn_blocking,
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{keep, processes::Process, sweep};

/// The hidden command of farm that is a keeper: `farm __keep -- PROGRAM ARGS…`.
pub const KEEP: &str = "__keep";

/// How long a keeper that is to end may take; it takes less unless it was tampered with.
const PATIENCE: Duration = keep::PATIENCE.saturating_add(Duration::from_secs(3));

/// How keepers are started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeper {
    program: PathBuf,
    args: Vec<OsString>,
}

impl Default for Keeper {
    /// This very program, which is to be farm: it is found also when its file has been replaced
    /// meanwhile.
    fn default() -> Self {
        #[cfg(target_os = "linux")]
        let program = PathBuf::from("/proc/self/exe");
        #[cfg(not(target_os = "linux"))]
        let program = std::env::current_exe().unwrap_or_else(|_| "farm".into());
        Self::new(program, [KEEP, "--"])
    }
}

impl Keeper {
    /// A program that does nothing but call [`keep`](super::keep()) with the arguments that follow
    /// `args`: farm by its path with [`KEEP`] and `--`, or one that embeds this library.
    #[must_use]
    pub fn new(
        program: impl Into<PathBuf>,
        args: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
        }
    }

    /// Starts a program. To be called within a tokio runtime, in which a task waits for the keeper.
    ///
    /// That the program cannot be started shows in its end: the keeper exits with
    /// [`NOT_FOUND`](super::NOT_FOUND) or [`NOT_STARTED`](super::NOT_STARTED) and says why on stderr.
    ///
    /// # Errors
    /// When no program is named, or the keeper cannot be started: for one, if there is no such
    /// folder.
    pub fn start(&self, launch: &Launch) -> io::Result<Kept> {
        if launch.command.is_empty() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no program is named",
            ));
        }
        // Before it starts: its end is not missed.
        let ends = signal(SignalKind::child())?;
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .args(&launch.command)
            .env_clear()
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
            .current_dir(&launch.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Not in the group that a terminal sends Ctrl-C to.
            .process_group(0)
            .spawn()?;
        let (say, ended) = watch::channel(None);
        let stop = CancellationToken::new();
        let kept = Kept {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            stop: stop.clone(),
            ended,
        };
        tokio::spawn(async move {
            if let Ok(status) = look_after(child, ends, stop).await {
                // Nobody may be waiting.
                say.send_replace(Some(status));
            }
        });
        Ok(kept)
    }
}

/// A program to be started.
#[derive(Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program and its arguments. A name without a slash is looked for in the `PATH` of `env`.
    pub command: Vec<OsString>,
    /// All variables of its environment.
    pub env: Vec<(OsString, OsString)>,
    /// The folder that it starts in.
    pub folder: PathBuf,
}

impl fmt::Debug for Launch {
    /// Without the values of its variables: some are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&OsString> = self.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Launch")
            .field("command", &self.command)
            .field("env", &names)
            .field("folder", &self.folder)
            .finish()
    }
}

/// A program under a keeper. When this is dropped, the program and all that it has started are
/// ended, whether or not somebody still holds its streams.
#[derive(Debug)]
pub struct Kept {
    /// The program's input, to be taken. Once it is dropped the program has 200 ms to end by itself.
    pub stdin: Option<ChildStdin>,
    /// The program's output, to be taken. It ends when nobody whom the program gave it to has it.
    pub stdout: Option<ChildStdout>,
    /// What the program says beside it, to be taken. The keeper has it too, and says there why a
    /// program did not start: it ends when the keeper does.
    pub stderr: Option<ChildStderr>,
    stop: CancellationToken,
    ended: watch::Receiver<Option<ExitStatus>>,
}

impl Kept {
    /// Has the program end, as dropping this does; [`ended`](Self::ended) tells when it has.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until nothing that was started runs any more. It does not have anything end: for that,
    /// drop the input or call [`stop`](Self::stop). May be called again, and dropped half way.
    ///
    /// The status is the program's exit code, or 128 and the signal that ended it; that of a signal
    /// if the keeper itself was killed.
    ///
    /// # Errors
    /// When the runtime that the program was started in shuts down.
    pub async fn ended(&self) -> io::Result<ExitStatus> {
        let lost = || io::Error::other("nobody waits for the program any more");
        let mut ended = self.ended.clone();
        let status = ended.wait_for(Option::is_some).await;
        status.map_or(None, |status| *status).ok_or_else(lost)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Waits for the end of a keeper; asks for it when `stop` says so. A keeper that was killed, or does
/// not end, leaves what it kept: that is ended from here.
async fn look_after(
    mut keeper: Child,
    mut ends: Signal,
    stop: CancellationToken,
) -> io::Result<ExitStatus> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let pid = Pid::from_raw(keeper.id().map_or(0, u32::cast_signed)).ok_or_else(gone)?;
    let ended_by_itself = tokio::select! {
        by_itself = end(pid, &mut ends) => by_itself,
        () = stop.cancelled() => {
            sweep::signal(pid.as_raw_pid(), rustix::process::Signal::TERM);
            timeout(PATIENCE, end(pid, &mut ends)).await.unwrap_or(false)
        }
    };
    // Until the keeper is reaped, its number is that of its session and of no other.
    if !ended_by_itself {
        kill_the_rest(pid.as_raw_pid()).await;
    }
    keeper.wait().await
}

/// Waits for the end of a keeper and does not reap it. Says whether it came to its own end: then
/// nothing is left of what it kept.
async fn end(keeper: Pid, ends: &mut Signal) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(keeper), look) {
            Ok(Some(status)) => return status.exited(),
            Ok(None) => drop(ends.recv().await),
            Err(Errno::INTR) => {}
            // Somebody else has reaped it.
            Err(_) => return false,
        }
    }
}

/// Kills the keeper, its session and all that comes from either.
async fn kill_the_rest(keeper: i32) {
    let chosen = move |p: &Process| p.pid == keeper || p.parent == keeper || p.session == keeper;
    // Fails only where the runtime shuts down.
    drop(spawn_blocking(move || sweep::all(chosen, keep::PATIENCE)).await);
}
