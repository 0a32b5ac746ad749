//! `farm compare`: which of two or more variants is better.

use super::{
    args::{CompareArgs, CompareFormat},
    compared::compared,
    exit::{Exit, print, stream},
    gates::{Gates, said},
    screen,
    side::Side,
};
use crate::{error::Result, report};

/// `farm compare SIDE…`.
pub(super) fn compare(args: &CompareArgs) -> Result<Exit> {
    let gates = Gates::parse(&args.gates)?;
    let mut sides = Vec::new();
    for spec in &args.sides {
        sides.extend(Side::find(spec)?);
    }
    let comparison = compared(&sides, args.margin)?;
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
