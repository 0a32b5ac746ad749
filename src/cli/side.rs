//! Runs and their variants as they are named on the command line: RUN or RUN/VARIANT.

use std::{collections::HashSet, path::PathBuf, rc::Rc};

use super::opened::{Opened, run_and_variant};
use crate::{
    domain::{Summary, VariantSummary, absolute},
    error::{Error, Result},
    store::Manifest,
};

/// A run with its figures.
pub(super) struct Loaded {
    pub opened: Opened,
    pub summary: Summary,
}

/// One variant of a run.
#[derive(Clone)]
pub(super) struct Side {
    pub run: Rc<Loaded>,
    /// Its place in the run.
    pub at: usize,
}

impl Side {
    /// All variants that a text names: those of a run, or one of them.
    ///
    /// # Errors
    /// When there is no such run, or it has no such variant.
    pub fn find(spec: &str) -> Result<Vec<Self>> {
        let (opened, variant) = run_and_variant(spec, Opened::find)?;
        let summary = opened.summary()?;
        let run = Rc::new(Loaded { opened, summary });
        let found: Vec<Self> = Self::all(&run)
            .into_iter()
            .filter(|side| variant.is_none_or(|v| side.summary().variant.as_str() == v))
            .collect();
        if found.is_empty() {
            let known: Vec<&str> = run
                .summary
                .variants
                .iter()
                .map(|v| v.variant.as_str())
                .collect();
            let (run, variant) = (run.spec(), variant.unwrap_or_default());
            return Err(Error::input(format!("run {run} has no variant {variant}"))
                .hint(format!("it has {}", known.join(", "))));
        }
        Ok(found)
    }

    /// All variants of a run.
    pub fn all(run: &Rc<Loaded>) -> Vec<Self> {
        let variants = 0..run.summary.variants.len();
        variants
            .map(|at| Self {
                run: run.clone(),
                at,
            })
            .collect()
    }

    /// Refuses to take a side twice.
    ///
    /// # Errors
    /// When the same variant of the same run folder is named again.
    pub fn refuse_same(sides: &[Self]) -> Result<()> {
        let mut known = HashSet::new();
        let mut again = sides
            .iter()
            .filter(|side| !known.insert((side.path(), side.at)));
        match again.next() {
            Some(side) => Err(Error::input(format!("{} is named twice", side.spec()))
                .hint("name two runs, or two variants of one")),
            None => Ok(()),
        }
    }

    /// The folder of its run, however it was named.
    pub fn path(&self) -> PathBuf {
        absolute(self.run.opened.folder.path())
    }

    /// Its figures.
    pub fn summary(&self) -> &VariantSummary {
        &self.run.summary.variants[self.at]
    }

    /// What its run was made of.
    pub fn manifest(&self) -> &Manifest {
        &self.run.opened.manifest
    }

    /// As the user may name it: RUN/VARIANT.
    pub fn spec(&self) -> String {
        format!("{}/{}", self.run.spec(), self.summary().variant)
    }
}

impl Loaded {
    /// As the user may name it.
    pub fn spec(&self) -> String {
        self.opened.spec()
    }
}
