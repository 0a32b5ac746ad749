//! SIGINT with a thousand sessions in flight: once, twice, three times; then it is resumed.

use crate::{
    campaign::{Tally, campaign},
    compare::Reference,
    process::{End, Process},
    run::Run,
    suite::Suite,
};

/// Sessions in flight.
const IN_FLIGHT: u64 = 1000;
/// Sessions in all.
const PLANNED: u64 = 1500;

const WINDING_DOWN: &str = "winding down: sessions in flight finish";
const INTERRUPTED: &str = "interrupted: sessions in flight are dropped";

/// Signals that were sent, and the exit code that is due.
const PRESSES: [(u32, i32); 3] = [(1, 3), (2, 3), (3, 130)];

#[test]
fn with_a_thousand_sessions_in_flight() {
    // Long enough that all are in flight before the first reply comes.
    let suite = Suite::small(1500).with(&["--seeds", "300"]);
    let undisturbed = Reference::of(&suite, PLANNED);
    campaign(
        "SIGINT with 1,000 in flight",
        &PRESSES,
        |&(presses, code)| {
            // The third may come when all is over already: then it is tried again.
            let (mut run, end) = (0..5)
                .map(|try_| interrupted(&suite, presses, try_))
                .find(|(_, end)| presses < 3 || *end == End::Exit(130))
                .expect("the third signal ends it");
            assert_eq!(end, End::Exit(code));
            if code == 3 {
                left(&run, presses);
            }
            run.concurrency = PLANNED;
            let tally = run.finish();
            undisturbed.is_met_by(&run);
            undisturbed.has_no_diff_to(&run);
            Tally {
                kills: presses as usize,
                ..tally
            }
        },
    );
}

/// Begins a run, waits until all credits are out, and sends so many signals, each when the last
/// one was heard.
fn interrupted<'s>(suite: &'s Suite, presses: u32, try_: u32) -> (Run<'s>, End) {
    let mut run = Run::new(suite, &format!("signal-{presses}-{try_}"), IN_FLIGHT);
    let mut process = run.start(None);
    assert!(process.until(|process| process.log.asked.len() as u64 >= IN_FLIGHT));
    let heard = [WINDING_DOWN, INTERRUPTED];
    for n in 0..presses as usize {
        if n > 0 {
            let says = |process: &mut Process| process.stderr().contains(heard[n - 1]);
            assert!(process.until(says), "{}", process.stderr());
        }
        process.interrupt();
    }
    let end = run.end(process);
    (run, end)
}

/// What a run that was ended by signals says of itself.
fn left(run: &Run<'_>, presses: u32) {
    assert_eq!(run.json("manifest.json")["status"], "interrupted");
    let summary = run.json("summary.json");
    assert_eq!(summary["status"], "partial");
    let of = |state: &str| summary["ledger"][state].as_u64().unwrap();
    assert_eq!(of("passed") + of("failed") + of("not_run"), PLANNED);
    let done = of("passed") + of("failed");
    // The first lets them finish, the second drops them.
    assert_eq!(done, if presses == 1 { IN_FLIGHT } else { 0 });
    assert!(!run.folder.join("work").exists());
}
