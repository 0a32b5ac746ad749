//! `farm run CASES --dry-run`: what the run would take.

use super::{
    args::RunArgs,
    exit::{Exit, print},
    screen,
    setup::{Judging, Ready},
    side::Side,
};
use crate::{
    config::{ModelConfig, ModelKind, Variant},
    domain::{Overall, forecast::Judges},
    error::Result,
    report,
    run::forecast::{Bounds, Cost, Known, KnownJudge, Taken, Work, forecast},
};

/// Shows it; nothing is run.
pub(super) fn show(ready: &Ready, args: &RunArgs) -> Result<Exit> {
    let pilot = match &args.pilot {
        Some(spec) => Side::find(spec)?,
        None => Vec::new(),
    };
    let variants = ready.config.variants.iter();
    let known: Vec<Known> = variants.map(|variant| known(variant, &pilot)).collect();
    let judges = judges(ready);
    let bounds = Bounds {
        max_cost_usd: ready.config.run.max_cost_usd,
        observation_bytes: ready.config.tools.file_read_max_bytes,
    };
    let forecast = forecast(&ready.plan, &known, &judges, bounds);
    let text = match args.show.json {
        true => report::json(&forecast)?,
        false => report::forecast::render(&forecast, screen::style()),
    };
    print(&text)?;
    Ok(Exit::Done)
}

fn known(variant: &Variant, pilot: &[Side]) -> Known {
    let (cost, output_limit) = cost(&variant.model);
    // One variant stands for any.
    let same = pilot
        .iter()
        .find(|side| side.summary().variant == variant.name);
    let side = same.or(match pilot {
        [only] => Some(only),
        _ => None,
    });
    Known {
        cost,
        output_limit,
        pilot: side.map(|side| taken(&side.summary().overall)),
    }
}

/// What calls of a model cost, and the most tokens of a reply.
fn cost(model: &ModelConfig) -> (Cost, Option<u64>) {
    let ModelKind::OpenAi(live) = &model.kind else {
        return (Cost::Free, None);
    };
    let cost = match live.price {
        Some(price) => Cost::Priced(price, live.max_cost_usd),
        None => Cost::Unknown,
    };
    (cost, live.output_limit)
}

/// The judges that would be asked.
fn judges(ready: &Ready) -> Vec<KnownJudge> {
    let known = |judging: Judging<'_>| {
        let (cost, output_limit) = cost(judging.model);
        KnownJudge {
            work: work(ready, judging.judges),
            model: judging.model.name.to_string(),
            cost,
            output_limit,
            bytes: judging.judge.bytes(),
        }
    };
    ready.judges().into_iter().map(known).collect()
}

fn work(ready: &Ready, judges: Judges) -> Work {
    match judges {
        Judges::Steps => {
            let rubric = ready
                .config
                .session
                .judge
                .as_ref()
                .map(|judge| &judge.rubric);
            Work::Steps(rubric.map_or(0, String::len))
        }
        Judges::Sessions => {
            let cases = ready.plan.cases.iter().map(|planned| &planned.case.id);
            let sealed = ready.sealed.as_ref();
            let rubrics = |case| {
                sealed
                    .into_iter()
                    .flat_map(move |s| s.rubrics(case))
                    .collect()
            };
            Work::Sessions(cases.map(rubrics).collect())
        }
    }
}

fn taken(overall: &Overall) -> Taken {
    Taken {
        tokens_in: overall.tokens_in.mean.estimate,
        tokens_out: overall.tokens_out.mean.estimate,
        cost_usd: overall.cost_usd.mean.estimate,
    }
}
