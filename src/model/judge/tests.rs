//! Judges that are asked.

use std::{sync::Mutex, time::Duration};

use super::*;
use crate::{
    domain::{BoxFuture, Usage},
    model::Reply,
};

/// What is asked of a stub: the seed and the request's digest.
type Log = Mutex<Vec<(u64, String)>>;

/// Replies one after the other; an empty text is an error.
struct Stub {
    replies: Vec<&'static str>,
    asked: Log,
}

impl Model for Stub {
    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        let mut asked = self.asked.lock().unwrap();
        let text = self.replies[asked.len()];
        asked.push((request.rng_seed, request.conversation.digest()));
        let reply = if text.is_empty() {
            Err(ModelError {
                kind: ModelErrorKind::Provider,
                message: "it is down".to_owned(),
                retry: Retry::Later,
            })
        } else {
            let usage = json!({"prompt_tokens": 1, "cost": 0.25});
            let body = json!({"choices": [{"message": {"content": text}}], "usage": usage});
            let body = serde_json::value::to_raw_value(&body).unwrap();
            Reply::parse(
                body.into(),
                crate::model::Options::default(),
                Duration::ZERO,
            )
        };
        Box::pin(std::future::ready(reply))
    }

    fn cost(&self, usage: Option<&Usage>) -> Option<f64> {
        usage?.cost_usd
    }
}

/// What comes of asking a judge with these replies, and what it was asked.
async fn ask(replies: &[&'static str]) -> (Result<Graded, ModelError>, Vec<(u64, String)>) {
    let stub = Arc::new(Stub {
        replies: replies.to_vec(),
        asked: Log::default(),
    });
    let judge = Judge::new(stub.clone(), "model j", &Map::new());
    let parts = [Part::new("answer", "2")];
    let asked = Asked {
        case: &"a".parse().unwrap(),
        seed: 3,
        rng_seed: 7,
        rubric: "Is it right?",
        parts: &parts,
    };
    let graded = judge.ask(&asked, &Caller::of_a_test()).await;
    let log = stub.asked.lock().unwrap().clone();
    (graded, log)
}

#[tokio::test]
async fn what_cannot_be_read_is_asked_again_with_another_seed() {
    let good = r#"{"score":1,"reason":"so"}"#;
    for tries in 1..=3 {
        let mut replies = vec!["no"; tries - 1];
        replies.push(good);
        let (graded, asked) = ask(&replies).await;
        let graded = graded.unwrap();
        assert_eq!(
            (graded.score, graded.passed, &*graded.reason),
            (1.0, true, "so")
        );
        assert_eq!(graded.cost_usd, Some(0.25 * tries as f64), "of all tries");
        let seeds: Vec<u64> = (0..tries as u32).map(|n| judge_seed(7, n)).collect();
        assert_eq!(
            asked.iter().map(|(seed, _)| *seed).collect::<Vec<_>>(),
            seeds
        );
        assert!(asked.iter().all(|(_, digest)| *digest == asked[0].1));
    }
    let (graded, asked) = ask(&["no", "no", r#"{"score":2}"#, good]).await;
    let error = graded.unwrap_err();
    assert_eq!(
        (error.kind, error.retry),
        (ModelErrorKind::NoReply, Retry::No)
    );
    assert_eq!(
        error.message,
        "model j: none of 3 replies is a grade; the last one has no `score` from 0 to 1"
    );
    assert_eq!(asked.len(), 3);
}

#[tokio::test]
async fn an_error_of_the_model_is_that_of_the_judge() {
    let (graded, asked) = ask(&["no", "", r#"{"score":1}"#]).await;
    let error = graded.unwrap_err();
    assert_eq!(
        (error.kind, error.retry),
        (ModelErrorKind::Provider, Retry::Later)
    );
    assert_eq!(asked.len(), 2);
}

#[test]
fn a_judge_is_told_what_it_is_to_do_and_what_is_data() {
    let stub = Stub {
        replies: Vec::new(),
        asked: Log::default(),
    };
    let judge = Judge::new(Arc::new(stub), "model j", &Map::new());
    let parts = [Part::new("answer", "2")];
    let case = "a".parse().unwrap();
    let asked = Asked {
        case: &case,
        seed: 0,
        rng_seed: 0,
        rubric: "Is it right?",
        parts: &parts,
    };
    let messages = judge.conversation(&asked).to_value();
    assert_eq!(messages[0], json!({"role": "system", "content": SYSTEM}));
    assert_eq!(
        messages[1]["content"],
        fence::message("Is it right?", &parts)
    );
    assert_eq!(messages.as_array().unwrap().len(), 2);
    let conversation = judge.conversation(&asked);
    let shown = format!("{conversation:?}");
    assert!(
        !shown.contains("right") && shown.contains("messages: 2"),
        "{shown}"
    );
    let format: Value = serde_json::from_slice(conversation.shape().reply_format()).unwrap();
    assert_eq!(format["json_schema"]["schema"], *response_schema());
}

#[test]
fn the_example_of_the_prompt_is_a_grade_of_the_schema() {
    let example = SYSTEM.lines().find(|line| line.starts_with('{')).unwrap();
    let example: Value = serde_json::from_str(example).unwrap();
    let validator = jsonschema::validator_for(response_schema()).unwrap();
    assert!(validator.is_valid(&example), "{example}");
    assert!(!validator.is_valid(&json!({"score": 1})));
}
