//! Many disturbed runs, two at a time, and the line that tells of them.

use std::{
    fmt::Debug,
    io::{self, Write as _},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Instant,
};

/// What one disturbed run came to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Tally {
    /// How often farm was killed in it.
    pub(crate) kills: usize,
    /// Turns that the model was asked for once more, since their reply had not become durable.
    pub(crate) redone: usize,
    /// Turns in all.
    pub(crate) turns: usize,
}

/// Works on `jobs` with two threads, prints what came of them, and fails if any did. A worker
/// panics when its run is not what the undisturbed one is.
pub(crate) fn campaign<J: Debug + Sync>(
    name: &str,
    jobs: &[J],
    work: impl Fn(&J) -> Tally + Sync,
) -> Tally {
    let began = Instant::now();
    let next = AtomicUsize::new(0);
    let sum = Mutex::new((Tally::default(), 0));
    let worker = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let done = catch_unwind(AssertUnwindSafe(|| work(job)));
            let (tally, identical) = &mut *sum.lock().unwrap();
            let Ok(done) = done else {
                say(&format!("chaos, {name}: {job:?} failed"));
                continue;
            };
            tally.kills += done.kills;
            tally.redone += done.redone;
            tally.turns += done.turns;
            *identical += 1;
        }
    };
    thread::scope(|scope| {
        scope.spawn(worker);
        scope.spawn(worker);
    });
    let (tally, identical) = sum.into_inner().unwrap();
    say(&format!(
        "chaos, {name}: {} kills, {} of {} turns asked again, {identical} of {} summaries identical, {:.0} s",
        tally.kills,
        tally.redone,
        tally.turns,
        jobs.len(),
        began.elapsed().as_secs_f64(),
    ));
    assert_eq!(identical, jobs.len(), "{name}: see above");
    tally
}

/// Prints a line that the test harness does not hold back.
#[expect(clippy::explicit_write, reason = "the macro's line would be held back")]
pub(crate) fn say(line: &str) {
    writeln!(io::stderr(), "{line}").unwrap();
}
