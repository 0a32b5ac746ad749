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
};

/// Compares sides, the first of which is the baseline.
///
/// # Errors
/// When there are fewer than two, one of them twice, or when they were not scored alike.
pub(super) fn compared(sides: &[Side], margin: Option<f64>) -> Result<Comparison> {
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
    let suite = &first.manifest().suite;
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
    Ok(aggregate::compare::compare(contenders, &terms))
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
