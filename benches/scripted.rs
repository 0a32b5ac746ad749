//! Scripted sessions of two turns and one tool call, as a ratio to their bars.
//!
//! Each line times the whole command: reading the cases, every session through the actors and the
//! store, scoring, the export of traces, and the summary. `FARM_BENCH=short` leaves out the run of
//! a million sessions, which needs some 5 GB of disk.
//!
//! The ratios belong to the machine that measured them; the bars are for two cores.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

mod support;

use std::{
    fs,
    path::Path,
    process::{Child, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// Cases of the suite.
const CASES: u64 = 1000;
/// Sessions a second that a run of 1,000 × 100 is to reach.
const BAR_RATE: f64 = 20_000.0;
/// Peak memory that a run of 1,000 × 1,000 is to stay under.
const BAR_MIB: f64 = 100.0;

fn main() {
    let suite = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    support::write_suite(suite.path(), CASES);
    fs::write(
        suite.path().join("farm.toml"),
        "[models.scripted]\nkind = \"scripted\"\n",
    )
    .unwrap();
    let short = run(suite.path(), 100);
    println!(
        "scripted 1000x100: {:.0} sessions/s in {:.2} s, ratio to bar {:.2} (bar 20,000/s; more is better)",
        short.rate(),
        short.wall.as_secs_f64(),
        short.rate() / BAR_RATE
    );
    println!("scripted 1000x100: peak memory {}", short.memory());
    if support::is_short() {
        return;
    }
    let long = run(suite.path(), 1000);
    println!(
        "scripted 1000x1000: peak memory {}, ratio to bar {} (bar 100 MiB; less is better)",
        long.memory(),
        long.peak_mib
            .map_or("unknown".to_owned(), |mib| format!("{:.2}", mib / BAR_MIB)),
    );
    println!(
        "scripted 1000x1000: {:.0} sessions/s in {:.1} s, time per session {:.2} of that of 1000x100 (linear: 1.00)",
        long.rate(),
        long.wall.as_secs_f64(),
        short.rate() / long.rate()
    );
}

/// One run of the command.
struct Measured {
    sessions: u64,
    wall: Duration,
    /// None where the system does not say.
    peak_mib: Option<f64>,
}

impl Measured {
    fn rate(&self) -> f64 {
        self.sessions as f64 / self.wall.as_secs_f64()
    }

    fn memory(&self) -> String {
        self.peak_mib
            .map_or("unknown".to_owned(), |mib| format!("{mib:.0} MiB"))
    }
}

/// Runs the suite over so many seeds, and checks that every session passed.
fn run(suite: &Path, seeds: u64) -> Measured {
    let (mut farm, out) = support::run(suite, &format!("run-{seeds}"), seeds, 256);
    let began = Instant::now();
    let mut farm = farm.spawn().unwrap();
    let (status, peak_mib) = watch(&mut farm);
    let wall = began.elapsed();
    assert!(status.success(), "farm ended with {status}");
    let sessions = CASES * seeds;
    support::check(&out, sessions);
    Measured {
        sessions,
        wall,
        peak_mib,
    }
}

/// Waits for the end, and reads the high-water mark of resident memory on the way.
fn watch(farm: &mut Child) -> (ExitStatus, Option<f64>) {
    let mut peak = None;
    loop {
        peak = high_water_mib(farm.id()).or(peak);
        if let Some(status) = farm.try_wait().unwrap() {
            return (status, peak);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// `VmHWM` of a process, which Linux alone has.
fn high_water_mib(pid: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib / 1024.0)
}
