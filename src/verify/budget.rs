use super::{Context, Verifier};
use crate::domain::{Judgment, Phase};

/// Scores thrift: the share of the step budget that was left when the step began,
/// 1 − step / `max_steps` with the step from 0. It speaks of every step and never fails one.
pub(super) struct Budget;

impl Verifier for Budget {
    fn name(&self) -> &'static str {
        "budget"
    }

    fn phase(&self) -> Phase {
        Phase::PostAct
    }

    fn judge(&self, ctx: &Context<'_>) -> Option<Judgment> {
        let used = f64::from(ctx.step) / f64::from(ctx.max_steps.max(1));
        let score = (1.0 - used).max(0.0);
        let number = ctx.step.saturating_add(1);
        let reason = format!("step {number}/{}; headroom {score:.2}", ctx.max_steps);
        Some(self.judgment(score, true, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{tool::ToolSet, verify::Item};

    #[test]
    fn headroom_shrinks_with_each_step() {
        let table = [
            (0, 8, 1.0, "step 1/8; headroom 1.00"),
            (1, 8, 0.875, "step 2/8; headroom 0.88"),
            (7, 8, 0.125, "step 8/8; headroom 0.12"),
            (0, 1, 1.0, "step 1/1; headroom 1.00"),
            (9, 8, 0.0, "step 10/8; headroom 0.00"),
            (0, 0, 1.0, "step 1/0; headroom 1.00"),
        ];
        for (step, max_steps, score, reason) in table {
            let got = Budget
                .judge(&Context {
                    item: Item::Answer("1"),
                    step,
                    max_steps,
                    tools: &ToolSet::default(),
                    repeats: 0,
                    observation: None,
                })
                .unwrap();
            assert_eq!((got.score, got.passed, &*got.reason), (score, true, reason));
        }
    }
}
