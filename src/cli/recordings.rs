//! The recordings that cassettes answer from: found as the config names them, and read once.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::opened::{RUNS, run_and_variant};
use crate::{
    config::{self, Cassette},
    domain::{VariantName, absolute, shell},
    error::{Error, Result},
    model::{
        Tape,
        cassette::{Cost, Source},
    },
    store::{Manifest, RunFolder, manifest},
};

/// Those that have been read.
#[derive(Debug, Default)]
pub(super) struct Recordings {
    read: RefCell<BTreeMap<(PathBuf, VariantName), Recording>>,
}

/// One that has been read.
#[derive(Debug, Clone)]
pub(super) struct Recording {
    /// The replies.
    pub tape: Arc<Tape>,
    /// What else is known.
    pub source: Arc<Source>,
}

impl Recordings {
    /// The recording of a cassette.
    ///
    /// # Errors
    /// Internal, when it was not found here.
    pub fn of(&self, cassette: &Cassette) -> Result<Recording> {
        let key = (cassette.run.clone(), cassette.variant.clone());
        let recording = self.read.borrow().get(&key).cloned();
        recording.ok_or_else(|| Error::internal(format!("{} was not read", cassette.id)))
    }
}

impl config::Recordings for Recordings {
    fn find(&self, from: &str, folder: &Path) -> Result<Cassette> {
        let (run, variant) = run_and_variant(from, |spec| open(spec, folder))?;
        let manifest = run.read_manifest()?;
        let variant = pick(&manifest, variant)?;
        let path = absolute(run.path());
        let key = (path.clone(), variant.name.clone());
        let known = self.read.borrow().get(&key).cloned();
        let recording = match known {
            Some(recording) => recording,
            None => {
                let read = Recording {
                    tape: Arc::new(tape(&run, &variant.name)?),
                    source: Arc::new(source(&manifest, variant)),
                };
                self.read.borrow_mut().entry(key).or_insert(read).clone()
            }
        };
        Ok(Cassette {
            run: path,
            id: manifest.run.clone(),
            variant: variant.name.clone(),
            replies_sha256: recording.tape.sha256().to_owned(),
            kind: kind(variant).to_owned(),
            model: variant.model.clone(),
            price: variant.price,
        })
    }
}

/// A run's folder as seen from `folder`, else a run among those that farm keeps.
fn open(spec: &str, folder: &Path) -> Result<RunFolder> {
    let path = folder.join(spec);
    if let Some(run) = RunFolder::at(&path) {
        return Ok(run);
    }
    let runs = Path::new(RUNS);
    if spec == "latest" {
        return RunFolder::open(spec, runs);
    }
    let kept = (!spec.contains('/')).then(|| RunFolder::at(&runs.join(spec)));
    kept.flatten().ok_or_else(|| {
        let path = path.display();
        Error::input(format!(
            "there is no run {spec}: neither {path} nor one under {RUNS}"
        ))
        .hint("a folder is seen from the config file; `farm runs` lists the runs")
    })
}

/// The variant of this name, or the only one.
fn pick<'a>(manifest: &'a Manifest, name: Option<&str>) -> Result<&'a manifest::Variant> {
    let mut variants = manifest.variants.iter();
    let found = match name {
        Some(name) => variants.find(|variant| variant.name.as_str() == name),
        None => variants.next().filter(|_| manifest.variants.len() == 1),
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = manifest.variants.iter().map(|v| v.name.as_str()).collect();
        let run = &manifest.run;
        let message = match name {
            Some(name) => format!("run {run} has no variant {name}"),
            None => format!("run {run} has several variants"),
        };
        Error::input(message).hint(format!("name one of {}: RUN/VARIANT", names.join(", ")))
    })
}

fn tape(run: &RunFolder, variant: &VariantName) -> Result<Tape> {
    let folder = run.traces().join(variant.as_str());
    if !folder.is_dir() {
        let run = run.path().display().to_string();
        return Err(
            Error::input(format!("{} is not there", folder.display())).hint(format!(
                "`farm trace export {}` writes the traces of a run",
                shell(&run)
            )),
        );
    }
    Tape::load(&folder, variant).map_err(|problems| Error {
        message: "the recording is damaged".to_owned(),
        ..Error::problems(problems)
    })
}

/// The kind of the model that was recorded, also of a recording of a cassette.
fn kind(variant: &manifest::Variant) -> &str {
    let first = variant.recorded.as_ref().map(|recorded| &recorded.kind);
    first.unwrap_or(&variant.kind)
}

fn source(manifest: &Manifest, variant: &manifest::Variant) -> Source {
    let meaning = manifest.meaning.as_ref();
    let of_variant = meaning.and_then(|meaning| {
        let mut variants = meaning["variants"].as_array()?.iter();
        variants.find(|v| v["name"] == variant.name.as_str())
    });
    let of_model = of_variant.map(|variant| &variant["model"]);
    Source {
        name: format!("{}/{}", manifest.run, variant.name),
        farm: manifest.farm.clone(),
        prompt: variant.prompt.text.clone(),
        parameters: variant.parameters.clone(),
        tool_mode: of_model.and_then(|model| read(&model["tool_mode"])),
        text_calls: of_model.and_then(|model| read(&model["text_calls"])),
        send_reasoning: meaning.and_then(|meaning| read(&meaning["send_reasoning"])),
        limits: of_variant.and_then(|variant| read(&variant["limits"])),
        cost: match (kind(variant), variant.price) {
            ("scripted", _) => Cost::Nothing,
            (_, Some(price)) => Cost::Priced(price),
            (_, None) => Cost::Unknown,
        },
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}
