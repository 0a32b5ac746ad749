//! One line a session.

use std::io;

use super::{Lines, optional, text};
use crate::{
    domain::{Case, SessionState, rng_seed},
    error::Result,
    store::{Export, Score, SessionRow},
};

const HEAD: [&str; 22] = [
    "variant",
    "case",
    "seed",
    "rng_seed",
    "cluster",
    "tags",
    "state",
    "status",
    "limit",
    "attempt",
    "restarts",
    "checks_passed",
    "checks_failed",
    "steps",
    "blocked",
    "mean_score",
    "tokens_in",
    "tokens_out",
    "cost_usd",
    "work_s",
    "answer",
    "error",
];

/// Writes a header and a line per planned session, by variant, case and seed. `checks_passed` and
/// `checks_failed` hold names, `tags` tags, `; ` between them. A session that has not ended has no
/// status; one that never began has no attempt either. `cases` are those of the run. Memory stays
/// bounded.
///
/// # Errors
/// When the database cannot be read, or `out` not be written to; the source of the latter is its
/// [`io::Error`].
pub fn sessions(export: &Export<'_>, cases: &[Case], out: &mut dyn io::Write) -> Result<()> {
    let mut lines = Lines::begin(out, &HEAD)?;
    let grid = export.grid;
    for (v, variant) in grid.variants.iter().enumerate() {
        for (c, id) in grid.cases.iter().enumerate() {
            let case = cases.get(c);
            let cluster = case.and_then(|c| c.cluster.as_deref()).unwrap_or_default();
            let tags = case.map(|c| c.tags.join("; ")).unwrap_or_default();
            for row in export.reader.rows_of(grid, v, c) {
                let (session, row) = row?;
                let seed = grid.cell(session).seed;
                let mut line = vec![variant.to_string(), id.to_string(), seed.to_string()];
                line.push(rng_seed(export.run_seed, id, seed).to_string());
                line.extend([text(cluster), text(&tags)]);
                line.extend(what_came_of_it(row.as_ref()));
                lines.add(&line)?;
            }
        }
    }
    lines.end()
}

fn what_came_of_it(row: Option<&SessionRow>) -> [String; 16] {
    let end = row.and_then(|r| r.outcome.as_ref());
    let names = |passed: bool| match row.and_then(|r| r.score.as_ref()) {
        Some(Score::Judged(checks)) => {
            let of = checks.iter().filter(|c| c.passed == passed);
            let names: Vec<&str> = of.map(|c| c.name.as_str()).collect();
            text(&names.join("; "))
        }
        _ => String::new(),
    };
    [
        row.map_or(SessionState::NotRun, SessionRow::state)
            .as_str()
            .to_owned(),
        optional(end.map(|o| o.status.as_str())),
        optional(end.and_then(|o| o.limit).map(|l| l.as_str())),
        optional(row.map(|r| r.attempt)),
        optional(row.map(|r| r.restarts)),
        names(true),
        names(false),
        optional(end.map(|o| o.steps_used)),
        optional(end.map(|o| o.blocked)),
        optional(end.and_then(|o| o.mean_score)),
        optional(end.and_then(|o| o.tokens_in)),
        optional(end.and_then(|o| o.tokens_out)),
        optional(end.and_then(|o| o.cost_usd)),
        optional(row.and_then(|r| r.work_s)),
        text(end.and_then(|o| o.answer.as_deref()).unwrap_or_default()),
        text(row.and_then(SessionRow::error).unwrap_or_default()),
    ]
}
