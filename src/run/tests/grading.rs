//! The second phase: sessions that a model grades.

use tokio::sync::Semaphore;

use super::{judge::*, *};
use crate::{
    domain::{CheckResult, Purpose},
    model::{ModelErrorKind, Retry, Stop},
    store::Score,
};

/// A model grades each session, between two other checks.
fn farm(cases: &[&str], seeds: u64, model: Arc<TestModel>, judge: &Arc<TestJudge>) -> Farm {
    let mut farm = Farm::new(cases, seeds, model);
    farm.checks = json!([
        {"kind": "status", "is": "completed"},
        {"kind": "model_graded", "rubric": "Is it kind?", "min_score": 0.5},
        {"kind": "answer_equals", "text": "done"},
    ]);
    farm.judge = Some(judge.clone());
    farm.concurrency = 16;
    farm
}

/// A ledger of sessions that ended.
fn ended(passed: u64, failed: u64, unscored: u64) -> Ledger {
    Ledger {
        planned: passed + failed + unscored,
        passed,
        failed,
        unscored,
        ..Ledger::default()
    }
}

/// A judge that hangs at some sessions until it is let go, and counts those in `seen`.
struct Hanging {
    judge: Arc<TestJudge>,
    seen: Arc<Semaphore>,
    go: Arc<Semaphore>,
}

impl Hanging {
    fn at(hangs: impl Fn(&Question) -> bool + Send + Sync + 'static) -> Self {
        let (seen, go) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
        let judge = {
            let (seen, go) = (seen.clone(), go.clone());
            TestJudge::new(move |question| {
                let (seen, go, hangs) = (seen.clone(), go.clone(), hangs(&question));
                Box::pin(async move {
                    if hangs {
                        seen.add_permits(1);
                        drop(go.acquire().await.unwrap());
                    }
                    grade(1.0)
                })
            })
        };
        Self { judge, seen, go }
    }

