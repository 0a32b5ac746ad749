//! The figures of a run, case by case from the store: the same at any concurrency.

use std::collections::BTreeMap;

use super::{
    case::CaseData,
    figures::{amount, bounds, components, figure, known_of, rate},
};
use crate::{
    domain::{
        Figure, Grid, Ledger, Overall, Reading, SUMMARY_SCHEMA, SessionRecord, Steps, Summary,
        SummaryStatus, VariantName, VariantSummary,
    },
    error::Result,
    stats::{
        Case, Level, Tally, Units, missing,
        pass_k::{self, PassK},
        strata,
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
    })
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
    for (at, case) in by_id.iter().enumerate() {
        let mut data = CaseData::new(seeds);
        let mut records = Vec::new();
        for row in reader.rows_of(grid, variant, *case) {
            let (_, Some(row)) = row? else { continue };
            data.add(&row);
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
    Ok(of)
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

fn overall(
    grid: &Grid,
    by_id: &[usize],
    cases: &[CaseData],
    metrics: &BTreeMap<String, Vec<Case>>,
    units: &Units,
    level: Level,
) -> Overall {
    let scored: u64 = cases.iter().map(|c| c.ledger.scored()).sum();
    let share = |count: fn(&CaseData) -> u64| -> Vec<Case> {
        cases
            .iter()
            .map(|c| Case::from(c.tally(count(c))))
            .collect()
    };
    let means = |of: fn(&CaseData) -> &[f64]| -> Vec<Case> {
        cases.iter().map(|c| c.values(of(c))).collect()
    };
    let total = |of: fn(&CaseData) -> &[f64]| {
        let values: Vec<&[f64]> = cases.iter().map(of).collect();
        amount(&values, &means(of), scored, units, level)
    };
    let passed = share(|c| c.passed);
    let missing = missing::bounds(&passed, units);
    let tallies: Vec<Tally> = cases.iter().map(|c| c.tally(c.passed)).collect();
    let seeds = grid.seeds.end - grid.seeds.start;
    let pass_k = |kind: PassK| -> BTreeMap<u32, Figure> {
        ks(seeds)
            .map(|k| {
                (
                    k,
                    figure(pass_k::overall(kind, k.into(), &tallies, units, level).figure),
                )
            })
            .collect()
    };
    Overall {
        pass_rate_bounds: bounds(&missing),
        incomplete: missing.incomplete,
        left_out: by_id
            .iter()
            .zip(cases)
            .filter(|(_, c)| c.ledger.scored() == 0)
            .map(|(case, _)| grid.cases[*case].clone())
            .collect(),
        completion_rate: rate(&share(|c| c.completed), units, level),
        steps_to_completion: Steps {
            mean: figure(strata::log_t(&means(|c| &c.steps), units, level)),
            completed: cases.iter().map(|c| c.completed).sum(),
            scored,
        },
        verifier_score: rate(&means(|c| &c.scores), units, level),
        blocked_steps: total(|c| &c.blocked),
        budget_exhaustion_rate: rate(&share(|c| c.exhausted), units, level),
        fallback_stop_rate: rate(&share(|c| c.fell_back), units, level),
        tokens_in: total(|c| &c.tokens_in),
        tokens_out: total(|c| &c.tokens_out),
        cost_usd: total(|c| &c.cost_usd),
        cost_per_pass: Some(known_of(
            strata::log_t_ratio(&means(|c| &c.cost_usd), &passed, units, level),
            cases.iter().map(|c| c.cost_usd.len() as u64).sum(),
            scored,
        )),
        pass_at_k: pass_k(PassK::AtK),
        pass_hat_k: pass_k(PassK::HatK),
        variance: components(&passed),
        metrics: metrics
            .iter()
            .map(|(name, cases)| (name.clone(), metric(cases, units, level)))
            .collect(),
        pass_rate: rate(&passed, units, level),
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
