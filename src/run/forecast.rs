//! What a run would take, before it runs. Pure.

use super::Plan;
use crate::domain::{
    Price, SessionId,
    forecast::{Forecast, SCHEMA, Span, VariantForecast},
};

/// Calls of a session, if nothing is known of it: a call of a tool, what comes of it, an answer.
const CALLS: f64 = 3.0;
/// Tokens of a reply.
const REPLY_TOKENS: f64 = 120.0;
/// Tokens of what a tool brings.
const OBSERVATION_TOKENS: f64 = 80.0;
/// Bytes of a token, on average.
const TOKEN_BYTES: f64 = 4.0;
/// The most bytes that a tool brings, or near enough.
const MOST_OBSERVATION: f64 = 65_536.0;

/// What a variant's sessions cost.
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

/// What the run would take; `known` stands as the variants of the plan do.
#[must_use]
pub fn forecast(plan: &Plan, known: &[Known], max_cost_usd: Option<f64>) -> Forecast {
    let variants: Vec<VariantForecast> = known
        .iter()
        .enumerate()
        .map(|(at, known)| of_variant(plan, at, known))
        .collect();
    let sum = |of: fn(&Span<f64>) -> Option<f64>| -> Option<f64> {
        variants.iter().map(|v| of(&v.cost_usd)).sum()
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
        max_cost_usd,
        notes: notes(known),
    }
}

/// What one session can take and is likely to.
#[derive(Default, Clone, Copy)]
struct Session {
    calls: f64,
    bytes_in: f64,
    tokens_in: f64,
    tokens_out: f64,
}

impl Session {
    /// Of `calls` calls, the first of which sends `opening` bytes, and each of the next as much more.
    fn of(calls: f64, opening: f64, more: f64, reply: f64) -> Self {
        let bytes_in = calls * opening + calls * (calls - 1.0) / 2.0 * more;
        Self {
            calls,
            bytes_in,
            tokens_in: bytes_in / TOKEN_BYTES,
            tokens_out: calls * reply,
        }
    }

    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.bytes_in += other.bytes_in;
        self.tokens_in += other.tokens_in;
        self.tokens_out += other.tokens_out;
    }
}

fn of_variant(plan: &Plan, variant: usize, known: &Known) -> VariantForecast {
    let grid = &plan.grid;
    let seeds = (grid.seeds.end - grid.seeds.start) as f64;
    let limit = known.output_limit.map(|tokens| tokens as f64);
    let (mut likely, mut most) = (Session::default(), Session::default());
    let mut most_usd = 0.0;
    for case in 0..grid.cases.len() {
        let at = (case * grid.variants.len() + variant) as u64;
        let id = SessionId(grid.span().start + at);
        let limits = &plan.spec(id).limits;
        let opening = opening_bytes(plan, id);
        let steps = f64::from(limits.max_steps);
        let reply = limit.map_or(REPLY_TOKENS, |limit| limit.min(REPLY_TOKENS));
        let more = (reply + OBSERVATION_TOKENS) * TOKEN_BYTES;
        likely.add(Session::of(CALLS.min(steps), opening, more, reply));
        let reply = limit.unwrap_or(0.0);
        let more = reply * TOKEN_BYTES + MOST_OBSERVATION;
        let worst = Session::of(steps, opening, more, reply);
        most.add(worst);
        let usd = usd_at_most(known.cost, worst);
        most_usd += limits.max_cost_usd.map_or(usd, |cap| usd.min(cap));
    }
    let sessions = grid.planned() / grid.variants.len().max(1) as u64;
    let all = |of_a_session: f64| Some((of_a_session * seeds).ceil() as u64);
    let taken = |of: fn(&Taken) -> Option<f64>| known.pilot.as_ref().and_then(of);
    let by_pilot = |of: fn(&Taken) -> Option<f64>| {
        taken(of).map(|mean| (mean * sessions as f64).ceil() as u64)
    };
    let cost_usd = match known.cost {
        Cost::Free => Span {
            likely: Some(0.0),
            most: Some(0.0),
        },
        Cost::Unknown => Span {
            likely: taken(|t| t.cost_usd).map(|usd| usd * sessions as f64),
            most: None,
        },
        Cost::Priced(price, cap) => {
            let tokens_in = taken(|t| t.tokens_in).map(|n| n * sessions as f64);
            let tokens_out = taken(|t| t.tokens_out).map(|n| n * sessions as f64);
            let guessed = usd(
                price,
                tokens_in.unwrap_or(likely.tokens_in * seeds),
                tokens_out.unwrap_or(likely.tokens_out * seeds),
            );
            let told = taken(|t| t.cost_usd).map(|usd| usd * sessions as f64);
            let held = |usd: f64| cap.map_or(usd, |cap| usd.min(cap));
            Span {
                likely: Some(held(told.unwrap_or(guessed))),
                most: known.output_limit.map(|_| held(most_usd * seeds)),
            }
        }
    };
    VariantForecast {
        variant: grid.variants[variant].clone(),
        sessions,
        calls: Span {
            likely: all(likely.calls),
            most: all(most.calls),
        },
        tokens_in: Span {
            likely: by_pilot(|t| t.tokens_in).or(all(likely.tokens_in)),
            most: limit.and(all(most.bytes_in)),
        },
        tokens_out: Span {
            likely: by_pilot(|t| t.tokens_out).or(all(likely.tokens_out)),
            most: limit.and(all(most.tokens_out)),
        },
        cost_usd,
    }
}

