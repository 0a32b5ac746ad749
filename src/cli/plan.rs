//! `farm plan [A [B]]`: what it takes to show a difference, from runs or from the config.

use std::path::PathBuf;

use serde_json::{Map, Value};

use super::{
    args::{InputArgs, PlanArgs},
    exit::{Exit, print, say},
    report::say_how_it_stands,
    scoring::Scoring,
    screen, setup,
    side::Side,
    summary,
};
use crate::{
    aggregate::{self, Question},
    domain::{plan::Replies, shell},
    error::{Error, Result},
    report,
    stats::Level,
    store::Timing,
};

/// `farm plan [A [B]]`.
pub(super) fn plan(args: &PlanArgs) -> Result<Exit> {
    let difference = args.difference;
    if difference.is_some_and(|d| !(d > 0.0 && d <= 1.0)) {
        return Err(Error::input("--difference is not above 0 and at most 1")
            .hint("0.05 is five sessions more that pass, of a hundred"));
    }
    if !(0.5..1.0).contains(&args.power) {
        return Err(Error::input("--power is not from 0.5 to below 1")
            .hint("0.8 finds a difference that is there four times in five"));
    }
    let sides = sides(args)?;
    let (level, seeds, zero_temperature) = match sides.first() {
        Some(side) => (side.manifest().suite.level, None, zero_temperature(&sides)),
        None => of_config()?,
    };
    let asked = Question {
        difference,
        power: args.power,
        level: match args.level {
            Some(level) => Level::new(level).map_err(|e| Error::input(format!("--level: {e}")))?,
            None => summary::level(level)?,
        },
        units: args.cases,
        seeds: args.seeds.or(seeds),
        zero_temperature,
    };
    let pilot = sides.iter().map(pilot).collect::<Result<Vec<_>>>()?;
    let plan = aggregate::plan(&pilot, &asked);
    let text = match args.json {
        true => report::json(&plan)?,
        false => report::plan::render(&plan, screen::width(), screen::style()),
    };
    print(&text)?;
    Ok(Exit::Done)
}

/// The variants that are named: two, one or none.
fn sides(args: &PlanArgs) -> Result<Vec<Side>> {
    let Some(a) = &args.a else {
        return Ok(Vec::new());
    };
    let mut sides = Side::find(a)?;
    let most = match &args.b {
        None => 2,
        Some(_) => 1,
    };
    if sides.len() > most {
        return Err(too_many(a, &sides));
    }
    if let Some(b) = &args.b {
        let more = Side::find(b)?;
        if more.len() > 1 {
            return Err(too_many(b, &more));
        }
        sides.extend(more);
    }
    Side::refuse_same(&sides)?;
    if let [a, b] = sides.as_slice() {
        Scoring::of(a).refuse_other(&Scoring::of(b))?;
    }
    let mut told: Vec<PathBuf> = Vec::new();
    for side in &sides {
        if side.summary().ledger.scored() == 0 {
            let spec = side.spec();
            return Err(
                Error::input(format!("no session of {spec} is scored: it shows no noise")).hint(
                    format!(
                        "`farm resume {}` goes on with it, `--sealed FILE` scores it; `farm plan` without a \
                         run guesses",
                        shell(&side.run.spec())
                    ),
                ),
            );
        }
        if !told.contains(&side.path()) {
            say_how_it_stands(&side.run.opened, &side.run.spec());
            told.push(side.path());
        }
    }
    Ok(sides)
}

fn too_many(spec: &str, sides: &[Side]) -> Error {
    let names: Vec<String> = sides.iter().map(Side::spec).collect();
    Error::input(format!("{spec} has {} variants", sides.len()))
        .hint(format!("name those that are meant: {}", names.join(", ")))
}

/// The sides whose temperature is 0.
fn zero_temperature(sides: &[Side]) -> Vec<String> {
    let is_at_zero = |side: &&Side| {
        let variant = side.manifest().variants.get(side.at);
        variant.is_some_and(|variant| is_at_zero(&variant.parameters))
    };
    sides.iter().filter(is_at_zero).map(Side::spec).collect()
}

/// Level, seeds, and the variants whose temperature is 0.
fn of_config() -> Result<(f64, Option<u64>, Vec<String>)> {
    let config = setup::resolve(&InputArgs::default().request()?)?;
    let variants = config.variants.iter();
    let at_zero = variants.filter(|v| is_at_zero(&v.parameters));
    let at_zero = at_zero.map(|v| v.name.to_string()).collect();
    let seeds = config.run.seeds.range();
    Ok((config.suite.level, Some(seeds.end - seeds.start), at_zero))
}

fn is_at_zero(parameters: &Map<String, Value>) -> bool {
    parameters.get("temperature").and_then(Value::as_f64) == Some(0.0)
}

/// What there is to know of a variant that has run.
fn pilot(side: &Side) -> Result<aggregate::Pilot<'_>> {
    let opened = &side.run.opened;
    let cases = opened.cases.iter();
    let seeds = &opened.grid.seeds;
    Ok(aggregate::Pilot {
        run: side.run.spec(),
        summary: side.summary(),
        seeds: seeds.end - seeds.start,
        clusters: cases
            .filter_map(|case| Some((&case.id, case.cluster.as_deref()?)))
            .collect(),
        sessions_per_s: speed(side),
        replies: replies(side)?,
    })
}

/// Sessions that ended in the run, a second; none if it did not write that down.
fn speed(side: &Side) -> Option<f64> {
    let path = side.run.opened.folder.timing();
    if !path.exists() {
        return None;
    }
    let timing = Timing::read(&path)
        .inspect_err(|e| say(&format!("warning: {e}: time is unknown")))
        .ok()?;
    let sessions: u64 = timing.spans.iter().map(|span| span.sessions).sum();
    let wall_s: f64 = timing.spans.iter().map(|span| span.wall_s).sum();
    (sessions > 0 && wall_s > 0.0).then(|| sessions as f64 / wall_s)
}

/// How many different sessions each case had; none without a database.
fn replies(side: &Side) -> Result<Option<Vec<Replies>>> {
    let opened = &side.run.opened;
    let Some(reader) = opened.reader_if_begun()? else {
        return Ok(None);
    };
    reader
        .at_once(|| aggregate::replies(&reader, &opened.grid, side.at))
        .map(Some)
}
