//! What is to be run: the grid, and for each of its cells all that a session needs.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    ops::Range,
    path::PathBuf,
    sync::Arc,
};

use serde_json::{Map, Value};

use super::schedule::Schedule;
use crate::{
    domain::{Case, Grid, Limits, SessionId, VariantName, rng_seed},
    error::{Context, Error, Result},
    model::{Conversation, Model, Options, Shape, wire::TOOLS},
    session::{Spec, StepJudge},
    tool::{McpServer, Registry},
    verify::Verifiers,
};

/// One way of running cases, ready to run.
pub struct Variant {
    /// Its name.
    pub name: VariantName,
    /// What answers.
    pub model: Arc<dyn Model>,
    /// Variants of one endpoint share its cap on sessions in flight.
    pub endpoint: String,
    /// Variants of one account share a cap on money: the model's name in the config.
    pub account: String,
    /// The system prompt.
    pub prompt: String,
    /// The names of its tools, where a case does not say.
    pub tools: Vec<String>,
    /// What a session may spend; a case's own `max_steps` wins.
    pub limits: Limits,
    /// What judges its steps.
    pub verifiers: Verifiers,
    /// The model that judges them too, where there is one.
    pub judge: Option<Arc<StepJudge>>,
    /// What else goes into each request.
    pub parameters: Map<String, Value>,
    /// How the model's replies are read.
    pub options: Options,
    /// Whether reasoning text goes back to the model.
    pub send_reasoning: bool,
}

/// A case with the folder of its files.
pub struct PlannedCase {
    /// The public half; its script is not needed any more.
    pub case: Case,
    /// The folder that `files` names.
    pub files: Option<PathBuf>,
}

/// A run that has not begun.
pub struct Plan {
    /// All its sessions.
    pub grid: Grid,
    /// The seed of all its seeds.
    pub run_seed: u64,
    /// In the order of the grid.
    pub cases: Vec<PlannedCase>,
    /// In the order of the grid.
    pub variants: Vec<Variant>,
    /// By case, then variant.
    tasks: Vec<Arc<Task>>,
}

/// What is fixed for the sessions of one case under one variant; cases with the same tools and
/// budget share it.
struct Task {
    spec: Arc<Spec>,
    opening: Conversation,
}

impl Plan {
    /// Puts a plan together.
    ///
    /// # Errors
    /// When there is nothing to run, or a tool is not in the registry.
    pub fn new(
        cases: Vec<PlannedCase>,
        variants: Vec<Variant>,
        seeds: Range<u64>,
        run_seed: u64,
        registry: &Registry,
    ) -> Result<Self> {
        if cases.is_empty() || variants.is_empty() || seeds.is_empty() {
            return Err(Error::input(
                "there is nothing to run: no case, no variant or no seed",
            ));
        }
        let grid = Grid::new(
            variants.iter().map(|v| v.name.clone()).collect(),
            cases.iter().map(|c| c.case.id.clone()).collect(),
            seeds,
        )
        .map_err(|e| Error::input(e.to_string()).hint("ask for fewer seeds, or select cases"))?;
        let mut known = HashMap::new();
        let mut tasks = Vec::with_capacity(cases.len() * variants.len());
        for PlannedCase { case, .. } in &cases {
            for (at, variant) in variants.iter().enumerate() {
                let task = match known.entry((at, &case.tools, case.max_steps)) {
                    Entry::Occupied(known) => Arc::clone(known.get()),
                    Entry::Vacant(new) => new
                        .insert(Arc::new(Task::new(case, variant, registry)?))
                        .clone(),
                };
                tasks.push(task);
            }
        }
        Ok(Self {
            grid,
            run_seed,
            cases,
            variants,
            tasks,
        })
    }

    /// What a session may spend and call, and what judges it.
    #[must_use]
    pub fn spec(&self, id: SessionId) -> &Arc<Spec> {
        &self.task(id).spec
    }

    /// The conversation of a session that has not begun.
    #[must_use]
    pub fn conversation(&self, id: SessionId) -> Conversation {
        let cell = self.grid.cell(id);
        let task = &self.cases[cell.case].case.task;
        self.task(id).opening.about(task)
    }

    /// The number behind a session's randomness.
    #[must_use]
    pub fn rng_seed(&self, id: SessionId) -> u64 {
        let cell = self.grid.cell(id);
        rng_seed(self.run_seed, &self.grid.cases[cell.case], cell.seed)
    }

    /// A schedule of all sessions but those in `done`, at most `concurrency` on each endpoint.
    #[must_use]
    pub fn schedule(
        &self,
        concurrency: usize,
        done: impl IntoIterator<Item = SessionId>,
    ) -> Schedule {
        let mut endpoints: Vec<&str> = Vec::new();
        let endpoint_of = self.variants.iter().map(|variant| {
            endpoints
                .iter()
                .position(|e| *e == variant.endpoint)
                .unwrap_or_else(|| {
                    endpoints.push(&variant.endpoint);
                    endpoints.len() - 1
                })
        });
        let endpoint_of = endpoint_of.collect();
        let caps = vec![concurrency; endpoints.len()];
        Schedule::new(self.grid.clone(), endpoint_of, &caps, done)
    }

    /// The servers that its sessions call.
    pub fn servers(&self) -> impl Iterator<Item = &Arc<McpServer>> {
        let all = self.tasks.iter().flat_map(|task| task.spec.tools.servers());
        let mut seen = HashSet::new();
        all.filter(move |server| seen.insert(Arc::as_ptr(server)))
    }

    fn task(&self, id: SessionId) -> &Task {
        let cell = self.grid.cell(id);
        &self.tasks[cell.case * self.variants.len() + cell.variant]
    }
}

impl Task {
    fn new(case: &Case, variant: &Variant, registry: &Registry) -> Result<Self> {
        let names = case.tools.as_ref().unwrap_or(&variant.tools);
        let tools = registry
            .select(names.iter().map(String::as_str))
            .input(|| format!("the tools of case {}", case.id))?;
        let mut limits = variant.limits.clone();
        limits.max_steps = case.max_steps.unwrap_or(limits.max_steps);
        let shape = Shape::new(
            &tools.wire(),
            variant.options.tool_mode,
            &variant.parameters,
            variant.send_reasoning,
        );
        let prompt = variant.prompt.replace(TOOLS, &tools.in_words());
        let opening = Conversation::opening(shape, &prompt);
        let spec = Arc::new(Spec {
            limits,
            tools,
            verifiers: variant.verifiers.clone(),
            judge: variant.judge.clone(),
        });
        Ok(Self { spec, opening })
    }
}
