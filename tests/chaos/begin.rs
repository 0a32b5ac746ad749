//! farm is killed while it begins: there is a run that can be resumed, or farm says that nothing
//! is lost.

use std::{fs, process::Command, thread, time::Duration};

use crate::{
    campaign::{Tally, campaign},
    compare::Reference,
    is_long,
    process::{Process, farm},
    random::Random,
    run::Run,
    suite::Suite,
};

#[test]
fn while_it_begins() {
    let suite = Suite::small(0);
    let undisturbed = Reference::of(&suite, 1);
    let mut random = Random::new(3);
    let kills = if is_long() { 400 } else { 40 };
    let jobs: Vec<_> = (0..kills).map(|n| (n, random.within(0..60_000))).collect();
    campaign("kill -9 while it begins", &jobs, |(n, micros)| {
        let name = format!("begun-{n}");
        let run = Run::new(&suite, &name, 1);
        let folder = run.folder.to_str().unwrap();
        let args = suite.args.iter().map(String::as_str);
        let args: Vec<_> = ["run", "--quiet", "--out", folder]
            .into_iter()
            .chain(args)
            .collect();
        let mut process = Process::start(&suite, &run.folder, 0, &args, None);
        thread::sleep(Duration::from_micros(*micros));
        process.kill();
        process.wait();
        let mut resume: Command = farm(&suite);
        let said = resume.args(["resume", "--quiet", folder]).output().unwrap();
        let stderr = String::from_utf8(said.stderr).unwrap();
        if said.status.code() == Some(2) {
            let is_clear = ["is not a run", "there is no run", "farm rm"];
            assert!(
                is_clear.iter().any(|words| stderr.contains(words)),
                "{stderr}"
            );
            // What it left is in nobody's way.
            drop(fs::remove_dir_all(&run.folder));
            let said = farm(&suite).args(&args).output().unwrap();
            assert_eq!(said.status.code(), Some(0), "after {micros} µs");
        } else {
            assert_eq!(said.status.code(), Some(0), "after {micros} µs: {stderr}");
        }
        undisturbed.is_met_by(&run);
        Tally {
            kills: 1,
            ..Tally::default()
        }
    });
}
