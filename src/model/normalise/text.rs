//! What is written into the visible text: thinking between tags, and calls where they are allowed.

use serde_json::Value;

use super::{Normalised, Repair, acting, args, failed};
use crate::domain::{Action, Call, Code};

/// Splits `<think>…</think>` at the front off: the visible text, and the thinking if there is any.
///
/// An unclosed `<think>` takes all; a `</think>` alone ends thinking that the chat template
/// began in the prompt.
pub(super) fn split_thinking(text: String) -> (String, Option<String>) {
    const OPEN: &str = "<think>";
    const CLOSE: &str = "</think>";
    let opened = text.trim_start().strip_prefix(OPEN);
    let (thinking, visible) = match (opened, text.split_once(CLOSE)) {
        (Some(all), _) => all.split_once(CLOSE).unwrap_or((all, "")),
        (None, Some((thinking, visible))) if !thinking.contains(OPEN) => (thinking, visible),
        _ => return (text, None),
    };
    (visible.trim().to_owned(), Some(thinking.trim().to_owned()))
}

/// Begins a call in the text.
pub(super) const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// Reads `text` as calls with text around them; it holds [`OPEN`].
pub(super) fn read_calls(text: String, cut: bool, repairs: &mut Vec<Repair>) -> Normalised {
    let mut calls = Vec::new();
    let mut around = Vec::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once(OPEN) {
        // Models often stop right after the call, without the closing tag.
        let (inside, after) = after.split_once(CLOSE).unwrap_or((after, ""));
        around.push(before.trim());
        rest = after;
        match read_call(inside, calls.len(), repairs) {
            Ok(call) => calls.push(call),
            Err(_) if cut => return failed(Code::CutOff, super::CUT_OFF, Some(text)),
            Err((code, wrong)) => {
                let reason = format!(
                    "The text between {OPEN} and {CLOSE} {wrong}. Write one JSON object \
                     {{\"name\": …, \"arguments\": {{…}}}} there."
                );
                return failed(code, reason, Some(text));
            }
        }
    }
    around.push(rest.trim());
    around.retain(|part| !part.is_empty());
    let around = around.join("\n");
    acting(Action::Calls(calls), (!around.is_empty()).then_some(around))
}

fn read_call(
    inside: &str,
    index: usize,
    repairs: &mut Vec<Repair>,
) -> Result<Call, (Code, String)> {
    let mut object = match args::strict(inside) {
        Ok(Value::Object(object)) => object,
        Ok(_) => return Err((Code::Schema, "is not a JSON object".into())),
        Err(e) => return Err((Code::NotJson, format!("is not valid JSON: {e}"))),
    };
    let Some(Value::String(tool)) = object.remove("name") else {
        return Err((Code::Schema, "names no tool in `name`".into()));
    };
    let (args, args_len) = args::of_value(object.remove("arguments"), repairs);
    Ok(Call {
        id: format!("call_{index}"),
        tool,
        args,
        args_len,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinking() {
        let table = [
            ("391", "391", None),
            ("  391 ", "  391 ", None),
            ("<think>a</think>\n391", "391", Some("a")),
            ("\n<think>a</think>b</think>c", "b</think>c", Some("a")),
            ("<think>a", "", Some("a")),
            ("a\n</think>\n391", "391", Some("a")),
            ("<think></think>391", "391", Some("")),
            ("391 <think>a</think>", "391 <think>a</think>", None),
        ];
        for (text, visible, thinking) in table {
            let want = (visible.to_owned(), thinking.map(str::to_owned));
            assert_eq!(split_thinking(text.to_owned()), want, "{text}");
        }
    }

    #[test]
    fn calls() {
        let read = |text: &str, cut| read_calls(text.to_owned(), cut, &mut vec![]);
        let two = read(
            r#"a <tool_call>{"name":"x","arguments":{}}</tool_call> b <tool_call>{"name":"y"}"#,
            false,
        );
        assert_eq!(two.text.as_deref(), Some("a\nb"));
        let Action::Calls(calls) = two.action else {
            panic!("{two:?}")
        };
        let names: Vec<_> = calls.iter().map(|c| (&*c.id, &*c.tool)).collect();
        assert_eq!(names, [("call_0", "x"), ("call_1", "y")]);

        for (text, cut, want) in [
            ("<tool_call>{\"name\":", true, Code::CutOff),
            ("<tool_call>{\"name\":", false, Code::NotJson),
            ("<tool_call>[]</tool_call>", false, Code::Schema),
            ("<tool_call>{}</tool_call>", false, Code::Schema),
        ] {
            let reply = read(text, cut);
            assert!(
                matches!(&reply.action, Action::Malformed { code, .. } if *code == want),
                "{text}: {reply:?}"
            );
            assert_eq!(reply.text.as_deref(), Some(text));
        }
    }
}
