//! What the page's script is given.

use serde::Serialize;

use super::{
    Page,
    cases::{self, CaseRow},
    overview::{self, Part},
    sessions::Sessions,
};
use crate::{domain::shell, report::text};

/// The data of the page, but for the traces.
#[derive(Serialize)]
pub(super) struct Data<'a> {
    /// The run as a shell reads it, for commands.
    run: String,
    variants: Vec<&'a str>,
    cases: Vec<CaseData<'a>>,
    /// One a variant and case.
    rows: Vec<CaseRow<'a>>,
    /// Null when they are not there.
    sessions: Option<Sessions>,
    /// Which traces are in the page.
    traces: Vec<Part>,
}

#[derive(Serialize)]
struct CaseData<'a> {
    id: &'a str,
    tags: Vec<String>,
}

impl<'a> Data<'a> {
    /// Of a page that has these `sessions`, and of traces what `words` say.
    pub fn new(page: &Page<'a>, sessions: Option<Sessions>, words: &str) -> Self {
        let names = page.summary.variants.iter().map(|v| v.variant.as_str());
        let cases = page.cases.iter().map(|case| CaseData {
            id: case.id.as_str(),
            tags: case.tags.iter().map(|tag| text::one_line(tag)).collect(),
        });
        Self {
            run: shell(page.run),
            variants: names.collect(),
            cases: cases.collect(),
            rows: cases::rows(page.summary),
            sessions,
            traces: overview::parts(words),
        }
    }
}
