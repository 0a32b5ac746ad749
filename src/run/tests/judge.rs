//! A judge that says what a test wants.

use super::*;
use crate::{
    domain::{OnBehalf, Usage},
    model::{ModelErrorKind, Retry},
};

/// A question, as the judge sees it.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub of: OnBehalf,
    pub case: String,
    pub seed: u64,
    pub rng_seed: u64,
    /// The message with rubric and work.
    pub text: String,
}

/// What the judge says to a question: the text of its reply.
pub(super) type Said = Result<String, ModelError>;

type Say = dyn Fn(Question) -> BoxFuture<'static, Said> + Send + Sync;

/// Notes what it is asked. Each of its replies costs 0.25 US dollars.
pub(super) struct TestJudge {
    say: Box<Say>,
    asked: Mutex<Vec<Question>>,
    now: AtomicUsize,
    most: AtomicUsize,
}

impl TestJudge {
    pub(super) fn new(
        say: impl Fn(Question) -> BoxFuture<'static, Said> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            say: Box::new(say),
            asked: Mutex::default(),
            now: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        })
    }

    /// Says it at once.
    pub(super) fn ready(say: impl Fn(&Question) -> Said + Send + Sync + 'static) -> Arc<Self> {
        Self::new(move |question| Box::pin(std::future::ready(say(&question))))
    }

    /// All questions, in the order in which they came.
    pub(super) fn asked(&self) -> Vec<Question> {
        self.asked.lock().unwrap().clone()
    }

    /// How many there were about a session.
    pub(super) fn asks(&self, case: &str, seed: u64) -> usize {
        let of = |q: &&Question| q.case == case && q.seed == seed;
        self.asked.lock().unwrap().iter().filter(of).count()
    }

    /// The most at once.
    pub(super) fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

impl Model for TestJudge {
    fn complete<'a>(
        &'a self,
        request: &'a Request<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        let messages = request.conversation.to_value();
        let question = Question {
            of: request.caller.on_behalf,
            case: request.case.to_string(),
            seed: request.seed,
            rng_seed: request.rng_seed,
            text: messages[1]["content"].as_str().unwrap().to_owned(),
        };
        self.asked.lock().unwrap().push(question.clone());
        Box::pin(async move {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            let said = (self.say)(question).await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "cost": 0.25});
            let body = json!({"choices": [{"message": {"content": said?}}], "usage": usage});
            let body = to_raw_value(&body).unwrap();
            Reply::parse(body.into(), Options::default(), Duration::ZERO)
        })
    }

    fn cost(&self, usage: Option<&Usage>) -> Option<f64> {
        usage?.cost_usd
    }
}

/// A grade as a judge says it.
pub(super) fn grade(score: f64) -> Said {
    Ok(json!({"score": score, "reason": format!("worth {score}")}).to_string())
}

/// An error of the judge's endpoint.
pub(super) fn error(kind: ModelErrorKind, retry: Retry) -> Said {
    Err(ModelError {
        kind,
        message: "it said so".to_owned(),
        retry,
    })
}
