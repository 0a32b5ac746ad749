//! Sessions of two turns and one tool call over HTTP on loopback, as ratios to their bars.
//!
//! `farm mock`, a process of its own, answers. The first figure is farm's rate as a share of what a
//! bare loop gets that does the same conversation with the same client: it builds and sends the
//! history, reads the reply, multiplies, and writes as many lines with the same replies; it keeps
//! nothing safe, checks nothing and judges nothing. The second is how close a run comes to the time
//! that its calls take, if each takes 200 ms. farm is timed as the whole command.
//!
//! `FARM_BENCH=short` measures fewer and shorter runs. The ratios belong to the machine that
//! measured them; the bars are for two cores, which three processes share here.
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a benchmark")]

mod bare;
mod support;

use std::{
    fs,
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Stdio},
    time::{Duration, Instant},
};

/// Cases of the suite.
const CASES: u64 = 500;
/// Sessions at once beside the bare loop.
const IN_FLIGHT: u32 = 64;
/// The share of the bare loop's rate that farm is to reach.
const BAR_SHARE: f64 = 0.60;
/// Sessions at once with slow calls.
const IN_FLIGHT_SLOW: u32 = 500;
/// How long a slow call takes.
const LATENCY: Duration = Duration::from_millis(200);
/// Turns of a session.
const TURNS: u64 = 2;
/// How many times the ideal time a run with slow calls may take.
const BAR_WALL: f64 = 1.10;

fn main() {
    let suite = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    support::write_suite(suite.path(), CASES);
    fs::write(suite.path().join("prompt.md"), bare::PROMPT).unwrap();
    fs::write(
        suite.path().join("mock.toml"),
        "[models.scripted]\nkind = \"scripted\"\n",
    )
    .unwrap();
    share(suite.path());
    slow(suite.path());
}

/// farm beside the bare loop, by turns.
fn share(suite: &Path) {
    let (pairs, seeds) = if support::is_short() { (3, 8) } else { (5, 20) };
    let mock = Mock::start(suite, IN_FLIGHT, &[]);
    let sessions = (CASES * seeds) as f64;
    let (mut farms, mut bares, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 1..=pairs {
        let farm = sessions / run(suite, &format!("pair-{pair}"), seeds, IN_FLIGHT).as_secs_f64();
        let lines = suite.join("bare.jsonl");
        let wall = bare::run(&mock.base_url, &lines, CASES, seeds, IN_FLIGHT);
        let bare = sessions / wall.as_secs_f64();
        println!(
            "http pair {pair}: farm {farm:.0} sessions/s, bare loop {bare:.0}, share {:.2}",
            farm / bare
        );
        farms.push(farm);
        bares.push(bare);
        shares.push(farm / bare);
    }
    let share = median(shares);
    println!(
        "http {IN_FLIGHT} in flight, medians of {pairs} pairs: farm {:.0} sessions/s, bare loop {:.0}, \
         share {share:.2}, ratio to bar {:.2} (bar {BAR_SHARE:.2}, aim 0.75; more is better)",
        median(farms),
        median(bares),
        share / BAR_SHARE
    );
}

/// Calls that take long.
fn slow(suite: &Path) {
    let seeds = if support::is_short() { 3 } else { 10 };
    let latency = format!("{}ms", LATENCY.as_millis());
    let _mock = Mock::start(suite, IN_FLIGHT_SLOW, &["--latency", &latency]);
    let sessions = CASES * seeds;
    let wall = run(suite, "slow", seeds, IN_FLIGHT_SLOW).as_secs_f64();
    let rounds = sessions.div_ceil(IN_FLIGHT_SLOW.into()) * TURNS;
    let ideal = rounds as f64 * LATENCY.as_secs_f64();
    println!(
        "http {latency} a call, {IN_FLIGHT_SLOW} in flight: {sessions} sessions in {wall:.2} s, {:.3} of \
         the ideal {ideal:.2} s, ratio to bar {:.2} (bar {BAR_WALL:.2}; less is better)",
        wall / ideal,
        wall / ideal / BAR_WALL
    );
}

/// The wall time of the whole command; checks that every session passed.
fn run(suite: &Path, name: &str, seeds: u64, concurrency: u32) -> Duration {
    let (mut farm, out) = support::run(suite, name, seeds, concurrency);
    // Its call would be timed too.
    farm.arg("--no-probe");
    let began = Instant::now();
    let status = farm.status().unwrap();
    let wall = began.elapsed();
    assert!(status.success(), "farm ended with {status}");
    support::check(&out, CASES * seeds);
    wall
}

/// The middle one of an odd number of figures.
fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// `farm mock`; it ends when this is dropped.
struct Mock {
    child: Child,
    base_url: String,
}

impl Mock {
    /// Serves the suite, and writes the config of runs that ask it with so many slots.
    fn start(suite: &Path, slots: u32, args: &[&str]) -> Self {
        let mut child = support::farm(suite)
            .args(["mock", "cases.jsonl", "--config", "mock.toml"])
            // Should the benchmark be killed, it does not stay for ever.
            .args(["--for", "30m"])
            .args(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let base_url = line.trim_end().to_owned();
        let config = format!(
            "[session]\nprompt = \"prompt.md\"\n\n[models.live]\nkind = \"openai\"\n\
             base_url = \"{base_url}\"\nmodel = \"{}\"\nslots.start = {slots}\n",
            bare::MODEL
        );
        fs::write(suite.join("farm.toml"), config).unwrap();
        Self { child, base_url }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
