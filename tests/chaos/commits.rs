//! farm aborts next to a commit.

use crate::{
    campaign::{Tally, campaign, say},
    compare::Reference,
    is_long,
    process::{Abort, End},
    random::Random,
    run::Run,
    suite::Suite,
};

/// A run that is aborted at each of these commits in turn, one a process. The store counts anew in
/// each process; one that has less to commit comes to its end by itself.
#[derive(Debug)]
struct Disturbed {
    name: String,
    /// Sessions in flight at first, and once it is resumed.
    concurrency: [u64; 2],
    aborts: Vec<Abort>,
}

impl Disturbed {
    /// Brings the run to its end; fails unless that is the one of the undisturbed run.
    fn finish(&self, suite: &Suite, undisturbed: &Reference) -> Tally {
        let [first, later] = self.concurrency;
        let mut run = Run::new(suite, &self.name, first);
        for abort in &self.aborts {
            let mut process = run.start(Some(*abort));
            match process.wait() {
                End::Killed => {}
                end => {
                    assert_eq!(end, End::Exit(0), "{}", process.stderr());
                    // How writes fall together varies a little from run to run.
                    let commits = process.log.commits.unwrap_or(0);
                    assert!(commits < abort.commit, "no abort");
                }
            }
            run.end(process);
            run.concurrency = later;
        }
        // Also when all is done: then everything stays as it is.
        let tally = run.finish();
        undisturbed.is_met_by(&run);
        // The same once more, so only where runs are small.
        if later == 1 {
            undisturbed.has_no_diff_to(&run);
        }
        std::fs::remove_dir_all(&run.folder).unwrap();
        tally
    }
}

#[test]
fn at_every_commit_of_a_small_run() {
    let seeds = if is_long() { "4" } else { "1" };
    let suite = Suite::small(0).with(&["--seeds", seeds]);
    let undisturbed = Reference::of(&suite, 1);
    let jobs: Vec<_> = (1..=undisturbed.commits)
        .flat_map(|commit| [false, true].map(|after| Abort { commit, after }))
        .map(|abort| Disturbed {
            name: format!("{}-{}", abort.commit, abort.after),
            concurrency: [1, 1],
            aborts: vec![abort],
        })
        .collect();
    let tally = campaign("an abort at every commit", &jobs, |job| {
        job.finish(&suite, &undisturbed)
    });
    // At least four commits a session, both moments.
    assert!(tally.kills >= 2 * 4 * 5, "{} kills", tally.kills);
}

#[test]
fn at_random_commits_of_the_suite() {
    const SEED: u64 = 20_261_201;
    let commits = if is_long() { 1000 } else { 100 };
    say(&format!("chaos, aborts in the suite: seed {SEED}"));
    let suite = Suite::shipped().with(&["--seeds", "12"]);
    // Sessions side by side share commits, so there are fewer.
    let references =
        [1, 4, 64].map(|concurrency| (concurrency, Reference::of(&suite, concurrency)));
    let mut random = Random::new(SEED);
    let jobs: Vec<_> = (0..commits)
        .map(|n| {
            let (concurrency, of) = &references[random.within(0..3) as usize];
            let mut abort = |commits: u64| Abort {
                commit: random.within(1..commits + 1),
                after: n % 2 == 0,
            };
            let mut aborts = vec![abort(of.commits)];
            // Every fifth is aborted again, up to three times, while it is resumed.
            if n % 5 == 0 {
                aborts.extend((0..n / 5 % 3 + 1).map(|_| abort(40)));
            }
            Disturbed {
                name: n.to_string(),
                concurrency: [*concurrency, 64],
                aborts,
            }
        })
        .collect();
    let (_, undisturbed) = &references[0];
    let tally = campaign("aborts in the suite", &jobs, |job| {
        job.finish(&suite, undisturbed)
    });
    assert!(tally.kills >= jobs.len(), "{} kills", tally.kills);
}
