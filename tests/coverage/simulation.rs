//! One setting, many times over.

use farm::stats::paired::{Pair, reg_paired_t};
use farm::stats::{Case, Figure, Interval, Level, Tally, Units, strata};

use crate::population::{PairedRates, Rates};
use crate::variates::Variates;
use crate::{Setting, Table};

/// What the replicates of a setting found.
#[derive(Debug, Clone, Copy, Default)]
pub struct Found {
    /// Replicates.
    pub replicates: u32,
    /// Intervals that hold the truth.
    pub covered: u32,
    /// p ≤ 0.05.
    pub rejected: u32,
    /// Sum of the widths.
    pub width: f64,
    /// Sum of their squares.
    pub width_squared: f64,
}

impl Found {
    fn add(&mut self, Interval { lo, hi }: Interval, truth: f64, p: Option<f64>) {
        self.replicates += 1;
        self.covered += u32::from(lo <= truth && truth <= hi);
        self.rejected += u32::from(p.is_some_and(|p| p <= 0.05));
        self.width += hi - lo;
        self.width_squared += (hi - lo) * (hi - lo);
    }
}

/// The replicates of one setting. Its draws depend on its name alone.
pub fn simulate(setting: &Setting, replicates: u32) -> Found {
    let mut variates = Variates::new(&setting.name());
    let mut found = Found::default();
    for _ in 0..replicates {
        let (figure, truth, p) = match setting.table {
            Table::A | Table::B => one_run(setting, &mut variates),
            Table::C => two_runs(setting, &mut variates),
        };
        found.add(figure.interval().unwrap(), truth, p);
    }
    found
}

/// A run on cases drawn from a population, and what its interval is to hold.
fn one_run(setting: &Setting, variates: &mut Variates) -> (Figure, f64, Option<f64>) {
    let population = Rates::named(&setting.population);
    let (mut cases, mut sum) = (Vec::new(), 0.0);
    for _ in 0..setting.cases {
        let rate = population.draw(variates);
        sum += rate;
        cases.push(run_case(setting, rate, variates));
    }
    let (units, level) = (Units::default(), Level::default());
    match setting.table {
        Table::A => (
            strata::gen_jeffreys(&cases, &units, level),
            population.mean(),
            None,
        ),
        _ => (
            strata::strat_wilson(&cases, &units, level),
            sum / setting.cases as f64,
            None,
        ),
    }
}

/// Two runs on the same cases.
fn two_runs(setting: &Setting, variates: &mut Variates) -> (Figure, f64, Option<f64>) {
    let population = PairedRates::named(&setting.population);
    let mut pairs = Vec::new();
    for _ in 0..setting.cases {
        let (a, b) = population.draw(variates);
        pairs.push(Pair {
            a: run_case(setting, a, variates),
            b: run_case(setting, b, variates),
        });
    }
    let paired = reg_paired_t(&pairs, &Units::default(), Level::default());
    (paired.figure, population.mean_difference(), paired.p)
}

/// The sessions of a case that passes with chance `rate`.
fn run_case(setting: &Setting, rate: f64, variates: &mut Variates) -> Case {
    let passed = variates.binomial(setting.seeds, rate);
    Case::from(Tally {
        passed,
        scored: setting.seeds,
        planned: setting.seeds,
    })
}
