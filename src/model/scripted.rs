//! The scripted model: its replies are written down, so that a session costs nothing and is the
//! same every time.

use std::{collections::HashMap, ops::Range, sync::Arc, time::Duration};

use super::{
    Model, ModelError, ModelErrorKind, Options, Reply, Request, Retry,
    wire::{Place, render},
};
use crate::domain::{BoxFuture, CaseId, Entry, Script, Usage};

/// The scripts of one model, by case, some of them for one seed only.
#[derive(Debug, Clone, Default)]
pub struct Scripts {
    cases: HashMap<CaseId, CaseScripts>,
}

#[derive(Debug, Clone, Default)]
struct CaseScripts {
    every: Option<Arc<[Entry]>>,
    seeds: HashMap<u64, Arc<[Entry]>>,
}

/// What is wrong with a set of scripts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScriptsError {
    /// Two scripts for all seeds of one case.
    #[error("case {0} has two scripts for all seeds: keep one of them, in the case or in a file")]
    Duplicate(CaseId),
    /// Two scripts for one seed of one case.
    #[error("case {0} has two scripts for seed {1}: keep one of them")]
    DuplicateSeed(CaseId, u64),
    /// A script without a reply.
    #[error("the script of case {0} is empty: write at least one reply")]
    Empty(CaseId),
}

impl ScriptsError {
    /// Whose script it is.
    #[must_use]
    pub fn case(&self) -> &CaseId {
        match self {
            Self::Duplicate(case) | Self::DuplicateSeed(case, _) | Self::Empty(case) => case,
        }
    }
}

impl Scripts {
    /// Joins the lines of script files and the scripts that stand in cases (`inline`).
    ///
    /// # Errors
    /// All scripts that are empty or given twice.
    pub fn new(
        lines: impl IntoIterator<Item = Script>,
        inline: impl IntoIterator<Item = (CaseId, Vec<Entry>)>,
    ) -> Result<Self, Vec<ScriptsError>> {
        let mut scripts = Self::default();
        let inline = inline.into_iter().map(|(case, script)| Script {
            case,
            seed: None,
            script,
        });
        let errors: Vec<_> = lines
            .into_iter()
            .chain(inline)
            .filter_map(|script| scripts.add(script).err())
            .collect();
        if errors.is_empty() {
            Ok(scripts)
        } else {
            Err(errors)
        }
    }

    fn add(&mut self, Script { case, seed, script }: Script) -> Result<(), ScriptsError> {
        if script.is_empty() {
            return Err(ScriptsError::Empty(case));
        }
        let of_case = self.cases.entry(case.clone()).or_default();
        let script = script.into();
        let before = match seed {
            None => of_case.every.replace(script),
            Some(seed) => of_case.seeds.insert(seed, script),
        };
        match (before, seed) {
            (None, _) => Ok(()),
            (Some(_), None) => Err(ScriptsError::Duplicate(case)),
            (Some(_), Some(seed)) => Err(ScriptsError::DuplicateSeed(case, seed)),
        }
    }

    /// Whether there is a script for that case and each of `seeds`.
    #[must_use]
    pub fn covers(&self, case: &CaseId, mut seeds: Range<u64>) -> bool {
        self.cases.get(case).is_some_and(|of_case| {
            of_case.every.is_some() || seeds.all(|seed| of_case.seeds.contains_key(&seed))
        })
    }

    /// The script of all seeds of that case that have none of their own.
    #[must_use]
    pub fn every(&self, case: &CaseId) -> Option<Arc<[Entry]>> {
        self.cases.get(case)?.every.clone()
    }

    /// The scripts of that case that are for one seed only, in no order.
    pub fn of_one_seed(&self, case: &CaseId) -> impl Iterator<Item = (u64, Arc<[Entry]>)> {
        let of_case = self.cases.get(case).into_iter();
        of_case.flat_map(|c| c.seeds.iter().map(|(seed, script)| (*seed, script.clone())))
    }

