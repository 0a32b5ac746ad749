use serde_json::value::RawValue;

use super::*;
use crate::{
    domain::{DecidedCall, Decision, Observation, Outcome, Phase, Served, Status},
    store::{At, Options, Store, Write, writer::tests as fixtures},
};

const ID: SessionId = SessionId(0);

fn judgment(verifier: &'static str, score: f64) -> Judgment {
    Judgment {
        verifier: verifier.into(),
        phase: Phase::PostAct,
        score,
        passed: score > 0.5,
        reason: format!("{verifier} says {score}"),
        code: None,
    }
}

/// A step with one judgment of its own, and numbers that must come out as they went in.
fn step(step: u32, turn: u32, call: u32) -> trace::Step {
    trace::Step {
        step,
        turn,
        call,
        decision: Decision {
            thought: None,
            tool_call: Some(DecidedCall {
                tool: "calculator".to_owned(),
                args: serde_json::json!({"z": 0.1 + 0.2, "a": 1e300}),
                args_raw: None,
            }),
            answer: None,
        },
        judgments: vec![judgment("budget", 0.875)],
        observation: Some(Observation::ok("391")),
    }
}

fn turn() -> trace::Turn {
    trace::Turn {
        reply: RawValue::from_string("{}".to_owned()).unwrap().into(),
        request_sha256: String::new(),
        repairs: Vec::new(),
        finish: None,
        refused: false,
        usage: None,
        served: Served::default(),
        latency_s: None,
        waits: Vec::new(),
    }
}

/// Verifiers of the steps as they are read: turn 0 has two steps, turns 1 and 2 one each.
fn verifiers(steps: &[trace::Step]) -> Vec<String> {
    let of = |step: &trace::Step| {
        let names: Vec<_> = step.judgments.iter().map(|j| &*j.verifier).collect();
        names.join(" ")
    };
    steps.iter().map(of).collect()
}

#[tokio::test]
async fn what_a_model_said_later_stands_on_its_steps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let grid = fixtures::grid(1, 1);
    let store = Store::create(&path, "r", &grid, Options::default()).unwrap();
    let at = |ts| At {
        work_s: ts / 2.0,
        ts,
    };
    let all = [step(0, 0, 0), step(1, 0, 1), step(2, 1, 0), step(3, 2, 0)];
    let mut writes = vec![Write::Begin {
        session: ID,
        attempt: 1,
        ts: 1.0,
    }];
    for n in 0..3 {
        writes.push(Write::turn((ID, 1), n, &turn(), None, at(2.0)));
    }
    writes.extend(all.iter().map(|step| Write::step((ID, 1), step, at(2.0))));
    store.handle().commit(writes).await.unwrap();
    let reader = Reader::open(&path).unwrap();
    let steps = || -> Vec<trace::Step> {
        let steps = reader.steps(ID, 1).unwrap().into_iter();
        steps.map(|row| row.body).collect()
    };
    let export = || {
        let head = |_, _| crate::store::Head {
            task: "t".to_owned(),
            max_steps: 8,
            tools: Vec::new(),
        };
        let export = crate::store::Export {
            reader: &reader,
            grid: &grid,
            run: "r",
            run_seed: 0,
            head: &head,
        };
        let mut out = Vec::new();
        assert!(export.session(ID, &mut out).unwrap());
        String::from_utf8(out).unwrap()
    };
    assert_eq!(steps(), all, "nothing is judged");
    let before = export();

    // Of turn 0 both steps, of turn 1 none, and of turn 2 more than there are.
    let first = [vec![judgment("tone", 1.0), judgment("aim", 0.25)], vec![]];
    let last = [vec![judgment("tone", 0.1)], vec![judgment("tone", 0.2)]];
    let judged = |attempt, turn, of_steps: &[Vec<Judgment>], cost_usd, ts| {
        Write::judged((ID, attempt), turn, of_steps, cost_usd, at(ts))
    };
    let writes = vec![
        judged(0, 0, &last, None, 2.5),
        judged(1, 0, &first, Some(0.5), 3.0),
        judged(1, 0, &last, Some(9.0), 3.5), // The first stands.
        judged(1, 2, &last, None, 4.0),
    ];
    store.handle().commit(writes).await.unwrap();
    let want = ["budget tone aim", "budget", "budget", "budget tone"];
    assert_eq!(verifiers(&steps()), want);

    let rows = reader.judged(ID, 1).unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0].of_steps, first);
    let of = |row: &JudgedRow| (row.turn, row.cost_usd, row.work_s, row.ts);
    assert_eq!(of(&rows[0]), (0, Some(0.5), 1.5, 3.0));
    assert_eq!(of(&rows[1]), (2, None, 2.0, 4.0));

    // The export has them too, and says all else with the same bytes.
    let after = export();
    let lines = |text: &str| -> Vec<trace::Step> {
        let of = |line: &str| match serde_json::from_str(line).unwrap() {
            trace::Record::Step(line) => Some(line.step),
            _ => None,
        };
        text.lines().filter_map(of).collect()
    };
    assert_eq!(lines(&after), steps());
    let added = |judgments: &[Judgment]| {
        let text = serde_json::to_string(judgments).unwrap();
        format!(",{}", &text[1..text.len() - 1])
    };
    let stripped = after
        .replacen(&added(&first[0]), "", 1)
        .replacen(&added(&last[0]), "", 1);
    // The mean of an open session counts every judgment.
    let but_the_end = |text: &str| -> Vec<String> {
        let steps = text.lines().filter(|line| line.contains("\"step\""));
        steps.map(str::to_owned).collect()
    };
    assert_eq!(but_the_end(&stripped), but_the_end(&before));
    let so_far = Outcome::so_far(Status::Interrupted, &steps(), &[], None, None);
    let mean = format!("\"mean_score\":{}", so_far.mean_score.unwrap());
    assert!(after.lines().last().unwrap().contains(&mean), "{after}");
    assert!(!before.lines().last().unwrap().contains(&mean), "{before}");
    store.join().await.unwrap();
}
