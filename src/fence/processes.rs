//! The processes of the machine as a table, and who in it comes from whom.

use std::collections::{BTreeMap, BTreeSet};

/// A process as `/proc/PID/stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    /// Its number.
    pub(super) pid: i32,
    /// Its parent's number.
    pub(super) parent: i32,
    /// Its process group.
    pub(super) group: i32,
    /// Its session.
    pub(super) session: i32,
    /// Whether it has ended and only waits to be reaped.
    pub(super) is_dead: bool,
}

impl Process {
    /// Reads `PID (NAME) STATE PPID PGRP SESSION …`. The name is what the process likes to be
    /// called, blanks, brackets and bytes that are no text included; what comes after its last
    /// bracket is the kernel's.
    pub(super) fn parse(stat: &[u8]) -> Option<Self> {
        let open = stat.iter().position(|b| *b == b'(')?;
        let close = stat.iter().rposition(|b| *b == b')')?;
        let pid = std::str::from_utf8(stat.get(..open)?).ok()?;
        let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let state = fields.next()?;
        let mut number = || fields.next()?.parse::<i32>().ok();
        let (parent, group, session) = (number()?, number()?, number()?);
        Some(Self {
            pid: pid.trim_end().parse().ok().filter(|pid| *pid > 0)?,
            parent,
            // One that is about to be gone has -1, which as a number to signal means everybody.
            group: group.max(0),
            session: session.max(0),
            is_dead: matches!(state, "Z" | "X" | "x"),
        })
    }
}

/// Those that `is_root` chooses and all that come from them, but for the dead, in the order of
/// their numbers.
pub(super) fn family(table: &[Process], is_root: impl Fn(&Process) -> bool) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<&Process>> = BTreeMap::new();
    for process in table {
        children.entry(process.parent).or_default().push(process);
    }
    let mut open: Vec<&Process> = table.iter().filter(|p| is_root(p)).collect();
    let mut found = BTreeMap::new();
    while let Some(process) = open.pop() {
        // A table is not read in one moment: it may say that somebody is his own ancestor.
        if found.insert(process.pid, *process).is_none() {
            open.extend(children.get(&process.pid).into_iter().flatten());
        }
    }
    found.into_values().filter(|p| !p.is_dead).collect()
}

/// The process groups in which there is nobody but `family`.
pub(super) fn own_groups(table: &[Process], family: &[Process]) -> BTreeSet<i32> {
    let members: BTreeSet<i32> = family.iter().map(|p| p.pid).collect();
    let strangers = table
        .iter()
        .filter(|p| !p.is_dead && !members.contains(&p.pid));
    let mixed: BTreeSet<i32> = strangers.map(|p| p.group).collect();
    let groups = family.iter().map(|p| p.group);
    groups.filter(|group| !mixed.contains(group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(pid, parent, group, session)`, dead with a minus before its pid.
    fn table(rows: &[(i32, i32, i32, i32)]) -> Vec<Process> {
        let rows = rows.iter();
        rows.map(|(pid, parent, group, session)| Process {
            pid: pid.abs(),
            parent: *parent,
            group: *group,
            session: *session,
            is_dead: *pid < 0,
        })
        .collect()
    }

    #[test]
    fn names_may_be_anything() {
        let want = Process {
            pid: 71,
            parent: 7,
            group: 70,
            session: 69,
            is_dead: false,
        };
        let names: [&[u8]; 8] = [
            b"sh",
            b"",
            b"a) b (c",
            b") Z 1 1 1 (",
            b"((",
            b"))",
            b"\xff\xfe\n)",
            b"a\n72 (b",
        ];
        for name in names {
            let stat = [b"71 (", name, b") S 7 70 69 34816 70 4194304 0\n"].concat();
            assert_eq!(Process::parse(&stat), Some(want), "{name:?}");
        }
        let dead = Process::parse(b"71 (sh) Z 7 70 69 0 -1").unwrap();
        assert!(dead.is_dead);
        let going = Process::parse(b"71 (sh) X 0 -1 -1 0 -1").unwrap();
        assert_eq!((going.group, going.session), (0, 0));
    }

    #[test]
    fn what_is_no_process_is_none() {
        let table: [&[u8]; 10] = [
            b"",
            b"71",
            b"0 (sh) S 1 1 1",
            b"-1 (sh) S 1 1 1",
            b"71 (sh",
            b"71 )sh( S 1 1 1",
            b"x (sh) S 1 1 1",
            b"71 (sh) S 1 1",
            b"71 (sh) S one 1 1",
            b"71 (sh) S 99999999999 1 1",
        ];
        for stat in table {
            assert_eq!(Process::parse(stat), None, "{:?}", stat.escape_ascii());
        }
    }

    #[test]
    fn a_family_is_all_that_comes_from_its_roots() {
        let processes = table(&[
            (1, 0, 1, 1),
            (10, 1, 10, 10),
            (20, 10, 20, 20),
            // The program, its child, a child in a session of its own, an orphan; a dead one.
            (21, 20, 21, 20),
            (22, 21, 21, 20),
            (23, 22, 23, 23),
            (24, 20, 23, 23),
            (-25, 20, 21, 20),
            // A stranger, and one that is said to be its own ancestor.
            (30, 10, 30, 30),
            (40, 41, 40, 40),
            (41, 40, 40, 40),
        ]);
        let pids = |is_root: &dyn Fn(&Process) -> bool| -> Vec<i32> {
            let family = family(&processes, is_root);
            family.iter().map(|p| p.pid).collect()
        };
        assert_eq!(pids(&|p| p.parent == 20), [21, 22, 23, 24]);
        assert_eq!(pids(&|p| p.session == 20), [20, 21, 22, 23, 24]);
        assert_eq!(pids(&|p| p.session == 23), [23, 24]);
        assert_eq!(pids(&|p| p.pid == 40), [40, 41]);
        assert!(pids(&|p| p.parent == 99).is_empty());
    }

    #[test]
    fn a_group_with_a_stranger_is_nobodys_own() {
        let processes = table(&[
            (20, 10, 20, 20),
            (21, 20, 21, 20),
            // It went back to the group of the keeper.
            (22, 21, 20, 20),
            (23, 22, 23, 23),
            (-24, 1, 23, 23),
        ]);
        let family = family(&processes, |p| p.parent == 20);
        assert_eq!(family.len(), 3);
        assert_eq!(own_groups(&processes, &family), BTreeSet::from([21, 23]));
    }
}
