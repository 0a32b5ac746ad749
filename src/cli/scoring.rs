//! By what sessions were scored: figures of two scorings are not compared.

use serde_json::Value;

use super::{setup::Ready, side::Side};
use crate::{
    error::{Error, Result},
    score,
};

/// By what the sessions of a run were scored.
pub(super) struct Scoring {
    /// What was scored, for errors.
    of: String,
    /// The digest of its sealed halves; none: it has no scorer.
    sealed: Option<String>,
    /// The version of the rules by which checks judge.
    rules: u32,
    /// The model that grades, with its parameters; none: no check asks one.
    judge: Option<Value>,
}

impl Scoring {
    /// Of a run that is there.
    pub fn of(side: &Side) -> Self {
        let inputs = &side.manifest().inputs;
        Self {
            of: side.spec(),
            sealed: inputs.sha256.get("sealed").cloned(),
            rules: inputs.rules,
            judge: judge(side.manifest().meaning.as_ref()),
        }
    }

    /// Of a run that is about to begin.
    pub fn of_new(ready: &Ready) -> Self {
        Self {
            of: "this run".to_owned(),
            sealed: ready.inputs.get("sealed").cloned(),
            rules: score::RULES,
            judge: judge(Some(&ready.meaning())),
        }
    }

    /// Refuses to compare with sessions that were scored otherwise.
    ///
    /// # Errors
    /// When sealed halves, rules or grading models differ, or one side has no scorer.
    pub fn refuse_other(&self, other: &Self) -> Result<()> {
        let short = |sha256: &str| sha256.chars().take(8).collect::<String>();
        let mut hint = "run both with the same sealed halves and the same farm";
        let why = match (&self.sealed, &other.sealed) {
            (None, _) => format!("{} has no scorer", self.of),
            (_, None) => format!("{} has no scorer", other.of),
            (Some(a), Some(b)) if a != b => {
                format!("their sealed halves are {} and {}", short(a), short(b))
            }
            _ if self.rules != other.rules => {
                format!(
                    "the rules of their checks are {} and {}",
                    self.rules, other.rules
                )
            }
            _ if self.judge != other.judge => {
                hint = "run both with the same score.judge, with the same parameters";
                "other models grade them (score.judge)".to_owned()
            }
            _ => return Ok(()),
        };
        let what = format!("{} and {} were not scored alike: {why}", self.of, other.of);
        Err(Error::input(what).hint(hint))
    }
}

/// What grades, as what gives a run its meaning has it.
fn judge(meaning: Option<&Value>) -> Option<Value> {
    meaning?.get("score_judge").cloned()
}
