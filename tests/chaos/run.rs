//! One run, through as many processes as it takes.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    campaign::Tally,
    durable::Durable,
    log::Turn,
    process::{Abort, End, Process},
    suite::Suite,
};

/// A run that is begun, killed and resumed. What must hold after every process is checked there.
pub(crate) struct Run<'s> {
    pub(crate) suite: &'s Suite,
    pub(crate) folder: PathBuf,
    pub(crate) concurrency: u64,
    processes: usize,
    /// Processes that did not come to the end.
    broken_off: usize,
    /// Sessions that these may have had in flight.
    dropped: u64,
    asked: Vec<Turn>,
    /// What was durable when the last process ended.
    durable: Durable,
}

impl<'s> Run<'s> {
    /// A run of this name that has not begun.
    pub(crate) fn new(suite: &'s Suite, name: &str, concurrency: u64) -> Self {
        Self {
            suite,
            folder: suite.path(name),
            concurrency,
            processes: 0,
            broken_off: 0,
            dropped: 0,
            asked: Vec::new(),
            durable: Durable::default(),
        }
    }

    /// Begins it, or resumes it if it has begun.
    pub(crate) fn start(&mut self, abort: Option<Abort>) -> Process {
        let folder = self.folder.to_str().unwrap();
        let concurrency = self.concurrency.to_string();
        let operation = ["--quiet", "--concurrency", &concurrency];
        let args: Vec<&str> = if self.processes == 0 {
            let suite = self.suite.args.iter().map(String::as_str);
            ["run", "--out", folder].into_iter().chain(suite).collect()
        } else {
            vec!["resume", folder]
        };
        self.processes += 1;
        let args = [&args, &operation[..]].concat();
        Process::start(self.suite, &self.folder, self.processes, &args, abort)
    }

    /// Waits for the end of a process, and looks at what it did.
    pub(crate) fn end(&mut self, mut process: Process) -> End {
        let end = process.wait();
        if end != End::Exit(0) {
            self.broken_off += 1;
            self.dropped += self.concurrency;
        }
        let (log, before) = (&process.log, &self.durable);
        for turn in &log.asked {
            let was_durable = before.turns.contains(turn);
            assert!(!was_durable, "{turn:?} is asked for again");
        }
        // One that ended without a verdict is only scored.
        let again: Vec<_> = before.ended.intersection(&log.begun).collect();
        assert!(again.is_empty(), "they had ended and run again: {again:?}");
        let after = Durable::read(&self.folder);
        before.is_kept_in(&after);
        assert!(before.scored.is_subset(&after.scored));
        let asked: BTreeSet<_> = self.asked.iter().chain(&log.asked).collect();
        assert!(after.turns.iter().all(|turn| asked.contains(turn)));
        self.asked.extend(log.asked.iter().cloned());
        // One that was killed early had not taken it over, one with nothing to do needs none.
        if !log.begun.is_empty() {
            let pid = process.pid();
            assert_eq!(holder(&self.folder), pid, "the lock names another");
        }
        self.durable = after;
        end
    }

    /// Goes on to the end, and says what it took.
    pub(crate) fn finish(&mut self) -> Tally {
        let process = self.start(None);
        let stderr = process.stderr();
        assert_eq!(self.end(process), End::Exit(0), "{stderr}");
        self.tally()
    }

    /// What it took.
    pub(crate) fn tally(&self) -> Tally {
        let turns: BTreeSet<_> = self.asked.iter().collect();
        let durable = &self.durable.turns;
        assert!(
            turns.into_iter().eq(durable),
            "a turn was asked for and is lost"
        );
        let redone = self.asked.len() - durable.len();
        assert!(
            redone as u64 <= self.dropped,
            "{redone} turns were asked for again"
        );
        Tally {
            kills: self.broken_off,
            redone,
            turns: durable.len(),
        }
    }

    /// How many of its sessions were done when it was last looked at.
    pub(crate) fn done(&self) -> usize {
        self.durable.scored.len()
    }

    /// A JSON document in its folder.
    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&fs::read(self.folder.join(name)).unwrap()).unwrap()
    }

    /// Fails unless it is over: said to be finished, let go of, and nothing left lying about.
    pub(crate) fn is_tidy(&self) {
        assert_eq!(self.json("manifest.json")["status"], "finished");
        let mut names: Vec<_> = fs::read_dir(&self.folder).unwrap().collect();
        names.sort_by_key(|entry| entry.as_ref().unwrap().file_name());
        let names: Vec<_> = names
            .into_iter()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names, WHOLE);
        let lock = File::open(self.folder.join("lock")).unwrap();
        lock.try_lock().expect("nobody holds the lock");
        assert_eq!(working_on(&self.folder), Vec::<String>::new());
    }
}

/// What a run folder holds when all is over.
const WHOLE: [&str; 10] = [
    "cases.jsonl",
    "config.toml",
    "farm.db",
    "lock",
    "manifest.json",
    "scores.jsonl",
    "summary.json",
    "summary.md",
    "timing.json",
    "traces",
];

/// The process that the lock of a run names.
fn holder(run: &Path) -> u32 {
    let lock: Value = serde_json::from_slice(&fs::read(run.join("lock")).unwrap()).unwrap();
    lock["pid"].as_u64().unwrap() as u32
}

/// The commands at work that name this folder or something in it.
fn working_on(run: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .map(|command| String::from_utf8_lossy(&command).into_owned())
        .filter(|command| {
            command
                .split('\0')
                .any(|arg| Path::new(arg).starts_with(run))
        })
        .collect()
}
