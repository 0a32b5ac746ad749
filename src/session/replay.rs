use super::{
    judge::Judged,
    step::{Effect, Event, Machine},
};
use crate::{
    domain::{Observation, trace::Step},
    model::Normalised,
};

/// A durable turn of a session that is to be continued.
#[derive(Debug)]
pub struct StoredTurn {
    /// What the model said.
    pub reply: Normalised,
    /// What it cost, in US dollars.
    pub cost_usd: Option<f64>,
    /// Working seconds when the reply came.
    pub replied_s: f64,
    /// Working seconds when its last tool was done; the same where none ran.
    pub acted_s: f64,
    /// Its steps; none when the turn was cut off before they were durable.
    pub steps: Vec<Step>,
    /// What a model said of them; none when nothing of that is durable.
    pub judged: Option<Judged>,
}

impl StoredTurn {
    /// Working seconds when the last of it became durable.
    #[must_use]
    pub fn work_s(&self) -> f64 {
        self.judged
            .as_ref()
            .map_or(self.acted_s, |judged| judged.work_s)
    }
}

/// Feeds durable turns through a machine that has not begun, and returns what is to be done next.
///
/// No model is asked and no tool runs: what is durable is not asked again. Effects that only make
/// durable what is so already are left out.
pub fn replay(machine: &mut Machine, turns: impl IntoIterator<Item = StoredTurn>) -> Vec<Effect> {
    let mut next = machine.step(Event::Begin);
    for turn in turns {
        let StoredTurn {
            reply,
            cost_usd,
            replied_s,
            acted_s,
            steps,
            judged,
        } = turn;
        next = machine.step(Event::Replied {
            reply,
            cost_usd,
            work_s: replied_s,
        });
        let has_acted = !steps.is_empty();
        if has_acted && next.iter().any(|e| matches!(e, Effect::Run(_))) {
            let observations = brought_back(steps);
            next = machine.step(Event::Observed {
                observations,
                work_s: acted_s,
            });
        }
        if let Some(judged) = judged
            && next.iter().any(|e| matches!(e, Effect::Judge(_)))
        {
            next = machine.step(Event::Judged(judged));
            next.retain(|e| !matches!(e, Effect::KeepJudgments));
        }
        next.retain(|e| match e {
            Effect::KeepTurn => false,
            Effect::KeepSteps(_) => !has_acted,
            _ => true,
        });
    }
    next
}

/// What the calls that ran brought back.
fn brought_back(steps: Vec<Step>) -> Vec<Observation> {
    steps
        .into_iter()
        .filter(|s| !s.is_blocked())
        .filter_map(|s| s.observation)
        .collect()
}
