//! The list of sessions, said briefly: there may be many.

use std::{collections::HashMap, hash::Hash, io};

use serde::Serialize;

use super::element;
use crate::{
    domain::SessionState,
    error::Result,
    report::text,
    store::{Export, Score, SessionRow},
};

/// What the sessions of all cases share. Each case has an element of its own.
#[derive(Serialize)]
pub(super) struct Sessions {
    first_seed: u64,
    /// The names of checks that failed somewhere.
    checks: Index<String>,
    /// The ways in which sessions stand.
    ways: Index<Way>,
}

/// One way to stand; sessions name it by its index.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
struct Way {
    state: SessionState,
    /// Its status, with the limit that it ran into; null when it never began.
    ended: Option<String>,
    /// Indices of the checks that failed.
    failed: Vec<usize>,
}

/// The sessions of one case under one variant, seeds ascending without a gap.
#[derive(Default, Serialize)]
struct Group {
    /// Indices of ways.
    ways: Vec<usize>,
    steps: Vec<Option<u32>>,
    /// US dollars.
    cost: Vec<Option<f64>>,
}

impl Sessions {
    /// Writes an element a variant and case, with all its planned sessions.
    ///
    /// # Errors
    /// When the database cannot be read, or `out` cannot be written to.
    pub fn write(export: &Export<'_>, out: &mut dyn io::Write) -> Result<Self> {
        let grid = export.grid;
        let mut sessions = Self {
            first_seed: grid.seeds.start,
            checks: Index::default(),
            ways: Index::default(),
        };
        for variant in 0..grid.variants.len() {
            for case in 0..grid.cases.len() {
                let mut group = Group::default();
                for row in export.reader.rows_of(grid, variant, case) {
                    let (_, row) = row?;
                    let outcome = row.as_ref().and_then(|row| row.outcome.as_ref());
                    group.steps.push(outcome.map(|o| o.steps_used));
                    group.cost.push(outcome.and_then(|o| o.cost_usd));
                    group.ways.push(sessions.way(row.as_ref()));
                }
                element::data(out, &format!("s-{variant}-{case}"), &group)?;
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
                    .map(|check| self.checks.of(text::one_line(&check.name)))
                    .collect()
            }
            _ => Vec::new(),
        };
        self.ways.of(Way {
            state: row.map_or(SessionState::NotRun, SessionRow::state),
            ended: row.map(|row| text::ended(row.status(), outcome.and_then(|o| o.limit))),
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
