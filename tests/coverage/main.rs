//! How often the intervals hold the truth: the simulation that is the warrant of those that are
//! ours (`gen_jeffreys`, the clamps of `strat_wilson`, the seed noise of `reg_paired_t`).
//!
//! 168 settings (populations × cases × seeds), listed in `expected.jsonl` with what 10,000
//! replicates of each gave before, with another generator and another implementation: the coverage
//! of 95 % intervals, their mean width (tables A and B) and the share of p ≤ 0.05 (table C).
//! Every number found here must agree with the one listed within 4.5 standard errors of both
//! simulations together, plus the rounding of the list. The draws are the same on every run.
//!
//! Some hundred replicates a setting run with the other tests. All 10,000, with a table of what
//! was found and how far it is from the list:
//!
//! ```text
//! FARM_COVERAGE=long cargo test --release --test coverage -- --nocapture
//! ```

#![expect(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod agreement;
mod population;
mod simulation;
mod variates;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;

use agreement::{Deviation, deviations};
use simulation::{Found, simulate};

/// Replicates behind the list, and of the long form.
const LONG: u32 = 10_000;

/// Replicates of the short form.
const SHORT: u32 = 500;

/// Standard errors that a number may be away from the list.
const BOUND: f64 = 4.5;

/// Which interval, and of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Table {
    /// `gen_jeffreys` and the mean of the population that the cases were drawn from.
    A,
    /// `strat_wilson` and the mean of the true rates of these cases.
    B,
    /// `reg_paired_t` and the mean difference in the population.
    C,
}

/// One setting, and what is listed for it.
#[derive(Debug, Clone, Deserialize)]
struct Setting {
    table: Table,
    population: String,
    cases: usize,
    seeds: u64,
    /// Share of intervals that hold the truth.
    coverage: f64,
    /// Mean width of the intervals.
    width: Option<f64>,
    /// Share of p ≤ 0.05.
    rejected: Option<f64>,
}

impl Setting {
    fn name(&self) -> String {
        format!(
            "{:?}. {}, {}x{}",
            self.table, self.population, self.cases, self.seeds
        )
    }
}

/// Simulates all settings, on all cores; the results are in the order of the settings.
fn simulate_all(settings: &[Setting], replicates: u32) -> Vec<Found> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some((at, setting)) = {
            let at = next.fetch_add(1, Ordering::Relaxed);
            settings.get(at).map(|setting| (at, setting))
        } {
            found.push((at, simulate(setting, replicates)));
        }
        found
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut found: Vec<(usize, Found)> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        started
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, found)| found).collect()
}

#[test]
fn intervals_cover_what_they_say() {
    let settings: Vec<Setting> = include_str!("expected.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(settings.len(), 48 + 48 + 72, "settings in the list");

    let is_long = std::env::var_os("FARM_COVERAGE").is_some_and(|value| value == "long");
    let replicates = if is_long { LONG } else { SHORT };
    let found = simulate_all(&settings, replicates);
    let all: Vec<(&Setting, Vec<Deviation>)> = settings
        .iter()
        .zip(&found)
        .map(|(setting, found)| (setting, deviations(setting, found)))
        .collect();
    if is_long {
        for (setting, deviations) in &all {
            let cells: Vec<String> = deviations.iter().map(ToString::to_string).collect();
            println!("{:<44} {}", setting.name(), cells.join("   "));
        }
    }
    let each = || {
        all.iter()
            .flat_map(|(s, all)| all.iter().map(move |d| (s, d)))
    };
    let (setting, largest) = each()
        .max_by(|(_, a), (_, b)| a.errors.total_cmp(&b.errors))
        .unwrap();
    println!(
        "{replicates} replicates; furthest away: {}: {largest}",
        setting.name()
    );
    let far: Vec<String> = each()
        .filter(|(_, deviation)| deviation.errors > BOUND)
        .map(|(setting, deviation)| format!("{}: {deviation}", setting.name()))
        .collect();
    assert!(
        far.is_empty(),
        "{} numbers differ:\n{}",
        far.len(),
        far.join("\n")
    );
}
