use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::CaseId;

/// A line of a script file: the replies of one case, for all seeds or for one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The case that it answers.
    pub case: CaseId,
    /// The only seed that it answers; absent: all seeds that have no line of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The replies in order; the last one repeats for ever.
    #[schemars(length(min = 1))]
    pub script: Vec<Entry>,
}

/// One reply of a script: exactly one of `tool_call`, `tool_calls`, `answer`, `raw` and `any_of`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = exactly_one)]
pub struct Entry {
    /// What the model thinks; `{{observation}}` is the last observation, as in every text here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<String>,
    /// One call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call: Option<ScriptedCall>,
    /// Several calls in one turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub tool_calls: Option<Vec<ScriptedCall>>,
    /// The final answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The body of a provider's reply, as it would come over the wire.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Map<String, Value>>,
    /// Entries of which one is drawn by weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub any_of: Option<Vec<Entry>>,
    /// Weight inside an `any_of`, a positive integer; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub weight: Option<u64>,
}

/// Says in an entry's schema what [`Entry::validate`] says of its fields; null is absent.
fn exactly_one(schema: &mut Schema) {
    let kinds = ["tool_call", "tool_calls", "answer", "raw", "any_of"].map(|kind| {
        let mut fields = json!({kind: {"not": {"type": "null"}}});
        if matches!(kind, "raw" | "any_of") {
            fields["thought"] = json!({"type": "null"});
        }
        json!({"properties": fields, "required": [kind]})
    });
    schema.insert("oneOf".to_owned(), kinds.into());
}

/// A call in a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptedCall {
    /// The tool's name.
    pub tool: String,
    /// Its arguments: any JSON value.
    #[serde(default)]
    pub args: Value,
}

impl Entry {
    /// What is wrong with this entry or one nested in it, in words.
    ///
    /// # Errors
    /// When it is not exactly one kind of reply, is empty, or has a weight that cannot be drawn.
    pub fn validate(&self) -> Result<(), String> {
        self.validate_at("", false)
    }

    fn validate_at(&self, at: &str, nested: bool) -> Result<(), String> {
        let kinds = [
            ("tool_call", self.tool_call.is_some()),
            ("tool_calls", self.tool_calls.is_some()),
            ("answer", self.answer.is_some()),
            ("raw", self.raw.is_some()),
            ("any_of", self.any_of.is_some()),
        ];
        let present: Vec<&str> = kinds
            .iter()
            .filter(|(_, is)| *is)
            .map(|(name, _)| *name)
            .collect();
        let [kind] = present[..] else {
            let has = if present.is_empty() {
                "none".to_owned()
            } else {
                present.join(" and ")
            };
            return Err(format!(
                "{at}an entry needs exactly one of tool_call, tool_calls, answer, raw, any_of; this one has {has}"
            ));
        };
        if self.thought.is_some() && matches!(kind, "raw" | "any_of") {
            return Err(format!("{at}`thought` does not go with `{kind}`"));
        }
        match self.weight {
            Some(_) if !nested => {
                return Err(format!("{at}`weight` only means something inside any_of"));
            }
            Some(0) => return Err(format!("{at}`weight` must be a positive integer")),
            _ => {}
        }
        if self.tool_calls.as_ref().is_some_and(Vec::is_empty) {
            return Err(format!("{at}`tool_calls` is empty"));
        }
        let Some(choices) = &self.any_of else {
            return Ok(());
        };
        if choices.is_empty() {
            return Err(format!("{at}`any_of` is empty"));
        }
        choices
            .iter()
            .try_fold(0u64, |sum, e| sum.checked_add(e.weight.unwrap_or(1)))
            .ok_or_else(|| format!("{at}the weights of `any_of` add up to more than 2^64"))?;
        choices
            .iter()
            .enumerate()
            .try_for_each(|(i, e)| e.validate_at(&format!("{at}any_of[{i}]: "), true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_one_kind() {
        let table = [
            (r#"{"answer":"1"}"#, None),
            (
                r#"{"thought":"t","tool_call":{"tool":"x","args":{}}}"#,
                None,
            ),
            (
                r#"{"any_of":[{"weight":4,"answer":"1"},{"answer":"2"}]}"#,
                None,
            ),
            (r#"{}"#, Some("has none")),
            (r#"{"answer":"1","raw":{}}"#, Some("answer and raw")),
            (r#"{"weight":2,"answer":"1"}"#, Some("inside any_of")),
            (r#"{"any_of":[]}"#, Some("empty")),
            (
                r#"{"any_of":[{"weight":0,"answer":"1"}]}"#,
                Some("any_of[0]: `weight` must be"),
            ),
            (
                r#"{"any_of":[{"any_of":[{}]}]}"#,
                Some("any_of[0]: any_of[0]: "),
            ),
            (r#"{"tool_calls":[]}"#, Some("`tool_calls` is empty")),
            (
                r#"{"thought":"t","raw":{}}"#,
                Some("does not go with `raw`"),
            ),
        ];
        for (text, wrong) in table {
            let entry: Entry = serde_json::from_str(text).unwrap();
            match (entry.validate(), wrong) {
                (Ok(()), None) => {}
                (Err(e), Some(part)) if e.contains(part) => {}
                (got, want) => panic!("{text}: {got:?}, wanted {want:?}"),
            }
        }
    }
}
