use serde_json::{Value, json};

use super::*;
use crate::domain::{CheckResult, Outcome, SessionId};

/// A step out of what is particular to it: its decision, its judgments as (passed, code, reason)
/// and what came back.
fn step(step: u32, decision: Value, judgments: &[(bool, Value, &str)], seen: Value) -> Step {
    let judgments: Vec<Value> = judgments
        .iter()
        .map(|(passed, code, reason)| {
            json!({"verifier": "v", "phase": "pre_act", "score": 0.5, "passed": passed,
                "reason": reason, "code": code})
        })
        .collect();
    let mut decided = json!({"thought": null, "tool_call": null, "answer": null});
    for (field, value) in decision.as_object().unwrap() {
        decided[field] = value.clone();
    }
    serde_json::from_value(
        json!({"step": step, "turn": step, "call": 0, "decision": decided,
        "judgments": judgments, "observation": seen}),
    )
    .unwrap()
}

fn fine(at: u32) -> Step {
    step(
        at,
        json!({}),
        &[(true, json!(null), "good")],
        json!({"ok": true, "content": "7"}),
    )
}

fn judged(at: u32, code: Value, reason: &str) -> Step {
    step(
        at,
        json!({}),
        &[(false, code, reason)],
        json!({"ok": false, "content": "blocked 12"}),
    )
}

fn broken(at: u32, content: &str) -> Step {
    step(at, json!({}), &[], json!({"ok": false, "content": content}))
}

fn answer(at: u32) -> Step {
    step(
        at,
        json!({"thought": "", "answer": "391"}),
        &[(true, json!(null), "good")],
        json!(null),
    )
}

#[test]
fn the_last_error_is_that_of_the_last_bad_step() {
    let coded = |code, reason| Some(said(Some(code), reason));
    let in_words = |text| Some(said(None, text));
    let ok = json!({"ok": true, "content": ""});
    let warned = step(
        0,
        json!({}),
        &[(false, json!(null), "call 3 of the same")],
        ok,
    );
    let twice = [
        (false, json!("schema"), "a"),
        (false, json!("not_json"), "b"),
    ];
    for (steps, want) in [
        (vec![], None),
        (vec![fine(0), answer(1)], None),
        (
            vec![judged(0, json!("schema"), "r")],
            coded(Code::Schema, "r"),
        ),
        (
            vec![judged(0, json!("schema"), "r"), answer(1)],
            coded(Code::Schema, "r"),
        ),
        (
            vec![judged(0, json!("empty"), "r"), broken(1, "gone")],
            in_words("gone"),
        ),
        (
            vec![broken(0, "gone"), judged(1, json!("empty"), "r")],
            coded(Code::Empty, "r"),
        ),
        (vec![judged(0, json!(null), "r")], in_words("blocked 12")),
        (vec![warned], in_words("call 3 of the same")),
        (
            vec![step(0, json!({}), &twice, json!(null))],
            coded(Code::NotJson, "b"),
        ),
    ] {
        assert_eq!(last_error(&steps), want, "{steps:?}");
    }
}

#[test]
fn the_first_bad_step_is_shown_or_the_last_one() {
    let call = json!({"thought": "x".repeat(TEXT + 1),
        "tool_call": {"tool": "dice", "args": null, "args_raw": "{\"si"}});
    let both = [
        (false, json!("schema"), "a"),
        (true, json!(null), "-"),
        (false, json!(null), "b"),
    ];
    let bad = step(1, call, &both, json!({"ok": false, "content": "c"}));
    let seen = shown(&[fine(0), bad, broken(2, "later")]).unwrap();
    assert_eq!(seen.step, 1);
    assert_eq!(seen.thought.unwrap().chars().count(), TEXT + 1);
    assert_eq!(seen.call.as_deref(), Some("dice {\"si"));
    assert_eq!(seen.wrong.as_deref(), Some("v: a; v: b"));

    assert_eq!(
        shown(&[broken(0, "gone")]).unwrap().wrong.as_deref(),
        Some("gone")
    );
    let ended = shown(&[fine(0), answer(1)]).unwrap();
    assert_eq!((ended.step, ended.answer.as_deref()), (1, Some("391")));
    assert_eq!((ended.thought, ended.wrong), (None, None));
    assert_eq!(shown(&[]), None);
}

