use std::sync::Arc;

use serde_json::{Map, Value};

use crate::domain::ToolMode;

/// What all conversations of one variant and set of tools share; made once.
#[derive(Debug)]
pub struct Shape {
    pub(super) tool_mode: ToolMode,
    pub(super) send_reasoning: bool,
    /// The end of the canonical request, after the last message.
    pub(super) tail: Vec<u8>,
}

impl Shape {
    /// `tools`: the array that a chat request holds. `parameters`: the sampling parameters of the variant, without model and seed.
    /// `send_reasoning`: whether the model gets its own reasoning back.
    #[must_use]
    pub fn new(
        tools: &Value,
        tool_mode: ToolMode,
        parameters: &Map<String, Value>,
        send_reasoning: bool,
    ) -> Arc<Self> {
        let mut tail = b"],\"parameters\":".to_vec();
        canonical(parameters, &mut tail);
        tail.extend_from_slice(b",\"tool_mode\":");
        canonical(&tool_mode, &mut tail);
        tail.extend_from_slice(b",\"tools\":");
        canonical(tools, &mut tail);
        tail.push(b'}');
        Arc::new(Self {
            tool_mode,
            send_reasoning,
            tail,
        })
    }

    /// How the model calls tools.
    #[must_use]
    pub fn tool_mode(&self) -> ToolMode {
        self.tool_mode
    }
}

#[expect(clippy::expect_used, reason = "every JSON value has an RFC 8785 form")]
fn canonical(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    serde_json_canonicalizer::to_writer(value, out).expect("a JSON value");
}
