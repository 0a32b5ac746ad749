use schemars::{Schema, schema_for};

use super::{
    args::SchemaArgs,
    exit::{Exit, print},
};
use crate::{
    domain::{Case, Script, Summary, trace::Record},
    error::{Context, Error, Result, nearest},
    store::{Manifest, Timing},
};

/// A format: its name, and what makes its schema.
type Format = (&'static str, fn() -> Schema);

/// The formats that have a schema, by name.
const FORMATS: [Format; 6] = [
    ("case", || schema_for!(Case)),
    ("manifest", || schema_for!(Manifest)),
    ("script", || schema_for!(Script)),
    ("summary", || schema_for!(Summary)),
    ("timing", || schema_for!(Timing)),
    ("trace", || schema_for!(Record)),
];

/// `farm schema NAME`.
pub(super) fn schema(args: &SchemaArgs) -> Result<Exit> {
    let names = FORMATS.map(|(name, _)| name);
    let Some(wanted) = &args.name else {
        print(&format!("{}\n", names.join("\n")))?;
        return Ok(Exit::Done);
    };
    let Some((_, make)) = FORMATS.iter().find(|(name, _)| name == wanted) else {
        let error = Error::input(format!(
            "there is no format {wanted:?}; there are {}",
            names.join(", ")
        ));
        return Err(match nearest(wanted, names) {
            Some(near) => error.hint(format!("did you mean {near:?}?")),
            None => error,
        });
    };
    let text = serde_json::to_string_pretty(&make()).internal(|| "a schema as JSON".to_owned())?;
    print(&format!("{text}\n"))?;
    Ok(Exit::Done)
}
