use std::collections::{HashMap, HashSet};

use super::{
    args::{CompareArgs, CompareFormat},
    differs::differs,
    exit::{Exit, print},
    gates::Gates,
    scoring::Scoring,
    screen,
    side::Side,
    summary,
};
use crate::{
    aggregate::{
        self,
        compare::{Contender, Terms},
    },
    domain::{CaseId, comparison::Comparison},
    error::{Context, Error, Result},
    report,
};

/// `farm compare SIDE…`.
pub(super) fn compare(args: &CompareArgs) -> Result<Exit> {
    let gates = Gates::parse(&args.gates)?;
    if let Some(margin) = args.margin.filter(|m| !(*m > 0.0 && *m < 1.0)) {
        return Err(Error::input(format!(
            "--margin {margin} is not between 0 and 1"
        )));
    }
    let mut sides = Vec::new();
    for spec in &args.sides {
        sides.extend(Side::find(spec)?);
    }
    let comparison = compared(&sides, args.margin)?;
    let text = match args.format {
        None => report::comparison::terminal(&comparison, args.all, screen::style()),
        Some(CompareFormat::Md) => report::comparison::markdown(&comparison, args.all),
        Some(CompareFormat::Json) => report::json(&comparison)?,
        Some(CompareFormat::Csv) => {
            let mut rows = Vec::new();
            report::comparison::csv(&comparison, &mut rows).internal(|| "the rows".to_owned())?;
            String::from_utf8_lossy(&rows).into_owned()
        }
    };
    print(&text)?;
    gates.judge_sides(&sides, &comparison)
}

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
    let mut known = HashSet::new();
    for side in sides {
        if !known.insert((side.run.opened.folder.path(), side.at)) {
            return Err(Error::input(format!("{} is named twice", side.spec())));
        }
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

/// The variant, with its run where two sides have the same variant.
fn names(sides: &[Side]) -> Vec<String> {
    let variants = sides.iter().map(|side| &side.summary().variant);
    let is_enough = variants.collect::<HashSet<_>>().len() == sides.len();
    let name = |side: &Side| match is_enough {
        true => side.summary().variant.to_string(),
        false => side.spec(),
    };
    sides.iter().map(name).collect()
}
