//! Failed sessions, those together that failed alike.

use std::collections::HashMap;

use super::figures::round;
use crate::{
    domain::{
        CaseId, Code, Grid, Limit, SessionState, Status, VariantName,
        failures::{self, BadStep, Example, FailureGroup, Failures, LastError, VariantFailures},
        shortened,
        trace::Step,
    },
    error::Result,
    store::{Reader, Score, SessionRow, StepRow, shape},
};

/// Characters of a text out of a session that are kept, and of an error that are compared.
const TEXT: usize = 300;

/// Cases of a group that are named.
const NAMES: usize = 10;

/// Groups of one variant; so many reasons are none, and memory has an end.
const GROUPS: usize = 1000;

/// Groups the failed and the errored sessions of a run. Of sessions that did not fail no step is
/// read.
///
/// # Errors
/// When the store cannot be read.
pub fn failures(reader: &Reader, grid: &Grid, run: &str) -> Result<Failures> {
    let mut all = Failures {
        schema: failures::SCHEMA.to_owned(),
        run: run.to_owned(),
        variants: Vec::new(),
        failed: Vec::new(),
        errored: Vec::new(),
    };
    for (variant, name) in grid.variants.iter().enumerate() {
        let mut scored = 0;
        let (mut failed, mut errored) = (Groups::default(), Groups::default());
        for (case, id) in grid.cases.iter().enumerate() {
            for row in reader.rows_of(grid, variant, case) {
                let (session, Some(row)) = row? else { continue };
                let state = row.state();
                scored += u64::from(state.is_scored());
                let (groups, steps) = match state {
                    SessionState::Failed => (&mut failed, reader.steps(session, row.attempt)?),
                    SessionState::Errored => (&mut errored, Vec::new()),
                    _ => continue,
                };
                let example = |step| Example {
                    session: grid.key(session),
                    step,
                };
                let steps: Vec<Step> = steps.into_iter().map(|s: StepRow| s.body).collect();
                groups.add(Cause::of(&row, &steps), id, || example(shown(&steps)));
            }
        }
        all.variants.push(VariantFailures {
            variant: name.clone(),
            scored,
            failed: failed.sessions,
            errored: errored.sessions,
            ungrouped: failed.ungrouped + errored.ungrouped,
        });
        failed.end(name, &mut all.failed);
        errored.end(name, &mut all.errored);
    }
    // Stable: groups stand in the order of their examples.
    for groups in [&mut all.failed, &mut all.errored] {
        groups.sort_by_key(|g| std::cmp::Reverse(g.sessions));
    }
    Ok(all)
}

/// Why one session failed.
struct Cause {
    checks: Vec<String>,
    status: Status,
    limit: Option<Limit>,
    error: Option<LastError>,
}

/// What the sessions of a group have in common.
#[derive(PartialEq, Eq, Hash)]
struct Common {
    checks: Vec<String>,
    status: Status,
    limit: Option<Limit>,
    code: Option<Code>,
    /// Without numbers and ids; none where there is a code or no error.
    message: Option<String>,
}

impl Cause {
    fn of(row: &SessionRow, steps: &[Step]) -> Self {
        let judged = match &row.score {
            Some(Score::Judged(checks)) => checks.as_slice(),
            _ => &[],
        };
        let failed = judged.iter().filter(|check| !check.passed);
        let mut checks: Vec<String> = failed.map(|check| check.name.clone()).collect();
        checks.sort();
        let error = row.error().map(|e| said(None, e));
        Self {
            checks,
            status: row.status(),
            limit: row.outcome.as_ref().and_then(|o| o.limit),
            error: error.or_else(|| last_error(steps)),
        }
    }

    fn common(&self) -> Common {
        let code = self.error.as_ref().and_then(|error| error.code);
        let message = self.error.as_ref().filter(|error| error.code.is_none());
        let message = message.map(|error| {
            let mut text = String::new();
            shape(&error.message, &mut text);
            text
        });
        Common {
            checks: self.checks.clone(),
            status: self.status,
            limit: self.limit,
            code,
            message,
        }
    }
}

