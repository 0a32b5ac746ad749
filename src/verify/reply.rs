use super::{Context, Item, Verifier};
use crate::domain::{Judgment, Phase};

/// Says why a reply is of no use. It speaks of failed replies only, in place of `schema`.
pub(super) struct Reply;

impl Verifier for Reply {
    fn name(&self) -> &'static str {
        "reply"
    }

    fn phase(&self) -> Phase {
        Phase::PreAct
    }

    fn judge(&self, ctx: &Context<'_>) -> Option<Judgment> {
        let Item::Malformed { code, reason } = ctx.item else {
            return None;
        };
        Some(Judgment {
            code: Some(code),
            ..self.judgment(0.0, false, reason.to_owned())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{domain::Code, tool::ToolSet};

    #[test]
    fn speaks_of_failed_replies_only() {
        let judge = |item| {
            Reply.judge(&Context {
                item,
                step: 0,
                max_steps: 8,
                tools: &ToolSet::default(),
                repeats: 0,
                observation: None,
            })
        };
        assert_eq!(judge(Item::Answer("1")), None);
        let code = Code::Empty;
        let reason = "neither text nor a call";
        let got = judge(Item::Malformed { code, reason }).unwrap();
        assert_eq!((got.score, got.passed, got.code), (0.0, false, Some(code)));
        assert_eq!(got.reason, reason);
    }
}
