//! What gates can name.

use super::Evidence;
use crate::{
    domain::{
        Amount, CaseSummary, Figure, Ledger, Rate, Reading, VariantSummary,
        comparison::{Ratio, SidePair},
    },
    error::nearest,
};

/// What a gate judges.
#[derive(Debug, Clone)]
pub struct Subject(Kind);

#[derive(Debug, Clone)]
enum Kind {
    /// A figure or a fact of a variant: `pass_rate`.
    Variant(OfVariant),
    /// `pass@K`.
    AtK(u32),
    /// `pass^K`.
    HatK(u32),
    /// A hidden metric: `metrics.NAME`.
    Metric(String),
    /// A figure of each case: `case.pass_rate`.
    Case(OfCase),
    /// Against a baseline: `diff.pass_rate`, `ratio.cost_usd`.
    Pair(OfPair),
}

type OfVariant = for<'a> fn(&'a VariantSummary, Reading) -> Measured<'a>;
pub(super) type OfCase = fn(&CaseSummary) -> Option<&Figure>;
type OfPair = fn(&SidePair, Reading) -> &Figure;

/// What there is to judge.
#[derive(Debug)]
pub(super) enum Measured<'a> {
    /// On its interval.
    Figure(&'a Figure),
    /// On its value; none when that is not known.
    Fact(Option<f64>),
    /// Nothing, for this reason.
    Absent(String),
}

/// Figures and facts of a variant. A total is a fact.
const VARIANT: [(&str, OfVariant); 16] = [
    ("pass_rate", |v, r| rate(&v.overall.pass_rate, r)),
    ("completion_rate", |v, r| {
        rate(&v.overall.completion_rate, r)
    }),
    ("verifier_score", |v, r| rate(&v.overall.verifier_score, r)),
    ("budget_exhaustion_rate", |v, r| {
        rate(&v.overall.budget_exhaustion_rate, r)
    }),
    ("fallback_stop_rate", |v, r| {
        rate(&v.overall.fallback_stop_rate, r)
    }),
    ("steps_to_completion", |v, _| {
        Measured::Figure(&v.overall.steps_to_completion.mean)
    }),
    ("blocked_steps", |v, _| total(&v.overall.blocked_steps)),
    ("blocked_steps.mean", |v, _| {
        Measured::Figure(&v.overall.blocked_steps.mean)
    }),
    ("tokens_in", |v, _| total(&v.overall.tokens_in)),
    ("tokens_in.mean", |v, _| {
        Measured::Figure(&v.overall.tokens_in.mean)
    }),
    ("tokens_out", |v, _| total(&v.overall.tokens_out)),
    ("tokens_out.mean", |v, _| {
        Measured::Figure(&v.overall.tokens_out.mean)
    }),
    ("cost_usd", |v, _| total(&v.overall.cost_usd)),
    ("cost_usd.mean", |v, _| {
        Measured::Figure(&v.overall.cost_usd.mean)
    }),
    ("cost_per_pass", |v, _| match &v.overall.cost_per_pass {
        Some(figure) => Measured::Figure(figure),
        None => Measured::Absent("the summary of an older farm does not hold it".to_owned()),
    }),
    ("missing", |v, _| count(&v.ledger, Ledger::missing)),
];

const CASE: [(&str, OfCase); 4] = [
    ("case.pass_rate", |c| Some(&c.pass_rate)),
    ("case.verifier_score", |c| Some(&c.verifier_score)),
    ("case.steps_to_completion", |c| Some(&c.steps.mean)),
    ("case.cost_usd.mean", |c| c.cost_usd.as_ref()),
];

const PAIR: [(&str, OfPair); 5] = [
    ("diff.pass_rate", |p, r| p.pass_rate.first(r)),
    ("ratio.steps_to_completion", |p, _| of(&p.steps)),
    ("ratio.tokens_in", |p, _| of(&p.tokens_in)),
    ("ratio.tokens_out", |p, _| of(&p.tokens_out)),
    ("ratio.cost_usd", |p, _| of(&p.cost_usd)),
];

/// Subjects with a name of the user's in them.
const OPEN: [&str; 3] = ["pass@K", "pass^K", "metrics.NAME"];

impl Subject {
    /// What a name stands for.
    ///
    /// # Errors
    /// Says which names there are.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        let k = |text: &str| text.parse().ok().filter(|k| *k > 0);
        if let Some(k) = name.strip_prefix("pass@").and_then(k) {
            return Ok(Self(Kind::AtK(k)));
        }
        if let Some(k) = name.strip_prefix("pass^").and_then(k) {
            return Ok(Self(Kind::HatK(k)));
        }
        if let Some(metric) = name.strip_prefix("metrics.") {
            return Ok(Self(Kind::Metric(metric.to_owned())));
        }
        find(&VARIANT, name)
            .map(Kind::Variant)
            .or_else(|| find(&CASE, name).map(Kind::Case))
            .or_else(|| find(&PAIR, name).map(Kind::Pair))
            .map(Self)
            .ok_or_else(|| unknown(name))
    }

    /// Whether it needs a baseline.
    #[must_use]
    pub fn compares(&self) -> bool {
        matches!(self.0, Kind::Pair(_))
    }

    /// The figure of a case that it judges, if it judges cases one by one.
    pub(super) fn of_case(&self) -> Option<OfCase> {
        match self.0 {
            Kind::Case(of) => Some(of),
            _ => None,
        }
    }

    pub(super) fn measured<'a>(&self, on: Evidence<'a>) -> Measured<'a> {
        let overall = &on.variant.overall;
        let found = match &self.0 {
            Kind::Variant(of) => return of(on.variant, on.reading),
            Kind::Case(_) => None,
            Kind::AtK(k) => overall.pass_at_k.get(k),
            Kind::HatK(k) => overall.pass_hat_k.get(k),
            Kind::Metric(name) => overall.metrics.get(name),
            Kind::Pair(of) => on.pair.map(|pair| of(pair, on.reading)),
        };
        match found {
            Some(figure) => Measured::Figure(figure),
            None => Measured::Absent("the run has no such figure".to_owned()),
        }
    }
}

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    let entry = table.iter().find(|(known, _)| *known == name);
    entry.map(|(_, of)| *of)
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> = (VARIANT.iter().map(|(name, _)| *name))
        .chain(CASE.iter().map(|(name, _)| *name))
        .chain(PAIR.iter().map(|(name, _)| *name))
        .chain(OPEN)
        .collect();
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("there is no figure {name}; did you mean {near}?"),
        None => format!("there is no figure {name}; there are {}", known.join(", ")),
    }
}

fn rate(rate: &Rate, reading: Reading) -> Measured<'_> {
    Measured::Figure(rate.first(reading))
}

fn total(amount: &Amount) -> Measured<'_> {
    Measured::Fact(amount.total)
}

fn count(ledger: &Ledger, of: fn(&Ledger) -> u64) -> Measured<'_> {
    Measured::Fact(Some(of(ledger) as f64))
}

fn of(ratio: &Ratio) -> &Figure {
    &ratio.ratio
}
