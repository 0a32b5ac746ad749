use std::sync::Arc;

use serde_json::{Value, json, value::RawValue};

use super::*;
use crate::{
    domain::{Activity, DecidedCall, Decision, Judgment, Observation, Phase, Usage, Verdict},
    store::{At, Options, Store, Write, writer::tests as fixtures},
};

const ID: SessionId = SessionId(0);

fn judgment(verifier: &'static str, phase: Phase, score: f64, reason: &str) -> Judgment {
    Judgment {
        verifier: verifier.into(),
        phase,
        score,
        passed: true,
        reason: reason.to_owned(),
        code: None,
    }
}

fn at(ts: f64) -> At {
    At { work_s: 0.0, ts }
}

fn turn(reply: &str, finish: &str) -> trace::Turn {
    trace::Turn {
        reply: RawValue::from_string(reply.to_owned()).unwrap().into(),
        request_sha256: "ab12".to_owned(),
        repairs: vec![],
        finish: Some(finish.to_owned()),
        refused: false,
        served: crate::domain::Served::default(),
        latency_s: None,
        waits: Vec::new(),
        usage: Some(Usage {
            tokens_in: Some(40),
            tokens_out: Some(9),
            ..Usage::default()
        }),
    }
}

fn call(step: u32, turn: u32, call: u32) -> trace::Step {
    trace::Step {
        step,
        turn,
        call,
        decision: Decision {
            thought: Some("multiply".to_owned()),
            tool_call: Some(DecidedCall {
                tool: "calculator".to_owned(),
                args: json!({"expression": "17 * 23"}),
                args_raw: None,
            }),
            answer: None,
        },
        judgments: vec![
            judgment("schema", Phase::PreAct, 1.0, "args match calculator schema"),
            judgment("budget", Phase::PostAct, 0.5, "step 1/8; headroom 1.00"),
        ],
        observation: Some(Observation::ok("391")),
    }
}

fn answer(step: u32, turn: u32) -> trace::Step {
    trace::Step {
        step,
        turn,
        call: 0,
        decision: Decision {
            thought: None,
            tool_call: None,
            answer: Some("17 * 23 = 391".to_owned()),
        },
        judgments: vec![judgment(
            "budget",
            Phase::PostAct,
            0.875,
            "step 2/8; headroom 0.88",
        )],
        observation: None,
    }
}

fn head(_: usize, _: usize) -> Head {
    Head {
        task: "What is 17 * 23?".to_owned(),
        max_steps: 8,
        tools: vec!["calculator".to_owned()],
    }
}

/// Session 0 with two calls in its first turn, an unused second attempt before it, ended or not.
async fn run(ended: bool) -> (tempfile::TempDir, Grid) {
    let folder = tempfile::tempdir().unwrap();
    let grid = fixtures::grid(2, 2);
    let store = Store::create(
        &folder.path().join("farm.db"),
        "r",
        &grid,
        Options::default(),
    )
    .unwrap();
    let of = (ID, 1);
    let reply = r#"{"choices":[ {"x":"{\"a\":1}"} ]}"#;
    let mut writes = vec![
        Write::Begin {
            session: ID,
            attempt: 0,
            ts: 1.0,
        },
        Write::turn((ID, 0), 0, &turn("{}", "lost"), None, at(1.0)),
        Write::step((ID, 0), &answer(0, 0), at(1.0)),
        Write::Begin {
            session: ID,
            attempt: 1,
            ts: 1_789_700_000.0,
        },
        Write::turn(
            of,
            0,
            &turn(reply, "tool_calls"),
            None,
            at(1_789_700_000.25),
        ),
        Write::step(of, &call(0, 0, 0), at(1_789_700_000.5)),
        Write::step(of, &call(1, 0, 1), at(1_789_700_000.5)),
        Write::turn(of, 1, &turn("{\"b\":2}", "stop"), None, at(1_789_700_001.0)),
    ];
    if ended {
        let outcome = Outcome {
            answer: Some("17 * 23 = 391".to_owned()),
            steps_used: 3,
            ..(*fixtures::outcome(Status::Completed)).clone()
        };
        let checks = vec![CheckResult {
            name: "number".to_owned(),
            passed: true,
        }];
        writes.extend([
            Write::step(of, &answer(2, 1), at(1_789_700_001.125)),
            Write::End {
                session: ID,
                attempt: 1,
                outcome: Arc::new(outcome),
                work_s: 1.0,
                waits: vec![Wait {
                    what: Activity::Slot,
                    began: 1_789_700_001.0,
                    ended: 1_789_700_001.125,
                }],
                ts: 1_789_700_001.125,
            },
            Write::score(of, &Verdict::Scored(checks)),
        ]);
    }
    store.handle().commit(writes).await.unwrap();
    store.join().await.unwrap();
    (folder, grid)
}

fn export<'a>(reader: &'a Reader, grid: &'a Grid) -> Export<'a> {
    Export {
        reader,
        grid,
        run: "r1",
        run_seed: 0,
        head: &head,
    }
}

