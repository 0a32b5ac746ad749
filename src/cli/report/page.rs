//! `farm report RUN --format html`.

use crate::{
    cli::{args::TraceChoice, exit::stream, opened::Opened},
    domain::Summary,
    error::Result,
    report::html::{self, Traces},
    store::Export,
};

/// A page of all of it.
pub(super) fn print(opened: &Opened, summary: &Summary, traces: Option<TraceChoice>) -> Result<()> {
    let traces = match traces {
        None => Traces::Fit,
        Some(TraceChoice::All) => Traces::All,
        Some(TraceChoice::Failed) => Traces::Failed,
        Some(TraceChoice::None) => Traces::None,
    };
    let run = opened.spec();
    let write = |sessions: Option<&Export<'_>>| {
        let page = html::Page {
            run: &run,
            manifest: &opened.manifest,
            summary,
            cases: &opened.cases,
            sessions,
            traces,
        };
        stream(|out| html::write(&page, out))
    };
    match opened.folder.database().exists() {
        true => opened.with_export(|export| write(Some(export))),
        false => write(None),
    }
}
