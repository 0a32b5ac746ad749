//! A trace, step by step.

use crate::{
    domain::trace::Record,
    report::{
        Style,
        session::{View, render},
    },
};

#[test]
fn a_session_reads_step_by_step() {
    let view = View {
        lines: Some(3),
        style: Style::default(),
    };
    insta::assert_snapshot!(render(&trace(), &view), @r#"
    scripted/file-007/3  attempt 2
      task     How much did the flour of June cost?
               Answer in USD.
      budget   8 steps
      tools    calculator, file_read

    step 1/8
      thought  I need the ledger.
      call     file_read {"path":"notes/june.txt"}
      ✓ schema  1.00  args match file_read schema
      ✓ budget  1.00  step 1/8; headroom 1.00
      result   Opening float
               flour 12.40
               flour 7.10
               … 2 more lines

    step 2/8  turn 2, call 1
      turn     tiny-2026-09 · Barn · fp_0123456789abc… · 1.250 s · waited 2.500 s for a slot, 1.000 s to ask again
      call     calculator {"expression":"12.40 + 7.10"}
      ✓ schema  1.00  args match calculator schema
      ✓ budget  0.88  step 2/8; headroom 0.88
      result   19.5

    step 3/8  turn 2, call 2
      call     calculater {"expr
      ✗ schema  0.00  unknown tool calculater; known: calculator, file_read
      ✓ budget  0.75  step 3/8; headroom 0.75
      blocked  blocked: unknown tool calculater

    step 4/8
      reply    not usable
      ✗ reply   0.00  neither text nor a call
      ✓ budget  0.62  step 4/8; headroom 0.62
      error    Your reply had neither text nor a call.

    step 5/8
      thought  Both are flour.
      answer   19.50 USD\u{1b}[2J
      repaired closed a fence
      ✓ schema  1.00  final answer step; no tool call to validate
      ✓ budget  0.50  step 5/8; headroom 0.50

    completed  5 steps · mean score 0.775 · tokens 1,240 in, ? out · $0.000412 · waited 0.500 s for a rate
    "#);
}

#[test]
fn a_session_without_an_end_says_so() {
    let view = View {
        lines: None,
        style: Style::default(),
    };
    let text = render(&trace()[..2], &view);
    assert!(text.contains("salt 1.00\n"), "whole: {text}");
    assert!(text.ends_with("\nno end recorded\n"), "{text}");
}

fn trace() -> Vec<Record> {
    let lines = r#"
{"type":"run_start","schema":"farm.trace/1","run":"r","variant":"scripted","case":"file-007","seed":3,"rng_seed":"1","attempt":1,"task":"How much did the flour of June cost?\nAnswer in USD.","max_steps":8,"tools":["calculator","file_read"],"ts":0}
{"type":"step","step":0,"turn":0,"call":0,"decision":{"thought":"I need the ledger.","tool_call":{"tool":"file_read","args":{"path":"notes/june.txt"}},"answer":null},"judgments":[{"verifier":"schema","phase":"pre_act","score":1.0,"passed":true,"reason":"args match file_read schema"},{"verifier":"budget","phase":"post_act","score":1.0,"passed":true,"reason":"step 1/8; headroom 1.00"}],"observation":{"ok":true,"content":"Opening float\nflour 12.40\nflour 7.10\nsugar 3.00\nsalt 1.00\n"},"reply":{},"request_sha256":"x","repairs":[],"finish":"tool_calls","refused":false,"usage":null,"ts":0}
{"type":"step","step":1,"turn":1,"call":0,"decision":{"thought":null,"tool_call":{"tool":"calculator","args":{"expression":"12.40 + 7.10"}},"answer":null},"judgments":[{"verifier":"schema","phase":"pre_act","score":1.0,"passed":true,"reason":"args match calculator schema"},{"verifier":"budget","phase":"post_act","score":0.875,"passed":true,"reason":"step 2/8; headroom 0.88"}],"observation":{"ok":true,"content":"19.5"},"reply":{},"request_sha256":"x","repairs":[],"finish":"tool_calls","refused":false,"usage":null,"served":{"model":"tiny-2026-09","provider":"Barn","fingerprint":"fp_0123456789abcdef"},"latency_s":1.25,"waits":[{"for":"slot","began":1.0,"ended":3.5},{"for":"backoff","began":4.0,"ended":5.0}],"ts":0}
{"type":"step","step":2,"turn":1,"call":1,"decision":{"thought":null,"tool_call":{"tool":"calculater","args":null,"args_raw":"{\"expr"},"answer":null},"judgments":[{"verifier":"schema","phase":"pre_act","score":0.0,"passed":false,"reason":"unknown tool calculater; known: calculator, file_read","code":"unknown_tool"},{"verifier":"budget","phase":"post_act","score":0.75,"passed":true,"reason":"step 3/8; headroom 0.75"}],"observation":{"ok":false,"content":"blocked: unknown tool calculater"},"ts":0}
{"type":"step","step":3,"turn":2,"call":0,"decision":{"thought":null,"tool_call":null,"answer":null},"judgments":[{"verifier":"reply","phase":"pre_act","score":0.0,"passed":false,"reason":"neither text nor a call","code":"empty"},{"verifier":"budget","phase":"post_act","score":0.625,"passed":true,"reason":"step 4/8; headroom 0.62"}],"observation":{"ok":false,"content":"Your reply had neither text nor a call."},"reply":{},"ts":0}
{"type":"step","step":4,"turn":3,"call":0,"decision":{"thought":"Both are flour.","tool_call":null,"answer":"19.50 USD\u001b[2J"},"judgments":[{"verifier":"schema","phase":"pre_act","score":1.0,"passed":true,"reason":"final answer step; no tool call to validate"},{"verifier":"budget","phase":"post_act","score":0.5,"passed":true,"reason":"step 5/8; headroom 0.50"}],"observation":null,"reply":{},"repairs":["closed a fence"],"ts":0}
{"type":"run_end","status":"completed","limit":null,"answer":"19.50 USD","steps_used":5,"mean_score":0.775,"usage":{"tokens_in":1240,"tokens_out":null},"cost_usd":0.000412,"error":null,"waits":[{"for":"rate","began":6.0,"ended":6.5}],"ts":0}
"#;
    lines
        .trim()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
