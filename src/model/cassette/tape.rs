use std::{
    collections::{BTreeMap, HashMap},
    fs,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::{
    domain::{
        CaseId, Limit, Status, VariantName, hex, input,
        jsonl::{self, MAX_LINE, Secrecy},
        trace::{self, Record},
    },
    error::Problem,
};

/// Problems after which a file is not read any further.
const ENOUGH: usize = 20;

/// The replies of one variant of a run, as its traces hold them.
#[derive(Debug)]
pub struct Tape {
    cases: HashMap<CaseId, BTreeMap<u64, Session>>,
    sha256: String,
}

/// A session on a tape.
#[derive(Debug, Clone)]
pub(super) struct Session {
    /// In their order.
    pub turns: Vec<Turn>,
    /// How it ended; none when its trace does not say.
    pub end: Option<End>,
    file: Arc<Path>,
    /// Where its first line begins.
    offset: u64,
}

/// A recorded reply.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// Digest of the request, see [`crate::model::wire`].
    pub request: Box<str>,
    /// As received.
    pub body: Arc<RawValue>,
}

/// How a recorded session ended.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub status: Status,
    pub limit: Option<Limit>,
    pub error: Option<String>,
}

/// What a tape needs of a line of a trace.
#[derive(Deserialize)]
struct Line {
    r#type: LineType,
    schema: Option<String>,
    variant: Option<VariantName>,
    case: Option<CaseId>,
    seed: Option<u64>,
    turn: Option<u32>,
    reply: Option<Box<RawValue>>,
    request_sha256: Option<Box<str>>,
    status: Option<Status>,
    limit: Option<Limit>,
    error: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum LineType {
    RunStart,
    Step,
    RunEnd,
    /// Of a later farm.
    #[serde(other)]
    Other,
}

impl Tape {
    /// Reads `traces/<variant>`: the last attempt of each session.
    ///
    /// # Errors
    /// All that is wrong with the traces, and where. What they say is not quoted.
    pub fn load(folder: &Path, variant: &VariantName) -> Result<Self, Vec<Problem>> {
        let mut reading = Reading {
            variant,
            tape: Self {
                cases: HashMap::new(),
                sha256: String::new(),
            },
            hasher: Sha256::new(),
            problems: Vec::new(),
        };
        let files = files(folder).map_err(|e| {
            let problem = Problem::file(folder, format!("cannot be read: {e}"));
            vec![problem.hint("it should hold the traces of the variant")]
        })?;
        for file in files {
            if let Err(e) = reading.file(&file) {
                let problem = Problem::file(&file, format!("cannot be read: {e}"));
                reading.problems.push(problem);
            }
        }
        if reading.problems.is_empty() && reading.tape.cases.is_empty() {
            let problem = Problem::file(folder, "there is no recorded session");
            reading.problems.push(problem);
        }
        if !reading.problems.is_empty() {
            return Err(reading.problems);
        }
        reading.tape.sha256 = hex(&reading.hasher.finalize());
        Ok(reading.tape)
    }

    /// SHA-256, in hex, over all replies in the order of their files and of the lines in those: for
    /// each its case, seed, turn and request, and the body as received.
    #[must_use]
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Whether that session was recorded, or begun to be.
    #[must_use]
    pub fn has(&self, case: &CaseId, seed: u64) -> bool {
        self.session(case, seed).is_some()
    }

    pub(super) fn session(&self, case: &CaseId, seed: u64) -> Option<&Session> {
        self.cases.get(case)?.get(&seed)
    }

    /// Why there is no such session.
    pub(super) fn without(&self, case: &CaseId, seed: u64) -> String {
        let Some(seeds) = self.cases.get(case) else {
            return format!("the case is none of the {} recorded", self.cases.len());
        };
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for &seed in seeds.keys() {
            match ranges.last_mut() {
                Some((_, end)) if *end == seed => *end = seed + 1,
                _ => ranges.push((seed, seed + 1)),
            }
        }
        let shown = ranges
            .iter()
            .take(5)
            .map(|(start, end)| format!("{start}..{end}"));
        let shown = shown.collect::<Vec<_>>().join(", ");
        let more = if ranges.len() > 5 { " and more" } else { "" };
        format!("seed {seed} was not recorded, only {shown}{more}")
    }
}

impl Session {
    /// The records of its trace.
    pub fn records(&self) -> io::Result<Vec<Record>> {
        let mut file = input::open(&self.file)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut reader = BufReader::new(file);
        let mut records = Vec::new();
        let mut line = Vec::new();
        while read_line(&mut reader, &mut line)? {
            let record: Record = serde_json::from_slice(&line)?;
            if !records.is_empty() && matches!(record, Record::RunStart(_)) {
                break;
            }
            records.push(record);
        }
        Ok(records)
    }
}

/// The traces in a folder, in the byte order of their names.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads a line of at most [`MAX_LINE`] bytes and one more; false at the end.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    let mut reader = reader.take(MAX_LINE as u64 + 1);
    Ok(reader.read_until(b'\n', line)? > 0)
}

