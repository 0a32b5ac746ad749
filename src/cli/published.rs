//! Sessions of a run that was published: without its database, they stand in its files.

use serde::Deserialize;

use super::opened::Opened;
use crate::{
    domain::{
        CheckResult, SessionId,
        jsonl::{self, Secrecy},
        trace::Record,
    },
    error::{Error, Result},
    store::Score,
};

/// What a line of `scores.jsonl` says of a verdict.
#[derive(Deserialize)]
struct ScoreLine {
    key: String,
    passed: Option<bool>,
    checks: Vec<CheckResult>,
    error: Option<String>,
}

impl Opened {
    /// Whether its sessions are in its files alone.
    pub fn is_published(&self) -> bool {
        !self.folder.database().exists() && self.folder.traces().is_dir()
    }

    /// The records of a session in its traces.
    ///
    /// # Errors
    /// When it is not there, or its file cannot be read.
    pub fn published_records(&self, id: SessionId) -> Result<Vec<Record>> {
        let key = self.grid.key(id);
        let folder = self.folder.traces().join(key.variant.as_str());
        let lines =
            jsonl::read::<Record>(&folder.join(format!("{}.jsonl", key.case)), Secrecy::Public);
        if !lines.problems.is_empty() {
            return Err(Error::problems(lines.problems));
        }
        let mut is_its = false;
        let mut records: Vec<Record> = lines.values.into_iter().map(|(_, record)| record).collect();
        records.retain(|record| {
            if let Record::RunStart(start) = record {
                is_its = start.seed == key.seed;
            }
            is_its
        });
        if records.is_empty() {
            return Err(Error::input(format!(
                "{key} is not in the traces of the run"
            )));
        }
        Ok(records)
    }

    /// What the scorer said of a session, as its scores have it.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn published_score(&self, id: SessionId) -> Result<Option<Score>> {
        let key = self.grid.key(id).to_string();
        let lines = jsonl::read::<ScoreLine>(&self.folder.scores(), Secrecy::Public);
        if !lines.problems.is_empty() {
            return Err(Error::problems(lines.problems));
        }
        let line = lines.values.into_iter().map(|(_, line)| line);
        let line = line.into_iter().find(|line| line.key == key);
        Ok(line.and_then(|line| match (line.error, line.passed) {
            (Some(why), _) => Some(Score::Failed(why)),
            (None, Some(_)) => Some(Score::Judged(line.checks)),
            (None, None) => None,
        }))
    }
}
