//! The models that judge: steps while a session goes on, and answers after it.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    audit::Audit,
    kinds::Misfit,
    models::{ModelConfig, ModelKind, Models, Parameters},
    settings::Settings,
};
use crate::error::Result;

/// A model that judges each step of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Judge {
    /// What judges.
    pub model: ModelConfig,
    /// Sent with each request.
    pub parameters: Map<String, Value>,
    /// By what it judges; not empty.
    pub rubric: String,
}

/// A model that grades the checks of kind `model_graded` of a finished session.
#[derive(Debug, Clone, PartialEq)]
pub struct Grader {
    /// What grades.
    pub model: ModelConfig,
    /// Sent with each request.
    pub parameters: Map<String, Value>,
}

const OF_STEPS: [&str; 3] = ["session", "judge", "model"];
const OF_ANSWERS: [&str; 2] = ["score", "judge"];

/// The names of the models that judge.
pub(super) fn names(settings: &Settings) -> Vec<&str> {
    let named = [&OF_STEPS[..], &OF_ANSWERS].map(|path| settings.text(path));
    named.into_iter().flatten().collect()
}

#[derive(Deserialize, Default)]
struct Table {
    rubric: Option<String>,
}

/// The judge of steps, if there is one.
pub(super) fn of_steps(audit: &mut Audit<'_>, models: &Models) -> Result<Option<Judge>> {
    let both = ["model", "rubric"];
    audit.whole(&OF_STEPS[..2], &both, &both);
    let table: Table = audit.settings.read(&OF_STEPS[..2])?;
    let found = model(audit, &OF_STEPS, models).zip(table.rubric);
    Ok(found.map(|((model, parameters), rubric)| Judge {
        model,
        parameters,
        rubric,
    }))
}

/// The grader of answers, if there is one.
pub(super) fn of_answers(audit: &mut Audit<'_>, models: &Models) -> Option<Grader> {
    let (model, parameters) = model(audit, &OF_ANSWERS, models)?;
    Some(Grader { model, parameters })
}

fn model(
    audit: &mut Audit<'_>,
    path: &[&str],
    models: &Models,
) -> Option<(ModelConfig, Parameters)> {
    let settings = audit.settings;
    let name = settings.text(path)?;
    if !audit.model(path, name) {
        return None;
    }
    let (model, parameters) = models.get(name)?.asked_with(Parameters::new());
    if matches!(model.kind, ModelKind::Cassette(_)) {
        let misfit = Misfit {
            message: format!("model `{name}` is a cassette, and recordings hold no grades"),
            hint: Some("name a live or scripted model".to_owned()),
        };
        audit.tell(path, misfit);
        return None;
    }
    Some((model, parameters))
}
