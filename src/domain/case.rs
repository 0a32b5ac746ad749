use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CaseId, Entry};

/// The public half of a case: what the agent is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique in the file; joins the sealed half.
    pub id: CaseId,
    /// The task, sent to the model byte for byte. Not empty.
    #[schemars(regex(pattern = r"\S"))]
    pub task: String,
    /// Steps that a session of this case may take; wins over the variant's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_steps: Option<u32>,
    /// The tools of its sessions; wins over the variant's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("uniqueItems" = true))]
    pub tools: Option<Vec<String>>,
    /// A folder, relative to the case file, copied fresh for each session: what `file_read` sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub files: Option<String>,
    /// Labels for `--tag` and for reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Cases drawn from one source: one unit of the statistics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = r"\S"))]
    pub cluster: Option<String>,
    /// Replies of the scripted model. Not part of the public half: never sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub script: Option<Vec<Entry>>,
    /// Free data.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}
