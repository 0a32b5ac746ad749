//! Kills spread over a run of 1,319 problems under two models, where these lie beside the
//! repository.

use std::path::Path;

use crate::{
    campaign::{Tally, campaign, say},
    compare::Reference,
    is_long,
    log::Log,
    process::End,
    random::Random,
    run::Run,
    suite::Suite,
};

/// Sessions of one seed.
const SESSIONS: u64 = 2 * 1319;

#[test]
fn spread_over_a_long_run() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/gsm8k");
    if !data.exists() {
        let is_required = std::env::var_os("FARM_REQUIRE_GSM8K").is_some_and(|v| v == "1");
        assert!(!is_required, "{} is not there", data.display());
        say(&format!("skipped: {} is not there", data.display()));
        return;
    }
    let (seeds, kills) = if is_long() { (8, 50) } else { (1, 3) };
    let suite = Suite::gsm8k(&data).with(&["--seeds", &seeds.to_string()]);
    let undisturbed = Reference::of(&suite, 64);
    let mut random = Random::new(7);
    let mut at: Vec<u64> = (0..kills)
        .map(|_| random.within(0..seeds * SESSIONS))
        .collect();
    at.sort_unstable();
    let tally = campaign("kill -9 over 1,319 problems and two models", &[at], |at| {
        killed_at(&suite, &undisturbed, at)
    });
    assert_eq!(tally.kills, kills as usize);
}

/// Kills a run each time that so many of its sessions are done.
fn killed_at(suite: &Suite, undisturbed: &Reference, at: &[u64]) -> Tally {
    let mut run = Run::new(suite, "killed", 64);
    let mut done = 0;
    for &at in at {
        let mut process = run.start(None);
        let left = at.saturating_sub(done);
        let begun = |log: &Log| !log.asked.is_empty() && log.settled >= left;
        assert!(
            process.until(|process| begun(&process.log)),
            "{}",
            process.stderr()
        );
        process.kill();
        assert_eq!(run.end(process), End::Killed);
        done = run.done() as u64;
    }
    let tally = run.finish();
    undisturbed.is_met_by(&run);
    undisturbed.has_no_diff_to(&run);
    tally
}