/// Groups of one variant, in the order of their first sessions.
#[derive(Default)]
struct Groups {
    at: HashMap<Common, usize>,
    groups: Vec<Group>,
    sessions: u64,
    ungrouped: u64,
}

struct Group {
    cause: Cause,
    sessions: u64,
    cases: u64,
    last: CaseId,
    names: Vec<CaseId>,
    example: Example,
}

impl Groups {
    /// Takes one session; they come case by case.
    fn add(&mut self, cause: Cause, case: &CaseId, example: impl FnOnce() -> Example) {
        self.sessions += 1;
        let common = cause.common();
        let known = self.at.get(&common).copied();
        if let Some(group) = known.and_then(|at| self.groups.get_mut(at)) {
            group.sessions += 1;
            if group.last != *case {
                group.cases += 1;
                group.last = case.clone();
                if group.names.len() < NAMES {
                    group.names.push(case.clone());
                }
            }
        } else if self.groups.len() < GROUPS {
            self.at.insert(common, self.groups.len());
            self.groups.push(Group {
                cause,
                sessions: 1,
                cases: 1,
                last: case.clone(),
                names: vec![case.clone()],
                example: example(),
            });
        } else {
            self.ungrouped += 1;
        }
    }

    fn end(self, variant: &VariantName, into: &mut Vec<FailureGroup>) {
        let all = self.sessions as f64;
        into.extend(self.groups.into_iter().map(|group| FailureGroup {
            variant: variant.clone(),
            checks: group.cause.checks,
            status: group.cause.status,
            limit: group.cause.limit,
            error: group.cause.error,
            sessions: group.sessions,
            share: round(group.sessions as f64 / all),
            cases: group.cases,
            case_ids: group.names,
            example: group.example,
        }));
    }
}

/// Whether a judgment failed, or an error came back.
fn is_bad(step: &Step) -> bool {
    step.judgments.iter().any(|j| !j.passed) || is_error(step)
}

fn is_error(step: &Step) -> bool {
    step.observation.as_ref().is_some_and(|o| !o.ok)
}

/// What went wrong in the last bad step.
fn last_error(steps: &[Step]) -> Option<LastError> {
    let step = steps.iter().rev().find(|step| is_bad(step))?;
    let failing = || step.judgments.iter().rev().filter(|j| !j.passed);
    if let Some(judgment) = failing().find(|j| j.code.is_some()) {
        return Some(said(judgment.code, &judgment.reason));
    }
    let observation = step.observation.as_ref().filter(|o| !o.ok);
    let in_words = observation.map(|o| said(None, &o.content));
    in_words.or_else(|| failing().next().map(|j| said(None, &j.reason)))
}

fn said(code: Option<Code>, message: &str) -> LastError {
    LastError {
        code,
        message: shortened(message, TEXT),
    }
}

/// The step to show: the first bad one, or the one that ended the session.
fn shown(steps: &[Step]) -> Option<BadStep> {
    let step = steps.iter().find(|step| is_bad(step)).or(steps.last())?;
    let failing = step.judgments.iter().filter(|j| !j.passed);
    let reasons: Vec<String> = failing
        .map(|j| format!("{}: {}", j.verifier, j.reason))
        .collect();
    let observation = step.observation.as_ref().filter(|o| !o.ok);
    let wrong = match reasons.is_empty() {
        true => observation.map(|o| shortened(&o.content, TEXT)),
        false => Some(shortened(&reasons.join("; "), TEXT)),
    };
    let decision = &step.decision;
    let short = |text: &Option<String>| {
        let text = text.as_deref().filter(|text| !text.is_empty());
        text.map(|text| shortened(text, TEXT))
    };
    Some(BadStep {
        step: step.step,
        thought: short(&decision.thought),
        call: decision
            .tool_call
            .as_ref()
            .map(|call| shortened(&call.to_string(), TEXT)),
        answer: short(&decision.answer),
        wrong,
    })
}

#[cfg(test)]
mod tests;
