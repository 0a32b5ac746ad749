//! Which traces are in the page, and how they stand in it.

use std::{collections::HashSet, io};

use serde::Serialize;

use super::{element, escape::Said, steps::SessionTrace};
use crate::{
    domain::{SessionId, SessionState, trace::Record},
    error::{Context, Result},
    report::text,
    store::{self, Export, Standing},
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

/// How many traces came into a page.
#[derive(Default)]
pub(super) struct Held {
    which: Traces,
    /// Sessions that began.
    began: usize,
    /// Those of them that failed or errored.
    failed: usize,
    /// How many of these are in the page, and how many others.
    failed_in: usize,
    others_in: usize,
}

/// What the traces of one case under one variant share.
#[derive(Serialize)]
struct Head {
    task: Said,
    max_steps: u32,
    tools: Vec<String>,
}

impl Head {
    fn new(of: store::Head) -> Self {
        Self {
            task: Said::new(&of.task),
            max_steps: of.max_steps,
            tools: of.tools.iter().map(|tool| text::one_line(tool)).collect(),
        }
    }
}

impl Held {
    /// Writes an element a trace, failed ones first, and one for what those of a case share. One
    /// trace goes through memory at a time.
    ///
    /// # Errors
    /// When the database cannot be read, or `out` cannot be written to.
    pub fn write(export: &Export<'_>, which: Traces, out: &mut dyn io::Write) -> Result<Self> {
        let span = export.grid.span();
        let mut began = export.reader.states()?;
        began.retain(|of| span.contains(&of.session.0));
        began.sort_by_key(|of| !is_failed(of));
        let mut held = Self {
            which,
            began: began.len(),
            failed: began.partition_point(is_failed),
            ..Self::default()
        };
        let (wanted, budget) = match which {
            Traces::None => (0, 0),
            Traces::Failed => (held.failed, usize::MAX),
            Traces::All => (held.began, usize::MAX),
            Traces::Fit => (held.began, BUDGET),
        };
        let mut room = Room::of(budget);
        let mut heads = HashSet::new();
        let (mut lines, mut elements) = (Vec::new(), Vec::new());
        for of in began.iter().take(wanted) {
            let cell = export.grid.cell(of.session);
            let case = (cell.variant, cell.case);
            let id = format!("{}-{}", cell.variant, cell.case);
            elements.clear();
            if !heads.contains(&case) {
                let head = Head::new((export.head)(cell.variant, cell.case));
                element::data(&mut elements, &format!("c-{id}"), &head)?;
            }
            let trace = read(export, of.session, &mut lines)?;
            element::data(&mut elements, &format!("t-{id}-{}", cell.seed), &trace)?;
            if room.take(elements.len()) {
                element::put(out, &elements)?;
                heads.insert(case);
                match is_failed(of) {
                    true => held.failed_in += 1,
                    false => held.others_in += 1,
                }
            }
            if room.is_full() {
                break;
            }
        }
        Ok(held)
    }

    /// What is in the page and what is not, and how that is seen; backticks around commands.
    pub fn words(&self, run: &str) -> Vec<String> {
        let count = |n: usize| text::count(n as u64);
        let have = self.failed_in + self.others_in;
        let which = match have {
            _ if self.began == 0 => return vec!["No session has begun.".to_owned()],
            0 => "No traces are in this page.".to_owned(),
            n if n == self.began => {
                "The traces of all sessions that began are in this page.".to_owned()
            }
            _ => format!(
                "In this page are the traces of {} of {} failed or errored sessions and of {} of \
                 {} others.",
                count(self.failed_in),
                count(self.failed),
                count(self.others_in),
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

fn is_failed(of: &Standing) -> bool {
    matches!(of.state, SessionState::Failed | SessionState::Errored)
}

/// One trace; `lines` is room for it.
fn read(export: &Export<'_>, id: SessionId, lines: &mut Vec<u8>) -> Result<SessionTrace> {
    lines.clear();
    export.session(id, lines)?;
    let records = serde_json::Deserializer::from_slice(lines)
        .into_iter()
        .collect::<Result<Vec<Record>, _>>()
        .internal(|| format!("the trace of {} cannot be read", export.grid.key(id)))?;
    let score = export.reader.session(id)?.and_then(|row| row.score);
    Ok(SessionTrace::new(&records, score.as_ref()))
}

/// What the page still has room for.
struct Room {
    left: usize,
    /// Traces in a row that did not fit.
    misses: usize,
}

impl Room {
    fn of(bytes: usize) -> Self {
        Self {
            left: bytes,
            misses: 0,
        }
    }

    /// Takes these bytes if they fit.
    fn take(&mut self, bytes: usize) -> bool {
        match self.left.checked_sub(bytes) {
            Some(left) => (self.left, self.misses) = (left, 0),
            None => self.misses += 1,
        }
        self.misses == 0
    }

    /// Whether nothing more should be tried.
    fn is_full(&self) -> bool {
        self.misses == MISSES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these fit, by index.
    fn fitting(budget: usize, sizes: &[usize]) -> Vec<usize> {
        let mut room = Room::of(budget);
        let mut taken = Vec::new();
        for (i, bytes) in sizes.iter().enumerate() {
            if room.take(*bytes) {
                taken.push(i);
            }
            if room.is_full() {
                break;
            }
        }
        taken
    }

    #[test]
    fn what_is_too_large_is_passed_over() {
        for (budget, sizes, want) in [
            (300, &[100, 100, 100][..], &[0, 1, 2][..]),
            (299, &[100, 100, 100], &[0, 1]),
            (200, &[100, 1000, 100], &[0, 2]),
            (99, &[100], &[]),
            (100, &[], &[]),
        ] {
            assert_eq!(fitting(budget, sizes), want, "{sizes:?} in {budget}");
        }
    }

    #[test]
    fn after_many_misses_no_further_one_is_tried() {
        let mut sizes = [1000; 200];
        (sizes[0], sizes[64], sizes[150]) = (1, 1, 1);
        assert_eq!(fitting(100, &sizes), [0, 64]);
    }

    #[test]
    fn what_is_left_out_is_said() {
        let of = |which, failed_in, others_in| Held {
            which,
            began: 4,
            failed: 3,
            failed_in,
            others_in,
        };
        insta::assert_snapshot!(of(Traces::Fit, 2, 0).words("latest").join("\n"), @r"
        In this page are the traces of 2 of 3 failed or errored sessions and of 0 of 1 others.
        As many as fit into 15 MB, failed ones first: `farm report latest --format html --traces all` writes a page with all.
        `farm trace show VARIANT/CASE/SEED --run latest` shows one that is left out.
        Replies as the model's server sent them are left out: `farm trace export latest` has them.
        ");
        insta::assert_snapshot!(of(Traces::Fit, 3, 1).words("latest").join("\n"), @r"
        The traces of all sessions that began are in this page.
        Replies as the model's server sent them are left out: `farm trace export latest` has them.
        ");
        insta::assert_snapshot!(of(Traces::None, 0, 0).words("latest").join("\n"), @r"
        No traces are in this page.
        `farm trace show VARIANT/CASE/SEED --run latest` shows one that is left out.
        Replies as the model's server sent them are left out: `farm trace export latest` has them.
        ");
        assert_eq!(Held::default().words("latest"), ["No session has begun."]);
    }
}