/// Where a line stands.
enum At {
    /// Between sessions.
    Outside,
    /// In this session.
    Within(CaseId, u64),
    /// Behind a line that is wrong: what follows may belong to it.
    Lost,
}

struct Reading<'a> {
    variant: &'a VariantName,
    tape: Tape,
    hasher: Sha256,
    problems: Vec<Problem>,
}

impl Reading<'_> {
    fn file(&mut self, path: &Path) -> io::Result<()> {
        let mut reader = BufReader::with_capacity(1 << 16, input::open(path)?);
        let file: Arc<Path> = path.into();
        let (mut line, mut offset) = (Vec::new(), 0);
        let mut at = At::Outside;
        let before = self.problems.len();
        for number in 1.. {
            if !read_line(&mut reader, &mut line)? || self.problems.len() - before >= ENOUGH {
                break;
            }
            let here = Session {
                turns: Vec::new(),
                end: None,
                file: file.clone(),
                offset,
            };
            offset += line.len() as u64;
            if line.len() > MAX_LINE {
                let message = format!("the line is longer than {} MiB", MAX_LINE >> 20);
                self.problems.push(Problem::at(path, number, 0, message));
                break;
            }
            if let Err(problem) = self.line(&line, here, &mut at) {
                self.problems.push(Problem {
                    file: path.display().to_string(),
                    line: number,
                    ..problem
                });
            }
        }
        Ok(())
    }

    /// Takes a line in. `here` is the session that begins with it, if one does.
    fn line(&mut self, line: &[u8], here: Session, at: &mut At) -> Result<(), Problem> {
        let wrong = |message: &str| Problem::at(Path::new(""), 0, 0, message);
        let line = parse(line).inspect_err(|_| *at = At::Lost)?;
        match line.r#type {
            LineType::RunStart => {
                *at = At::Lost;
                let (Some(schema), Some(variant), Some(case), Some(seed)) =
                    (line.schema, line.variant, line.case, line.seed)
                else {
                    return Err(wrong("run_start has no schema, variant, case or seed"));
                };
                if schema != trace::SCHEMA {
                    let known = format!("is of another format; this farm knows {}", trace::SCHEMA);
                    return Err(wrong(&known));
                }
                if variant != *self.variant {
                    return Err(wrong("is a trace of another variant than its folder"));
                }
                let seeds = self.tape.cases.entry(case.clone()).or_default();
                if seeds.insert(seed, here).is_some() {
                    return Err(wrong("the session is there a second time"));
                }
                *at = At::Within(case, seed);
            }
            LineType::Step => {
                let Some(body) = line.reply else {
                    return Ok(());
                };
                let (case, seed) = match at {
                    At::Within(case, seed) => (case, *seed),
                    At::Lost => return Ok(()),
                    At::Outside => return Err(wrong("a step stands outside of any session")),
                };
                let (Some(turn), Some(request)) = (line.turn, line.request_sha256) else {
                    return Err(wrong("a reply has no turn or request_sha256"));
                };
                let Some(session) = session(&mut self.tape, case, seed) else {
                    return Ok(());
                };
                if turn as usize != session.turns.len() {
                    let message = format!("turn {turn} follows {} turns", session.turns.len());
                    return Err(wrong(&message));
                }
                let length = body.get().len();
                self.hasher
                    .update(format!("{case}\0{seed}\0{turn}\0{request}\0{length}\0"));
                self.hasher.update(body.get());
                let body = body.into();
                session.turns.push(Turn { request, body });
            }
            LineType::RunEnd => {
                let (case, seed) = match std::mem::replace(at, At::Outside) {
                    At::Within(case, seed) => (case, seed),
                    At::Lost => return Ok(()),
                    At::Outside => return Err(wrong("run_end stands outside of any session")),
                };
                if let Some(session) = session(&mut self.tape, &case, seed) {
                    session.end = line.status.map(|status| End {
                        status,
                        limit: line.limit,
                        error: line.error,
                    });
                }
            }
            LineType::Other => {}
        }
        Ok(())
    }
}

fn session<'a>(tape: &'a mut Tape, case: &CaseId, seed: u64) -> Option<&'a mut Session> {
    tape.cases.get_mut(case)?.get_mut(&seed)
}

/// Reads a line; the place of a problem is its column alone.
fn parse(line: &[u8]) -> Result<Line, Problem> {
    if let Ok(line) = serde_json::from_slice(line) {
        return Ok(line);
    }
    let problem = |column, message: String| Problem::at(Path::new(""), 0, column, message);
    let text = str::from_utf8(line).map_err(|e| {
        let before = line.get(..e.valid_up_to()).unwrap_or_default();
        let column = String::from_utf8_lossy(before).chars().count() + 1;
        problem(column, "not UTF-8".to_owned())
    })?;
    // Slower, and it says where. Nothing is quoted: a folder may be named that holds no traces.
    jsonl::parse(text.trim_end(), Secrecy::Sealed).map_err(|fault| Problem {
        hint: fault.hint,
        ..problem(fault.column, fault.message)
    })
}
