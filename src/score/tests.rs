//! Of the module as a whole: files in, verdicts out, and no sealed value anywhere.

use std::{fmt::Write as _, sync::Arc};

use serde_json::{Value, json};

use super::sealed::{Bounds, Called, Check, Expect, Measure, Metric, SealedCase};
use super::*;
use crate::{
    domain::{CaseId, Outcome, SessionKey, SessionRecord, Status, StepFacts},
    error::Problem,
};

mod files;
mod schema;
mod scoring;
mod secrecy;

/// Loads `text` as the sealed half of `cases`; the file is called F in problems.
fn load_text(text: &str, cases: &[&str]) -> Result<SealedSuite, Vec<Problem>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let cases: Vec<CaseId> = cases.iter().map(|id| id.parse().unwrap()).collect();
    load(file.path(), &cases).map_err(|mut problems| {
        for problem in &mut problems {
            assert_eq!(problem.file, file.path().display().to_string());
            "F".clone_into(&mut problem.file);
        }
        problems
    })
}

fn suite_of(lines: &[Value]) -> SealedSuite {
    let mut text = String::new();
    for line in lines {
        writeln!(text, "{line}").unwrap();
    }
    let ids: Vec<&str> = lines.iter().map(|l| l["id"].as_str().unwrap()).collect();
    load_text(&text, &ids).unwrap_or_else(|p| panic!("{p:?}"))
}

/// A check as it is loaded from a file.
pub(super) fn check(check: &Value) -> Check {
    let mut suite = suite_of(&[json!({"id": "a", "checks": [check]})]);
    let mut case = suite.cases.remove("a").unwrap();
    case.checks.remove(0)
}

/// A session that completed with one step, of seed 0.
pub(super) fn record(case: &str, answer: Option<&str>) -> SessionRecord {
    SessionRecord {
        key: SessionKey {
            variant: "v".parse().unwrap(),
            case: case.parse().unwrap(),
            seed: 0,
        },
        outcome: Arc::new(Outcome {
            status: Status::Completed,
            limit: None,
            answer: answer.map(str::to_owned),
            steps_used: 1,
            blocked: 0,
            mean_score: None,
            tokens_in: None,
            tokens_out: None,
            cost_usd: None,
            error: None,
            served: Vec::new(),
        }),
        steps: Vec::new(),
    }
}

pub(super) fn step(tool: &str, args: Value, blocked: bool, observation: &str) -> StepFacts {
    StepFacts {
        tool: Some(tool.to_owned()),
        args,
        blocked,
        observation: Some(observation.into()),
    }
}

/// Compiles only if the type implements none of the traits: else `_` has two meanings.
macro_rules! assert_has_none_of {
    ([$($type:ty),+ $(,)?], $traits:tt) => { $(assert_has_none_of!(@one $type, $traits);)+ };
    (@one $type:ty, [$($trait:path),+]) => { $(const _: fn() = || {
        trait Ambiguous<A> { fn meaning() {} }
        impl<T: ?Sized> Ambiguous<()> for T {}
        struct Second;
        impl<T: ?Sized + $trait> Ambiguous<Second> for T {}
        let _ = <$type as Ambiguous<_>>::meaning;
    };)+ };
}

assert_has_none_of!(
    [
        SealedCase,
        Check,
        Expect,
        Called,
        Bounds,
        Metric,
        Measure,
        Measured,
        line::Line
    ],
    [std::fmt::Debug, std::fmt::Display, serde::Serialize]
);
assert_has_none_of!(
    [SealedSuite, Question],
    [std::fmt::Display, serde::Serialize]
);