fn row(
    status: Status,
    limit: Option<Limit>,
    error: Option<&str>,
    score: Option<Score>,
) -> SessionRow {
    let outcome = Outcome {
        limit,
        ..Outcome::so_far(status, [], &[], None, error.map(str::to_owned))
    };
    SessionRow {
        session: SessionId(0),
        attempt: 0,
        restarts: 0,
        began: 0.0,
        ended: Some(1.0),
        work_s: Some(1.0),
        waits: Vec::new(),
        outcome: Some(outcome),
        score,
    }
}

fn checks(checks: &[(&str, bool)]) -> Option<Score> {
    let result = |(name, passed): &(&str, bool)| CheckResult {
        name: (*name).to_owned(),
        passed: *passed,
    };
    Some(Score::Judged(checks.iter().map(result).collect()))
}

#[test]
fn sessions_that_fail_alike_are_one_group() {
    let done = |score| row(Status::Completed, None, None, score);
    let of = |row: &SessionRow, steps: &[Step]| Cause::of(row, steps).common();
    let (a, b) = (
        done(checks(&[("x", false), ("y", true), ("z", false)])),
        [broken(0, "try 1")],
    );
    let alike = of(&a, &b);
    for (row, steps, is_alike) in [
        (
            done(checks(&[("z", false), ("x", false)])),
            vec![broken(0, "try 22")],
            true,
        ),
        (
            done(checks(&[("x", false)])),
            vec![broken(0, "try 1")],
            false,
        ),
        (
            done(checks(&[("z", false), ("x", false)])),
            vec![broken(0, "tried 1")],
            false,
        ),
        (done(checks(&[("z", false), ("x", false)])), vec![], false),
        (
            row(
                Status::BudgetExhausted,
                Some(Limit::Steps),
                None,
                a.score.clone(),
            ),
            b.to_vec(),
            false,
        ),
    ] {
        assert_eq!(of(&row, &steps) == alike, is_alike, "{row:?} {steps:?}");
    }
    let exhausted = |limit| {
        of(
            &row(Status::BudgetExhausted, Some(limit), None, a.score.clone()),
            &[],
        )
    };
    assert!(exhausted(Limit::Steps) != exhausted(Limit::Context));
    // A message that is called like a code is none.
    assert!(of(&a, &[judged(0, json!("schema"), "r")]) != of(&a, &[broken(0, "schema")]));
}

#[test]
fn what_broke_an_errored_session_is_its_last_error() {
    let error = |row: &SessionRow| Cause::of(row, &[]).error;
    let crashed = row(Status::Crashed, None, Some("panicked in turn 3"), None);
    assert_eq!(error(&crashed), Some(said(None, "panicked in turn 3")));
    let unjudged = Some(Score::Failed("check 0 panicked".to_owned()));
    let unjudged = row(Status::Completed, None, None, unjudged);
    assert_eq!(error(&unjudged), Some(said(None, "check 0 panicked")));
    assert_eq!(Cause::of(&unjudged, &[]).checks, Vec::<String>::new());
}

#[test]
fn groups_count_sessions_and_cases() {
    let mut groups = Groups::default();
    let mut add = |check: &str, case: usize, seed: u64| {
        let cause = Cause::of(
            &row(Status::Completed, None, None, checks(&[(check, false)])),
            &[],
        );
        let case: CaseId = format!("c{case:02}").parse().unwrap();
        let session = format!("v/{case}/{seed}").parse().unwrap();
        groups.add(cause, &case, || Example {
            session,
            step: None,
        });
    };
    add("often", 0, 3);
    for case in 0..12 {
        add("often", case, 4);
    }
    add("once", 5, 0);
    for n in 0..GROUPS {
        add(&format!("x{n}"), 6, n as u64);
    }
    let mut ended = Vec::new();
    assert_eq!((groups.sessions, groups.ungrouped), (1014, 2));
    groups.end(&"v".parse().unwrap(), &mut ended);
    assert_eq!(ended.len(), GROUPS);
    let (often, once) = (&ended[0], &ended[1]);
    assert_eq!(
        (often.sessions, often.cases, often.case_ids.len()),
        (13, 12, NAMES)
    );
    assert_eq!(often.share, round(13.0 / 1014.0));
    assert_eq!(often.example.session.to_string(), "v/c00/3");
    assert_eq!(
        (once.sessions, once.cases, &*once.checks[0]),
        (1, 1, "once")
    );
}
