//! Traces and scores as JSON Lines, out of the database. Stored JSON is spliced, not parsed, but
//! for steps that a model judged after they ran.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use rusqlite::types::ValueRef;
use schemars::JsonSchema;
use serde::Serialize;

use super::{
    apply::int,
    atomic::{begin, finish, refused},
    judged::whole_step,
    reader::{Reader, STEPS, TURNS},
    room,
    row::{Score, SessionRow},
    write::json,
};
use crate::{
    domain::{
        CaseId, CheckResult, Grid, Outcome, SessionId, SessionKey, SessionState, Status,
        VariantName, Wait, rng_seed, trace,
    },
    error::{Context, Error, Result},
};

/// Bytes that are held back before they are written.
const BUFFER: usize = 1 << 20;

/// What `run_start` says of the sessions of one case under one variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The task as sent.
    pub task: String,
    /// The step budget.
    pub max_steps: u32,
    /// The tools.
    pub tools: Vec<String>,
}

/// A run's database with what its traces need beside it.
pub struct Export<'a> {
    /// The database.
    pub reader: &'a Reader,
    /// The plan.
    pub grid: &'a Grid,
    /// The run's id.
    pub run: &'a str,
    /// The seed of the run's seeds.
    pub run_seed: u64,
    /// What `run_start` says, by index of variant and case.
    pub head: &'a dyn Fn(usize, usize) -> Head,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line<'a> {
    RunStart(&'a trace::RunStart),
    RunEnd(&'a trace::RunEnd),
}

/// The traces of a run that are being written to a folder.
#[derive(Debug)]
pub struct Traces<'a> {
    folder: &'a Path,
    /// How many are written or being written: those of each variant, cases in order.
    begun: AtomicUsize,
}

impl<'a> Traces<'a> {
    /// None is written; those that stood in the folder before are gone.
    ///
    /// # Errors
    /// When the folder holds anything but traces, or the disk refuses.
    pub fn begin(folder: &'a Path, grid: &Grid) -> Result<Self> {
        room::make(folder)?;
        for name in &grid.variants {
            let folder = folder.join(name.as_str());
            fs::create_dir_all(&folder).map_err(|e| refused(&folder, e))?;
        }
        Ok(Self {
            folder,
            begun: AtomicUsize::new(0),
        })
    }

    /// Variant and case of the next one, and its path.
    fn next(&self, grid: &Grid) -> Option<(usize, usize, PathBuf)> {
        let cases = grid.cases.len().max(1);
        let next = self.begun.fetch_add(1, Ordering::Relaxed);
        let (variant, case) = (next / cases, next % cases);
        let folder = self.folder.join(grid.variants.get(variant)?.as_str());
        let path = folder.join(format!("{}.jsonl", grid.cases.get(case)?));
        Some((variant, case, path))
    }
}

/// A line of `scores.jsonl`: how one planned session stands.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(title = "Score")]
pub struct ScoreLine<'a> {
    /// The session: `variant/case/seed`.
    pub key: String,
    /// Its state in the ledger.
    pub state: SessionState,
    /// Whether all checks hold; null when that is not known.
    pub passed: Option<bool>,
    /// Its checks by name, in the order of the sealed half; none when it has no verdict.
    pub checks: &'a [CheckResult],
    /// Why its scoring failed.
    pub error: Option<&'a str>,
}

