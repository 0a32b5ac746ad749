//! Ends a family of processes that does not want to end.

use std::{
    collections::BTreeSet,
    fs, thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::processes::{Process, family, own_groups};

/// How often the table is read until nobody new is in it.
const LOOKS: usize = 16;
/// Between two passes, for those who were killed to be gone.
const PAUSE: Duration = Duration::from_millis(2);

/// One pass: stops all that `is_root` chooses and all that come from them, looks again until
/// nobody has come up meanwhile, then kills them. Says whether there was anybody.
///
/// Who is stopped can neither start another nor notice that its child was killed and start it
/// anew. Groups are signalled as a whole as well: then the kernel lets nobody slip through between
/// two looks, however fast it forks.
pub(super) fn pass(is_root: impl Fn(&Process) -> bool) -> bool {
    let mut stopped = BTreeSet::new();
    let mut groups = BTreeSet::new();
    for _ in 0..LOOKS {
        let table = processes();
        let found = family(&table, &is_root);
        let own = own_groups(&table, &found);
        let new: Vec<i32> = found
            .iter()
            .map(|p| p.pid)
            .filter(|pid| !stopped.contains(pid))
            .collect();
        if new.is_empty() {
            break;
        }
        own.iter().for_each(|g| signal_group(*g, Signal::STOP));
        new.iter().for_each(|p| signal(*p, Signal::STOP));
        groups.extend(own);
        stopped.extend(new);
    }
    groups.iter().for_each(|g| signal_group(*g, Signal::KILL));
    stopped.iter().for_each(|p| signal(*p, Signal::KILL));
    !stopped.is_empty()
}

/// Passes until there is nobody left, for `patience` at most. Blocks.
pub(super) fn all(is_root: impl Fn(&Process) -> bool, patience: Duration) {
    let began = Instant::now();
    while pass(&is_root) && began.elapsed() < patience {
        thread::sleep(PAUSE);
    }
}

/// Signals a process. It may be gone, or belong to somebody else: nothing can be done then.
pub(super) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Signals a process group, in the same way. A group 1 is never meant: to the kernel it is everybody.
pub(super) fn signal_group(group: i32, signal: Signal) {
    if let Some(group) = Pid::from_raw(group).filter(|g| !g.is_init()) {
        let _ = kill_process_group(group, signal);
    }
}

/// The processes of this machine; none where there is no `/proc`.
fn processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter(|e| {
        let name = e.file_name();
        name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
    });
    // Some end while the table is read.
    pids.filter_map(|e| Process::parse(&fs::read(e.path().join("stat")).ok()?))
        .collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_in_the_table() {
        let me = rustix::process::getpid().as_raw_nonzero().get();
        let table = processes();
        let own = table.iter().find(|p| p.pid == me).unwrap();
        let parent = rustix::process::getppid().map(|p| p.as_raw_nonzero().get());
        assert_eq!(Some(own.parent), parent.or(Some(0)));
        assert!(!own.is_dead);
    }
}