    /// The script of that seed alone, else that of all seeds.
    fn get(&self, case: &CaseId, seed: u64) -> Option<&[Entry]> {
        let of_case = self.cases.get(case)?;
        let script = of_case.seeds.get(&seed).or(of_case.every.as_ref())?;
        Some(script)
    }
}

/// A model that answers from scripts.
///
/// A `raw` entry that is the body of an error is that error, of whatever kind: the session ends
/// `model_error` and stands as errored. Also where the kind says that no session of the endpoint
/// could do better (`auth`, `not_found`, `quota_exhausted`, `not_an_api`): an endpoint is parked,
/// and its sessions are left `not_run`, only where there is one, with live models. An error in one
/// script says nothing of the next.
#[derive(Debug, Clone)]
pub struct Scripted {
    name: String,
    scripts: Scripts,
    options: Options,
    latency: Option<Duration>,
}

impl Scripted {
    /// `name` is the model's name in the config; `latency` is how long each reply takes.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        scripts: Scripts,
        options: Options,
        latency: Option<Duration>,
    ) -> Self {
        Self {
            name: name.into(),
            scripts,
            options,
            latency,
        }
    }

    fn reply(&self, request: &Request<'_>) -> Result<Reply, ModelError> {
        let turn = request.conversation.assistant_count();
        let script = self.scripts.get(request.case, request.seed);
        let entry = script.and_then(|entries| {
            let place = usize::try_from(turn).unwrap_or(usize::MAX);
            entries.get(place).or(entries.last())
        });
        let entry = entry.ok_or_else(|| ModelError {
            kind: ModelErrorKind::NoReply,
            message: format!(
                "model {} has no script for case {}, seed {}: give the case a `script`, or add a \
                 line to the file that `scripts` of the model names",
                self.name, request.case, request.seed
            ),
            retry: Retry::No,
        })?;
        let place = Place {
            rng_seed: request.rng_seed,
            turn,
            observation: request.conversation.last_observation(),
            tool_mode: self.options.tool_mode,
        };
        let latency = self.latency.unwrap_or_default();
        Reply::parse(render(entry, &place).into(), self.options, latency)
    }
}

