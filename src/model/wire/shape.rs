use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::domain::ToolMode;

/// What all conversations of one variant and set of tools share; made once.
#[derive(Debug)]
pub struct Shape {
    pub(super) tool_mode: ToolMode,
    pub(super) send_reasoning: bool,
    /// The end of the canonical request, after the last message.
    pub(super) tail: Vec<u8>,
    /// What goes along with the messages, as the fields of an object that has some already.
    along: Vec<u8>,
    /// `response_format` for the one object of json mode.
    reply_format: Vec<u8>,
    parameters: Map<String, Value>,
}

impl Shape {
    /// `tools`: the array that a chat request holds. `parameters`: what else goes into each request of
    /// the variant, without model and seed. `send_reasoning`: whether the model gets its own
    /// reasoning back.
    #[must_use]
    pub fn new(
        tools: &Value,
        tool_mode: ToolMode,
        parameters: &Map<String, Value>,
        send_reasoning: bool,
    ) -> Arc<Self> {
        let format = reply_format(tools);
        Self::with_format(tools, tool_mode, parameters, send_reasoning, &format)
    }

    /// Of conversations without tools in which each reply is one JSON object of this schema, called
    /// `name` there.
    #[must_use]
    pub fn of_objects(name: &str, schema: &Value, parameters: &Map<String, Value>) -> Arc<Self> {
        let format = json_schema(name, schema);
        Self::with_format(&json!([]), ToolMode::Json, parameters, false, &format)
    }

    fn with_format(
        tools: &Value,
        tool_mode: ToolMode,
        parameters: &Map<String, Value>,
        send_reasoning: bool,
        format: &Value,
    ) -> Arc<Self> {
        let mut tail = b"],\"parameters\":".to_vec();
        canonical(parameters, &mut tail);
        tail.extend_from_slice(b",\"tool_mode\":");
        canonical(&tool_mode, &mut tail);
        tail.extend_from_slice(b",\"tools\":");
        canonical(tools, &mut tail);
        tail.push(b'}');
        let mut along = String::new();
        let is_native = tool_mode == ToolMode::Native;
        if is_native && tools.as_array().is_some_and(|tools| !tools.is_empty()) {
            along = format!(",\"tools\":{tools}");
        }
        for (name, value) in parameters {
            along += &format!(",{}:{value}", Value::from(name.as_str()));
        }
        Arc::new(Self {
            tool_mode,
            send_reasoning,
            tail,
            along: along.into_bytes(),
            reply_format: format.to_string().into_bytes(),
            parameters: parameters.clone(),
        })
    }

    /// `{parameters, tool_mode, tools}`, as the digest of a request takes them.
    #[expect(clippy::expect_used, reason = "the tail of a request is written above")]
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut request = b"{\"messages\":[".to_vec();
        request.extend_from_slice(&self.tail);
        let mut value: Value = serde_json::from_slice(&request).expect("a request");
        if let Some(request) = value.as_object_mut() {
            request.shift_remove("messages");
        }
        value
    }

    /// Whether the model gets its own reasoning back.
    #[must_use]
    pub fn send_reasoning(&self) -> bool {
        self.send_reasoning
    }

    /// How the model calls tools.
    #[must_use]
    pub fn tool_mode(&self) -> ToolMode {
        self.tool_mode
    }

    /// Tools and parameters as the fields of a chat request, each with a comma before it. In json
    /// mode no tools are sent: the prompt tells of them.
    #[must_use]
    pub fn along(&self) -> &[u8] {
        &self.along
    }

    /// `response_format` of a chat request in json mode: a call of one of the tools, or an answer,
    /// unless another object is asked for.
    #[must_use]
    pub fn reply_format(&self) -> &[u8] {
        &self.reply_format
    }

    /// Whether the parameters set this field of a chat request.
    #[must_use]
    pub fn sets(&self, field: &str) -> bool {
        self.parameters.contains_key(field)
    }
}

fn reply_format(tools: &Value) -> Value {
    let object = |properties: Value, required: [&str; 2]| {
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    };
    let thought = json!({"type": "string"});
    let calls: Vec<Value> = tools
        .as_array()
        .into_iter()
        .flatten()
        .map(|tool| {
            let function = &tool["function"];
            object(
                json!({"tool": {"const": function["name"]}, "args": function["parameters"]}),
                ["tool", "args"],
            )
        })
        .collect();
    let call = (!calls.is_empty()).then(|| {
        object(
            json!({"thought": thought, "tool_call": {"anyOf": calls}}),
            ["thought", "tool_call"],
        )
    });
    let answer = object(
        json!({"thought": thought, "answer": {"type": "string"}}),
        ["thought", "answer"],
    );
    let replies: Vec<Value> = call.into_iter().chain([answer]).collect();
    json_schema("reply", &json!({"anyOf": replies}))
}

fn json_schema(name: &str, schema: &Value) -> Value {
    json!({"type": "json_schema", "json_schema": {"name": name, "schema": schema}})
}

#[expect(clippy::expect_used, reason = "every JSON value has an RFC 8785 form")]
fn canonical(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    serde_json_canonicalizer::to_writer(value, out).expect("a JSON value");
}
