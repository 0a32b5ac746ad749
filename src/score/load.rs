//! Reads the sealed file and joins it to the cases, both ways.

use std::{collections::HashMap, path::Path};

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::{
    leaks,
    line::Line,
    sealed::{Measure, SealedCase, SealedSuite},
};
use crate::{
    domain::{
        CaseId, hex,
        jsonl::{self, Secrecy},
    },
    error::{Problem, nearest},
};

/// Reads the sealed half of a suite whose cases are `cases`: all of them, before any selection.
///
/// # Errors
/// All that is wrong, in the order of the file: lines that are no sealed half, ids twice, lines
/// without a case; then cases without a line. Problems name fields and quote ids, and no value.
pub fn load(path: &Path, cases: &[CaseId]) -> Result<SealedSuite, Vec<Problem>> {
    let lines = jsonl::read::<Box<RawValue>>(path, Secrecy::Sealed);
    let mut loading = Loading::new(path, cases, lines.problems);
    let mut digest = Sha256::new();
    for (number, text) in &lines.values {
        digest.update(text.get());
        digest.update(b"\n");
        loading.add(*number, text.get());
    }
    loading.finish(hex(&digest.finalize()))
}

/// What is known half way through a file.
struct Loading<'a> {
    path: &'a Path,
    /// The suite's cases, with the line of their sealed half once it is read.
    cases: &'a [CaseId],
    lines: HashMap<&'a CaseId, Option<usize>>,
    sealed: HashMap<CaseId, SealedCase>,
    /// Names of metrics in order, with the line and the metric that had them first.
    metrics: Vec<(String, usize, std::mem::Discriminant<Measure>)>,
    problems: Vec<Problem>,
    /// Whether some line could not be read, so that its id is not known.
    is_partial: bool,
}

impl<'a> Loading<'a> {
    fn new(path: &'a Path, cases: &'a [CaseId], mut problems: Vec<Problem>) -> Self {
        for problem in problems.iter_mut().filter(|p| p.line == 0) {
            problem.hint = Some(
                "name the sealed half with `--sealed`, or run with `--unscored` to score later"
                    .to_owned(),
            );
        }
        Self {
            path,
            cases,
            lines: cases.iter().map(|case| (case, None)).collect(),
            sealed: HashMap::new(),
            metrics: Vec::new(),
            is_partial: !problems.is_empty(),
            problems,
        }
    }

    fn add(&mut self, number: usize, text: &str) {
        let line: Line = match jsonl::parse(text, Secrecy::Sealed) {
            Ok(line) => line,
            Err(fault) => {
                self.is_partial = true;
                let mut problem = Problem::at(self.path, number, fault.column, fault.message);
                problem.hint = fault.hint;
                self.problems.push(problem);
                return;
            }
        };
        let id = line.id.clone();
        self.join(number, &id);
        match line.into_case() {
            Ok(case) => {
                self.add_metrics(number, &case);
                self.sealed.insert(id, case);
            }
            Err(message) => self.problem(number, message),
        }
    }

    /// Notes that the case `id` has its sealed half on line `number`.
    fn join(&mut self, number: usize, id: &CaseId) {
        match self.lines.get_mut(id) {
            Some(line @ None) => *line = Some(number),
            Some(Some(first)) => {
                let message = format!("`{id}` has its sealed half on line {first} already");
                self.problem(number, message);
            }
            None => {
                let near = nearest(id.as_str(), self.cases.iter().map(CaseId::as_str));
                let hint = match near {
                    Some(near) => format!("did you mean `{near}`? Else remove the line"),
                    None => "add the case, or remove the line".to_owned(),
                };
                let message = format!("there is no case `{id}`");
                self.problems
                    .push(Problem::at(self.path, number, 0, message).hint(hint));
            }
        }
    }

    /// A metric is one thing over all cases: its values are averaged.
    fn add_metrics(&mut self, number: usize, case: &SealedCase) {
        for (index, metric) in case.metrics.iter().enumerate() {
            let kind = std::mem::discriminant(&metric.measure);
            match self.metrics.iter().find(|(name, ..)| *name == metric.name) {
                None => self.metrics.push((metric.name.clone(), number, kind)),
                Some((_, _, first)) if *first == kind => {}
                Some((_, line, _)) => {
                    let message = format!(
                        "metrics[{index}]: line {line} has a metric of the same name and another kind"
                    );
                    self.problem(number, message);
                }
            }
        }
    }

    fn problem(&mut self, number: usize, message: String) {
        self.problems
            .push(Problem::at(self.path, number, 0, message));
    }

    fn finish(mut self, digest: String) -> Result<SealedSuite, Vec<Problem>> {
        self.problems.sort_by_key(|p| p.line);
        // A case that seems to lack a line may have it among those that could not be read.
        if !self.is_partial {
            let missing = self
                .cases
                .iter()
                .filter(|case| matches!(self.lines.get(case), Some(None)));
            self.problems.extend(missing.map(|case| {
                Problem::file(self.path, format!("the case `{case}` has no sealed half"))
                    .hint("add a line for it, or run with `--unscored` to score later")
            }));
        }
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        Ok(SealedSuite {
            canaries: leaks::canaries(self.sealed.values()),
            cases: self.sealed,
            metric_names: self.metrics.into_iter().map(|(name, ..)| name).collect(),
            digest,
        })
    }
}