impl Model for Scripted {
    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            if let Some(latency) = self.latency {
                tokio::time::sleep(latency).await;
            }
            self.reply(request)
        })
    }

    /// Nothing, unless a `raw` reply states a price.
    fn cost(&self, usage: Option<&Usage>) -> Option<f64> {
        Some(usage.and_then(|u| u.cost_usd).unwrap_or(0.0))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        domain::{Action, Observation, ToolMode},
        model::{Caller, Conversation, Shape},
    };

    fn id(text: &str) -> CaseId {
        text.parse().unwrap()
    }

    fn entries(text: &str) -> Vec<Entry> {
        serde_json::from_str(text).unwrap()
    }

    fn line(case: &str, seed: Option<u64>, script: &str) -> Script {
        Script {
            case: id(case),
            seed,
            script: entries(script),
        }
    }

    fn answers(text: &str) -> String {
        json!([{ "answer": text }]).to_string()
    }

    fn model(scripts: Scripts) -> Scripted {
        Scripted::new("scripted", scripts, Options::default(), None)
    }

    fn conversation() -> Conversation {
        let shape = Shape::new(&json!([]), ToolMode::Native, &serde_json::Map::new(), false);
        Conversation::opening(shape, "system").about("task")
    }

    async fn ask(
        model: &Scripted,
        case: &str,
        seed: u64,
        conversation: &Conversation,
    ) -> Result<Reply, ModelError> {
        let case = id(case);
        let caller = Caller::of_a_test();
        let request = Request {
            case: &case,
            seed,
            rng_seed: 0,
            conversation,
            caller: &caller,
        };
        model.complete(&request).await
    }

    fn answer(reply: &Reply) -> &str {
        match &reply.content.action {
            Action::Answer(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn the_script_of_a_seed_wins() {
        let lines = [
            line("a", None, &answers("every")),
            line("a", Some(3), &answers("third")),
            line("b", Some(0), &answers("only")),
        ];
        let inline = [(id("c"), entries(&answers("inline")))];
        let model = model(Scripts::new(lines, inline).unwrap());
        let start = conversation();
        for (case, seed, want) in [
            ("a", 0, "every"),
            ("a", 3, "third"),
            ("b", 0, "only"),
            ("c", 9, "inline"),
        ] {
            assert_eq!(
                answer(&ask(&model, case, seed, &start).await.unwrap()),
                want
            );
        }
        for (case, seed) in [("b", 1), ("d", 0)] {
            let error = ask(&model, case, seed, &start).await.unwrap_err();
            assert_eq!(
                (error.kind, error.retry),
                (ModelErrorKind::NoReply, Retry::No)
            );
            let named = format!("model scripted has no script for case {case}, seed {seed}");
            assert!(error.message.contains(&named), "{error}");
        }
    }

    #[test]
    fn a_case_is_covered_by_a_script_of_all_seeds_or_one_of_each() {
        let lines = [
            line("a", None, &answers("every")),
            line("b", Some(3), &answers("third")),
            line("b", Some(4), &answers("fourth")),
        ];
        let scripts = Scripts::new(lines, []).unwrap();
        let table = [
            ("a", 0..u64::MAX, true),
            ("b", 3..5, true),
            ("b", 2..5, false),
            ("b", 3..u64::MAX, false),
            ("c", 0..1, false),
        ];
        for (case, seeds, want) in table {
            assert_eq!(
                scripts.covers(&id(case), seeds.clone()),
                want,
                "{case} {seeds:?}"
            );
        }
    }

    #[test]
    fn scripts_given_twice_are_all_named() {
        let lines = [
            line("a", None, &answers("1")),
            line("b", Some(7), &answers("1")),
            line("b", Some(7), &answers("2")),
            line("c", None, "[]"),
        ];
        let errors = Scripts::new(lines, [(id("a"), entries(&answers("2")))]).unwrap_err();
        assert_eq!(
            errors,
            [
                ScriptsError::DuplicateSeed(id("b"), 7),
                ScriptsError::Empty(id("c")),
                ScriptsError::Duplicate(id("a")),
            ]
        );
    }

    #[tokio::test]
    async fn the_observation_is_filled_in_and_the_last_entry_repeats() {
        let script = r#"[{"tool_call":{"tool":"x"}},{"answer":"got {{observation}}"}]"#;
        let scripts = Scripts::new([line("a", None, script)], []).unwrap();
        let model = model(scripts);
        let mut conversation = conversation();
        let call = ask(&model, "a", 0, &conversation).await.unwrap();
        conversation.push_turn(&call.content, &[Observation::ok("391")]);
        for _ in 0..2 {
            let reply = ask(&model, "a", 0, &conversation).await.unwrap();
            assert_eq!(answer(&reply), "got 391");
            conversation.push_turn(&reply.content, &[]);
        }
    }

    #[tokio::test]
    async fn latency_is_slept() {
        let scripts = Scripts::new([line("a", None, &answers("1"))], []).unwrap();
        let latency = Duration::from_millis(2);
        let model = Scripted::new("slow", scripts, Options::default(), Some(latency));
        let begun = std::time::Instant::now();
        let reply = ask(&model, "a", 0, &conversation()).await.unwrap();
        assert!(begun.elapsed() >= latency);
        assert_eq!(reply.latency, latency);
    }

    #[tokio::test]
    async fn a_raw_error_is_an_error_and_a_raw_price_a_price() {
        let script = r#"[{"raw":{"error":{"code":429,"message":"slow down"}}}]"#;
        let model = model(Scripts::new([line("a", None, script)], []).unwrap());
        let error = ask(&model, "a", 0, &conversation()).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::RateLimited);
        let usage = Usage {
            cost_usd: Some(0.5),
            ..Usage::default()
        };
        assert_eq!(model.cost(Some(&usage)), Some(0.5));
        assert_eq!(model.cost(None), Some(0.0));
    }
}