/// A token for each byte, as calls are reserved.
fn usd_at_most(cost: Cost, session: Session) -> f64 {
    match cost {
        Cost::Priced(price, _) => usd(price, session.bytes_in, session.tokens_out),
        Cost::Free | Cost::Unknown => 0.0,
    }
}

fn usd(price: Price, tokens_in: f64, tokens_out: f64) -> f64 {
    (tokens_in * price.input + tokens_out * price.output) / 1e6
}

/// Bytes of a session's first request, but for the name of its model.
fn opening_bytes(plan: &Plan, id: SessionId) -> f64 {
    let conversation = plan.conversation(id);
    let mut messages = Vec::new();
    conversation.write_messages(&mut messages);
    let shape = conversation.shape();
    (messages.len() + shape.along().len()) as f64
}

fn notes(known: &[Known]) -> Vec<String> {
    let mut notes = Vec::new();
    if known.iter().any(|known| known.pilot.is_none()) {
        notes.push(format!(
            "likely: {CALLS} calls a session, {REPLY_TOKENS} tokens a reply, {OBSERVATION_TOKENS} \
             an observation, {TOKEN_BYTES} bytes a token; `--pilot RUN` takes them from a run"
        ));
    }
    notes.push(format!(
        "most: every step is used, every reply is as long as its limit, every observation has {} \
         KiB, and every byte of a request is a token",
        MOST_OBSERVATION / 1024.0
    ));
    if known
        .iter()
        .any(|known| known.output_limit.is_none() && known.cost != Cost::Free)
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

    #[test]
    fn requests_grow_with_each_call() {
        let session = Session::of(3.0, 400.0, 100.0, 50.0);
        assert_eq!(session.bytes_in, 400.0 + 500.0 + 600.0);
        assert_eq!((session.tokens_in, session.tokens_out), (375.0, 150.0));
        assert_eq!(usd(PRICE, 1e6, 1e5), 2.0);
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
        let both = forecast(&plan, &[known(Cost::Free), priced], Some(0.4));
        assert_eq!(both.sessions, 12);
        let [free, paid] = &both.variants[..] else {
            panic!("{both:?}")
        };
        assert_eq!(free.sessions, 6);
        assert_eq!(free.cost_usd.most, Some(0.0));
        assert_eq!(paid.calls.likely, Some(18));
        assert_eq!(paid.tokens_out.likely, Some(1800));
        assert_eq!(
            paid.tokens_out.most,
            paid.calls.most.map(|calls| calls * 100)
        );
        assert_eq!(paid.cost_usd.most, Some(0.5), "the cap of the model");
        assert_eq!(both.cost_usd.most, Some(0.4), "the cap of the run");
        assert!(paid.cost_usd.likely.unwrap() < 0.4);

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
        let told = forecast(&plan, &[unknown, piloted], None);
        assert_eq!(told.variants[1].tokens_in.likely, Some(6000));
        assert_eq!(told.variants[1].cost_usd.likely, Some(0.06));
        assert_eq!(told.variants[0].cost_usd.likely, None);
        assert_eq!(told.variants[0].tokens_in.most, None);
        assert_eq!(told.cost_usd.likely, None, "one is unknown");
    }
}
