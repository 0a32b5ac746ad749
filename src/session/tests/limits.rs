//! What ends a session but its answer.

use super::*;
use crate::{
    domain::{Limit, Status, Usage},
    model::{ModelErrorKind, Retry},
};

fn spent(reply: Normalised, tokens: Option<u64>, cost_usd: Option<f64>, work_s: f64) -> Event {
    let usage = tokens.map(|tokens| Usage {
        tokens_in: Some(tokens - 1),
        tokens_out: Some(1),
        ..Usage::default()
    });
    Event::Replied {
        reply: Normalised { usage, ..reply },
        cost_usd,
        work_s,
    }
}

fn failed(kind: ModelErrorKind) -> Event {
    Event::Failed(ModelError {
        kind,
        message: "said so".to_owned(),
        retry: Retry::No,
    })
}

#[test]
fn each_limit_ends_a_session_after_the_turn_that_reaches_it() {
    let limited = |limits: Limits| Spec { limits, ..spec(8) };
    let tokens = Limits {
        max_tokens: Some(100),
        ..Limits::default()
    };
    let cost = Limits {
        max_cost_usd: Some(0.5),
        ..Limits::default()
    };
    let seconds = Limits {
        max_seconds: Some(10.0),
        ..Limits::default()
    };
    let table = [
        (tokens, Limit::Tokens),
        (cost, Limit::CostUsd),
        (seconds, Limit::Seconds),
    ];
    for (limits, limit) in table {
        let turns = [1.0, 2.0, 3.0].map(|n| spent(calculate("1"), Some(50), Some(0.25), 5.0 * n));
        let done = drive_events(&limited(limits), turns);
        assert_eq!(done.outcome.status, Status::BudgetExhausted);
        assert_eq!(done.outcome.limit, Some(limit));
        assert_eq!(done.steps.len(), 2, "{limit:?}: the second turn is whole");
        assert_eq!(done.outcome.steps_used, 2);
    }
}

#[test]
fn tools_take_time_too() {
    let mut spec = spec(8);
    spec.limits.max_seconds = Some(10.0);
    let mut machine = machine(&spec, ToolMode::Native);
    machine.step(Event::Begin);
    machine.step(after_reply(calculate("1")));
    let effects = machine.step(Event::Observed {
        observations: vec![Observation::ok("1")],
        work_s: 10.0,
    });
    let [Effect::KeepSteps(_), Effect::End(outcome)] = &effects[..] else {
        panic!("{effects:?}")
    };
    assert_eq!(outcome.limit, Some(Limit::Seconds));
}

#[test]
fn time_that_runs_out_in_a_call_ends_a_session_at_once() {
    let turns = [after_reply(calculate("1")), Event::TimeUp];
    let done = drive_events(&spec(8), turns);
    assert_eq!(done.outcome.status, Status::BudgetExhausted);
    assert_eq!(done.outcome.limit, Some(Limit::Seconds));
    assert_eq!((done.outcome.steps_used, done.outcome.answer), (1, None));

    let done = drive_events(&spec(8), [Event::TimeUp]);
    assert_eq!(
        (done.outcome.steps_used, done.outcome.mean_score),
        (0, None)
    );
}

#[test]
fn the_context_is_a_limit_and_other_errors_are_not() {
    let limits = [
        (ModelErrorKind::Context, Limit::Context),
        (ModelErrorKind::SessionCost, Limit::CostUsd),
        (ModelErrorKind::SessionTime, Limit::Seconds),
    ];
    for (kind, limit) in limits {
        let done = drive_events(&spec(8), [after_reply(calculate("1")), failed(kind)]);
        assert_eq!(done.outcome.status, Status::BudgetExhausted);
        assert_eq!(done.outcome.limit, Some(limit));
        assert_eq!(done.outcome.error, None);
    }

    for kind in [ModelErrorKind::Provider, ModelErrorKind::NoReply] {
        let done = drive_events(&spec(8), [after_reply(calculate("1")), failed(kind)]);
        assert_eq!(done.outcome.status, Status::ModelError);
        assert_eq!(done.outcome.limit, None);
        assert_eq!(done.outcome.error, Some(format!("{kind}: said so")));
        assert_eq!(done.outcome.steps_used, 1);
    }
}

#[test]
fn a_limit_comes_before_the_fallback_stop_and_an_answer_before_both() {
    let done = drive(&spec(3), [unknown()]);
    assert_eq!(done.outcome.status, Status::BudgetExhausted);
    let done = drive(&spec(4), [unknown()]);
    assert_eq!(done.outcome.status, Status::FallbackStop);

    let done = drive(&spec(3), [unknown(), unknown(), answer("391")]);
    assert_eq!(done.outcome.status, Status::Completed);
    assert_eq!(done.outcome.limit, None);

    let mut tight = spec(8);
    tight.limits.max_tokens = Some(10);
    let done = drive_events(&tight, [spent(answer("391"), Some(50), None, 0.0)]);
    assert_eq!(done.outcome.status, Status::Completed);
}

#[test]
fn unknown_amounts_stay_unknown_and_known_ones_bind() {
    let mut tight = spec(8);
    tight.limits.max_tokens = Some(100);
    let turns = [
        spent(calculate("1"), Some(60), Some(0.25), 0.0),
        spent(calculate("2"), None, None, 0.0),
        spent(calculate("3"), Some(60), Some(0.25), 0.0),
    ];
    let done = drive_events(&tight, turns);
    assert_eq!(done.outcome.limit, Some(Limit::Tokens));
    let known = (done.outcome.tokens_in, done.outcome.cost_usd);
    assert_eq!(known, (None, None));

    let turns = [
        spent(calculate("1"), Some(60), Some(0.25), 0.0),
        spent(answer("391"), Some(30), Some(0.5), 0.0),
    ];
    let outcome = drive_events(&spec(8), turns).outcome;
    let known = (outcome.tokens_in, outcome.tokens_out, outcome.cost_usd);
    assert_eq!(known, (Some(88), Some(2), Some(0.75)));
}

#[test]
fn a_session_without_steps_asks_nothing() {
    let done = drive_events(&spec(0), []);
    assert_eq!(done.outcome.limit, Some(Limit::Steps));
    assert_eq!(done.outcome.steps_used, 0);
}
