//! Verifiers: what judges each step. Adding one is one file and one line in [`by_name`].

mod budget;
mod repeat;
mod reply;
mod schema;

use std::sync::Arc;

use crate::{
    domain::{Call, Code, Judgment, Observation, Phase},
    error::nearest,
    tool::ToolSet,
};

/// The names that a config may choose from; `reply` is not among them, since it is always there.
pub const NAMES: [&str; 3] = ["schema", "budget", "repeat"];

/// Those that judge unless the config says otherwise.
pub const DEFAULT: [&str; 2] = ["schema", "budget"];

/// The verifier of that name, one of [`NAMES`].
#[must_use]
pub fn by_name(name: &str) -> Option<Arc<dyn Verifier>> {
    match name {
        "schema" => Some(Arc::new(schema::Schema)),
        "budget" => Some(Arc::new(budget::Budget)),
        "repeat" => Some(Arc::new(repeat::Repeat)),
        _ => None,
    }
}

/// Judges steps. Verifiers are pure: the same context gives the same judgment.
pub trait Verifier: Send + Sync {
    /// The name in config and traces.
    fn name(&self) -> &'static str;

    /// Whether it judges before the action or after.
    fn phase(&self) -> Phase;

    /// Judges one step; none when it has nothing to say of it.
    fn judge(&self, ctx: &Context<'_>) -> Option<Judgment>;

    /// A judgment in its name.
    fn judgment(&self, score: f64, passed: bool, reason: String) -> Judgment {
        Judgment {
            verifier: self.name().into(),
            phase: self.phase(),
            score,
            passed,
            reason,
            code: None,
        }
    }
}

/// What is judged: one step, before or after its action.
pub struct Context<'a> {
    /// What the model asks for in this step.
    pub item: Item<'a>,
    /// The step's number, from 0.
    pub step: u32,
    /// The session's step budget.
    pub max_steps: u32,
    /// The session's tools.
    pub tools: &'a ToolSet,
    /// How many calls in a row, this one included, have the same tool and arguments.
    pub repeats: u32,
    /// What came back; only in the post-act phase, and not for answers.
    pub observation: Option<&'a Observation>,
}

/// One step's worth of a reply.
#[derive(Clone, Copy)]
pub enum Item<'a> {
    /// A call.
    Call(&'a Call),
    /// The answer.
    Answer(&'a str),
    /// A failed reply.
    Malformed {
        /// The kind.
        code: Code,
        /// Why.
        reason: &'a str,
    },
}

/// The verifiers of a session, in the order of their judgments.
#[derive(Clone)]
pub struct Verifiers {
    list: Arc<[Arc<dyn Verifier>]>,
}

/// Why a list of verifiers cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifiersError {
    /// No verifier has this name.
    #[error("no verifier {name:?}{}; verifiers: {}", hint(.name), NAMES.join(", "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// `schema` is left out.
    #[error("the verifiers lack \"schema\": no call may run unchecked")]
    Unchecked,
    /// One is named twice, which would count its score twice.
    #[error("verifier {name:?} is named twice")]
    Duplicate {
        /// The name.
        name: String,
    },
}

fn hint(name: &str) -> String {
    nearest(name, NAMES).map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}

impl Verifiers {
    /// `reply`, which always judges, then those named, in that order.
    ///
    /// # Errors
    /// The first name that is unknown or comes twice; a list without `schema`.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, VerifiersError> {
        let mut list: Vec<Arc<dyn Verifier>> = vec![Arc::new(reply::Reply)];
        for name in names {
            let verifier = by_name(name).ok_or_else(|| VerifiersError::Unknown {
                name: name.to_owned(),
            })?;
            if list.iter().any(|v| v.name() == name) {
                return Err(VerifiersError::Duplicate {
                    name: name.to_owned(),
                });
            }
            list.push(verifier);
        }
        if !list.iter().any(|v| v.name() == "schema") {
            return Err(VerifiersError::Unchecked);
        }
        Ok(Self { list: list.into() })
    }

    /// What is said before the action; any that has not passed blocks it.
    #[must_use]
    pub fn pre_act(&self, ctx: &Context<'_>) -> Vec<Judgment> {
        self.judge(Phase::PreAct, ctx)
    }

    /// What is said after the action.
    #[must_use]
    pub fn post_act(&self, ctx: &Context<'_>) -> Vec<Judgment> {
        self.judge(Phase::PostAct, ctx)
    }

    fn judge(&self, phase: Phase, ctx: &Context<'_>) -> Vec<Judgment> {
        self.list
            .iter()
            .filter(|v| v.phase() == phase)
            .filter_map(|v| v.judge(ctx))
            .collect()
    }
}

/// What a call gets in place of a result, if a judgment blocks it.
#[must_use]
pub fn blocked(judgments: &[Judgment]) -> Option<Observation> {
    let block = judgments.iter().find(|j| !j.passed)?;
    Some(Observation::error(format!(
        "blocked by {}: {}",
        block.verifier, block.reason
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context<'a>(item: Item<'a>, tools: &'a ToolSet) -> Context<'a> {
        Context {
            item,
            step: 0,
            max_steps: 8,
            tools,
            repeats: 1,
            observation: None,
        }
    }

    #[test]
    fn every_name_leads_to_its_verifier() {
        for name in NAMES {
            assert_eq!(by_name(name).unwrap().name(), name);
        }
        assert!(DEFAULT.iter().all(|name| NAMES.contains(name)));
        assert!(by_name("reply").is_none());
    }

    #[test]
    fn a_reply_is_judged_in_place_of_a_schema() {
        let verifiers = Verifiers::new(DEFAULT).unwrap();
        let tools = ToolSet::default();
        let reason = "nothing";
        let code = Code::Empty;
        let table = [
            (Item::Answer("1"), "schema"),
            (Item::Malformed { code, reason }, "reply"),
        ];
        for (item, first) in table {
            let ctx = context(item, &tools);
            let names = |list: Vec<Judgment>| -> Vec<String> {
                list.into_iter().map(|j| j.verifier.into_owned()).collect()
            };
            assert_eq!(names(verifiers.pre_act(&ctx)), [first]);
            assert_eq!(names(verifiers.post_act(&ctx)), ["budget"]);
        }
    }

    #[test]
    fn a_wrong_list_says_what_is_right() {
        let table = [
            (
                vec!["budgett"],
                r#"no verifier "budgett"; did you mean "budget"?; verifiers: schema, budget, repeat"#,
            ),
            (
                vec!["zzz"],
                r#"no verifier "zzz"; verifiers: schema, budget, repeat"#,
            ),
            (
                vec!["schema", "schema"],
                r#"verifier "schema" is named twice"#,
            ),
        ];
        for (names, why) in table {
            assert_eq!(Verifiers::new(names).err().unwrap().to_string(), why);
        }
        assert_eq!(
            Verifiers::new(["budget"]).err(),
            Some(VerifiersError::Unchecked)
        );
    }
}