#[tokio::test]
async fn a_session_is_written_in_the_fixed_form() {
    let (folder, grid) = run(true).await;
    let reader = Reader::open(&folder.path().join("farm.db")).unwrap();
    let mut out = Vec::new();
    assert!(export(&reader, &grid).session(ID, &mut out).unwrap());
    let rng = rng_seed(0, &grid.cases[0], 0);
    let want = format!(
        r#"{{"type":"run_start","schema":"farm.trace/1","run":"r1","variant":"v","case":"c0","seed":0,"rng_seed":"{rng}","attempt":1,"task":"What is 17 * 23?","max_steps":8,"tools":["calculator"],"ts":1789700000.0}}
{{"type":"step","step":0,"turn":0,"call":0,"decision":{{"thought":"multiply","tool_call":{{"tool":"calculator","args":{{"expression":"17 * 23"}}}},"answer":null}},"judgments":[{{"verifier":"schema","phase":"pre_act","score":1.0,"passed":true,"reason":"args match calculator schema"}},{{"verifier":"budget","phase":"post_act","score":0.5,"passed":true,"reason":"step 1/8; headroom 1.00"}}],"observation":{{"ok":true,"content":"391"}},"reply":{{"choices":[ {{"x":"{{\"a\":1}}"}} ]}},"request_sha256":"ab12","repairs":[],"finish":"tool_calls","refused":false,"usage":{{"tokens_in":40,"tokens_out":9}},"ts":1789700000.5}}
{{"type":"step","step":1,"turn":0,"call":1,"decision":{{"thought":"multiply","tool_call":{{"tool":"calculator","args":{{"expression":"17 * 23"}}}},"answer":null}},"judgments":[{{"verifier":"schema","phase":"pre_act","score":1.0,"passed":true,"reason":"args match calculator schema"}},{{"verifier":"budget","phase":"post_act","score":0.5,"passed":true,"reason":"step 1/8; headroom 1.00"}}],"observation":{{"ok":true,"content":"391"}},"ts":1789700000.5}}
{{"type":"step","step":2,"turn":1,"call":0,"decision":{{"thought":null,"tool_call":null,"answer":"17 * 23 = 391"}},"judgments":[{{"verifier":"budget","phase":"post_act","score":0.875,"passed":true,"reason":"step 2/8; headroom 0.88"}}],"observation":null,"reply":{{"b":2}},"request_sha256":"ab12","repairs":[],"finish":"stop","refused":false,"usage":{{"tokens_in":40,"tokens_out":9}},"ts":1789700001.125}}
{{"type":"run_end","status":"completed","limit":null,"answer":"17 * 23 = 391","steps_used":3,"mean_score":0.96875,"usage":{{"tokens_in":7,"tokens_out":null}},"cost_usd":0.5,"error":null,"waits":[{{"for":"slot","began":1789700001.0,"ended":1789700001.125}}],"ts":1789700001.125}}
"#
    );
    let got = String::from_utf8(out).unwrap();
    for (got, want) in got.lines().zip(want.lines()) {
        assert_eq!(got, want);
        serde_json::from_str::<trace::Record>(got).unwrap();
    }
    assert_eq!(got, want);
}

#[tokio::test]
async fn an_open_session_is_closed_as_interrupted() {
    let (folder, grid) = run(false).await;
    let reader = Reader::open(&folder.path().join("farm.db")).unwrap();
    let mut out = Vec::new();
    assert!(export(&reader, &grid).session(ID, &mut out).unwrap());
    let got = String::from_utf8(out).unwrap();
    assert_eq!(got.lines().count(), 4);
    assert_eq!(
        got.lines().last().unwrap(),
        r#"{"type":"run_end","status":"interrupted","limit":null,"answer":null,"steps_used":2,"mean_score":0.75,"usage":{"tokens_in":80,"tokens_out":18},"cost_usd":null,"error":null,"ts":null}"#
    );
    let mut none = Vec::new();
    assert!(
        !export(&reader, &grid)
            .session(SessionId(1), &mut none)
            .unwrap()
    );
    assert!(none.is_empty());
}

#[tokio::test]
async fn files_hold_what_began_and_scores_hold_all() {
    let (folder, grid) = run(true).await;
    let reader = Reader::open(&folder.path().join("farm.db")).unwrap();
    let export = export(&reader, &grid);
    let traces = folder.path().join("traces");
    export.traces(&traces).unwrap();
    let mut one = Vec::new();
    export.session(ID, &mut one).unwrap();
    assert_eq!(fs::read(traces.join("v/c0.jsonl")).unwrap(), one);
    assert_eq!(fs::read_dir(traces.join("v")).unwrap().count(), 1);

    let path = folder.path().join("scores.jsonl");
    export.scores(&path).unwrap();
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        r#"{"key":"v/c0/0","state":"passed","passed":true,"checks":[{"name":"number","passed":true}],"error":null}"#
    );
    let keys: Vec<Value> = lines
        .iter()
        .map(|l| serde_json::from_str::<Value>(l).unwrap()["key"].take())
        .collect();
    assert_eq!(keys, ["v/c0/0", "v/c0/1", "v/c1/0", "v/c1/1"]);
}
