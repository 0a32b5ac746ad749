//! The figures of a run, case by case from the store: the same at any concurrency.

use std::collections::BTreeMap;

use super::{
    case::CaseData,
    figures::{amount, bounds, components, figure, known_of, rate},
    served::Strata,
};
use crate::{
    domain::{
        Amount, Figure, Grid, Ledger, Overall, Overcharge, Rate, Reading, SUMMARY_SCHEMA,
        SessionRecord, Steps, Summary, SummaryStatus, VariantName, VariantSummary,
    },
    error::Result,
    stats::{
        Case, DIGITS, Level, Tally, Units, missing,
        pass_k::{self, PassK},
        round_sig, strata,
    },
    store::{Reader, SessionRow},
};

/// The k of pass@k and pass^k.
const KS: [u32; 5] = [1, 2, 3, 5, 10];

/// The k of pass@k and pass^k over so many seeds.
pub(super) fn ks(seeds: u64) -> impl Iterator<Item = u32> {
    KS.into_iter().filter(move |k| u64::from(*k) <= seeds)
}

/// How figures are computed.
pub struct Options<'a> {
    /// Confidence level of all intervals.
    pub level: Level,
    /// Which reading of a rate comes first.
    pub reading: Reading,
    /// The cluster of each case, in the order of the grid.
    pub clusters: &'a [Option<String>],
    /// Asks the scorer for the values of hidden metrics; none when it is not there to be asked.
    pub measure: Option<&'a dyn Fn(Vec<SessionRecord>) -> Result<Vec<Metric>>>,
}

/// A hidden metric that a case defines, with its values over some sessions of that case.
pub type Metric = (String, Vec<Option<f64>>);

/// Computes the figures of a run.
///
/// # Errors
/// When the store cannot be read or the scorer does not answer.
pub fn summarise(reader: &Reader, grid: &Grid, options: &Options<'_>) -> Result<Summary> {
    let by_id = sorted_by_id(grid);
    let units = Units::new(
        by_id
            .iter()
            .map(|case| options.clusters.get(*case).and_then(Option::as_deref)),
    );
    let variants = (0..grid.variants.len())
        .map(|variant| summarise_variant(reader, grid, options, variant, &by_id, &units))
        .collect::<Result<Vec<_>>>()?;
    let mut ledger = Ledger::default();
    variants.iter().for_each(|v| ledger.add(&v.ledger));
    let is_partial = ledger.errored + ledger.not_run + ledger.unscored > 0;
    Ok(Summary {
        schema: SUMMARY_SCHEMA.to_owned(),
        status: if is_partial {
            SummaryStatus::Partial
        } else {
            SummaryStatus::Complete
        },
        reading: options.reading,
        ledger,
        variants,
        overcharges: overcharges(reader)?,
    })
}

/// Calls that cost more than was reserved for them.
fn overcharges(reader: &Reader) -> Result<Vec<Overcharge>> {
    let models = reader.money()?.models.into_iter();
    let over = models.filter(|(_, spent)| spent.overcharges > 0);
    let told = over.map(|(model, spent)| Overcharge {
        model,
        calls: spent.overcharges,
        usd: round_sig(spent.overcharged_usd, DIGITS),
    });
    Ok(told.collect())
}

/// Arithmetic goes by id, whatever the order of the file.
fn sorted_by_id(grid: &Grid) -> Vec<usize> {
    let mut order: Vec<usize> = (0..grid.cases.len()).collect();
    order.sort_by(|a, b| grid.cases[*a].cmp(&grid.cases[*b]));
    order
}

fn summarise_variant(
    reader: &Reader,
    grid: &Grid,
    options: &Options<'_>,
    variant: usize,
    by_id: &[usize],
    units: &Units,
) -> Result<VariantSummary> {
    let seeds = grid.seeds.end - grid.seeds.start;
    let mut cases = Vec::with_capacity(by_id.len());
    let mut metrics: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    let mut strata = Strata::default();
    for (at, case) in by_id.iter().enumerate() {
        let mut data = CaseData::new(seeds);
        let mut records = Vec::new();
        for row in reader.rows_of(grid, variant, *case) {
            let (_, Some(row)) = row? else { continue };
            data.add(&row);
            strata.add(at, &row);
            records.extend(record(grid, &row).filter(|_| options.measure.is_some()));
        }
        if let Some(measure) = options.measure {
            for (name, values) in measure(records)? {
                let values: Vec<f64> = values.into_iter().flatten().collect();
                let of_metric = metrics
                    .entry(name)
                    .or_insert_with(|| vec![Case::default(); by_id.len()]);
                // A session without a value is missing from this figure, and counts as planned.
                of_metric[at] = data.values(&values);
            }
        }
        cases.push(data);
    }
    let name = grid.variants[variant].clone();
    let of = of_variant(name, grid, by_id, &cases, &metrics, units, options.level);
    Ok(VariantSummary {
        served: strata.figures(by_id.len(), units, options.level),
        ..of
    })
}

