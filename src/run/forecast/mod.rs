//! What a run would take, before it runs. Pure.

mod calls;
mod judge;

use super::Plan;
use crate::domain::{
    Price, SessionId,
    forecast::{Forecast, SCHEMA, Span, Takes, VariantForecast},
};
use calls::{CALLS, Calls, OBSERVATION_TOKENS, REPLY_TOKENS, TOKEN_BYTES, usd};

pub use judge::{KnownJudge, Work};

/// What calls of a model cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cost {
    /// Nothing: its model is not asked.
    Free,
    /// Its tokens at this price, up to a cap of its model, in US dollars.
    Priced(Price, Option<f64>),
    /// Nobody knows.
    Unknown,
}

/// What is known of a variant beside the plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Known {
    /// What its tokens cost.
    pub cost: Cost,
    /// The most tokens of one of its replies.
    pub output_limit: Option<u64>,
    /// What its sessions took in a pilot.
    pub pilot: Option<Taken>,
}

/// What a session takes, on average; null is unknown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Taken {
    /// Tokens of its requests.
    pub tokens_in: Option<f64>,
    /// Tokens of its replies.
    pub tokens_out: Option<f64>,
    /// US dollars.
    pub cost_usd: Option<f64>,
}

/// What holds the run in bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// The most US dollars that it may spend.
    pub max_cost_usd: Option<f64>,
    /// The most bytes that a tool brings.
    pub observation_bytes: u64,
}

/// What the run would take; `known` stands as the variants of the plan do.
#[must_use]
pub fn forecast(plan: &Plan, known: &[Known], judges: &[KnownJudge], bounds: Bounds) -> Forecast {
    let max_cost_usd = bounds.max_cost_usd;
    let variants: Vec<VariantForecast> = known
        .iter()
        .enumerate()
        .map(|(at, known)| of_variant(plan, at, known, bounds))
        .collect();
    let has_judges = !judges.is_empty();
    let judges: Vec<_> = judges
        .iter()
        .map(|judge| judge.forecast(plan, known, bounds))
        .collect();
    let sum = |of: fn(&Span<f64>) -> Option<f64>| -> Option<f64> {
        let variants = variants.iter().map(|v| &v.takes);
        let all = variants.chain(judges.iter().map(|j| &j.takes));
        all.map(|takes| of(&takes.cost_usd)).sum()
    };
    let capped = |usd: Option<f64>| match (usd, max_cost_usd) {
        (Some(usd), Some(cap)) => Some(usd.min(cap)),
        (usd, cap) => usd.or(cap),
    };
    Forecast {
        schema: SCHEMA.to_owned(),
        sessions: plan.grid.planned(),
        cost_usd: Span {
            likely: sum(|span| span.likely).map(|usd| max_cost_usd.map_or(usd, |cap| usd.min(cap))),
            most: capped(sum(|span| span.most)),
        },
        variants,
        judges,
        max_cost_usd,
        notes: notes(known, has_judges, bounds),
    }
}

/// One session of each case under a variant: its number, its most steps, and its own cap on money.
fn sessions(plan: &Plan, variant: usize) -> impl Iterator<Item = (SessionId, f64, Option<f64>)> {
    let grid = &plan.grid;
    let firsts = (0..grid.cases.len()).filter_map(move |case| grid.ids_of(variant, case).next());
    firsts.map(|id| {
        let limits = &plan.spec(id).limits;
        (id, f64::from(limits.max_steps), limits.max_cost_usd)
    })
}

/// Seeds of each case.
fn seeds(plan: &Plan) -> f64 {
    (plan.grid.seeds.end - plan.grid.seeds.start) as f64
}

fn of_variant(plan: &Plan, variant: usize, known: &Known, bounds: Bounds) -> VariantForecast {
    let grid = &plan.grid;
    let limit = known.output_limit.map(|tokens| tokens as f64);
    let (mut likely, mut most, mut most_usd) = (Vec::new(), Vec::new(), 0.0);
    for (id, steps, cap) in sessions(plan, variant) {
        let opening = plan.conversation(id).bytes() as f64;
        let reply = limit.map_or(REPLY_TOKENS, |limit| limit.min(REPLY_TOKENS));
        let more = (reply + OBSERVATION_TOKENS) * TOKEN_BYTES;
        likely.push(Calls::of_session(CALLS.min(steps), opening, more, reply));
        let reply = limit.unwrap_or(0.0);
        let more = reply * TOKEN_BYTES + bounds.observation_bytes as f64;
        let worst = Calls::of_session(steps, opening, more, reply);
        most.push(worst);
        let usd = known.cost.at_most(worst);
        most_usd += cap.map_or(usd, |cap| usd.min(cap));
    }
    let seeds = seeds(plan);
    let likely = likely.into_iter().sum::<Calls>().times(seeds);
    let most = most.into_iter().sum::<Calls>().times(seeds);
    let sessions = grid.planned() / grid.variants.len().max(1) as u64;
    // As the pilot took, where there is one.
    let piloted = |of: fn(&Taken) -> Option<f64>| {
        let mean = known.pilot.as_ref().and_then(of);
        mean.map(|mean| mean * sessions as f64)
    };
    let tokens_in = piloted(|t| t.tokens_in).unwrap_or(likely.tokens_in());
    let tokens_out = piloted(|t| t.tokens_out).unwrap_or(likely.tokens_out);
    let likely_usd = match known.cost {
        Cost::Free => Some(0.0),
        // One that cost nothing was of another kind.
        Cost::Unknown => piloted(|t| t.cost_usd).filter(|usd| *usd > 0.0),
        Cost::Priced(price, _) => Some(usd(price, tokens_in, tokens_out)),
    };
    VariantForecast {
        variant: grid.variants[variant].clone(),
        sessions,
        takes: Takes {
            calls: counts(Some(likely.calls), Some(most.calls)),
            tokens_in: counts(Some(tokens_in), limit.and(Some(most.bytes_in))),
            tokens_out: counts(Some(tokens_out), limit.and(Some(most.tokens_out))),
            cost_usd: known
                .cost
                .span(likely_usd, limit.and(Some(most_usd * seeds))),
        },
    }
}

