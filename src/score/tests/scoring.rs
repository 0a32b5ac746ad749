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

fn grade(score: f64) -> Result<Grade, String> {
    let passed = score > 0.6;
    Ok(Grade { score, passed })
}

#[tokio::test]
async fn what_a_model_is_to_grade_waits_for_it() {
    let suite = suite_of(&[
        json!({"id": "a", "checks": [
            {"kind": "model_graded", "rubric": "Is it kind?", "min_score": 0.5},
            {"kind": "answer_equals", "text": "yes"},
            {"kind": "model_graded", "rubric": "Is it rude?", "not": true, "name": "polite"},
        ]}),
        json!({"id": "b", "checks": [{"kind": "answer_equals", "text": "yes"}]}),
        json!({"id": "c", "checks": [
            {"kind": "model_graded", "rubric": "Is it cheap?"},
            {"kind": "cost_usd", "max": 1},
        ]}),
    ]);
    let is_graded = |case: &str| suite.is_graded(&case.parse().unwrap());
    assert_eq!(
        ["a", "b", "c", "d"].map(is_graded),
        [true, false, true, false]
    );
    let (scorer, _handle, log) = start(suite, ScorerOptions::default()).await;
    for (ticket, case) in [(7, "a"), (5, "b"), (4, "c"), (3, "a"), (9, "a")] {
        let record = record(case, Some("yes"));
        scorer.cast(Message::Submit { ticket, record }).unwrap();
    }
    assert_eq!(call!(scorer, Message::Pending).unwrap(), [3, 7, 9]);
    assert!(
        call!(scorer, Message::Pending).unwrap().is_empty(),
        "told once"
    );
    let told = |ticket| Event::Acknowledged { ticket };
    let check = |name: &str, passed| CheckResult {
        name: name.to_owned(),
        passed,
    };
    let verdict = |ticket, verdict| Event::Verdict { ticket, verdict };
    let wanted = [
        told(7),
        Event::Pending { ticket: 7 },
        told(5),
        verdict(5, Verdict::Scored(vec![check("answer_equals", true)])),
        told(4),
        // No model mends that.
        verdict(4, Verdict::Failed(ScoreError::CostUnknown(1))),
        told(3),
        Event::Pending { ticket: 3 },
        told(9),
        Event::Pending { ticket: 9 },
    ];
    assert_eq!(std::mem::take(&mut *log.lock().unwrap()), wanted);

    let session = Arc::new(record("a", Some("yes")));
    let asked = |reply| Message::Questions {
        record: session.clone(),
        reply,
    };
    let questions = call!(scorer, asked).unwrap();
    let rubrics: Vec<&str> = questions.iter().map(Question::rubric).collect();
    assert_eq!(rubrics, ["Is it kind?", "Is it rude?"]);

    let scored = |kind, polite| {
        let checks = [check("model_graded", kind), check("answer_equals", true)];
        let checks = checks.into_iter().chain([check("polite", polite)]);
        Verdict::Scored(checks.collect())
    };
    let table = [
        (vec![grade(0.5), grade(0.1)], scored(true, true)),
        (vec![grade(0.4), grade(0.7)], scored(false, false)),
        (
            vec![grade(1.0), Err("timeout".to_owned())],
            Verdict::Failed(ScoreError::Judge(2, "timeout".to_owned())),
        ),
        (
            vec![Err("timeout".to_owned())],
            Verdict::Failed(ScoreError::Judge(0, "timeout".to_owned())),
        ),
        (
            Vec::new(),
            Verdict::Failed(ScoreError::Judge(0, "no model was asked".to_owned())),
        ),
    ];
    let mut wanted = Vec::new();
    for (ticket, (grades, outcome)) in (1..).zip(table) {
        let record = session.clone();
        wanted.push(verdict(ticket, outcome));
        let graded = Message::Graded {
            ticket,
            record,
            grades,
        };
        scorer.cast(graded).unwrap();
    }
    scorer.drain_and_wait(None).await.unwrap();
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
