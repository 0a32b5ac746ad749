//! The list of sessions, said briefly: there may be many.

use std::{collections::HashMap, hash::Hash};

use serde::Serialize;

use super::{escape::name, traces::Chosen};
use crate::{
    domain::SessionState,
    error::Result,
    store::{Export, Score, SessionRow},
};

/// All planned sessions.
#[derive(Default, Serialize)]
pub(super) struct Sessions {
    /// The names of checks that failed somewhere.
    checks: Index<String>,
    /// The ways in which sessions stand.
    ways: Index<Way>,
    /// One a variant and case.
    groups: Vec<Group>,
}

/// One way to stand; sessions name it by its index.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
struct Way {
    state: SessionState,
    /// `interrupted` while it is open, as its trace says; null when it never began.
    status: Option<&'static str>,
    limit: Option<&'static str>,
    /// Indices of the checks that failed.
    failed: Vec<usize>,
}

/// The sessions of one case under one variant, seeds ascending without a gap.
#[derive(Serialize)]
struct Group {
    /// Index of the variant.
    variant: usize,
    /// Index of the case.
    case: usize,
    /// The first seed.
    seed: u64,
    /// Indices of ways.
    ways: Vec<usize>,
    steps: Vec<Option<u32>>,
    /// US dollars.
    cost: Vec<Option<f64>>,
    /// A `1` for each whose trace is in the page, a `0` for others.
    traces: String,
}

impl Sessions {
    /// Reads them, one at a time.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn read(export: &Export<'_>, chosen: &Chosen) -> Result<Self> {
        let mut sessions = Self::default();
        let grid = export.grid;
        for variant in 0..grid.variants.len() {
            for case in 0..grid.cases.len() {
                let mut group = Group {
                    variant,
                    case,
                    seed: grid.seeds.start,
                    ways: Vec::new(),
                    steps: Vec::new(),
                    cost: Vec::new(),
                    traces: String::new(),
                };
                for row in export.reader.rows_of(grid, variant, case) {
                    let (id, row) = row?;
                    let outcome = row.as_ref().and_then(|row| row.outcome.as_ref());
                    group.steps.push(outcome.map(|o| o.steps_used));
                    group.cost.push(outcome.and_then(|o| o.cost_usd));
                    group.ways.push(sessions.way(row.as_ref()));
                    group.traces.push(match chosen.has(id) {
                        true => '1',
                        false => '0',
                    });
                }
                sessions.groups.push(group);
            }
        }
        Ok(sessions)
    }

    fn way(&mut self, row: Option<&SessionRow>) -> usize {
        let outcome = row.and_then(|row| row.outcome.as_ref());
        let failed = match row.and_then(|row| row.score.as_ref()) {
            Some(Score::Judged(checks)) => {
                let failed = checks.iter().filter(|check| !check.passed);
                failed
                    .map(|check| self.checks.of(name(&check.name)))
                    .collect()
            }
            _ => Vec::new(),
        };
        self.ways.of(Way {
            state: row.map_or(SessionState::NotRun, SessionRow::state),
            status: row.map(|row| row.status().as_str()),
            limit: outcome
                .and_then(|outcome| outcome.limit)
                .map(|limit| limit.as_str()),
            failed,
        })
    }
}

/// Values by the order in which they came, each once.
struct Index<T> {
    values: Vec<T>,
    places: HashMap<T, usize>,
}

impl<T: Clone + Eq + Hash> Index<T> {
    fn of(&mut self, value: T) -> usize {
        *self.places.entry(value).or_insert_with_key(|value| {
            self.values.push(value.clone());
            self.values.len() - 1
        })
    }
}

impl<T> Default for Index<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            places: HashMap::new(),
        }
    }
}

impl<T: Serialize> Serialize for Index<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.values.serialize(serializer)
    }
}
