//! What two sides of a comparison do not have in common.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use super::side::Side;
use crate::{config, domain::comparison::Differs};

/// What was run otherwise on `this` side than on the `first`. Cases that only one side has are no
/// difference here: they are left out of the comparison, which names them.
pub(super) fn differs(first: &Side, this: &Side) -> Vec<Differs> {
    let (first, this) = (parts(first, this), parts(this, first));
    let found = config::differences(&first, &this);
    found
        .into_iter()
        .map(|d| Differs {
            what: d.path,
            first: d.from,
            this: d.to,
        })
        .collect()
}

/// All that gives a side its meaning, as one tree; of the cases those that `other` has too.
fn parts(side: &Side, other: &Side) -> Value {
    let (manifest, variant) = (side.manifest(), &side.summary().variant);
    let mut parts = match &manifest.meaning {
        Some(Value::Object(meaning)) => meaning.clone(),
        _ => Map::new(),
    };
    let settings = parts.remove("tools");
    parts.extend(settings.map(|tools| ("tool_settings".to_owned(), tools)));
    let of_config = parts.remove("variants").and_then(|variants| {
        let mut variants = variants.as_array()?.iter();
        let found = variants.find(|v| v["name"] == variant.as_str())?;
        found.as_object().cloned()
    });
    // A run of an older farm tells less of its models.
    let of_manifest = || {
        let found = manifest.variants.iter().find(|v| v.name == *variant)?;
        let mut of = Map::new();
        of.insert("model".to_owned(), json!(found.model));
        of.insert("prompt_sha256".to_owned(), json!(found.prompt.sha256));
        of.insert("tools".to_owned(), json!(found.tools));
        of.insert("limits".to_owned(), json!(found.limits));
        of.insert("parameters".to_owned(), json!(found.parameters));
        Some(of)
    };
    let mut of_variant = of_config.or_else(of_manifest).unwrap_or_default();
    of_variant.remove("name");
    parts.extend(of_variant);
    let inputs = manifest.inputs.sha256.iter();
    let files: BTreeMap<_, _> = inputs
        .filter_map(|(name, sha256)| Some((name.strip_prefix("files ")?, sha256)))
        .collect();
    let has: HashSet<_> = other.run.opened.cases.iter().map(|c| &c.id).collect();
    let cases = &side.run.opened.cases;
    let shared: BTreeMap<_, _> = cases
        .iter()
        .filter(|case| has.contains(&case.id))
        .map(|case| (case.id.as_str(), json!(case)))
        .collect();
    let seeds = &manifest.grid.seeds;
    parts.insert("run_seed".to_owned(), json!(manifest.run_seed));
    parts.insert(
        "seeds".to_owned(),
        json!(format!("{}..{}", seeds.start, seeds.end)),
    );
    parts.insert("files".to_owned(), json!(files));
    parts.insert("cases".to_owned(), json!(shared));
    parts.insert("suite".to_owned(), json!(manifest.suite));
    Value::Object(parts)
}
