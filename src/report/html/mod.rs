//! A run as one HTML page that needs nothing beside it: `farm report --format html`.
//!
//! What is the same for every run, tables of figures included, is written by a template that escapes
//! what it is given. What a person sorts, filters and opens is data in JSON, of which the page's
//! script makes text and nothing else. The page forbids itself every source but its own.

mod cases;
mod data;
mod element;
mod escape;
mod overview;
mod policy;
mod sessions;
mod steps;
#[cfg(test)]
mod tests;
mod traces;

use std::io;

use minijinja::{Environment, value::Serde};
use serde::Serialize;

use crate::{
    domain::{Case, Summary, shell},
    error::{Context, Result},
    report::forest,
    store::{Export, Manifest},
};
use data::Data;
use element::put;
use sessions::Sessions;
use traces::Held;
pub use traces::Traces;

/// The name says that what it is given is escaped for HTML.
const NAME: &str = "page.html";
const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(
    "\"use strict\";\n",
    include_str!("dom.js"),
    include_str!("table.js"),
    include_str!("chart.js"),
    include_str!("trace.js"),
    include_str!("page.js"),
);

/// Rows of cases up to which the plot is shown before it is asked for.
const OPEN_PLOT: usize = 50;

/// What a page shows.
pub struct Page<'a> {
    /// The run as the user may name it, for the commands in hints.
    pub run: &'a str,
    /// What the run is made of.
    pub manifest: &'a Manifest,
    /// Its figures.
    pub summary: &'a Summary,
    /// The public halves of its cases.
    pub cases: &'a [Case],
    /// Its sessions; none when its database is not there, as in a published run.
    pub sessions: Option<&'a Export<'a>>,
    /// Which of their traces are in the page.
    pub traces: Traces,
}

/// Writes the page. Of traces and of lists of sessions, one is in memory at a time.
///
/// # Errors
/// When the sessions cannot be read, or `out` cannot be written to.
pub fn write(page: &Page<'_>, out: &mut dyn io::Write) -> Result<()> {
    let out = &mut io::BufWriter::new(out);
    put(out, top(page)?)?;
    let (sessions, words) = match page.sessions {
        None => (None, Vec::new()),
        Some(export) => {
            let words = Held::write(export, page.traces, out)?.words(&shell(page.run));
            (Some(Sessions::write(export, out)?), words)
        }
    };
    let data = Data::new(page, sessions, &words.join(" "));
    element::data(out, "data", &data)?;
    put(out, format!("<script>{SCRIPT}</script>\n"))?;
    put(out, "</body>\n</html>\n")?;
    element::flush(out)
}

/// All that stands above the data.
fn top(page: &Page<'_>) -> Result<String> {
    let top = Top {
        policy: policy::policy(STYLE, SCRIPT),
        style: STYLE,
        run: overview::Run::new(page),
        warnings: overview::warnings(page),
        variants: overview::variants(page.summary),
        ledger: overview::ledger(page.summary),
        figures: overview::figures(page.summary),
        notes: overview::notes(page.summary),
        answered: overview::answered(page.summary),
        is_plot_open: page.cases.len() * page.summary.variants.len() <= OPEN_PLOT,
        forest: escape::image(&forest::render(page.summary, Some(forest::MARKS))),
        has_sessions: page.sessions.is_some(),
    };
    let failed = || "the page's template failed".to_owned();
    let mut env = Environment::new();
    env.add_template(NAME, PAGE).internal(failed)?;
    let template = env.get_template(NAME).internal(failed)?;
    template.render(Serde(top)).internal(failed)
}

/// What the template is given.
#[derive(Serialize)]
struct Top {
    policy: String,
    style: &'static str,
    run: overview::Run,
    warnings: Vec<Vec<overview::Part>>,
    variants: Vec<overview::Variant>,
    ledger: overview::LedgerTable,
    figures: Vec<overview::Group>,
    notes: Vec<String>,
    answered: Vec<overview::Answered>,
    is_plot_open: bool,
    /// The plot of pass rates, as the address of an image.
    forest: String,
    has_sessions: bool,
}
