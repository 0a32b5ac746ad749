//! Counts of a run while it goes on.

use super::{Cell, Grid, Ledger, SessionState};

/// How far a run is: counts that grow as sessions settle. What progress shows.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// The whole run.
    pub ledger: Ledger,
    /// Sessions in flight.
    pub in_flight: usize,
    /// Sessions that a model is still to grade, once all are over.
    pub to_grade: usize,
    /// Whether nothing new starts any more.
    pub winding_down: bool,
    /// US dollars of all settled sessions, as far as known.
    pub cost_usd: f64,
    /// Restarts after infrastructure failures.
    pub restarts: u64,
    /// Passed and scored sessions of each case, variant by variant.
    pub cases: Vec<Vec<(u32, u32)>>,
}

impl Tally {
    /// Of a run that has not begun.
    #[must_use]
    pub fn of(grid: &Grid) -> Self {
        Self {
            ledger: Ledger::planned(grid.planned()),
            cases: vec![vec![(0, 0); grid.cases.len()]; grid.variants.len()],
            ..Self::default()
        }
    }

    /// Takes the end of one session.
    pub fn settle(&mut self, cell: Cell, state: SessionState) {
        self.change(cell, SessionState::NotRun, state);
    }

    /// Takes a session that has no verdict out of one state into another.
    pub fn change(&mut self, cell: Cell, from: SessionState, state: SessionState) {
        self.ledger.change(from, state);
        let passed = match state {
            SessionState::Passed => 1,
            SessionState::Failed => 0,
            _ => return,
        };
        if let Some((k, n)) = self
            .cases
            .get_mut(cell.variant)
            .and_then(|v| v.get_mut(cell.case))
        {
            *k += passed;
            *n += 1;
        }
    }
}
