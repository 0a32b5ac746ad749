//! `farm run CASES --dry-run`: what the run would take.

use super::{
    args::RunArgs,
    exit::{Exit, print},
    screen,
    setup::Ready,
    side::Side,
};
use crate::{
    config::{ModelKind, Variant},
    domain::Overall,
    error::Result,
    report,
    run::forecast::{Cost, Known, Taken, forecast},
};

/// Shows it; nothing is run.
pub(super) fn show(ready: &Ready, args: &RunArgs) -> Result<Exit> {
    let pilot = match &args.pilot {
        Some(spec) => Side::find(spec)?,
        None => Vec::new(),
    };
    let variants = ready.config.variants.iter();
    let known: Vec<Known> = variants.map(|variant| known(variant, &pilot)).collect();
    let forecast = forecast(&ready.plan, &known, ready.config.run.max_cost_usd);
    let text = match args.show.json {
        true => report::json(&forecast)?,
        false => report::forecast::render(&forecast, screen::style()),
    };
    print(&text)?;
    Ok(Exit::Done)
}

fn known(variant: &Variant, pilot: &[Side]) -> Known {
    let (cost, output_limit) = match &variant.model.kind {
        ModelKind::OpenAi(live) => {
            let cost = match live.price {
                Some(price) => Cost::Priced(price, live.max_cost_usd),
                None => Cost::Unknown,
            };
            (cost, live.output_limit)
        }
        _ => (Cost::Free, None),
    };
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

fn taken(overall: &Overall) -> Taken {
    Taken {
        tokens_in: overall.tokens_in.mean.estimate,
        tokens_out: overall.tokens_out.mean.estimate,
        cost_usd: overall.cost_usd.mean.estimate,
    }
}
