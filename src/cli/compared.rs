//! Sides of the command line, compared.

use std::collections::{HashMap, HashSet};

use super::{differs::differs, scoring::Scoring, side::Side, summary};
use crate::{
    aggregate::{
        self,
        compare::{Contender, Terms},
    },
    domain::{CaseId, comparison::Comparison},
    error::{Error, Result},
    store::manifest::Suite,
};

/// Compares sides, the first of which is the baseline, in the reading and at the level of `suite`.
///
/// # Errors
/// When there are fewer than two, one of them twice, when they were not scored alike, or when two
/// have no scored case in common.
pub(super) fn compared(sides: &[Side], suite: &Suite, margin: Option<f64>) -> Result<Comparison> {
    let [first, rest @ ..] = sides else {
        return Err(Error::input("nothing to compare"));
    };
    if rest.is_empty() {
        return Err(
            Error::input(format!("{} alone cannot be compared", first.spec()))
                .hint("name a second side, RUN or RUN/VARIANT"),
        );
    }
    Side::refuse_same(sides)?;
    for side in rest {
        Scoring::of(first).refuse_other(&Scoring::of(side))?;
    }
    let mut clusters: HashMap<&CaseId, Option<&String>> = HashMap::new();
    for case in sides.iter().flat_map(|side| &side.run.opened.cases) {
        clusters.entry(&case.id).or_insert(case.cluster.as_ref());
    }
    let terms = Terms {
        reading: suite.cases,
        level: summary::level(suite.level)?,
        margin,
        cluster: &|id| clusters.get(id).copied().flatten().cloned(),
    };
    let contenders = sides
        .iter()
        .zip(names(sides))
        .map(|(side, name)| Contender {
            name,
            run: side.manifest().run.clone(),
            summary: side.summary(),
            differs: differs(first, side),
        })
        .collect();
    let comparison = aggregate::compare::compare(contenders, &terms);
    match &comparison.pairs[..] {
        [pair] if pair.cases.is_empty() => Err(Error::input(format!(
            "{} and {} have no case in common that is scored on both",
            pair.a, pair.b
        ))
        .hint("compare runs of the same cases")),
        _ => Ok(comparison),
    }
}

/// The variants of one run by their names, others with their runs.
fn names(sides: &[Side]) -> Vec<String> {
    let runs: HashSet<_> = sides.iter().map(Side::path).collect();
    let name = |side: &Side| match runs.len() {
        1 => side.summary().variant.to_string(),
        _ => side.spec(),
    };
    sides.iter().map(name).collect()
}
