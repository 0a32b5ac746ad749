//! Whether the seeds of a case are copies of each other.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

use crate::{
    domain::{Decision, Grid, plan::Replies},
    error::{Context, Result},
    store::Reader,
};

/// How many different sessions each case had under a variant, in the order of the cases. Sessions
/// differ when what the model thought, called or answered does. Those count that the agent ended.
///
/// # Errors
/// When the store cannot be read.
pub fn replies(reader: &Reader, grid: &Grid, variant: usize) -> Result<Vec<Replies>> {
    let of_case = |(case, id): (usize, &_)| {
        let (mut sessions, mut distinct) = (0, BTreeSet::new());
        for row in reader.rows_of(grid, variant, case) {
            let (session, Some(row)) = row? else { continue };
            if row
                .outcome
                .is_some_and(|outcome| outcome.status.is_scored())
            {
                let steps = reader.steps(session, row.attempt)?;
                let decisions = steps.iter().map(|step| &step.body.decision);
                sessions += 1;
                distinct.insert(digest(decisions)?);
            }
        }
        Ok(Replies {
            case: Clone::clone(id),
            sessions,
            distinct: distinct.len() as u64,
        })
    };
    grid.cases.iter().enumerate().map(of_case).collect()
}

/// The same for sessions in which the model decided the same in the same order.
fn digest<'a>(decisions: impl Iterator<Item = &'a Decision>) -> Result<[u8; 32]> {
    let mut sha256 = Sha256::new();
    for decision in decisions {
        // A line each: JSON has no line break within.
        let line = serde_json::to_vec(decision).internal(|| "a decision as JSON".to_owned())?;
        sha256.update(line);
        sha256.update(b"\n");
    }
    Ok(sha256.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::DecidedCall;

    #[test]
    fn what_the_model_decides_makes_the_difference() {
        let answer = |text: &str| Decision {
            thought: None,
            tool_call: None,
            answer: Some(text.to_owned()),
        };
        let call = |n: u32| Decision {
            tool_call: Some(DecidedCall {
                tool: "calculator".to_owned(),
                args: serde_json::json!({ "n": n }),
                args_raw: None,
            }),
            answer: None,
            ..answer("")
        };
        let thought = |text: &str| Decision {
            thought: Some(text.to_owned()),
            ..answer("7")
        };
        let of = |decisions: &[Decision]| digest(decisions.iter()).unwrap();
        let all = [
            vec![],
            vec![answer("7")],
            vec![answer("8")],
            vec![thought("7")],
            vec![call(1)],
            vec![call(2)],
            vec![call(1), answer("7")],
            vec![answer("7"), call(1)],
            vec![answer("7\n"), call(1)],
        ];
        let distinct: BTreeSet<_> = all.iter().map(|session| of(session)).collect();
        assert_eq!(distinct.len(), all.len());
        assert_eq!(of(&all[6]), of(&[call(1), answer("7")]));
    }
}
