//! `manifest.json`: what a run is made of. It can be published: its paths are relative and no host
//! stands in it.

use std::{collections::BTreeMap, ops::Range, path::Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{document, reader::Totals};
use crate::{
    domain::{Limits, Price, Reading, VariantName, input},
    error::Result,
};

/// The version written to `schema` of a manifest.
pub const SCHEMA: &str = "farm.manifest/1";

/// What a run is made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// The version of the format.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: String,
    /// The run's id.
    pub run: String,
    /// The version of farm that began it.
    pub farm: String,
    /// RFC 3339, UTC.
    pub created: String,
    /// The run digest: SHA-256 of all that gives the run its meaning, in hex.
    pub digest: String,
    /// The seed that all session seeds derive from.
    pub run_seed: u64,
    /// How it stands.
    pub status: RunStatus,
    /// What was planned.
    pub grid: Shape,
    /// In the order of the config.
    pub variants: Vec<Variant>,
    /// The servers of its tools; absent where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<Server>,
    /// What was read.
    pub inputs: Inputs,
    /// All in the config that changes what sessions do. The digest is that of
    /// `{"config": meaning, "inputs": inputs.sha256}` as canonical JSON; absent in runs of an older
    /// farm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<Value>,
    /// How the figures are read.
    pub suite: Suite,
    /// What infrastructure cost.
    #[serde(default)]
    pub totals: Totals,
    /// Operational settings that were changed by a resume, oldest first.
    #[serde(default)]
    pub changes: Vec<Change>,
}

/// How a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// At work, or died: its lock says which.
    Running,
    /// Came to its end.
    Finished,
    /// Wound down or was stopped before all sessions had run.
    Interrupted,
    /// farm itself failed.
    Failed,
}

impl RunStatus {
    /// The name in formats.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
        }
    }
}

/// How large the plan is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shape {
    /// In the order of the config.
    pub variants: Vec<VariantName>,
    /// How many.
    pub cases: u64,
    /// Their indices.
    #[schemars(with = "Seeds")]
    pub seeds: Range<u64>,
}

/// How a range of seeds is written.
#[derive(JsonSchema)]
#[expect(
    dead_code,
    reason = "stands for `Range` in the schema, and nowhere else"
)]
struct Seeds {
    /// The first.
    start: u64,
    /// One past the last.
    end: u64,
}

/// One way of running cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// Its name.
    pub name: VariantName,
    /// The model as the endpoint knows it.
    pub model: String,
    /// `scripted`, `openai` or `cassette`.
    pub kind: String,
    /// The system prompt.
    pub prompt: Prompt,
    /// The tools of cases that name none.
    pub tools: Vec<String>,
    /// The limits of its sessions.
    pub limits: Limits,
    /// What is sent along with each request.
    pub parameters: Map<String, Value>,
    /// Absent when no price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// What a cassette answers from; absent for other models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
}

/// The variant of another run whose replies a cassette gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recorded {
    /// The run's id.
    pub run: String,
    /// Its variant.
    pub variant: VariantName,
    /// The kind of the model that was recorded: `scripted` or `openai`; of a recording of a
    /// cassette, that of the first.
    pub kind: String,
    /// SHA-256 over its replies, in hex.
    pub replies_sha256: String,
}

/// A server of tools, as it was asked before the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// Its name in the config.
    pub name: String,
    /// What it calls itself, with its version; empty if it does not say.
    pub program: String,
    /// The version of MCP that it speaks.
    pub protocol: String,
}

/// A prompt with its digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prompt {
    /// Byte for byte.
    pub text: String,
    /// In hex.
    pub sha256: String,
}

/// What a run was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inputs {
    /// The case file's name, without folders.
    pub cases: String,
    /// The case file as seen from the run folder, where a resume looks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The sealed halves as seen from the run folder; absent in a run without a scorer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<String>,
    /// The version of the rules by which checks judge.
    #[serde(default = "first_rules")]
    pub rules: u32,
    /// Digests of what was read, SHA-256 in hex: `cases`, `sealed`, `files FOLDER`,
    /// `prompt VARIANT`.
    pub sha256: BTreeMap<String, String>,
}

/// Of runs that do not say.
fn first_rules() -> u32 {
    1
}

/// `[suite]`: how the figures are read.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Suite {
    /// Whether the cases are all there is or a sample.
    pub cases: Reading,
    /// The level of intervals, between 0 and 1.
    pub level: f64,
}

/// A setting that a resume changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// RFC 3339, UTC.
    pub at: String,
    /// The config key.
    pub key: String,
    /// Its value before.
    pub from: Value,
    /// Its value since.
    pub to: Value,
}

