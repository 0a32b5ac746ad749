//! The body of a chat request.

use bytes::Bytes;

use crate::{
    domain::{ResponseFormat, ToolMode, provider_seed},
    model::Conversation,
};

/// A chat request.
pub(super) struct Body<'a> {
    /// The model as the endpoint knows it.
    pub model: &'a str,
    /// The session's number, if it goes along; a provider gets its lowest 31 bits.
    pub seed: Option<u64>,
    /// What is asked of the reply in json mode, unless the parameters say.
    pub response_format: ResponseFormat,
    /// Messages, tools and parameters.
    pub conversation: &'a Conversation,
}

impl Body<'_> {
    /// As JSON.
    pub fn to_bytes(&self) -> Bytes {
        let shape = self.conversation.shape();
        let mut body = Vec::with_capacity(1024);
        body.extend_from_slice(b"{\"model\":");
        body.extend_from_slice(serde_json::Value::from(self.model).to_string().as_bytes());
        body.extend_from_slice(b",\"messages\":");
        self.conversation.write_messages(&mut body);
        if shape.tool_mode() == ToolMode::Json && !shape.sets("response_format") {
            match self.response_format {
                ResponseFormat::JsonSchema => {
                    body.extend_from_slice(b",\"response_format\":");
                    body.extend_from_slice(shape.reply_format());
                }
                ResponseFormat::JsonObject => {
                    body.extend_from_slice(b",\"response_format\":{\"type\":\"json_object\"}");
                }
                ResponseFormat::None => {}
            }
        }
        body.extend_from_slice(shape.along());
        if let Some(rng_seed) = self.seed {
            let seed = format!(",\"seed\":{}", provider_seed(rng_seed));
            body.extend_from_slice(seed.as_bytes());
        }
        body.push(b'}');
        body.into()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::model::Shape;

    fn body(mode: ToolMode, parameters: &Value, format: ResponseFormat) -> Value {
        let parameters: Map<String, Value> = parameters.as_object().unwrap().clone();
        let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        let tools = json!([{"type": "function", "function": {
            "name": "x", "description": "does x", "parameters": schema}}]);
        let shape = Shape::new(&tools, mode, &parameters, false);
        let conversation = Conversation::opening(shape, "be brief").about("1 + \"1\"?");
        let body = Body {
            model: "some/model",
            seed: Some(0xffff_ffff_0000_0007),
            response_format: format,
            conversation: &conversation,
        };
        serde_json::from_slice(&body.to_bytes()).unwrap()
    }

    #[test]
    fn native() {
        let parameters = json!({"temperature": 0.8, "provider": {"order": ["a"]}});
        let body = body(ToolMode::Native, &parameters, ResponseFormat::JsonSchema);
        let want = json!({
            "model": "some/model",
            "messages": [
                {"content": "be brief", "role": "system"},
                {"content": "1 + \"1\"?", "role": "user"},
            ],
            "tools": [{"type": "function", "function": {
                "name": "x", "description": "does x",
                "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}}],
            "temperature": 0.8,
            "provider": {"order": ["a"]},
            "seed": 7,
        });
        assert_eq!(body, want);
    }

    #[test]
    fn json_mode_asks_for_one_object() {
        let body = |format| body(ToolMode::Json, &json!({}), format);
        let with_schema = body(ResponseFormat::JsonSchema);
        assert!(with_schema.get("tools").is_none());
        let format = &with_schema["response_format"];
        assert_eq!(format["type"], "json_schema");
        let schema = jsonschema::validator_for(&format["json_schema"]["schema"]).unwrap();
        let table = [
            (
                json!({"thought": "t", "tool_call": {"tool": "x", "args": {"n": 1}}}),
                true,
            ),
            (json!({"thought": "t", "answer": "2"}), true),
            (
                json!({"thought": "t", "tool_call": {"tool": "y", "args": {}}}),
                false,
            ),
            (
                json!({"thought": "t", "tool_call": {"tool": "x", "args": {"n": "1"}}}),
                false,
            ),
            (json!({"thought": "t"}), false),
            (
                json!({"thought": "t", "answer": "2", "tool_call": {"tool": "x", "args": {}}}),
                false,
            ),
        ];
        for (reply, want) in table {
            assert_eq!(schema.is_valid(&reply), want, "{reply}");
        }
        let object = body(ResponseFormat::JsonObject);
        assert_eq!(object["response_format"], json!({"type": "json_object"}));
        assert!(body(ResponseFormat::None).get("response_format").is_none());
    }

    #[test]
    fn what_the_config_asks_for_wins() {
        let own = json!({"response_format": {"type": "text"}});
        let body = body(ToolMode::Json, &own, ResponseFormat::JsonSchema);
        assert_eq!(body["response_format"], json!({"type": "text"}));
    }
}
