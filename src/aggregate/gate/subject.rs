//! What gates can name.

use super::Evidence;
use crate::{
    aggregate::summary::ks,
    domain::{
        Amount, CaseSummary, Figure, GateUnit, Ledger, Rate, Reading, VariantSummary,
        comparison::{Ratio, SidePair},
    },
    error::nearest,
};

/// What a gate judges.
#[derive(Debug, Clone)]
pub struct Subject {
    kind: Kind,
    unit: GateUnit,
}

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
        let unit = match name {
            "diff.pass_rate" => GateUnit::Difference,
            _ if name.starts_with("ratio.") => GateUnit::Plain,
            _ if name.starts_with("metrics.") => GateUnit::Plain,
            _ if name.contains("cost") => GateUnit::Usd,
            _ if name.ends_with("_rate") || name.ends_with("_score") => GateUnit::Rate,
            _ if name.starts_with("pass@") || name.starts_with("pass^") => GateUnit::Rate,
            _ => GateUnit::Plain,
        };
        let kind = Kind::named(name).ok_or_else(|| unknown(name))?;
        Ok(Self { kind, unit })
    }

    /// Whether it needs a baseline.
    #[must_use]
    pub fn compares(&self) -> bool {
        matches!(self.kind, Kind::Pair(_))
    }

    /// What it is a quantity of.
    pub(super) fn unit(&self) -> GateUnit {
        self.unit
    }

    /// The values that it can have, where they are bounded on both sides.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        match self.unit {
            GateUnit::Difference => Some((-1.0, 1.0)),
            GateUnit::Rate => Some((0.0, 1.0)),
            GateUnit::Plain | GateUnit::Usd => None,
        }
    }

    /// Why no run over `seeds` seeds with these hidden metrics can have it, and what there is
    /// instead; `metrics` are none where they are not known.
    #[must_use]
    pub fn out_of_reach(&self, seeds: u64, metrics: Option<&[String]>) -> Option<String> {
        match &self.kind {
            Kind::AtK(k) | Kind::HatK(k) => {
                let known: Vec<String> = ks(seeds).map(|k| k.to_string()).collect();
                let is_known = ks(seeds).any(|known| known == *k);
                let known = known.join(", ");
                (!is_known)
                    .then(|| format!("of {seeds} seeds there is pass@k and pass^k for k = {known}"))
            }
            Kind::Metric(name) => match metrics? {
                known if known.contains(name) => None,
                [] => Some("the sealed halves define no metric".to_owned()),
                known => {
                    let known = known.join(", ");
                    Some(format!("the sealed halves define the metrics {known}"))
                }
            },
            _ => None,
        }
    }

    /// The figure of a case that it judges, if it judges cases one by one.
    pub(super) fn of_case(&self) -> Option<OfCase> {
        match self.kind {
            Kind::Case(of) => Some(of),
            _ => None,
        }
    }

    pub(super) fn measured<'a>(&self, on: Evidence<'a>) -> Measured<'a> {
        let overall = &on.variant.overall;
        let found = match &self.kind {
            Kind::Variant(of) => return of(on.variant, on.reading),
            Kind::Case(_) => None,
            Kind::AtK(k) => overall.pass_at_k.get(k),
            Kind::HatK(k) => overall.pass_hat_k.get(k),
            Kind::Metric(name) => overall.metrics.get(name),
            Kind::Pair(of) => on.pair.map(|pair| of(pair, on.reading)),
        };
        match found {
            Some(figure) => Measured::Figure(figure),
            None if matches!(self.kind, Kind::Metric(_)) => Measured::Absent(
                "the figures hold no such hidden metric: those computed anew leave them out"
                    .to_owned(),
            ),
            None => Measured::Absent("the run has no such figure".to_owned()),
        }
    }
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        let k = |text: &str| text.parse().ok().filter(|k| *k > 0);
        if let Some(k) = name.strip_prefix("pass@").and_then(k) {
            return Some(Self::AtK(k));
        }
        if let Some(k) = name.strip_prefix("pass^").and_then(k) {
            return Some(Self::HatK(k));
        }
        if let Some(metric) = name.strip_prefix("metrics.").filter(|m| !m.is_empty()) {
            return Some(Self::Metric(metric.to_owned()));
        }
        find(&VARIANT, name)
            .map(Self::Variant)
            .or_else(|| find(&CASE, name).map(Self::Case))
            .or_else(|| find(&PAIR, name).map(Self::Pair))
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