/// The figures of a variant from its cases, which stand as `by_id` does.
pub(super) fn of_variant(
    variant: VariantName,
    grid: &Grid,
    by_id: &[usize],
    cases: &[CaseData],
    metrics: &BTreeMap<String, Vec<Case>>,
    units: &Units,
    level: Level,
) -> VariantSummary {
    let mut ledger = Ledger::default();
    cases.iter().for_each(|c| ledger.add(&c.ledger));
    let mut summaries: Vec<_> = by_id
        .iter()
        .zip(cases)
        .map(|(case, data)| (case, data.summary(&grid.cases[*case], level)))
        .collect();
    summaries.sort_by_key(|(case, _)| **case);
    VariantSummary {
        variant,
        ledger,
        overall: overall(grid, by_id, cases, metrics, units, level),
        cases: summaries.into_iter().map(|(_, summary)| summary).collect(),
        served: Vec::new(),
    }
}

/// What hidden metrics look at: the end of a scored session.
fn record(grid: &Grid, row: &SessionRow) -> Option<SessionRecord> {
    let outcome = row.outcome.clone().filter(|_| row.state().is_scored())?;
    Some(SessionRecord {
        key: grid.key(row.session),
        outcome: outcome.into(),
        steps: Vec::new(),
    })
}

/// What the figures over all cases are made of.
struct Whole<'a> {
    /// In the order of their ids.
    cases: &'a [CaseData],
    units: &'a Units,
    level: Level,
}

impl Whole<'_> {
    fn sum(&self, of: fn(&CaseData) -> u64) -> u64 {
        self.cases.iter().map(of).sum()
    }

    /// The share of the scored sessions of each case that a count is of.
    fn shares(&self, count: fn(&CaseData) -> u64) -> Vec<Case> {
        let shares = self.cases.iter().map(|c| Case::from(c.tally(count(c))));
        shares.collect()
    }

    fn means(&self, of: fn(&CaseData) -> &[f64]) -> Vec<Case> {
        self.cases.iter().map(|c| c.values(of(c))).collect()
    }

    fn rate(&self, cases: &[Case]) -> Rate {
        rate(cases, self.units, self.level)
    }

    fn amount(&self, of: fn(&CaseData) -> &[f64]) -> Amount {
        let values: Vec<&[f64]> = self.cases.iter().map(of).collect();
        let scored = self.sum(|c| c.ledger.scored());
        amount(&values, &self.means(of), scored, self.units, self.level)
    }

    fn steps(&self) -> Steps {
        let mean = strata::log_t(&self.means(|c| &c.steps), self.units, self.level);
        Steps {
            mean: figure(mean),
            completed: self.sum(|c| c.completed),
            scored: self.sum(|c| c.ledger.scored()),
        }
    }

    fn cost_per_pass(&self, passed: &[Case]) -> Figure {
        let costs = self.means(|c| &c.cost_usd);
        let ratio = strata::log_t_ratio(&costs, passed, self.units, self.level);
        let known = self.sum(|c| c.cost_usd.len() as u64);
        known_of(ratio, known, self.sum(|c| c.ledger.scored()))
    }

    /// For each k up to the seeds.
    fn over_k(&self, kind: PassK, seeds: u64) -> BTreeMap<u32, Figure> {
        let tallies: Vec<Tally> = self.cases.iter().map(|c| c.tally(c.passed)).collect();
        let of = |k: u32| pass_k::overall(kind, k.into(), &tallies, self.units, self.level);
        ks(seeds).map(|k| (k, figure(of(k).figure))).collect()
    }
}

fn overall(
    grid: &Grid,
    by_id: &[usize],
    cases: &[CaseData],
    metrics: &BTreeMap<String, Vec<Case>>,
    units: &Units,
    level: Level,
) -> Overall {
    let of = Whole {
        cases,
        units,
        level,
    };
    let passed = of.shares(|c| c.passed);
    let missing = missing::bounds(&passed, units);
    let left_out = by_id.iter().zip(cases);
    let left_out = left_out.filter(|(_, case)| case.ledger.scored() == 0);
    let metrics = metrics.iter();
    let metrics = metrics.map(|(name, cases)| (name.clone(), metric(cases, units, level)));
    let seeds = grid.seeds.end - grid.seeds.start;
    Overall {
        pass_rate_bounds: bounds(&missing),
        incomplete: missing.incomplete,
        left_out: left_out.map(|(at, _)| grid.cases[*at].clone()).collect(),
        completion_rate: of.rate(&of.shares(|c| c.completed)),
        steps_to_completion: of.steps(),
        verifier_score: of.rate(&of.means(|c| &c.scores)),
        blocked_steps: of.amount(|c| &c.blocked),
        budget_exhaustion_rate: of.rate(&of.shares(|c| c.exhausted)),
        fallback_stop_rate: of.rate(&of.shares(|c| c.fell_back)),
        tokens_in: of.amount(|c| &c.tokens_in),
        tokens_out: of.amount(|c| &c.tokens_out),
        cost_usd: of.amount(|c| &c.cost_usd),
        cost_per_pass: Some(of.cost_per_pass(&passed)),
        pass_at_k: of.over_k(PassK::AtK, seeds),
        pass_hat_k: of.over_k(PassK::HatK, seeds),
        variance: components(&passed),
        metrics: metrics.collect(),
        pass_rate: of.rate(&passed),
    }
}

/// A hidden metric: a quantity like steps. The value of a single case stays sealed, and so does a
/// mean over one.
fn metric(cases: &[Case], units: &Units, level: Level) -> Figure {
    let mean = figure(strata::log_t(cases, units, level));
    if mean.n_cases > 1 {
        return mean;
    }
    Figure {
        estimate: None,
        lo: None,
        hi: None,
        note: Some("sealed: fewer than two cases have a value".to_owned()),
        ..mean
    }
}