impl Cost {
    /// The most that these calls can cost, where there is a price.
    fn at_most(self, calls: Calls) -> f64 {
        match self {
            Self::Priced(price, _) => calls.usd_at_most(price),
            Self::Free | Self::Unknown => 0.0,
        }
    }

    /// What is likely and what is most, as far as they are known, within the cap of the model.
    fn span(self, likely: Option<f64>, most: Option<f64>) -> Span<f64> {
        match self {
            Self::Free => Span {
                likely: Some(0.0),
                most: Some(0.0),
            },
            Self::Unknown => Span { likely, most: None },
            Self::Priced(_, cap) => {
                let held = |usd: f64| cap.map_or(usd, |cap| usd.min(cap));
                Span {
                    likely: likely.map(held),
                    most: most.map(held),
                }
            }
        }
    }
}

/// Whole numbers, rounded up.
fn counts(likely: Option<f64>, most: Option<f64>) -> Span<u64> {
    let whole = |n: f64| n.ceil() as u64;
    Span {
        likely: likely.map(whole),
        most: most.map(whole),
    }
}

fn notes(known: &[Known], has_judges: bool, bounds: Bounds) -> Vec<String> {
    let mut notes = Vec::new();
    if known.iter().any(|known| known.pilot.is_none()) {
        notes.push(format!(
            "likely: {CALLS} calls a session, {REPLY_TOKENS} tokens a reply, {OBSERVATION_TOKENS} \
             an observation, {TOKEN_BYTES} bytes a token; `--pilot RUN` takes the tokens from a run"
        ));
    }
    notes.push(format!(
        "most: every step is used, every reply is as long as its limit, every observation has {} \
         KiB, and every byte of a request is a token; calls that fail and are made again come on top",
        bounds.observation_bytes / 1024
    ));
    if known
        .iter()
        .any(|known| known.output_limit.is_none() && (known.cost != Cost::Free || has_judges))
    {
        notes.push("a reply without a limit (`max_tokens` in parameters) has no most".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: Price = Price {
        input: 1.0,
        cached: None,
        output: 10.0,
    };

    fn bounds(max_cost_usd: Option<f64>) -> Bounds {
        Bounds {
            max_cost_usd,
            observation_bytes: 65_536,
        }
    }

    #[test]
    fn what_a_plan_takes() {
        let plan = super::super::tests::plan_of(2, 2, 3);
        let known = |cost| Known {
            cost,
            output_limit: Some(100),
            pilot: None,
        };
        let priced = known(Cost::Priced(PRICE, Some(0.5)));
        let both = forecast(&plan, &[known(Cost::Free), priced], &[], bounds(Some(0.4)));
        assert_eq!(both.sessions, 12);
        let [free, paid] = &both.variants[..] else {
            panic!("{both:?}")
        };
        assert_eq!(free.sessions, 6);
        assert_eq!(free.takes.cost_usd.most, Some(0.0));
        assert_eq!(paid.takes.calls.likely, Some(18));
        assert_eq!(paid.takes.tokens_out.likely, Some(1800));
        assert_eq!(
            paid.takes.tokens_out.most,
            paid.takes.calls.most.map(|calls| calls * 100)
        );
        assert_eq!(paid.takes.cost_usd.most, Some(0.5), "the cap of the model");
        assert_eq!(both.cost_usd.most, Some(0.4), "the cap of the run");
        assert!(paid.takes.cost_usd.likely.unwrap() < 0.4);

        let pilot = Some(Taken {
            tokens_in: Some(1000.0),
            tokens_out: None,
            cost_usd: Some(0.01),
        });
        let piloted = Known { pilot, ..priced };
        let unknown = Known {
            output_limit: None,
            ..known(Cost::Unknown)
        };
        let told = forecast(&plan, &[unknown, piloted], &[], bounds(None));
        let [unpriced, priced] = &told.variants[..] else {
            panic!("{told:?}")
        };
        assert_eq!(priced.takes.tokens_in.likely, Some(6000));
        let usd = (6000.0 + 10.0 * 1800.0) / 1e6;
        assert_eq!(priced.takes.cost_usd.likely, Some(usd), "at its own price");
        assert_eq!(unpriced.takes.cost_usd.likely, None);
        assert_eq!(unpriced.takes.tokens_in.most, None);
        assert_eq!(told.cost_usd.likely, None, "one is unknown");
        let unpriced = Known { pilot, ..unknown };
        let told = forecast(&plan, &[unpriced, unpriced], &[], bounds(None));
        assert_eq!(told.variants[0].takes.cost_usd.likely, Some(0.06));
    }
}
