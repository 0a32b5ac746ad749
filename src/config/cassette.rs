//! Models that answer from the recording of another run.

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use super::{kinds::Misfit, settings::Settings};
use crate::{
    domain::{Price, VariantName, absolute},
    error::{Problem, Result},
};

/// What a cassette answers from.
#[derive(Debug, Clone, PartialEq)]
pub struct Cassette {
    /// The folder of the run that was recorded.
    pub run: PathBuf,
    /// Its id.
    pub id: String,
    /// Which of its variants.
    pub variant: VariantName,
    /// SHA-256 over all its replies, hex: the same for two copies of one recording.
    pub replies_sha256: String,
    /// The kind of the model that was recorded; of a recording of a cassette, that of the first.
    pub kind: String,
    /// That model as its endpoint knows it.
    pub model: String,
    /// What its tokens cost.
    pub price: Option<Price>,
}

/// Finds recordings: the rest of farm knows where runs are and how they are read.
pub trait Recordings: fmt::Debug {
    /// The recording that a config file in `folder` names: `RUN/VARIANT`, or `RUN` if it has one
    /// variant.
    ///
    /// # Errors
    /// When there is none, with all that is wrong with its traces.
    fn find(&self, from: &str, folder: &Path) -> Result<Cassette>;
}

/// The recordings of all cassettes, by name of the model. Each `from` then says which run and which
/// variant is meant, whatever `latest` and the only variant will be later.
pub(super) fn find(
    settings: &mut Settings,
    recordings: &dyn Recordings,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, Cassette> {
    let models = settings.names_of("models").map(|n| n.name.clone());
    let mut found = BTreeMap::new();
    for name in models.collect::<Vec<_>>() {
        let path = ["models", &name, "from"];
        let is_cassette = settings.kind_of(&name) == Some("cassette");
        let Some((from, folder)) = settings.text(&path).zip(settings.folder(&path)) else {
            continue;
        };
        if !is_cassette {
            continue;
        }
        match recordings.find(from, folder) {
            Ok(cassette) => {
                let run = absolute(&cassette.run).join(cassette.variant.as_str());
                settings.refine(&path, run.to_string_lossy().into_owned().into());
                found.insert(name, cassette);
            }
            Err(error) => {
                let misfit = Misfit {
                    message: error.message,
                    hint: error.hint,
                };
                problems.push(settings.problem(&path, misfit));
                problems.extend(error.problems);
            }
        }
    }
    found
}