impl Export<'_> {
    /// The trace of one session, as lines: its last attempt. False when it never began. One that
    /// is open is closed with status `interrupted`.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub fn session(&self, session: SessionId, out: &mut Vec<u8>) -> Result<bool> {
        let cell = self.grid.cell(session);
        let mut start = self.start(cell.variant, cell.case)?;
        match self.reader.session(session)? {
            None => Ok(false),
            Some(row) => self.lines(&mut start, cell.seed, row, out).map(|()| true),
        }
    }

    /// Writes `<variant>/<case>.jsonl` under `folder` for every case with a session that began,
    /// seeds in order. Memory stays bounded. A file appears whole or not at all; traces that stood
    /// there before are gone.
    ///
    /// # Errors
    /// When the folder holds anything but traces, the database cannot be read, or the disk refuses.
    pub fn traces(&self, folder: &Path) -> Result<()> {
        let traces = Traces::begin(folder, self.grid)?;
        self.traces_left(&traces)
    }

    /// Writes the traces that nobody has begun to write. Several exports of one database may do so
    /// at the same time.
    ///
    /// # Errors
    /// When the database cannot be read or the disk refuses.
    pub fn traces_left(&self, traces: &Traces<'_>) -> Result<()> {
        let mut buffer = Vec::with_capacity(BUFFER + BUFFER / 4);
        while let Some((variant, case, path)) = traces.next(self.grid) {
            self.trace(variant, case, &path, &mut buffer)?;
        }
        Ok(())
    }

    /// Writes `scores.jsonl`: every planned session by variant, case and seed, with its state,
    /// whether it passed, and its checks by name.
    ///
    /// # Errors
    /// When the database cannot be read or the disk refuses.
    pub fn scores(&self, path: &Path) -> Result<()> {
        let mut out = Sink::new(path);
        let mut buffer = Vec::with_capacity(BUFFER + BUFFER / 4);
        for variant in 0..self.grid.variants.len() {
            for case in 0..self.grid.cases.len() {
                for row in self.reader.rows_of(self.grid, variant, case) {
                    let (id, row) = row?;
                    push(&mut buffer, &score_line(&self.grid.key(id), row.as_ref()))?;
                    out.take(&mut buffer, BUFFER)?;
                }
            }
        }
        out.close(&mut buffer)
    }

    fn trace(&self, variant: usize, case: usize, path: &Path, buffer: &mut Vec<u8>) -> Result<()> {
        let mut start = self.start(variant, case)?;
        let mut out = Sink::new(path);
        let mut any = false;
        for row in self.reader.rows_of(self.grid, variant, case) {
            let (id, Some(row)) = row? else { continue };
            any = true;
            self.lines(&mut start, self.grid.cell(id).seed, row, buffer)?;
            out.take(buffer, BUFFER)?;
        }
        if any { out.close(buffer) } else { Ok(()) }
    }

    /// The first line of a case's sessions, but for what differs between seeds.
    fn start(&self, variant: usize, case: usize) -> Result<trace::RunStart> {
        let outside = || Error::internal("a session outside the plan was to be exported");
        let variant_name: &VariantName = self.grid.variants.get(variant).ok_or_else(outside)?;
        let case_id: &CaseId = self.grid.cases.get(case).ok_or_else(outside)?;
        let head = (self.head)(variant, case);
        Ok(trace::RunStart {
            schema: trace::SCHEMA.to_owned(),
            run: self.run.to_owned(),
            variant: variant_name.clone(),
            case: case_id.clone(),
            seed: 0,
            rng_seed: String::new(),
            attempt: 0,
            task: head.task,
            max_steps: head.max_steps,
            tools: head.tools,
            ts: 0.0,
        })
    }

    fn lines(
        &self,
        start: &mut trace::RunStart,
        seed: u64,
        row: SessionRow,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        start.seed = seed;
        start.rng_seed = rng_seed(self.run_seed, &start.case, seed).to_string();
        start.attempt = row.attempt;
        start.ts = row.began;
        push(out, &Line::RunStart(start))?;
        self.steps(row.session, row.attempt, out)?;
        let outcome = match row.outcome {
            Some(outcome) => outcome,
            None => self.interrupted(row.session, row.attempt)?,
        };
        let end = run_end(outcome, row.waits, row.ended);
        push(out, &Line::RunEnd(&end))
    }

    /// The step lines. The first step of a turn carries the turn's fields: both statements run in
    /// step with each other.
    fn steps(&self, session: SessionId, attempt: u32, out: &mut Vec<u8>) -> Result<()> {
        let mut splice = || -> rusqlite::Result<()> {
            let of = (int(session), attempt);
            let mut turns = self.reader.conn().prepare_cached(TURNS)?;
            let mut turns = turns.query(of)?;
            let mut steps = self.reader.conn().prepare_cached(STEPS)?;
            let mut steps = steps.query(of)?;
            while let Some(step) = steps.next()? {
                let (turn, call): (u32, u32) = (step.get(0)?, step.get(1)?);
                out.extend_from_slice(b"{\"type\":\"step\",");
                match step.get_ref(5)? {
                    ValueRef::Null => {
                        out.extend_from_slice(fields(step.get_ref(3)?.as_str()?));
                    }
                    _ => out.extend_from_slice(fields(&json(&whole_step(step)?))),
                }
                while call == 0
                    && let Some(of) = turns.next()?
                {
                    if of.get::<_, u32>(0)? == turn {
                        out.push(b',');
                        out.extend_from_slice(fields(of.get_ref(3)?.as_str()?));
                        break;
                    }
                }
                out.extend_from_slice(b",\"ts\":");
                out.extend_from_slice(number(step.get(2)?).as_bytes());
                out.extend_from_slice(b"}\n");
            }
            Ok(())
        };
        splice().map_err(|e| self.reader.fault(e))
    }

    /// How an export closes a session that is open: with what its durable turns and steps say.
    fn interrupted(&self, session: SessionId, attempt: u32) -> Result<Outcome> {
        let steps = self.reader.steps(session, attempt)?;
        let turns = self.reader.turns(session, attempt)?;
        let usages: Vec<_> = turns.iter().map(|t| t.body.usage).collect();
        let cost_usd = turns.iter().map(|t| t.cost_usd).sum();
        let steps = steps.iter().map(|s| &s.body);
        Ok(Outcome::so_far(
            Status::Interrupted,
            steps,
            &usages,
            cost_usd,
            None,
        ))
    }
}

