use std::fmt::Write;

use jsonschema::{ValidationError, error::ValidationErrorKind};

use super::{Context, Item, Verifier};
use crate::{
    domain::{Call, Code, Judgment, MAX_ARGS_BYTES, Phase, shortened},
    tool::ToolSet,
};

/// Violations that are told; the rest is counted.
const MAX_VIOLATIONS: usize = 8;
/// Characters of a value that are told.
const MAX_VALUE_CHARS: usize = 200;
/// Characters of a whole violation that are told: names and paths may be long as well.
const MAX_VIOLATION_CHARS: usize = 600;

/// Checks a call before it runs: a known tool, arguments of a sane size that are JSON and match the
/// tool's JSON Schema. An answer passes; of failed replies `reply` speaks.
pub(super) struct Schema;

impl Verifier for Schema {
    fn name(&self) -> &'static str {
        "schema"
    }

    fn phase(&self) -> Phase {
        Phase::PreAct
    }

    fn judge(&self, ctx: &Context<'_>) -> Option<Judgment> {
        let checked = match ctx.item {
            Item::Call(call) => check(call, ctx.tools),
            Item::Answer(_) => Ok("final answer step; no tool call to validate".to_owned()),
            Item::Malformed { .. } => return None,
        };
        Some(match checked {
            Ok(reason) => self.judgment(1.0, true, reason),
            Err((code, reason)) => Judgment {
                code: Some(code),
                ..self.judgment(0.0, false, reason)
            },
        })
    }
}

fn check(call: &Call, tools: &ToolSet) -> Result<String, (Code, String)> {
    let Some(entry) = tools.get(&call.tool) else {
        return Err((Code::UnknownTool, tools.unknown(&call.tool)));
    };
    if call.args_len > MAX_ARGS_BYTES {
        let reason = format!(
            "the arguments are {} bytes long, at most {MAX_ARGS_BYTES} are taken: call again with less",
            call.args_len
        );
        return Err((Code::TooLarge, reason));
    }
    let args = match &call.args {
        Ok(args) => args,
        Err(bad) => return Err((bad.code, bad.reason.clone())),
    };
    if !entry.can_check(args) {
        let reason = format!(
            "the arguments are too costly to check against the schema of {}",
            call.tool
        );
        return Err((Code::Schema, reason));
    }
    let validator = entry.validator();
    if validator.is_valid(args) {
        return Ok(format!("args match {} schema", call.tool));
    }
    if !entry.can_explain(args) {
        let reason = format!(
            "the arguments do not match the schema of {}, and there is too much in them to say where",
            call.tool
        );
        return Err((Code::Schema, reason));
    }
    let errors: Vec<_> = validator.iter_errors(args).collect();
    Err((Code::Schema, violations(&errors)))
}

/// All of them in one line, as `POINTER: MESSAGE`; those of the arguments as a whole have no pointer.
fn violations(errors: &[ValidationError<'_>]) -> String {
    let mut text = String::new();
    for error in errors.iter().take(MAX_VIOLATIONS) {
        if !text.is_empty() {
            text.push_str("; ");
        }
        text.push_str(&shortened(&violation(error), MAX_VIOLATION_CHARS));
    }
    if let Some(more @ 1..) = errors.len().checked_sub(MAX_VIOLATIONS) {
        let _ = write!(text, "; and {more} more");
    }
    text
}

fn violation(error: &ValidationError<'_>) -> String {
    let pointer = error.instance_path().as_str();
    let message = match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            best_branch(pointer, context)
        }
        _ => None,
    };
    let message = message.unwrap_or_else(|| {
        let value = shortened(&error.instance().to_string(), MAX_VALUE_CHARS);
        error.masked_with(value).to_string()
    });
    if pointer.is_empty() {
        message
    } else {
        format!("{pointer}: {message}")
    }
}

/// What is wrong with the alternative that is most likely meant: one of the value's own type, whose
/// tags match, with the fewest violations. A tag is a member, or the value itself, that can be one
/// thing only.
fn best_branch(pointer: &str, branches: &[Vec<ValidationError<'_>>]) -> Option<String> {
    let distance = |errors: &&Vec<ValidationError<'_>>| {
        let wrong_type = errors.iter().any(|e| {
            matches!(e.kind(), ValidationErrorKind::Type { .. })
                && e.instance_path().as_str() == pointer
        });
        let wrong_tag = errors.iter().any(|e| {
            let path = e.instance_path().as_str();
            let is_near = path == pointer || path.rsplit_once('/').is_some_and(|p| p.0 == pointer);
            is_near
                && match e.kind() {
                    ValidationErrorKind::Constant { .. } => true,
                    ValidationErrorKind::Enum { options } => {
                        options.as_array().is_some_and(|options| options.len() == 1)
                    }
                    _ => false,
                }
        });
        (wrong_type, wrong_tag, errors.len())
    };
    let best = branches.iter().min_by_key(distance)?;
    Some(format!(
        "matches none of {} alternatives; the nearest says: {}",
        branches.len(),
        violations(best)
    ))
}

#[cfg(test)]
mod tests;
