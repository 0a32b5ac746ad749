//! `farm schema NAME`: the JSON Schema of each format.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

use super::{
    args::SchemaArgs,
    exit::{Exit, print},
};
use crate::{
    config,
    domain::{
        Case, Script, Summary, comparison::Comparison, failures::Failures, forecast::Forecast,
        plan::StudyPlan, trace::Record,
    },
    error::{Context, Error, Result, nearest},
    report::status::Status,
    score,
    store::{Manifest, ScoreLine, Timing},
};

/// A format: its name, and what makes its schema.
type Format = (&'static str, fn() -> Schema);

/// The formats that have a schema, by name.
const FORMATS: [Format; 14] = [
    ("case", read::<Case>),
    ("comparison", written::<Comparison>),
    ("config", config::schema),
    ("failures", written::<Failures>),
    ("forecast", written::<Forecast>),
    ("manifest", written::<Manifest>),
    ("plan", written::<StudyPlan>),
    ("scores", written::<ScoreLine<'_>>),
    ("script", read::<Script>),
    ("sealed", score::schema),
    ("status", written::<Status>),
    ("summary", written::<Summary>),
    ("timing", written::<Timing>),
    ("trace", written::<Record>),
];

/// What people write: fields that farm reads, and no others.
fn read<T: JsonSchema>() -> Schema {
    schema_of::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// What farm writes: fields that are always there, and room for those of a newer farm.
fn written<T: JsonSchema>() -> Schema {
    schema_of::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn schema_of<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    let unwrap = RecursiveTransform(unwrap_description);
    let settings = settings.with_transform(unwrap);
    settings.into_generator().into_root_schema_for::<T>()
}

/// Descriptions are comments of the code, with its line breaks.
fn unwrap_description(schema: &mut Schema) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
}

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
