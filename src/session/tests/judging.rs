//! Steps that a model judges.

use super::*;
use crate::{
    domain::{Phase, Status},
    model::{ModelErrorKind, Retry},
};

fn broken(kind: ModelErrorKind) -> Event {
    Event::Failed(ModelError {
        kind,
        message: "it said".to_owned(),
        retry: Retry::No,
    })
}

fn observed(content: &str, work_s: f64) -> Event {
    Event::Observed {
        observations: vec![Observation::ok(content)],
        work_s,
    }
}

#[test]
fn each_step_that_ran_or_answered_is_judged_after_the_act() {
    let two = calls(&[
        ("calculator", r#"{"expression":"1"}"#),
        ("nonsense", "{}"),
        ("calculator", r#"{"expression":"fail"}"#),
    ]);
    let turns = [two, unknown(), empty(), answer("1")];
    let done = drive(&judged(spec(20)), turns.clone());
    assert_eq!(done.asked_of, [2, 1], "of a turn in which nothing ran none");
    let by_judge = |step: &Step| {
        let last = step.judgments.last().unwrap();
        let is_judge = last.verifier == "judge";
        is_judge.then(|| (last.phase, last.score, last.passed, last.reason.clone()))
    };
    let said =
        |score, passed, reason: &str| Some((Phase::PostAct, score, passed, reason.to_owned()));
    assert_eq!(
        done.steps.iter().map(by_judge).collect::<Vec<_>>(),
        [
            said(0.5, true, "step 0"),
            None,
            said(0.25, false, "step 2"),
            None,
            None,
            said(1.0 / 7.0, true, "step 5"),
        ]
    );
    let plain = drive(&spec(20), turns);
    assert_eq!(
        done.messages, plain.messages,
        "the model hears nothing of it"
    );
    assert_eq!(done.numbers(), plain.numbers());
    let without = |outcome: &Outcome| Outcome {
        mean_score: None,
        ..outcome.clone()
    };
    assert_eq!(without(&done.outcome), without(&plain.outcome));
    let scores: Vec<f64> = done
        .steps
        .iter()
        .flat_map(|s| &s.judgments)
        .map(|j| j.score)
        .collect();
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    assert_eq!(done.outcome.mean_score, Some(mean));
    assert_ne!(done.outcome.mean_score, plain.outcome.mean_score);
}

#[test]
fn a_step_that_no_judge_praises_has_not_failed() {
    let mut machine = machine(&judged(spec(8)), ToolMode::Native);
    let mut due = machine.step(Event::Begin);
    for turn in 0..5 {
        assert_eq!(due.last(), Some(&Effect::Ask), "turn {turn}");
        machine.step(after_reply(calculate("1")));
        let effects = machine.step(observed("1", 0.0));
        let [Effect::KeepSteps(_), Effect::Judge(steps)] = &effects[..] else {
            panic!("{effects:?}")
        };
        let mut judged = said(steps, 0.0);
        judged.of_steps[0][0].passed = false;
        judged.of_steps[0][0].score = 0.0;
        due = machine.step(Event::Judged(judged));
        assert_eq!(due.first(), Some(&Effect::KeepJudgments));
    }
}

#[test]
fn its_time_is_working_time_and_an_answer_is_not_lost_to_it() {
    let mut spec = judged(spec(8));
    spec.limits.max_seconds = Some(10.0);
    let slow = |reply: Normalised| {
        let mut machine = machine(&spec, ToolMode::Native);
        machine.step(Event::Begin);
        let mut due = machine.step(after_reply(reply));
        if matches!(due.last(), Some(Effect::Run(_))) {
            due = machine.step(observed("1", 1.0));
        }
        let Some(Effect::Judge(steps)) = due.pop() else {
            panic!("no judge is asked")
        };
        let mut due = machine.step(Event::Judged(said(&steps, 10.0)));
        let Some(Effect::End(outcome)) = due.pop() else {
            panic!("it goes on")
        };
        outcome.status
    };
    assert_eq!(slow(calculate("1")), Status::BudgetExhausted);
    assert_eq!(slow(answer("1")), Status::Completed);
}

#[test]
fn a_judge_that_fails_ends_the_session_with_an_error() {
    for kind in [
        ModelErrorKind::NoReply,
        ModelErrorKind::Context,
        ModelErrorKind::SessionCost,
    ] {
        let mut machine = machine(&judged(spec(8)), ToolMode::Native);
        machine.step(Event::Begin);
        machine.step(after_reply(calculate("1")));
        machine.step(observed("1", 0.0));
        let effects = machine.step(broken(kind));
        let [Effect::End(outcome)] = &effects[..] else {
            panic!("{effects:?}")
        };
        assert_eq!(outcome.status, Status::ModelError);
        assert_eq!(outcome.error, Some(format!("judge: {kind}: it said")));
        assert_eq!((outcome.limit, outcome.answer.as_deref()), (None, None));
        assert_eq!(outcome.steps_used, 1, "its steps are durable");
        assert_eq!(outcome.mean_score, Some(1.0));
        assert_eq!(machine.take_facts().len(), 1);
    }
}

#[test]
fn a_judge_is_asked_for_steps_that_are_durable_without_its_judgments() {
    let spec = judged(spec(8));
    let steps = drive(&spec, [calculate("1"), answer("1")]).steps;
    let stored = |reply: Normalised, step: &Step, is_judged: bool| {
        let mut step = step.clone();
        if !is_judged {
            step.judgments.pop();
        }
        StoredTurn {
            reply,
            cost_usd: None,
            replied_s: 1.0,
            acted_s: 2.0,
            judged: is_judged.then(|| said(std::slice::from_ref(&step), 3.0)),
            steps: vec![step],
        }
    };
    let turn = |is_judged| stored(calculate("1"), &steps[0], is_judged);
    let last = |is_judged| stored(answer("1"), &steps[1], is_judged);
    assert_eq!((turn(false).work_s(), turn(true).work_s()), (2.0, 3.0));
    let replayed = |turns: Vec<StoredTurn>| replay(&mut machine(&spec, ToolMode::Native), turns);

    let due = replayed(vec![turn(false)]);
    let [Effect::Judge(of)] = &due[..] else {
        panic!("{due:?}")
    };
    assert_eq!((of.len(), of[0].judgments.len()), (1, 2));
    assert_eq!(replayed(vec![turn(true)]), [Effect::Ask]);
    let due = replayed(vec![turn(true), last(false)]);
    assert!(
        matches!(&due[..], [Effect::Judge(of)] if of[0].turn == 1),
        "{due:?}"
    );
    let due = replayed(vec![turn(true), last(true)]);
    assert!(
        matches!(&due[..], [Effect::End(outcome)] if outcome.status == Status::Completed),
        "{due:?}"
    );
}
