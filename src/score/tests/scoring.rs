//! The actor, the metrics and the search for leaks.

use std::sync::Mutex;

use ractor::{Actor, ActorRef, call};
use tokio::task::JoinHandle;

use super::*;
use crate::domain::{CheckResult, ScoreError, Verdict};

type Log = Arc<Mutex<Vec<Event>>>;

async fn start(
    suite: SealedSuite,
    options: ScorerOptions,
) -> (ActorRef<Message>, JoinHandle<()>, Log) {
    let log = Log::default();
    let events = Arc::clone(&log);
    let sink: Sink = Arc::new(move |event| events.lock().unwrap().push(event));
    let (scorer, handle) = Actor::spawn(None, Scorer::new(sink, options), suite)
        .await
        .unwrap();
    (scorer, handle, log)
}

fn two_cases() -> SealedSuite {
    suite_of(&[
        json!({"id": "a", "checks": [
            {"kind": "answer_number", "equals": 391},
            {"kind": "steps", "max": 1, "name": "quick"},
        ], "metrics": [
            {"name": "efficiency", "kind": "steps_over_optimal", "optimal": 2},
            {"kind": "number_error", "equals": 391},
        ]}),
        json!({"id": "b", "checks": [{"kind": "cost_usd", "max": 1}], "metrics": [
            {"name": "efficiency", "kind": "steps_over_optimal", "optimal": 1},
        ]}),
    ])
}

#[tokio::test]
async fn each_submit_is_acknowledged_and_then_judged() {
    let panics = SessionKey {
        seed: 7,
        ..record("a", None).key
    };
    let options = ScorerOptions {
        panic_on: Some(panics.clone()),
    };
    let (scorer, handle, log) = start(two_cases(), options).await;
    let mut broken = record("a", Some("391"));
    broken.key = panics;
    let records = [
        record("a", Some("it is 391")),
        record("a", Some("it is 392")),
        record("b", Some("391")),
        broken,
        record("c", Some("391")),
    ];
    for (ticket, record) in (1..).zip(records) {
        scorer.cast(Message::Submit { ticket, record }).unwrap();
    }
    scorer.drain_and_wait(None).await.unwrap();
    handle.await.unwrap();

    let scored = |number: bool| {
        let check = |name: &str, passed| CheckResult {
            name: name.to_owned(),
            passed,
        };
        Verdict::Scored(vec![check("answer_number", number), check("quick", true)])
    };
    let verdicts = [
        scored(true),
        scored(false),
        Verdict::Failed(ScoreError::CostUnknown(0)),
        Verdict::Failed(ScoreError::Panicked(0)),
        Verdict::Failed(ScoreError::NoSealedHalf),
    ];
    let wanted: Vec<Event> = (1..)
        .zip(verdicts)
        .flat_map(|(ticket, verdict)| {
            [
                Event::Acknowledged { ticket },
                Event::Verdict { ticket, verdict },
            ]
        })
        .collect();
    assert_eq!(*log.lock().unwrap(), wanted);
}

#[tokio::test]
async fn metrics_are_measured_by_name_in_order() {
    let suite = two_cases();
    assert_eq!(suite.metric_names(), ["efficiency", "number_error"]);
    let (scorer, _handle, log) = start(suite, ScorerOptions::default()).await;
    let mut slow = record("a", Some("about 390.5"));
    Arc::get_mut(&mut slow.outcome).unwrap().steps_used = 3;
    let records = vec![
        slow,
        record("a", Some("none")),
        record("a", None),
        record("b", Some("3")),
        record("c", Some("3")),
        record("a", Some(&"9".repeat(400))),
    ];
    let measured = call!(scorer, |reply| Message::Measure { records, reply }).unwrap();
    let values: Vec<_> = measured.into_iter().map(|m| (m.metric, m.values)).collect();
    assert_eq!(
        values,
        [
            (
                "efficiency".to_owned(),
                vec![Some(1.5), Some(0.5), Some(0.5), Some(1.0), None, Some(0.5)]
            ),
            (
                "number_error".to_owned(),
                vec![Some(0.5), None, None, None, None, None]
            ),
        ]
    );
    assert!(log.lock().unwrap().is_empty());
    scorer.drain_and_wait(None).await.unwrap();
}

#[test]
fn answers_in_the_public_half_are_found() {
    let suite = suite_of(&[json!({"id": "a", "canary": "farm-canary-1", "checks": [
        {"kind": "answer_contains", "text": "Marchetti", "name": "who"},
        {"kind": "answer_equals", "text": "391"},
        {"kind": "answer_number", "equals": 1234.5},
        {"kind": "answer_contains", "text": "I cannot", "not": true},
        {"kind": "observation_contains", "text": "Opening float"},
    ]})]);
    let leaks = |text: &str| suite.leaks(&"a".parse().unwrap(), &[("task".to_owned(), text)]);
    let table: [(&str, &[&str]); 9] = [
        (
            "Who was Marchetti?",
            &["task holds the answer of check `who`"],
        ),
        ("Marchettis", &[]),
        ("marchetti", &[]),
        ("is it 391?", &[]),
        (
            "about $1,234.50, say",
            &["task holds the answer of check `answer_number`"],
        ),
        ("1234.56 or 91234.5", &[]),
        ("I cannot", &[]),
        ("Opening float", &[]),
        (
            "x farm-canary-1 Marchetti",
            &["task holds the answer of check `who`"],
        ),
    ];
    for (text, wanted) in table {
        assert_eq!(leaks(text), wanted, "{text}");
    }
    assert!(
        suite
            .leaks(&"b".parse().unwrap(), &[("task".to_owned(), "Marchetti")])
            .is_empty()
    );
    assert!(suite.has_canaries());
    assert!(suite.holds_canary("xfarm-canary-12") && !suite.holds_canary("farm-canary"));
}
