//! One line a step.

use std::io;

use super::{Lines, optional, text};
use crate::{
    domain::{
        Code, DecidedCall,
        trace::{Step, Turn},
    },
    error::Result,
    store::Export,
};

const HEAD: [&str; 24] = [
    "variant",
    "case",
    "seed",
    "attempt",
    "step",
    "turn",
    "call",
    "thought",
    "tool",
    "args",
    "answer",
    "blocked",
    "failed",
    "code",
    "score",
    "judgments",
    "reason",
    "observation_ok",
    "observation_bytes",
    "observation",
    "latency_s",
    "waited_s",
    "served_model",
    "served_provider",
];

/// Writes a header and a line per durable step of each session's last attempt, by variant, case,
/// seed and step. `args` is JSON, or what the model sent where it is none. `score` is the mean of
/// the step's judgments, `judgments` holds `verifier=score` of each with `; ` between them, and
/// `reason` is that of the first that failed. An answer has no observation. What belongs to a turn
/// as a whole stands on its first step: seconds from request to reply, seconds that the session
/// waited before it, and what answered. Memory stays bounded.
///
/// # Errors
/// When the database cannot be read, or `out` not be written to; the source of the latter is its
/// [`io::Error`].
pub fn steps(export: &Export<'_>, out: &mut dyn io::Write) -> Result<()> {
    let mut lines = Lines::begin(out, &HEAD)?;
    let grid = export.grid;
    for v in 0..grid.variants.len() {
        for c in 0..grid.cases.len() {
            for row in export.reader.rows_of(grid, v, c) {
                let (session, Some(row)) = row? else { continue };
                let key = grid.key(session);
                let mut turns = export.reader.turns(session, row.attempt)?.into_iter();
                for step in export.reader.steps(session, row.attempt)? {
                    let of = step.body.turn;
                    let is_first = step.body.call == 0;
                    let turn = is_first.then(|| turns.find(|turn| turn.turn == of));
                    let mut line = vec![key.variant.to_string(), key.case.to_string()];
                    line.extend([key.seed.to_string(), row.attempt.to_string()]);
                    line.extend(what_happened(&step.body));
                    line.extend(what_it_took(turn.flatten().map(|turn| turn.body)));
                    lines.add(&line)?;
                }
            }
        }
    }
    lines.end()
}

fn what_happened(step: &Step) -> [String; 16] {
    let decision = &step.decision;
    let call = decision.tool_call.as_ref();
    let judgments = &step.judgments;
    let scores: f64 = judgments.iter().map(|j| j.score).sum();
    let judged: Vec<String> = judgments
        .iter()
        .map(|j| format!("{}={}", j.verifier, j.score))
        .collect();
    let failing = judgments.iter().find(|j| !j.passed);
    let seen = step.observation.as_ref();
    [
        step.step.to_string(),
        step.turn.to_string(),
        step.call.to_string(),
        text(decision.thought.as_deref().unwrap_or_default()),
        text(call.map(|c| c.tool.as_str()).unwrap_or_default()),
        call.map(args).unwrap_or_default(),
        text(decision.answer.as_deref().unwrap_or_default()),
        step.is_blocked().to_string(),
        step.is_failed().to_string(),
        optional(step.code().map(Code::as_str)),
        optional((!judgments.is_empty()).then(|| scores / judgments.len() as f64)),
        text(&judged.join("; ")),
        text(failing.map(|j| j.reason.as_str()).unwrap_or_default()),
        optional(seen.map(|o| o.ok)),
        optional(seen.map(|o| o.content.len())),
        text(seen.map(|o| &*o.content).unwrap_or_default()),
    ]
}

fn what_it_took(turn: Option<Turn>) -> [String; 4] {
    let Some(turn) = turn else {
        return Default::default();
    };
    let waited = turn
        .waits
        .iter()
        .fold(0.0, |sum, wait| sum + wait.seconds());
    // To the millisecond, as latencies are. Where nothing was sent, nobody waited.
    let waited = (waited * 1e3).round() / 1e3;
    let is_known = turn.latency_s.is_some() || !turn.waits.is_empty();
    [
        optional(turn.latency_s),
        optional(is_known.then_some(waited)),
        text(turn.served.model.as_deref().unwrap_or_default()),
        text(turn.served.provider.as_deref().unwrap_or_default()),
    ]
}

fn args(call: &DecidedCall) -> String {
    match &call.args_raw {
        Some(raw) => text(raw),
        None => text(&call.args.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_says_what_answered_and_how_long_it_took() {
        let turn = |more: &str| -> Turn {
            let text = format!(
                r#"{{"reply":{{}},"request_sha256":"a","repairs":[],"finish":null,"refused":false,"usage":null{more}}}"#
            );
            serde_json::from_str(&text).unwrap()
        };
        for (more, want) in [
            (
                r#","served":{"model":"=m","provider":"p","fingerprint":"f"},"latency_s":1.25,"waits":[{"for":"slot","began":1.5,"ended":2.0},{"for":"rate","began":5.0,"ended":5.0004}]"#,
                "1.25|0.5|'=m|p",
            ),
            (r#","latency_s":0.5"#, "0.5|0||"),
            (
                r#","waits":[{"for":"slot","began":1.0,"ended":3.0}]"#,
                "|2||",
            ),
            ("", "|||"),
        ] {
            assert_eq!(what_it_took(Some(turn(more))).join("|"), want);
        }
        assert_eq!(what_it_took(None).join("|"), "|||");
    }

    #[test]
    fn a_step_is_a_line() {
        for (json, want) in [
            (
                r#"{"step":1,"turn":1,"call":0,"decision":{"thought":"=so","tool_call":{"tool":"calculator","args":{"expression":"1"}},"answer":null},"judgments":[{"verifier":"schema","phase":"pre_act","score":1.0,"passed":true,"reason":"ok"},{"verifier":"budget","phase":"post_act","score":0.5,"passed":true,"reason":"half"}],"observation":{"ok":true,"content":"é"}}"#,
                r#"1|1|0|'=so|calculator|{"expression":"1"}||false|false||0.75|schema=1; budget=0.5||true|2|é"#,
            ),
            (
                r#"{"step":2,"turn":1,"call":1,"decision":{"thought":null,"tool_call":{"tool":"calc","args":null,"args_raw":"{\"e"},"answer":null},"judgments":[{"verifier":"schema","phase":"pre_act","score":0.0,"passed":false,"reason":"no such tool","code":"unknown_tool"}],"observation":{"ok":false,"content":"blocked"}}"#,
                r#"2|1|1||calc|{"e||true|true|unknown_tool|0|schema=0|no such tool|false|7|blocked"#,
            ),
            (
                r#"{"step":3,"turn":2,"call":0,"decision":{"thought":null,"tool_call":null,"answer":"-2"},"judgments":[],"observation":null}"#,
                "3|2|0||||-2|false|false|||||||",
            ),
        ] {
            let step: Step = serde_json::from_str(json).unwrap();
            assert_eq!(what_happened(&step).join("|"), want);
        }
    }
}
