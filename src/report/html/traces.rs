//! Which traces are in the page, and how they stand in it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    escape::{self, Said},
    steps::SessionTrace,
};
use crate::{
    domain::{SessionId, SessionState, trace::Record},
    error::{Context, Result},
    report::text,
    store::{Export, Standing},
};

/// Bytes of traces that a page has unless more are asked for.
const BUDGET: usize = 15_000_000;

/// Traces in a row that do not fit before no further one is tried.
const MISSES: usize = 64;

/// Which traces are in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Traces {
    /// Up to 15 MB: those of failed and errored sessions first, each in plan order.
    #[default]
    Fit,
    /// Of all sessions that began.
    All,
    /// Of failed and errored sessions.
    Failed,
    /// None.
    None,
}

/// The sessions whose traces are in the page.
#[derive(Default)]
pub(super) struct Chosen {
    which: Traces,
    sessions: BTreeSet<SessionId>,
    /// Sessions that began.
    began: usize,
    /// Those of them that failed or errored, and how many of these are in the page.
    failed: usize,
    failed_in: usize,
}

/// The traces of one case under one variant.
#[derive(Default, Serialize)]
pub(super) struct CaseTraces {
    task: Said,
    max_steps: u32,
    tools: Vec<String>,
    /// By seed.
    sessions: BTreeMap<u64, SessionTrace>,
}

impl Chosen {
    /// Chooses.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn of(export: &Export<'_>, which: Traces) -> Result<Self> {
        let span = export.grid.span();
        let mut began = export.reader.states()?;
        began.retain(|of| span.contains(&of.session.0));
        let is_failed = |state| matches!(state, SessionState::Failed | SessionState::Errored);
        let (failed, others): (Vec<_>, Vec<_>) = began.iter().partition(|of| is_failed(of.state));
        let ids =
            |list: &[&Standing]| -> Vec<SessionId> { list.iter().map(|of| of.session).collect() };
        let (failed, others) = (ids(&failed), ids(&others));
        let sessions: BTreeSet<SessionId> = match which {
            Traces::None => BTreeSet::new(),
            Traces::Failed => failed.iter().copied().collect(),
            Traces::All => failed.iter().chain(&others).copied().collect(),
            Traces::Fit => fitting(failed.iter().chain(&others).copied(), BUDGET, |id| {
                size(export, id)
            })?,
        };
        Ok(Self {
            which,
            began: began.len(),
            failed: failed.len(),
            failed_in: failed.iter().filter(|id| sessions.contains(id)).count(),
            sessions,
        })
    }

    /// Whether the trace of this session is in the page.
    pub fn has(&self, id: SessionId) -> bool {
        self.sessions.contains(&id)
    }

    /// What is in the page and what is not, and how that is seen; backticks around commands.
    pub fn words(&self, run: &str) -> Vec<String> {
        let count = |n: usize| text::count(n as u64);
        let have = self.sessions.len();
        let which = match have {
            _ if self.began == 0 => return vec!["No session has begun.".to_owned()],
            0 => "No traces are in this page.".to_owned(),
            n if n == self.began => {
                "The traces of all sessions that began are in this page.".to_owned()
            }
            n => format!(
                "In this page are the traces of {} of {} failed or errored sessions and of {} of \
                 {} others.",
                count(self.failed_in),
                count(self.failed),
                count(n - self.failed_in),
                count(self.began - self.failed),
            ),
        };
        let mut words = vec![which];
        if have < self.began {
            if self.which == Traces::Fit {
                words.push(format!(
                    "As many as fit into {} MB, failed ones first: \
                     `farm report {run} --format html --traces all` writes a page with all.",
                    BUDGET / 1_000_000
                ));
            }
            words.push(format!(
                "`farm trace show VARIANT/CASE/SEED --run {run}` shows one that is left out."
            ));
        }
        words.push(format!(
            "Replies as the model's server sent them are left out: `farm trace export {run}` has them."
        ));
        words
    }
}

/// Bytes that a session takes in the page.
struct Size {
    /// Indices of its variant and case.
    of: (usize, usize),
    /// What the sessions of its case share.
    shared: usize,
    own: usize,
}

/// The sessions, in this order, whose traces fit into `budget` bytes. One that is too large for
/// what is left is passed over; after 64 of those in a row the rest is.
fn fitting(
    sessions: impl Iterator<Item = SessionId>,
    budget: usize,
    size: impl Fn(SessionId) -> Result<Size>,
) -> Result<BTreeSet<SessionId>> {
    let (mut left, mut misses) = (budget, 0);
    let (mut fitting, mut cases) = (BTreeSet::new(), BTreeSet::new());
    for id in sessions {
        let Size { of, shared, own } = size(id)?;
        let bytes = match cases.contains(&of) {
            true => own,
            false => own + shared,
        };
        match left.checked_sub(bytes) {
            Some(less) => {
                left = less;
                misses = 0;
                fitting.insert(id);
                cases.insert(of);
            }
            None => misses += 1,
        }
        if misses == MISSES {
            break;
        }
    }
    Ok(fitting)
}

