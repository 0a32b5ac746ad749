//! What a keeper costs: `cat` started by itself and under a keeper, in turns, until it has answered
//! the first byte; then a message of 1 KiB there and back, and the memory of a keeper.
//!
//! The figures are medians, and belong to the machine that measured them.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

use std::{
    fs,
    io::{Read, Write},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use farm::fence::KEEP;

/// Programs started in each way.
const STARTS: usize = 100;
/// Messages to each.
const MESSAGES: usize = 50;

fn main() {
    let ways = [
        vec!["cat"],
        vec![env!("CARGO_BIN_EXE_farm"), KEEP, "--", "cat"],
    ];
    let mut started = [Vec::new(), Vec::new()];
    let mut answered = [Vec::new(), Vec::new()];
    let mut ended = [Vec::new(), Vec::new()];
    let mut memory = Vec::new();
    for _ in 0..STARTS {
        for (way, command) in ways.iter().enumerate() {
            let began = Instant::now();
            let mut child = start(command);
            answer(&mut child, 1);
            started[way].push(began.elapsed());
            for _ in 0..MESSAGES {
                let began = Instant::now();
                answer(&mut child, 1024);
                answered[way].push(began.elapsed());
            }
            if way == 1 {
                memory.extend(own_kib(child.id()));
            }
            let began = Instant::now();
            drop(child.stdin.take());
            assert!(child.wait().unwrap().success());
            ended[way].push(began.elapsed());
        }
    }
    for (what, mut took) in [
        ("start and first byte", started),
        ("1 KiB there and back", answered),
        ("end of input to end", ended),
    ] {
        let [bare, kept] = [0, 1].map(|way| median(&mut took[way]));
        println!("keeper, {what}: {kept:.0?}, without one {bare:.0?}");
    }
    memory.sort_unstable();
    let kib = memory.get(memory.len() / 2).copied().unwrap_or_default();
    println!("keeper, memory of its own: {kib} KiB");
}

fn start(command: &[&str]) -> Child {
    let mut program = Command::new(command[0]);
    program.args(&command[1..]);
    let piped = program.stdin(Stdio::piped()).stdout(Stdio::piped());
    piped.spawn().unwrap()
}

/// Sends so many bytes and waits until they are back.
fn answer(child: &mut Child, bytes: usize) {
    let message = vec![b'x'; bytes];
    child.stdin.as_mut().unwrap().write_all(&message).unwrap();
    let mut back = vec![0; bytes];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut back)
        .unwrap();
    assert_eq!(back, message);
}

/// What a process has written to and shares with no other, in KiB, where that can be told.
fn own_kib(pid: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let mut lines = rollup.lines();
    let own = lines.find_map(|l| l.strip_prefix("Private_Dirty:"))?;
    own.trim().strip_suffix("kB")?.trim().parse().ok()
}

fn median(took: &mut [Duration]) -> Duration {
    took.sort_unstable();
    took[took.len() / 2]
}
