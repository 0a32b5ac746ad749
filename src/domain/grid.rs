use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{CaseId, SessionKey, VariantName};

/// The number of a session in its run: its place in plan order, were the seeds to begin at 0.
/// It stays the same when seeds are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SessionId(pub u64);

/// Where a session stands in the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Index into [`Grid::variants`].
    pub variant: usize,
    /// Index into [`Grid::cases`].
    pub case: usize,
    /// The seed's index.
    pub seed: u64,
}

/// All planned sessions: cases × variants × seeds. Plan order is seed, then case, then variant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    /// In the order of the config.
    pub variants: Vec<VariantName>,
    /// In the order of the case file.
    pub cases: Vec<CaseId>,
    /// Half open.
    pub seeds: Range<u64>,
}

/// The most sessions of a run, counted from seed 0: far beyond what can be run, and far below what
/// a [`SessionId`] or SQLite can number.
pub const MAX_SESSIONS: u64 = 1 << 40;

/// A grid of more than [`MAX_SESSIONS`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{cases} cases × {variants} variants with the seeds {}..{} are more sessions than a run can \
     hold: at most {MAX_SESSIONS}, counted from seed 0", seeds.start, seeds.end
)]
pub struct TooManySessions {
    cases: usize,
    variants: usize,
    seeds: Range<u64>,
}

impl Grid {
    /// A grid whose sessions can be numbered.
    ///
    /// # Errors
    /// When there are more than [`MAX_SESSIONS`].
    pub fn new(
        variants: Vec<VariantName>,
        cases: Vec<CaseId>,
        seeds: Range<u64>,
    ) -> Result<Self, TooManySessions> {
        let row = (cases.len() as u64).checked_mul(variants.len() as u64);
        let last = row.and_then(|row| row.checked_mul(seeds.end));
        match last {
            Some(last) if last <= MAX_SESSIONS && seeds.start <= seeds.end => Ok(Self {
                variants,
                cases,
                seeds,
            }),
            _ => Err(TooManySessions {
                cases: cases.len(),
                variants: variants.len(),
                seeds,
            }),
        }
    }

    /// How many sessions are planned.
    #[must_use]
    pub fn planned(&self) -> u64 {
        self.row() * (self.seeds.end - self.seeds.start)
    }

    /// The numbers of all sessions.
    #[must_use]
    pub fn span(&self) -> Range<u64> {
        self.seeds.start * self.row()..self.seeds.end * self.row()
    }

    /// All sessions in plan order.
    pub fn ids(&self) -> impl Iterator<Item = SessionId> + use<> {
        self.span().map(SessionId)
    }

    /// The sessions of one case under one variant, seeds ascending.
    pub fn ids_of(&self, variant: usize, case: usize) -> impl Iterator<Item = SessionId> + '_ {
        self.seeds.clone().map(move |seed| {
            self.id(Cell {
                variant,
                case,
                seed,
            })
        })
    }

    /// The number of the session in a cell.
    #[must_use]
    pub fn id(&self, cell: Cell) -> SessionId {
        let in_row = cell.case * self.variants.len() + cell.variant;
        SessionId(cell.seed * self.row() + in_row as u64)
    }

    /// Where a session stands.
    #[must_use]
    pub fn cell(&self, id: SessionId) -> Cell {
        let in_row = (id.0 % self.row()) as usize;
        Cell {
            variant: in_row % self.variants.len(),
            case: in_row / self.variants.len(),
            seed: id.0 / self.row(),
        }
    }

    /// The name of a session.
    #[must_use]
    pub fn key(&self, id: SessionId) -> SessionKey {
        let cell = self.cell(id);
        SessionKey {
            variant: self.variants[cell.variant].clone(),
            case: self.cases[cell.case].clone(),
            seed: cell.seed,
        }
    }

    /// The number of a session of this grid, by name.
    #[must_use]
    pub fn find(&self, key: &SessionKey) -> Option<SessionId> {
        Some(self.id(Cell {
            variant: self.variants.iter().position(|v| *v == key.variant)?,
            case: self.cases.iter().position(|c| *c == key.case)?,
            seed: self.seeds.contains(&key.seed).then_some(key.seed)?,
        }))
    }

    fn row(&self) -> u64 {
        (self.cases.len() * self.variants.len()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_can_be_numbered() {
        let of = |cases: usize, seeds: Range<u64>| {
            let ids = (0..cases).map(|i| format!("c{i}").parse().unwrap());
            Grid::new(vec!["v".parse().unwrap()], ids.collect(), seeds).is_ok()
        };
        assert!(of(1, 0..1 << 40));
        assert!(of(1024, 7..1 << 30));
        assert!(!of(1, 0..(1 << 40) + 1));
        assert!(!of(1025, 0..1 << 30));
        assert!(!of(2, u64::MAX - 1..u64::MAX));
        assert!(!of(1, Range { start: 5, end: 3 }));
    }

    #[test]
    fn plan_order_is_seed_case_variant() {
        let grid = Grid {
            variants: vec!["v".parse().unwrap(), "w".parse().unwrap()],
            cases: vec!["b".parse().unwrap(), "a".parse().unwrap()],
            seeds: 3..5,
        };
        let keys: Vec<String> = grid.ids().map(|id| grid.key(id).to_string()).collect();
        assert_eq!(
            keys,
            [
                "v/b/3", "w/b/3", "v/a/3", "w/a/3", "v/b/4", "w/b/4", "v/a/4", "w/a/4"
            ]
        );
        assert_eq!(grid.planned(), 8);
        for id in grid.ids() {
            assert_eq!(grid.id(grid.cell(id)), id);
            assert_eq!(grid.find(&grid.key(id)), Some(id));
        }
        let of: Vec<u64> = grid.ids_of(1, 0).map(|id| grid.cell(id).seed).collect();
        assert_eq!(of, [3, 4]);
        assert_eq!(grid.find(&"v/a/5".parse().unwrap()), None);
    }
}
