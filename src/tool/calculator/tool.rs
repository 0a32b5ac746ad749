use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::evaluate;
use crate::{
    domain::{BoxFuture, Hints, Observation, ToolSpec},
    tool::{Tool, ToolContext, parse, spec},
};

const DESCRIPTION: &str = "Computes one arithmetic expression exactly as Python would and returns its value. \
    It has decimal integers and floats, + - * / // % **, signs and parentheses; no names, functions, \
    comparisons or units. \
    Limits: 4096 bytes, 64 levels of nesting, integers of 4096 bits. \
    Errors begin with their kind: syntax, too_long, too_deep, div_zero, overflow (a float out of range), \
    too_large (an integer out of range), domain (no real number).";

/// Arithmetic with Python's results.
pub struct Calculator {
    spec: ToolSpec,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// The expression on one line, at most 4096 bytes; powers are `**`, percentages `/100`.
    /// Example: `(17 * 23 + 1) / 4`
    expression: String,
}

impl Calculator {
    /// The name that calls use.
    pub const NAME: &str = "calculator";
}

impl Default for Calculator {
    fn default() -> Self {
        Self {
            spec: spec::<Args>(Self::NAME, DESCRIPTION, true, Hints::LOOKS_ONLY),
        }
    }
}

impl Tool for Calculator {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call<'a>(&'a self, args: &'a Value, _: &'a ToolContext) -> BoxFuture<'a, Observation> {
        Box::pin(std::future::ready(answer(args)))
    }
}

fn answer(args: &Value) -> Observation {
    match parse::<Args>(args).map(|args| evaluate(&args.expression)) {
        Ok(Ok(number)) => Observation::ok(number.to_string()),
        Ok(Err(e)) => Observation::error(e.to_string()),
        Err(observation) => observation,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_or_an_error_with_its_kind_first() {
        let table = [
            (json!({"expression": "17 * 23"}), true, "391"),
            (json!({"expression": "1 / 4"}), true, "0.25"),
            (json!({"expression": "17 x"}), false, "syntax: "),
            (json!({"expression": "1 / 0"}), false, "div_zero: "),
            (
                json!({"expr": "1"}),
                false,
                "invalid arguments: unknown field `expr`",
            ),
        ];
        for (args, ok, text) in table {
            let got = answer(&args);
            assert!(
                got.ok == ok && got.content.starts_with(text),
                "{args}: {got:?}"
            );
        }
    }
}
