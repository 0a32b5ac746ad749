use super::{Context, Item, Verifier};
use crate::domain::{Judgment, Phase};

/// Scores loops: 1/m for the m-th call in a row with the same tool and arguments.
///
/// A repeated call does not pass, but it has run: calling again is sometimes right, so it costs
/// score and blocks nothing. That is why it judges after the act.
pub(super) struct Repeat;

impl Verifier for Repeat {
    fn name(&self) -> &'static str {
        "repeat"
    }

    fn phase(&self) -> Phase {
        Phase::PostAct
    }

    fn judge(&self, ctx: &Context<'_>) -> Option<Judgment> {
        let Item::Call(_) = ctx.item else {
            return None;
        };
        let times = ctx.repeats.max(1);
        let reason = match times {
            1 => "not a repeat of the call before".to_owned(),
            n => format!("the same call {n} times in a row"),
        };
        Some(self.judgment(1.0 / f64::from(times), times == 1, reason))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        domain::{Call, Code},
        tool::ToolSet,
    };

    fn judge(item: Item<'_>, repeats: u32) -> Option<Judgment> {
        Repeat.judge(&Context {
            item,
            step: 0,
            max_steps: 8,
            tools: &ToolSet::default(),
            repeats,
            observation: None,
        })
    }

    #[test]
    fn the_mth_identical_call_scores_one_mth() {
        let call = Call {
            id: "1".to_owned(),
            tool: "t".to_owned(),
            args: Ok(json!({})),
            args_len: 2,
        };
        let table = [
            (0, 1.0, true, "not a repeat of the call before"),
            (1, 1.0, true, "not a repeat of the call before"),
            (2, 0.5, false, "the same call 2 times in a row"),
            (4, 0.25, false, "the same call 4 times in a row"),
        ];
        for (repeats, score, passed, reason) in table {
            let got = judge(Item::Call(&call), repeats).unwrap();
            assert_eq!(
                (got.score, got.passed, &*got.reason),
                (score, passed, reason)
            );
        }
    }

    #[test]
    fn only_calls_repeat() {
        let (code, reason) = (Code::Empty, "");
        assert_eq!(judge(Item::Answer("1"), 3), None);
        assert_eq!(judge(Item::Malformed { code, reason }, 3), None);
    }
}
