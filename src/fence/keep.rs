//! The keeper: what runs in the process between farm and a program.

use std::{
    ffi::OsString,
    fs::File,
    io,
    os::unix::process::CommandExt as _,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    process::{
        Pid, Signal as Kind, WaitOptions, WaitStatus, getpgid, getpid, getppid, setpgid, setsid,
        wait,
    },
};
use tokio::{
    runtime::Builder,
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
    time::timeout,
};

use super::sweep;

/// What a program is given to end by itself, first when its input has ended, then after SIGTERM.
const GRACE: Duration = Duration::from_millis(200);
/// How long the keeper tries to end what is left, before it gives up: what hangs in the kernel, or
/// has become another user's, cannot be killed.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// Between two passes, if nobody is heard to end.
const PAUSE: Duration = Duration::from_millis(10);
/// Children that are reaped before the keeper looks up: others may come as fast.
const MOST_REAPED: usize = 1024;

/// The exit code of a keeper whose program is not there.
pub const NOT_FOUND: u8 = 127;
/// The exit code of a keeper whose program is there and cannot be started.
pub const NOT_STARTED: u8 = 126;

/// Why a program was not started.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot start {program:?}: {why}")]
pub struct NotKept {
    /// [`NOT_FOUND`] or [`NOT_STARTED`].
    pub code: u8,
    /// The program.
    pub program: OsString,
    /// What is wrong, in one line.
    pub why: String,
}

/// Runs a program to its end, and ends all that it has started: the whole life of a keeper, which is
/// to be a process of its own with one thread and the caller as its parent.
///
/// The program has the keeper's streams, environment and folder. It ends by itself, or is ended when
/// nobody holds the other end of its input any more, when the parent of the keeper has ended, or at
/// SIGTERM, SIGINT, SIGHUP or SIGQUIT: after 200 ms it gets SIGTERM, its whole group with it, after
/// 200 ms more it is killed. In either case what it has started and left behind is killed then. It
/// takes at most some 6 s in all.
///
/// Returns the exit code of the program, or 128 and the signal that ended it.
///
/// # Errors
/// When the program cannot be started.
pub fn keep(command: &[OsString]) -> Result<u8, NotKept> {
    let program = command.first().cloned().unwrap_or_default();
    let not_kept = |code, why: String| NotKept { code, program, why };
    Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(run(command)))
        .map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => not_kept(
                NOT_FOUND,
                "there is no such program, or what runs it is not there".to_owned(),
            ),
            _ => not_kept(NOT_STARTED, e.to_string()),
        })
}

async fn run(command: &[OsString]) -> io::Result<u8> {
    let mut stops = Stops::new()?;
    // Before the program starts: none of its children's ends is missed.
    let ends = signal(SignalKind::child())?;
    lead_a_session();
    adopt_orphans()?;
    let mut kept = Kept::start(command, ends)?;
    tokio::select! {
        () = kept.ended() => {}
        () = stops.asked() => kept.stop().await,
    }
    kept.end_what_is_left().await;
    Ok(kept.code())
}

/// The program and what has come of it.
struct Kept {
    program: Pid,
    /// How the program ended.
    status: Option<WaitStatus>,
    /// Hears that a child has ended.
    ends: Signal,
}

impl Kept {
    fn start(command: &[OsString], ends: Signal) -> io::Result<Self> {
        let (program, args) = command
            .split_first()
            .ok_or_else(|| io::Error::other("no program is named"))?;
        // Its own group, so that it may signal that without meeting the keeper.
        let child = Command::new(program).args(args).process_group(0).spawn()?;
        let program = Pid::from_child(&child);
        // Whoever reads the program's output is to hear its end when the program closes it; at
        // worst they hear it when the keeper ends.
        if let Ok(nowhere) = File::open("/dev/null") {
            let _ = rustix::stdio::dup2_stdout(nowhere);
        }
        Ok(Self {
            program,
            status: None,
            ends,
        })
    }

    /// Waits for the end of the program.
    async fn ended(&mut self) {
        loop {
            let left = self.reap();
            if self.status.is_some() {
                return;
            }
            match left {
                Left::Nobody => return,
                Left::Somebody => drop(self.ends.recv().await),
                Left::Unknown => tokio::task::yield_now().await,
            }
        }
    }

