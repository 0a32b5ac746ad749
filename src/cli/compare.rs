//! `farm compare`: which of two or more variants is better.

use std::collections::HashSet;

use super::{
    args::{CompareArgs, CompareFormat},
    compared::compared,
    exit::{Exit, print, stream},
    gates::{Gates, said},
    report::say_how_it_stands,
    screen,
    side::Side,
};
use crate::{
    error::{Error, Result},
    report,
};

/// `farm compare SIDE…`.
pub(super) fn compare(args: &CompareArgs) -> Result<Exit> {
    let gates = Gates::parse(&args.gates)?;
    let mut sides = Vec::new();
    for spec in &args.sides {
        sides.extend(Side::find(spec)?);
    }
    let mut told = HashSet::new();
    for side in &sides {
        if told.insert(side.path()) {
            say_how_it_stands(&side.run.opened, &side.run.spec());
        }
    }
    let suite = sides.first().map(|side| side.manifest().suite);
    let suite = suite.ok_or_else(|| Error::input("nothing to compare"))?;
    let comparison = compared(&sides, &suite, args.margin)?;
    let (width, style) = (screen::width(), screen::style());
    match args.format {
        None => print(&report::comparison::terminal(
            &comparison,
            args.all,
            width,
            style,
        ))?,
        Some(CompareFormat::Md) => print(&report::comparison::markdown(&comparison, args.all))?,
        Some(CompareFormat::Json) => print(&report::json(&comparison)?)?,
        Some(CompareFormat::Csv) => stream(|out| report::csv::comparison(&comparison, out))?,
    }
    Ok(said(&gates.judge_sides(&sides, &comparison)?))
}
