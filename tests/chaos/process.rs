//! A process of farm that may be killed.

use std::{
    fs::{self, File},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{log::Log, suite::Suite};

/// Longer than any process here takes; one that hangs fails its test and is ended.
const PATIENCE: Duration = Duration::from_secs(300);
/// Between two looks.
const TICK: Duration = Duration::from_millis(4);

/// When farm is to abort: at this commit of its store, before or after.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Abort {
    pub(crate) commit: u64,
    pub(crate) after: bool,
}

/// farm at work.
pub(crate) struct Process {
    child: Child,
    stderr: PathBuf,
    pub(crate) log: Log,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself, with this code.
    Exit(i32),
    /// By its own abort, or by a SIGKILL.
    Killed,
}

impl Process {
    /// Starts farm for a run in `folder`; its log and what it says stand beside it.
    pub(crate) fn start(
        suite: &Suite,
        folder: &Path,
        n: usize,
        args: &[&str],
        abort: Option<Abort>,
    ) -> Self {
        let beside = |what: &str| folder.with_extension(format!("{n}.{what}"));
        let (log, stderr) = (beside("log"), beside("stderr"));
        let mut farm = farm(suite);
        farm.args(args)
            .args(["-vv", "--log"])
            .arg(&log)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&stderr).unwrap());
        if let Some(Abort { commit, after }) = abort {
            let moment = if after { "after" } else { "before" };
            farm.env("FARM_TEST_ABORT", format!("commit:{commit}:{moment}"));
        }
        Self {
            child: farm.spawn().unwrap(),
            stderr,
            log: Log::at(&log),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has said so far.
    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(&self.stderr).unwrap()
    }

    /// Waits until this holds; false when it ended before.
    pub(crate) fn until(&mut self, mut holds: impl FnMut(&mut Self) -> bool) -> bool {
        let began = Instant::now();
        loop {
            let has_ended = self.child.try_wait().unwrap().is_some();
            self.log.read();
            if holds(self) {
                return true;
            }
            if has_ended {
                return false;
            }
            if began.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                panic!("it hangs: {}", self.stderr());
            }
            thread::sleep(TICK);
        }
    }

    /// Sends SIGINT.
    pub(crate) fn interrupt(&self) {
        let pid = self.pid().to_string();
        // One that has ended, and is not waited for yet, still takes a signal.
        let sent = Command::new("kill").args(["-s", "INT", &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> End {
        self.until(|_| false);
        let status: ExitStatus = self.child.wait().unwrap();
        match (status.code(), status.signal()) {
            (Some(code), _) => End::Exit(code),
            (None, Some(6 | 9)) => End::Killed,
            _ => panic!("{status}: {}", self.stderr()),
        }
    }
}

/// The binary in the suite's own folder, told nothing by the environment of the tests.
pub(crate) fn farm(suite: &Suite) -> Command {
    let mut farm = crate::binary::farm(assert_cmd::cargo::cargo_bin!("farm"));
    farm.current_dir(suite.path(""));
    farm
}
