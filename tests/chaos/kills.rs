//! farm is killed from outside, at any time.

use std::{thread, time::Duration};

use crate::{
    campaign::{Tally, campaign, say},
    compare::Reference,
    is_long,
    process::End,
    random::Random,
    run::Run,
    suite::Suite,
};

/// Sessions in flight.
const CONCURRENCY: u64 = 8;

/// Kills a run again and again, each time a random while after its process began, until it is
/// done in spite of it.
fn wear_down(suite: &Suite, undisturbed: &Reference, seed: u64) -> Tally {
    let mut random = Random::new(seed);
    let mut run = Run::new(suite, &format!("killed-{seed}"), CONCURRENCY);
    let mut first = run.start(None);
    // What comes before is for another test.
    assert!(first.until(|process| !process.log.asked.is_empty()));
    let mut process = first;
    loop {
        thread::sleep(Duration::from_millis(random.within(0..1400)));
        process.kill();
        match run.end(process) {
            End::Killed => process = run.start(None),
            End::Exit(code) => {
                assert_eq!(code, 0);
                break;
            }
        }
    }
    let tally = run.finish();
    undisturbed.is_met_by(&run);
    undisturbed.has_no_diff_to(&run);
    tally
}

#[test]
fn at_random_times_while_replies_are_slow() {
    let (seeds, kills) = if is_long() { ("240", 60) } else { ("40", 8) };
    let suite = Suite::small(100).with(&["--seeds", seeds]);
    let undisturbed = Reference::of(&suite, 200);
    say("chaos, kill -9 at random times: seeds 1 and 2");
    let tally = campaign("kill -9 at random times", &[1, 2], |seed| {
        wear_down(&suite, &undisturbed, *seed)
    });
    assert!(tally.kills >= 2 * kills, "{} kills", tally.kills);
}

#[test]
fn while_it_exports() {
    let kills = if is_long() { 200 } else { 12 };
    let suite = Suite::shipped().with(&["--seeds", "3"]);
    let undisturbed = Reference::of(&suite, 64);
    let mut random = Random::new(4);
    let jobs: Vec<_> = (0..kills).map(|n| (n, random.within(0..80))).collect();
    let tally = campaign("kill -9 while traces are written", &jobs, |(n, millis)| {
        let mut run = Run::new(&suite, &format!("exported-{n}"), 64);
        let mut process = run.start(None);
        assert!(process.until(|process| process.log.is_over));
        thread::sleep(Duration::from_millis(*millis));
        process.kill();
        run.end(process);
        let tally = run.finish();
        assert_eq!(tally.redone, 0);
        undisturbed.is_met_by(&run);
        tally
    });
    assert!(tally.kills >= jobs.len() / 3, "{} kills", tally.kills);
}