    async fn hangs(&self, sessions: u32) {
        drop(soon(self.seen.acquire_many(sessions)).await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_grades_when_all_sessions_are_over() {
    let model = TestModel::ready([answer("done")]);
    let judge = {
        let model = model.clone();
        TestJudge::ready(move |q| {
            for (case, seed) in [("a", 0), ("a", 1), ("b", 0), ("b", 1)] {
                assert_eq!(model.asks(case, seed), [1], "some session has not run");
            }
            grade(if q.case == "a" { 1.0 } else { 0.25 })
        })
    };
    let over = farm(&["a", "b"], 2, model, &judge).run().await;
    assert_eq!(over.ledger(), ended(2, 2, 0));
    let check = |name: &str, passed| CheckResult {
        name: name.to_owned(),
        passed,
    };
    let score = over.session("b", 1).unwrap().score;
    let checks = vec![
        check("status", true),
        check("model_graded", false),
        check("answer_equals", true),
    ];
    assert_eq!(
        score,
        Some(Score::Judged(checks)),
        "in the order of the sealed half"
    );
    assert_eq!(over.wind_down(), None);

    let asked = judge.asked();
    assert_eq!(asked.len(), 4, "each once");
    for q in asked {
        let key = format!("v/{}/{}", q.case, q.seed).parse().unwrap();
        assert_eq!(q.of.session, over.grid.find(&key));
        assert_eq!((q.of.purpose, q.of.attempt), (Purpose::Grade, 0));
        for part in [
            "Is it kind?",
            "begin task\nDo it.\n",
            "begin answer\ndone\n",
        ] {
            assert!(q.text.contains(part), "{}", q.text);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn until_then_they_are_unscored_and_as_many_are_graded_at_once_as_may_run() {
    let hanging = Hanging::at(|_| true);
    let model = TestModel::ready([answer("done")]);
    let at_work = farm(&["a", "b"], 100, model, &hanging.judge).start().await;
    hanging.hangs(16).await;
    let unscored = ended(0, 0, 200);
    at_work
        .until(|tally| tally.ledger == unscored && tally.to_grade == 200)
        .await;
    hanging.go.add_permits(1);
    let over = at_work.over().await;
    assert_eq!(over.ledger(), ended(200, 0, 0));
    assert_eq!(over.tally.to_grade, 0);
    assert_eq!(hanging.judge.most(), 16);
    let asked = hanging.judge.asked();
    assert_eq!(asked.len(), 200, "each once");
    let mut first: Vec<u64> = asked[..16].iter().map(|q| q.seed).collect();
    first.sort_unstable();
    assert_eq!(
        first,
        [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7],
        "the first of the plan"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_leaves_the_rest_unscored_and_a_resume_grades_it() {
    let is_on = Arc::new(Mutex::new(true));
    let hanging = {
        let is_on = is_on.clone();
        Hanging::at(move |q| q.seed >= 3 && *is_on.lock().unwrap())
    };
    let model = TestModel::ready([answer("done")]);
    let farm = || farm(&["a"], 30, model.clone(), &hanging.judge);
    let at_work = farm().start().await;
    hanging.hangs(16).await;
    at_work.until(|tally| tally.ledger.passed == 3).await;
    at_work.run().interrupt_token().cancel();
    let over = at_work.over().await;
    assert_eq!(over.wind_down(), Some(WindDown::Asked));
    assert_eq!(over.ledger(), ended(3, 0, 27));

    *is_on.lock().unwrap() = false;
    let over = farm().after(over, RESUME).run().await;
    assert_eq!(over.ledger(), ended(30, 0, 0));
    assert_eq!(over.wind_down(), None);
    for seed in 0..30 {
        assert_eq!(model.asks("a", seed), [1], "seed {seed}");
        let hung = (3..19).contains(&seed);
        assert_eq!(
            hanging.judge.asks("a", seed),
            1 + usize::from(hung),
            "seed {seed}"
        );
    }
    let over = farm().after(over, RESUME).run().await;
    assert_eq!(over.ledger(), ended(30, 0, 0));
    assert_eq!(hanging.judge.asked().len(), 46, "nothing is graded again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wind_down_lets_those_in_flight_be_graded() {
    let hanging = Hanging::at(|_| true);
    let model = TestModel::ready([answer("done")]);
    let mut farm = farm(&["a"], 30, model, &hanging.judge);
    let stop = farm.folder.path().join("STOP");
    farm.shutdown.stop_file = Some(stop.clone());
    let at_work = farm.start().await;
    hanging.hangs(16).await;
    std::fs::write(&stop, "").unwrap();
    at_work.until(|tally| tally.winding_down).await;
    hanging.go.add_permits(1);
    let over = at_work.over().await;
    assert_eq!(over.wind_down(), Some(WindDown::StopFile));
    assert_eq!(over.ledger(), ended(16, 0, 14));
    assert_eq!(hanging.judge.asked().len(), 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_was_wound_down_grades_nothing() {
    let judge = TestJudge::ready(|_| grade(1.0));
    let seen = Arc::new(Semaphore::new(0));
    let go = Arc::new(Semaphore::new(0));
    let model = {
        let (seen, go) = (seen.clone(), go.clone());
        TestModel::new([answer("done")], move |ask| {
            let (seen, go) = (seen.clone(), go.clone());
            Box::pin(async move {
                if ask.seed == 1 {
                    seen.add_permits(1);
                    drop(go.acquire().await.unwrap());
                }
            })
        })
    };
    let mut farm = farm(&["a"], 3, model, &judge);
    farm.concurrency = 1;
    let at_work = farm.start().await;
    drop(soon(seen.acquire()).await.unwrap());
    at_work.run().cancel_token().cancel();
    at_work.until(|tally| tally.winding_down).await;
    go.add_permits(1);
    let over = at_work.over().await;
    assert_eq!(over.wind_down(), Some(WindDown::Asked));
    let want = Ledger {
        not_run: 1,
        planned: 3,
        ..ended(0, 0, 2)
    };
    assert_eq!(over.ledger(), want);
    assert!(judge.asked().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_that_fails_is_an_error_and_never_a_failed_check() {
    let table = [
        (
            Ok("MARK".to_owned()),
            3,
            "it gave no grade that can be read",
        ),
        (
            error(ModelErrorKind::Context, Retry::No),
            1,
            "the session is longer than its context",
        ),
        (error(ModelErrorKind::Provider, Retry::Later), 1, "provider"),
        (error(ModelErrorKind::Auth, Retry::No), 1, "auth"),
    ];
    for (said, asks, why) in table {
        let judge = TestJudge::ready(move |q| match q.seed {
            0 => said.clone(),
            _ => grade(1.0),
        });
        let model = TestModel::ready([answer("done")]);
        let over = farm(&["a"], 2, model.clone(), &judge).run().await;
        assert_eq!(over.ledger(), ledger(1, 1, 0), "{why}");
        assert_eq!(judge.asks("a", 0), asks);
        let wrong = format!("check 1 was not graded: model j: {why}");
        assert_eq!(
            over.session("a", 0).unwrap().score,
            Some(Score::Failed(wrong))
        );

        let fine = TestJudge::ready(|_| grade(1.0));
        let over = farm(&["a"], 2, model.clone(), &fine)
            .after(over, RESUME)
            .run()
            .await;
        assert_eq!(over.ledger(), ledger(2, 0, 0));
        assert_eq!(over.session("a", 0).unwrap().attempt, 1, "it begins anew");
        assert_eq!(
            fine.asked()
                .iter()
                .map(|q| q.of.attempt)
                .collect::<Vec<_>>(),
            [1]
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_judge_that_is_not_asked_any_more_leaves_the_rest_unscored() {
    let table = [
        (Stop::Endpoint, "it said so", None),
        (Stop::Model, "it said so", None),
        (Stop::Run, "it said so", Some(WindDown::Money)),
    ];
    for (stop, why, wind_down) in table {
        let judge = TestJudge::ready(move |q| match q.seed {
            0..3 => grade(1.0),
            _ => error(ModelErrorKind::Stopped(stop), Retry::No),
        });
        let model = TestModel::ready([answer("done")]);
        let over = farm(&["a"], 40, model.clone(), &judge).run().await;
        assert_eq!(over.ledger(), ended(3, 0, 37));
        assert_eq!(over.wind_down(), wind_down);
        let parked = &over.ended.as_ref().unwrap().parked;
        let line = format!("score.judge is not asked any more: {why}");
        assert_eq!(parked, &[line]);
        let asked = judge.asked().len();
        assert!(asked < 40, "no further session is begun with");
        let fine = TestJudge::ready(|_| grade(1.0));
        let again = farm(&["a"], 40, model, &fine).after(over, RESUME);
        assert_eq!(again.run().await.ledger(), ended(40, 0, 0));
        assert_eq!(fine.asked().len(), 37);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_judged_anyhow_is_not_graded() {
    let judge = TestJudge::ready(|_| grade(1.0));
    let mut farm = farm(&["a"], 2, TestModel::ready([answer("done")]), &judge);
    farm.checks = json!([
        {"kind": "model_graded", "rubric": "Is it kind?"},
        {"kind": "cost_usd", "max": 1},
    ]);
    let over = farm.run().await;
    assert_eq!(over.ledger(), ledger(0, 2, 0));
    assert!(judge.asked().is_empty());
}

/// Every file in a folder but the sealed halves, and those beneath.
fn bytes_in(folder: &std::path::Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes.extend(bytes_in(&path));
        } else if path.file_name().unwrap() != "sealed.jsonl" {
            bytes.extend(std::fs::read(path).unwrap());
        }
    }
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neither_the_rubric_nor_what_is_said_of_it_is_left_anywhere() {
    const MARK: &str = "kZq7Canary4Wv";
    // A judge and an endpoint that quote what they were asked, whether they grade or not.
    let judge = TestJudge::ready(|q| {
        assert!(q.text.contains(MARK), "it is asked with the rubric");
        let stop = ModelErrorKind::Stopped(Stop::Endpoint);
        match q.seed {
            0 => Ok(json!({"score": 1, "reason": q.text}).to_string()),
            1 => Ok(q.text.clone()),
            2 => Err(ModelError {
                kind: ModelErrorKind::Provider,
                message: q.text.clone(),
                retry: Retry::No,
            }),
            // The gateway sees to it that this quotes nothing.
            _ => error(stop, Retry::No),
        }
    });
    let mut farm = farm(&["a"], 4, TestModel::ready([answer("done")]), &judge);
    farm.checks =
        json!([{"kind": "model_graded", "rubric": format!("Is it {MARK}?"), "name": "n"}]);
    let over = farm.run().await;
    let want = Ledger {
        planned: 4,
        errored: 2,
        ..ended(1, 0, 1)
    };
    assert_eq!(over.ledger(), want);
    let parked = over.ended.as_ref().unwrap().parked.join("\n");
    assert!(!parked.contains(MARK), "{parked}");
    let left = bytes_in(over.folder.path());
    let holds = |word: &str| left.windows(word.len()).any(|w| w == word.as_bytes());
    assert!(
        holds("was not graded: model j"),
        "the search is worth something"
    );
    assert!(!holds(MARK) && !holds("Is it"), "the rubric is in a file");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_does_not_begin_without_the_model_that_is_to_grade() {
    let judge = TestJudge::ready(|_| grade(1.0));
    let model = TestModel::ready([answer("done")]);
    let mut without = farm(&["a"], 1, model.clone(), &judge);
    without.judge = None;
    let error = without.try_start().await.err().unwrap();
    assert_eq!(error.message, "no model grades the sessions of case a");
    assert_eq!(model.asks("a", 0), [] as [u32; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_goes_meanwhile_fails_the_run() {
    let hanging = Hanging::at(|_| true);
    let model = TestModel::ready([answer("done")]);
    let at_work = farm(&["a"], 2, model, &hanging.judge).start().await;
    hanging.hangs(2).await;
    std::fs::remove_file(at_work.folder.path().join("farm.db")).unwrap();
    let error = soon(at_work.run().wait()).await.err().unwrap();
    assert!(error.message.contains("farm.db"), "{error}");
}
