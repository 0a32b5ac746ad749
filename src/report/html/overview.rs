//! What the template is given: the run, its ledger and its figures, as text.

use serde::Serialize;

use super::Page;
use crate::{
    domain::{Figure, Ledger, Summary, VariantSummary},
    report::{
        cases,
        overall::{self, Form, Value},
        served::{self, Strata},
        text::{self, Unit},
        warnings,
    },
};

/// What the run is.
#[derive(Serialize)]
pub(super) struct Run {
    id: String,
    farm: String,
    created: String,
    /// The file of cases.
    suite: String,
    /// `30 cases × 12 seeds`.
    plan: String,
    /// Of the intervals: `95 %`.
    level: String,
    /// Which reading of rates comes first, in words.
    reading: &'static str,
}

/// A variant at a glance.
#[derive(Serialize)]
pub(super) struct Variant {
    name: String,
    pass: Cell,
    passed: String,
    scored: String,
    /// Where estimate and limits stand between 0 and 100; none without.
    at: Option<f64>,
    lo: f64,
    width: f64,
}

/// Sessions by state.
#[derive(Serialize)]
pub(super) struct LedgerTable {
    heads: Vec<String>,
    rows: Vec<LedgerRow>,
    planned: Vec<String>,
}

#[derive(Serialize)]
struct LedgerRow {
    state: &'static str,
    counts: Vec<String>,
    /// What the state means for the figures.
    mark: &'static str,
}

/// Figures that belong together.
#[derive(Serialize)]
pub(super) struct Group {
    name: &'static str,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    label: String,
    meaning: &'static str,
    /// How the intervals were made, each way once.
    method: String,
    cells: Vec<Cell>,
}

/// A figure: what is read first, and the rest.
#[derive(Serialize)]
struct Cell {
    main: String,
    rest: String,
}

/// A part of a sentence.
#[derive(Serialize)]
pub(super) struct Part {
    text: String,
    is_command: bool,
}

impl Run {
    pub fn new(page: &Page<'_>) -> Self {
        let manifest = page.manifest;
        let seeds = manifest
            .grid
            .seeds
            .end
            .saturating_sub(manifest.grid.seeds.start);
        let variants = manifest.grid.variants.len() as u64;
        let mut plan = vec![
            text::plural(manifest.grid.cases, "case"),
            text::plural(seeds, "seed"),
        ];
        if variants > 1 {
            plan.push(text::plural(variants, "variant"));
        }
        let level = page.summary.variants.first();
        Self {
            id: text::one_line(&manifest.run),
            farm: text::one_line(&manifest.farm),
            created: manifest.created.get(..16).map_or_else(
                || text::one_line(&manifest.created),
                |at| format!("{} UTC", at.replace('T', " ")),
            ),
            suite: text::one_line(&manifest.inputs.cases),
            plan: plan.join(" × "),
            level: level.map_or_else(String::new, |v| text::level(&v.overall.pass_rate.fixed)),
            reading: text::reading(page.summary.reading),
        }
    }
}

/// The variants with their pass rates.
pub(super) fn variants(summary: &Summary) -> Vec<Variant> {
    let of = |v: &VariantSummary| {
        let rate = v.overall.pass_rate.first(summary.reading);
        let percent = |x: f64| (x.clamp(0.0, 1.0) * 1000.0).round() / 10.0;
        let (lo, hi) = rate.lo.zip(rate.hi).unwrap_or((0.0, 0.0));
        Variant {
            name: v.variant.to_string(),
            pass: Cell::new(&text::bare(rate, Unit::Plain)),
            passed: text::count(v.ledger.passed),
            scored: text::count(v.ledger.scored()),
            at: rate.estimate.map(percent),
            lo: percent(lo),
            width: percent(hi - lo),
        }
    };
    summary.variants.iter().map(of).collect()
}

/// Sessions by state, a column a variant.
pub(super) fn ledger(summary: &Summary) -> LedgerTable {
    let mut heads: Vec<String> = summary
        .variants
        .iter()
        .map(|v| v.variant.to_string())
        .collect();
    let mut ledgers: Vec<&Ledger> = summary.variants.iter().map(|v| &v.ledger).collect();
    if summary.variants.len() != 1 {
        heads.push("all".to_owned());
        ledgers.push(&summary.ledger);
    }
    let all = summary.ledger.rows().into_iter().enumerate();
    let present = all.filter(|(_, (_, n))| *n > 0);
    let rows = present.map(|(i, (state, _))| LedgerRow {
        state,
        counts: ledgers
            .iter()
            .filter_map(|ledger| ledger.rows().get(i).map(|(_, n)| text::count(*n)))
            .collect(),
        mark: cases::mark(state),
    });
    LedgerTable {
        heads,
        rows: rows.collect(),
        planned: ledgers.iter().map(|l| text::count(l.planned)).collect(),
    }
}