impl Manifest {
    /// Reads a manifest; fields that this farm does not know are ignored.
    ///
    /// # Errors
    /// When it is missing, damaged or of a newer farm.
    pub fn read(path: &Path) -> Result<Self> {
        document::read(path, SCHEMA)
    }

    /// Whether the run has a scorer.
    #[must_use]
    pub fn is_scored(&self) -> bool {
        self.inputs.sha256.contains_key("sealed")
    }

    /// Writes it whole or not at all.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn write(&self, path: &Path) -> Result<()> {
        document::write(path, self)
    }
}

/// Whether farm, of whatever version, wrote this file as the manifest of a run.
pub(super) fn is_one(path: &Path) -> bool {
    let value = input::text(path)
        .ok()
        .and_then(|text| serde_json::from_str::<Value>(&text).ok());
    value.is_some_and(|value| document::version(&value, SCHEMA).is_some())
}

#[cfg(test)]
pub(super) mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::store::{Timing, rfc3339, timing};

    pub(crate) fn manifest(run: &str, created: &str) -> Manifest {
        Manifest {
            schema: SCHEMA.to_owned(),
            run: run.to_owned(),
            farm: "0.1.0".to_owned(),
            created: created.to_owned(),
            digest: "ab".repeat(32),
            run_seed: 0,
            status: RunStatus::Running,
            grid: Shape {
                variants: vec!["scripted".parse().unwrap()],
                cases: 3,
                seeds: 0..12,
            },
            variants: vec![Variant {
                name: "scripted".parse().unwrap(),
                model: "scripted".to_owned(),
                kind: "scripted".to_owned(),
                prompt: Prompt {
                    text: "Think.\n".to_owned(),
                    sha256: "cd".repeat(32),
                },
                tools: vec!["calculator".to_owned()],
                limits: Limits::default(),
                parameters: Map::new(),
                price: None,
                recorded: None,
            }],
            servers: Vec::new(),
            inputs: Inputs {
                cases: "cases.jsonl".to_owned(),
                path: Some("../../../eval/cases.jsonl".to_owned()),
                sealed: None,
                rules: 1,
                sha256: BTreeMap::from([("cases".to_owned(), "ef".repeat(32))]),
            },
            meaning: Some(Value::Object(Map::new())),
            suite: Suite {
                cases: Reading::Fixed,
                level: 0.95,
            },
            totals: Totals::default(),
            changes: Vec::new(),
        }
    }

    #[test]
    fn reads_what_it_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest.json");
        let mut manifest = manifest("r", "2026-09-18T01:02:03Z");
        manifest.changes.push(Change {
            at: rfc3339(Timestamp::UNIX_EPOCH),
            key: "concurrency".to_owned(),
            from: 4.into(),
            to: 8.into(),
        });
        manifest.write(&path).unwrap();
        assert_eq!(Manifest::read(&path).unwrap(), manifest);
        assert_eq!(manifest.changes[0].at, "1970-01-01T00:00:00Z");

        let timing = Timing {
            schema: timing::SCHEMA.to_owned(),
            run: "r".to_owned(),
            spans: vec![timing::Span {
                host: "h".to_owned(),
                began: rfc3339(Timestamp::UNIX_EPOCH),
                wall_s: 1.5,
                sessions: 36,
                work_s: 4.25,
            }],
        };
        timing.write(&path).unwrap();
        assert_eq!(Timing::read(&path).unwrap(), timing);
        let other = Manifest::read(&path).unwrap_err();
        assert!(other.message.contains("not a manifest of farm"), "{other}");
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest.json");
        assert!(
            Manifest::read(&path)
                .unwrap_err()
                .message
                .contains("cannot be read")
        );
        let said = |text: &str| {
            std::fs::write(&path, text).unwrap();
            assert_eq!(is_one(&path), text.contains("farm.manifest/"), "{text}");
            Manifest::read(&path).unwrap_err().message
        };
        for (text, want) in [
            ("{\"schema\":\n ", "manifest.json:2:"),
            ("[]", "not a manifest of farm"),
            ("[\"farm.timing/1\"]", "not a manifest of farm"),
            ("{\"schema\":7}", "not a manifest of farm"),
            (
                "{\"schema\":\"farm.manifesto/1\"}",
                "not a manifest of farm",
            ),
            ("{\"name\":\"my web app\"}", "not a manifest of farm"),
            (
                "{\"schema\":\"farm.manifest/9\"}",
                "this farm knows farm.manifest/1",
            ),
            ("{\"schema\":\"farm.manifest/1\"}", "missing field `run`"),
        ] {
            assert!(said(text).contains(want), "{text}: {}", said(text));
        }
    }
}