fn run_end(outcome: Outcome, waits: Vec<Wait>, ended: Option<f64>) -> trace::RunEnd {
    trace::RunEnd {
        status: outcome.status,
        limit: outcome.limit,
        answer: outcome.answer,
        steps_used: outcome.steps_used,
        mean_score: outcome.mean_score,
        usage: trace::SessionUsage {
            tokens_in: outcome.tokens_in,
            tokens_out: outcome.tokens_out,
        },
        cost_usd: outcome.cost_usd,
        error: outcome.error,
        waits,
        ts: ended,
    }
}

fn score_line<'a>(key: &SessionKey, row: Option<&'a SessionRow>) -> ScoreLine<'a> {
    let state = row.map_or(SessionState::NotRun, SessionRow::state);
    let (checks, error): (&[CheckResult], _) = match row.and_then(|r| r.score.as_ref()) {
        None => (&[], None),
        Some(Score::Judged(checks)) => (checks, None),
        Some(Score::Failed(why)) => (&[], Some(why.as_str())),
    };
    ScoreLine {
        key: key.to_string(),
        state,
        passed: match state {
            SessionState::Passed => Some(true),
            SessionState::Failed => Some(false),
            _ => None,
        },
        checks,
        error,
    }
}

/// The fields of a JSON object as the store wrote it, without its braces.
fn fields(object: &str) -> &[u8] {
    object
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'))
        .unwrap_or(object)
        .as_bytes()
}

/// A time as serde writes it: with a decimal point.
fn number(value: f64) -> String {
    format!("{value:?}")
}

/// Adds a line of JSON.
fn push(out: &mut Vec<u8>, value: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *out, value)
        .internal(|| "a line of traces or scores cannot be written".to_owned())?;
    out.push(b'\n');
    Ok(())
}

/// A file that grows under a temporary name.
struct Sink<'a> {
    path: &'a Path,
    file: Option<File>,
}

impl<'a> Sink<'a> {
    fn new(path: &'a Path) -> Self {
        Self { path, file: None }
    }

    /// Writes the buffer out once it holds `limit` bytes.
    fn take(&mut self, buffer: &mut Vec<u8>, limit: usize) -> Result<()> {
        if buffer.len() < limit {
            return Ok(());
        }
        let path = self.path;
        let mut write = || {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(begin(path)?),
            };
            file.write_all(buffer)
        };
        write().map_err(|e| refused(path, e))?;
        buffer.clear();
        Ok(())
    }

    /// Writes the rest and gives the file its name. No fsync: it can be exported again.
    fn close(mut self, buffer: &mut Vec<u8>) -> Result<()> {
        self.take(buffer, 0)?;
        finish(self.path)
    }
}

#[cfg(test)]
mod tests;