/// All figures, in the order and words of the terminal.
pub(super) fn figures(summary: &Summary) -> Vec<Group> {
    let rates: Vec<&Figure> = summary
        .variants
        .iter()
        .map(|v| v.overall.pass_rate.first(summary.reading))
        .collect();
    let row = |row: overall::Row<'_>| {
        let cells = row.values.iter().zip(&rates);
        let mut methods: Vec<&str> = row.values.iter().filter_map(method).collect();
        methods.dedup();
        Row {
            cells: cells
                .map(|(value, rate)| Cell::new(&value.text(Form::Bare, rate)))
                .collect(),
            method: methods.join(", "),
            label: row.label,
            meaning: row.meaning,
        }
    };
    let groups = overall::groups(summary).into_iter();
    let mut groups: Vec<Group> = groups
        .map(|group| Group {
            name: group.name,
            rows: group.rows.into_iter().map(row).collect(),
        })
        .collect();
    if let Some(first) = groups.first_mut() {
        let scored = rates.iter().map(|rate| Cell::new(&text::sessions(rate)));
        first.rows.insert(
            0,
            Row {
                label: "sessions scored".to_owned(),
                meaning: "What the figures rest on; of those planned, when some are missing",
                method: String::new(),
                cells: scored.collect(),
            },
        );
    }
    groups
}

fn method<'a>(value: &Value<'a>) -> Option<&'a str> {
    match value {
        Value::Figure(figure, _) | Value::Completed(figure) if figure.lo.is_some() => {
            Some(text::method(&figure.method))
        }
        _ => None,
    }
}

/// What answered a variant.
#[derive(Serialize)]
pub(super) struct Answered {
    variant: String,
    common: String,
    differing: String,
    /// What answered; sessions, passed and scored ones; the pass rate.
    rows: Vec<(String, [String; 3], Cell)>,
    /// How many more rows there are, in words; empty where there are none.
    more: String,
    mixed: &'static str,
}

/// What answered the variants of which that is known.
pub(super) fn answered(summary: &Summary) -> Vec<Answered> {
    let of = |v: &VariantSummary| {
        let strata = Strata::of(v)?;
        let row = |row: served::Row| {
            let rate = Cell::new(&row.pass_rate);
            (row.served, [row.sessions, row.passed, row.scored], rate)
        };
        Some(Answered {
            variant: v.variant.to_string(),
            common: strata.common,
            differing: strata.differing,
            rows: strata.rows.into_iter().map(row).collect(),
            more: match strata.more {
                0 => String::new(),
                more => text::count(more),
            },
            mixed: served::MIXED,
        })
    };
    summary.variants.iter().filter_map(of).collect()
}

/// Why a reader should be careful.
pub(super) fn warnings(page: &Page<'_>) -> Vec<Vec<Part>> {
    let unfinished = warnings::unfinished(page.manifest.status, page.run);
    let unfinished = unfinished.map(|clause| clause + ".");
    let all = unfinished.into_iter();
    all.chain(warnings::of(page.summary, page.run))
        .map(|warning| parts(&warning))
        .collect()
}

/// What is undefined, and why.
pub(super) fn notes(summary: &Summary) -> Vec<String> {
    let notes = overall::notes(summary).into_iter();
    notes
        .map(|(note, labels)| format!("{note} ({})", labels.join(", ")))
        .collect()
}

/// A sentence with its commands set apart: they stand in backticks.
pub(super) fn parts(sentence: &str) -> Vec<Part> {
    let parts = sentence.split('`').enumerate();
    let parts = parts.map(|(i, part)| Part {
        text: text::visible(part),
        is_command: i % 2 == 1,
    });
    parts.filter(|part| !part.text.is_empty()).collect()
}

impl Cell {
    /// Sets apart what follows the estimate of a figure.
    fn new(text: &str) -> Self {
        let at = [" [", " n="]
            .iter()
            .filter_map(|mark| text.find(mark))
            .min();
        let (main, rest) = text.split_at(at.unwrap_or(text.len()));
        Self {
            main: main.to_owned(),
            rest: rest.trim_start().to_owned(),
        }
    }
}