fn size(export: &Export<'_>, id: SessionId) -> Result<Size> {
    let cell = export.grid.cell(id);
    let traces = CaseTraces::read(export, [id])?;
    let own = escape::json(&traces.sessions)?.len();
    Ok(Size {
        of: (cell.variant, cell.case),
        shared: escape::json(&traces)?.len() - own,
        own,
    })
}

/// Hands the chosen traces to `put`, one case at a time, with the indices of variant and case.
///
/// # Errors
/// When the database cannot be read, and those of `put`.
pub(super) fn each_case(
    export: &Export<'_>,
    chosen: &Chosen,
    mut put: impl FnMut(usize, usize, &CaseTraces) -> Result<()>,
) -> Result<()> {
    for variant in 0..export.grid.variants.len() {
        for case in 0..export.grid.cases.len() {
            let ids = export.grid.ids_of(variant, case);
            let traces = CaseTraces::read(export, ids.filter(|id| chosen.has(*id)))?;
            if !traces.sessions.is_empty() {
                put(variant, case, &traces)?;
            }
        }
    }
    Ok(())
}

impl CaseTraces {
    /// Of these sessions of one case.
    fn read(export: &Export<'_>, ids: impl IntoIterator<Item = SessionId>) -> Result<Self> {
        let mut traces = Self::default();
        let mut lines = Vec::new();
        for id in ids {
            lines.clear();
            export.session(id, &mut lines)?;
            let records = serde_json::Deserializer::from_slice(&lines)
                .into_iter()
                .collect::<Result<Vec<Record>, _>>()
                .internal(|| format!("the trace of {} cannot be read", export.grid.key(id)))?;
            if let Some(Record::RunStart(start)) = records.first() {
                traces.task = Said::new(&start.task);
                traces.max_steps = start.max_steps;
                traces.tools = start.tools.iter().map(|tool| escape::name(tool)).collect();
                let score = export.reader.session(id)?.and_then(|row| row.score);
                let session = SessionTrace::new(&records, score.as_ref());
                traces.sessions.insert(start.seed, session);
            }
        }
        Ok(traces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sessions of two cases by turns: each takes `own` bytes, and each case 10 once.
    fn chosen(order: &[u64], budget: usize, own: impl Fn(u64) -> usize) -> Vec<u64> {
        let size = |id: SessionId| {
            Ok(Size {
                of: (0, (id.0 % 2) as usize),
                shared: 10,
                own: own(id.0),
            })
        };
        let ids = order.iter().copied().map(SessionId);
        let chosen = fitting(ids, budget, size).unwrap();
        chosen.into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn the_first_in_order_fit() {
        for (order, budget, want) in [
            (&[0, 1, 2, 3][..], 420, &[0, 1, 2, 3][..]),
            (&[0, 1, 2, 3], 419, &[0, 1, 2]),
            (&[3, 1, 0, 2], 310, &[1, 3]),
            (&[3, 1, 0, 2], 320, &[0, 1, 3]),
            (&[0, 1], 109, &[]),
            (&[], 100, &[]),
        ] {
            assert_eq!(
                chosen(order, budget, |_| 100),
                want,
                "{order:?} in {budget}"
            );
        }
    }

    #[test]
    fn what_is_too_large_is_passed_over() {
        let large = |id| if id == 1 { 1000 } else { 100 };
        assert_eq!(chosen(&[0, 1, 2], 400, large), [0, 2]);
    }

    #[test]
    fn after_many_misses_no_further_one_is_tried() {
        let order: Vec<u64> = (0..200).collect();
        let own = |id| if id == 0 || id == 150 { 1 } else { 1000 };
        assert_eq!(chosen(&order, 100, own), [0]);
    }

    #[test]
    fn what_is_left_out_is_said() {
        let of = |which, sessions: &[u64]| Chosen {
            which,
            sessions: sessions.iter().copied().map(SessionId).collect(),
            began: 4,
            failed: 3,
            failed_in: 2,
        };
        insta::assert_snapshot!(of(Traces::Fit, &[0, 1]).words("latest").join("\n"), @r"
        In this page are the traces of 2 of 3 failed or errored sessions and of 0 of 1 others.
        As many as fit into 15 MB, failed ones first: `farm report latest --format html --traces all` writes a page with all.
        `farm trace show VARIANT/CASE/SEED --run latest` shows one that is left out.
        Replies as the model's server sent them are left out: `farm trace export latest` has them.
        ");
        insta::assert_snapshot!(of(Traces::Fit, &[0, 1, 2, 3]).words("latest").join("\n"), @r"
        The traces of all sessions that began are in this page.
        Replies as the model's server sent them are left out: `farm trace export latest` has them.
        ");
        insta::assert_snapshot!(of(Traces::None, &[]).words("latest").join("\n"), @r"
        No traces are in this page.
        `farm trace show VARIANT/CASE/SEED --run latest` shows one that is left out.
        Replies as the model's server sent them are left out: `farm trace export latest` has them.
        ");
        assert_eq!(Chosen::default().words("latest"), ["No session has begun."]);
    }
}
