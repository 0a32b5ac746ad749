//! What a run folder says of the run that it was made for.

use std::path::Path;

use jiff::Timestamp;

use super::setup::Ready;
use crate::{
    config::{self, ModelKind},
    domain::Case,
    error::{Context, Result},
    score,
    store::{
        Totals,
        manifest::{
            self, Inputs, Manifest, Prompt, Recorded, RunStatus, Server, Shape, Suite, Variant,
        },
        rfc3339,
    },
};

/// The manifest of a run that begins now.
pub(super) fn of(
    ready: &Ready,
    cases: &Path,
    (run, folder): (&str, &Path),
    created: Timestamp,
) -> Manifest {
    let grid = &ready.plan.grid;
    Manifest {
        schema: manifest::SCHEMA.to_owned(),
        run: run.to_owned(),
        farm: env!("CARGO_PKG_VERSION").to_owned(),
        created: rfc3339(created),
        digest: ready.digest.clone(),
        run_seed: ready.plan.run_seed,
        status: RunStatus::Running,
        grid: Shape {
            variants: grid.variants.clone(),
            cases: grid.cases.len() as u64,
            seeds: grid.seeds.clone(),
        },
        variants: variants(ready),
        servers: servers(ready),
        inputs: inputs(ready, cases, folder),
        meaning: Some(ready.meaning()),
        suite: suite(ready),
        totals: Totals::default(),
        changes: Vec::new(),
    }
}

/// What was read, for a run in `folder`.
pub(super) fn inputs(ready: &Ready, cases: &Path, folder: &Path) -> Inputs {
    let name = cases.file_name().unwrap_or_default();
    Inputs {
        cases: name.to_string_lossy().into_owned(),
        path: Some(config::relative(cases, folder)),
        sealed: ready
            .sealed
            .is_some()
            .then(|| config::relative(&ready.sealed_file, folder)),
        rules: score::RULES,
        sha256: ready.inputs.clone(),
    }
}

/// How the figures are read.
pub(super) fn suite(ready: &Ready) -> Suite {
    Suite {
        cases: ready.config.suite.cases,
        level: ready.config.suite.level,
    }
}

/// The variants, in the order of the config.
pub(super) fn variants(ready: &Ready) -> Vec<Variant> {
    ready.config.variants.iter().map(variant).collect()
}

/// The servers of its tools, as they were asked just now.
pub(super) fn servers(ready: &Ready) -> Vec<Server> {
    let servers = ready.servers.iter().map(|(name, info)| Server {
        name: name.clone(),
        program: info.program.clone(),
        protocol: info.protocol.clone(),
    });
    servers.collect()
}

fn variant(variant: &config::Variant) -> Variant {
    let kind = &variant.model.kind;
    let (model, price) = match kind {
        ModelKind::Scripted { .. } => (variant.model.name.to_string(), None),
        ModelKind::OpenAi(live) => (live.model.clone(), live.price),
        ModelKind::Cassette(cassette) => (cassette.model.clone(), cassette.price),
    };
    let recorded = match kind {
        ModelKind::Cassette(cassette) => Some(Recorded {
            run: cassette.id.clone(),
            variant: cassette.variant.clone(),
            kind: cassette.kind.clone(),
            replies_sha256: cassette.replies_sha256.clone(),
        }),
        _ => None,
    };
    Variant {
        name: variant.name.clone(),
        model,
        kind: kind.as_str().to_owned(),
        prompt: Prompt {
            text: variant.prompt.text.clone(),
            sha256: variant.prompt.sha256.clone(),
        },
        tools: variant.tools.clone(),
        limits: variant.limits.clone(),
        parameters: variant.parameters.clone(),
        price,
        recorded,
    }
}

/// `cases.jsonl` of the run folder: the public halves, without scripts.
pub(super) fn cases(ready: &Ready) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    for planned in &ready.plan.cases {
        let case: &Case = &planned.case;
        serde_json::to_writer(&mut lines, case).internal(|| format!("case {} as JSON", case.id))?;
        lines.push(b'\n');
    }
    Ok(lines)
}