    /// Has the program end, by itself if it can.
    async fn stop(&mut self) {
        if timeout(GRACE, self.ended()).await.is_err() {
            // Not reaped: its number is its own. The group may have others, or not have it.
            sweep::signal_group(self.program.as_raw_pid(), Kind::TERM);
            sweep::signal(self.program.as_raw_pid(), Kind::TERM);
            drop(timeout(GRACE, self.ended()).await);
        }
    }

    /// Kills until nobody is left. As all orphans become children of the keeper, all have a line of
    /// parents that leads to it.
    async fn end_what_is_left(&mut self) {
        let me = getpid().as_raw_pid();
        let began = Instant::now();
        while self.reap() != Left::Nobody && began.elapsed() < PATIENCE {
            #[cfg(target_os = "linux")]
            sweep::pass(|p| p.parent == me);
            #[cfg(not(target_os = "linux"))]
            sweep::signal_group(self.program.as_raw_pid(), Kind::KILL);
            drop(timeout(PAUSE, self.ends.recv()).await);
        }
    }

    /// Reaps who has ended.
    fn reap(&mut self) -> Left {
        for _ in 0..MOST_REAPED {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.program => self.status = Some(status),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return Left::Somebody,
                Err(_) => return Left::Nobody,
            }
        }
        Left::Unknown
    }

    fn code(&self) -> u8 {
        let code = self.status.and_then(|status| {
            let signal = status.terminating_signal().map(|signal| signal + 128);
            status.exit_status().or(signal)
        });
        // It could not even be killed.
        let code = code.unwrap_or(128 + Kind::KILL.as_raw());
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}

/// Which children there are when the dead have been reaped.
#[derive(PartialEq, Eq)]
enum Left {
    Nobody,
    Somebody,
    /// They end as fast as they are reaped.
    Unknown,
}

/// What tells the keeper to end its program.
struct Stops {
    signals: [Signal; 4],
    owner_gone: oneshot::Receiver<()>,
}

impl Stops {
    fn new() -> io::Result<Self> {
        Ok(Self {
            signals: [
                signal(SignalKind::terminate())?,
                signal(SignalKind::interrupt())?,
                signal(SignalKind::hangup())?,
                signal(SignalKind::quit())?,
            ],
            owner_gone: watch_the_owner()?,
        })
    }

    async fn asked(&mut self) {
        let [terminate, interrupt, hangup, quit] = &mut self.signals;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
            Ok(()) = &mut self.owner_gone => {}
        }
    }
}

/// Tells once when nobody holds the other end of the input any more, or when the parent has ended.
///
/// Nothing is asked of the input but whether that is so, and nothing is read: what is in it is for
/// the program, which reads the same pipe. The parent is watched as well, since a program can open
/// its own input for writing, and so keep it from ending.
fn watch_the_owner() -> io::Result<oneshot::Receiver<()>> {
    #[cfg(target_os = "linux")]
    let parent = getppid().and_then(|parent| {
        let flags = rustix::process::PidfdFlags::empty();
        rustix::process::pidfd_open(parent, flags).ok()
    });
    #[cfg(not(target_os = "linux"))]
    let parent: Option<std::os::fd::OwnedFd> = None;
    let (tell, told) = oneshot::channel();
    thread::Builder::new().spawn(move || {
        let stdin = io::stdin();
        let mut watched = vec![PollFd::new(&stdin, PollFlags::empty())];
        let parent = parent.as_ref();
        watched.extend(parent.map(|parent| PollFd::new(parent, PollFlags::IN)));
        while poll(&mut watched, None) == Err(rustix::io::Errno::INTR) {}
        // The program may have ended first.
        let _ = tell.send(());
    })?;
    Ok(told)
}

/// Leaves the session of the parent, and with it the terminal: neither Ctrl-C nor what a program
/// asks of `/dev/tty` passes between the two. farm knows the session by the keeper's number, and
/// finds what is left in it should the keeper be killed.
///
/// Who leads a group cannot leave, and farm starts keepers as leaders; so the keeper joins its
/// parent's group for that moment. Where it cannot, it stays a leader of a group in the old session.
fn lead_a_session() {
    let group = getppid().and_then(|parent| getpgid(Some(parent)).ok());
    if group.is_some_and(|group| setpgid(None, Some(group)).is_ok()) && setsid().is_err() {
        let _ = setpgid(None, None);
    }
}

/// Makes this process the parent of all that lose theirs among its descendants.
fn adopt_orphans() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid()))?;
    Ok(())
}
