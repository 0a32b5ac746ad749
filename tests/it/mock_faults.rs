//! What the rehearsal server does to requests, and how it counts and charges them.

use std::{collections::BTreeMap, time::Duration};

use farm::{
    domain::{Entry, Price, ToolMode},
    mock::{Answer, Answers, Latency, Mock, Options, Outcomes, Reports, Shares, Stats},
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    http::{self, COMPLETION, complete, until},
    served::Served,
};

const TASK: &str = "What is 2 * 3?";

/// One case: a call, then an answer.
fn options() -> Options {
    let script = json!([
        {"thought": "I multiply.", "tool_call": {"tool": "calculator", "args": {"expression": "2 * 3"}}},
        {"answer": "It is {{observation}}."},
        {"raw": {"error": {"code": 402, "message": "no money"}}},
    ]);
    let script: Vec<Entry> = serde_json::from_value(script).unwrap();
    let answer = Answer {
        case: "a".parse().unwrap(),
        task: TASK.to_owned(),
        every: Some(script.into()),
        of_one_seed: Vec::new(),
    };
    Options::new("m", ToolMode::Native, Answers::new(vec![answer], 0, 0..1))
}

fn with(shares: Shares) -> Served {
    Served::start(Options {
        shares,
        price: Some(Price {
            input: 3.0,
            cached: None,
            output: 15.0,
        }),
        ..options()
    })
}

/// The request for a turn of a session.
fn asking(seed: u32, turn: usize) -> Value {
    let mut messages = vec![json!({"role": "user", "content": TASK})];
    for _ in 0..turn {
        messages.push(json!({"role": "assistant", "content": null}));
        messages.push(json!({"role": "tool", "tool_call_id": "x", "content": "6"}));
    }
    json!({"model": "m", "seed": seed, "messages": messages})
}

/// What the tokens of requests and replies of these lengths cost.
fn usd(bytes: &[(usize, usize)]) -> f64 {
    let input: usize = bytes.iter().map(|(request, _)| request.div_ceil(4)).sum();
    let output: usize = bytes.iter().map(|(_, reply)| reply.div_ceil(4)).sum();
    (input as f64 * 3.0 + output as f64 * 15.0) / 1e6
}

/// The bytes that the model wrote in the replies to turns 0 and 1.
const WRITTEN: [usize; 2] = [
    "I multiply.".len() + "calculator".len() + r#"{"expression":"2 * 3"}"#.len(),
    "It is 6.".len(),
];

#[test]
fn a_share_is_rate_limited() {
    let shares = Shares {
        rate_limited: 1.0,
        ..Shares::default()
    };
    for (retry_after, want) in [(None, None), (Some(7), Some("7"))] {
        let server = Served::start(Options {
            shares,
            retry_after,
            ..options()
        });
        let answer = complete(server.address, &asking(1, 0)).unwrap();
        assert_eq!(answer.status, 429);
        assert_eq!(answer.header("retry-after"), want);
        assert_eq!(answer.json()["error"]["code"], 429);
        let stats = server.stop();
        assert_eq!(stats.outcomes.rate_limited, 1);
        assert_eq!((stats.tokens_in, stats.turns.answered), (0, 0));
    }
}

#[test]
fn a_share_fails() {
    let server = with(Shares {
        failing: 1.0,
        ..Shares::default()
    });
    let answer = complete(server.address, &asking(1, 0)).unwrap();
    assert_eq!(answer.status, 500);
    assert_eq!(answer.json()["error"]["type"], "server_error");
    let stats = server.stop();
    assert_eq!((stats.outcomes.failing, stats.charged_usd), (1, 0.0));
}

#[test]
fn a_share_hangs_until_its_client_leaves_and_is_charged() {
    let server = with(Shares {
        hanging: 1.0,
        ..Shares::default()
    });
    let bodies: Vec<String> = (0..3).map(|seed| asking(seed, 0).to_string()).collect();
    let mut waiting: Vec<_> = bodies
        .iter()
        .map(|body| http::send(server.address, COMPLETION, body))
        .collect();
    until(|| server.stats().outcomes.hanging == 3);
    let stats = server.stats();
    assert_eq!((stats.in_flight, stats.highest_in_flight), (3, 3));
    assert_eq!(stats.highest_answering, 0);
    let bytes: Vec<_> = bodies.iter().map(|body| (body.len(), WRITTEN[0])).collect();
    assert_eq!(stats.charged_usd, usd(&bytes));

    waiting.pop();
    until(|| server.stats().in_flight == 2);
    // Those that wait to the end get nothing.
    let stats = server.stop();
    for stream in waiting {
        assert!(http::receive(stream).is_none());
    }
    let want = Outcomes {
        hanging: 3,
        ..Outcomes::default()
    };
    assert_eq!((stats.outcomes, stats.turns.answered), (want, 0));
}

#[test]
fn a_share_is_closed_without_an_answer_and_is_charged() {
    let server = with(Shares {
        reset: 1.0,
        ..Shares::default()
    });
    let body = asking(1, 1);
    assert!(complete(server.address, &body).is_none());
    let stats = server.stop();
    assert_eq!((stats.outcomes.reset, stats.turns.answered), (1, 0));
    assert_eq!(
        stats.charged_usd,
        usd(&[(body.to_string().len(), WRITTEN[1])])
    );
}

#[test]
fn of_a_share_half_is_sent_and_all_is_charged() {
    let whole = with(Shares::default());
    let server = with(Shares {
        half: 1.0,
        ..Shares::default()
    });
    let body = asking(1, 1);
    let answer = complete(server.address, &body).unwrap();
    assert_eq!(answer.status, 200);
    assert!(!answer.is_whole());
    let want = complete(whole.address, &body).unwrap();
    assert!(want.is_whole());
    assert_eq!(
        answer.header("content-length"),
        want.header("content-length")
    );
    assert_eq!(answer.body.len(), want.body.len() / 2);
    let stats = server.stop();
    assert_eq!((stats.outcomes.half, stats.turns.answered), (1, 0));
    assert_eq!(stats.charged_usd, whole.stop().charged_usd);
    assert!(stats.charged_usd > 0.0);
}

#[test]
fn only_calls_become_malformed_and_always_the_same() {
    let server = with(Shares {
        malformed: 1.0,
        ..Shares::default()
    });
    let arguments = |seed| {
        let answer = complete(server.address, &asking(seed, 0)).unwrap();
        assert_eq!(answer.status, 200);
        let call = &answer.json()["choices"][0]["message"]["tool_calls"][0];
        call["function"]["arguments"].as_str().unwrap().to_owned()
    };
    assert!(serde_json::from_str::<Value>(&arguments(1)).is_err());
    assert_eq!(arguments(1), arguments(1));
    let answer = complete(server.address, &asking(1, 1)).unwrap().json();
    assert_eq!(answer["choices"][0]["message"]["content"], "It is 6.");
    let stats = server.stop();
    assert_eq!((stats.outcomes.malformed, stats.outcomes.ok), (3, 1));
    assert_eq!((stats.turns.answered, stats.turns.repeated), (2, 1));
}

/// What 3 tries of each of 40 turns meet, whichever of them comes first.
fn met(faults_seed: u64, backwards: bool) -> (BTreeMap<(u32, u32), String>, Stats) {
    let server = Served::start(Options {
        shares: Shares {
            rate_limited: 0.2,
            failing: 0.1,
            hanging: 0.0,
            reset: 0.1,
            half: 0.1,
            malformed: 0.5,
        },
        faults_seed,
        ..options()
    });
    let mut met = BTreeMap::new();
    for tries in 0..3 {
        for i in 0..40 {
            let seed = if backwards { 39 - i } else { i };
            let seen = match complete(server.address, &asking(seed, 0)) {
                None => "closed".to_owned(),
                Some(answer) if !answer.is_whole() => "half".to_owned(),
                Some(answer) if answer.status != 200 => answer.status.to_string(),
                Some(answer) => answer.json()["choices"].to_string(),
            };
            met.insert((seed, tries), seen);
        }
    }
    (met, server.stop())
}

#[test]
fn servers_with_one_seed_do_the_same() {
    let (first, stats) = met(5, false);
    let (second, again) = met(5, true);
    assert_eq!(first, second);
    assert_eq!(stats.outcomes, again.outcomes);
    let (other, _) = met(6, false);
    assert_ne!(first, other);

    // All of them happen, and a turn that was answered twice was answered alike.
    let of = stats.outcomes;
    for n in [
        of.ok,
        of.rate_limited,
        of.failing,
        of.reset,
        of.half,
        of.malformed,
    ] {
        assert!(n > 0, "{of:?}");
    }
    let mut again = 0;
    for seed in 0..40 {
        let replies = (0..3).map(|tries| &first[&(seed, tries)]);
        let mut replies: Vec<_> = replies.filter(|reply| reply.starts_with('[')).collect();
        again += u64::from(replies.len() > 1);
        replies.dedup();
        assert!(replies.len() <= 1, "{replies:?}");
    }
    assert_eq!(stats.turns.repeated, again);
    assert!(again > 0);
}

#[test]
fn more_requests_a_minute_than_allowed_are_told_when_to_come_again() {
    let server = Served::start(Options {
        requests_per_minute: 3.try_into().ok(),
        ..options()
    });
    for seed in 0..5 {
        let answer = complete(server.address, &asking(seed, 0)).unwrap();
        let wait = answer.header("retry-after").map(|s| s.parse().unwrap());
        match wait {
            None => assert!(seed < 3 && answer.status == 200, "{seed}"),
            Some(wait) => {
                assert!(seed >= 3 && answer.status == 429, "{seed}");
                assert!((1..=60).contains::<u64>(&wait), "{wait}");
            }
        }
    }
    let stats = server.stop();
    assert_eq!((stats.outcomes.ok, stats.outcomes.rate_limited), (3, 2));
}

#[test]
fn the_ledger_holds_what_replies_cost_whatever_they_say() {
    let price = Some(Price {
        input: 3.0,
        cached: None,
        output: 15.0,
    });
    let table = [
        (Reports::Exact, Some(1.0)),
        (Reports::Less, Some(0.5)),
        (Reports::More, Some(2.0)),
        (Reports::Tokens, None),
    ];
    for (reports, times) in table {
        let server = Served::start(Options {
            price,
            reports,
            ..options()
        });
        let bodies = [asking(1, 0), asking(1, 1), asking(1, 1)];
        let bytes: Vec<_> = bodies
            .iter()
            .zip([WRITTEN[0], WRITTEN[1], WRITTEN[1]])
            .map(|(body, written)| (body.to_string().len(), written))
            .collect();
        for (body, bytes) in bodies.iter().zip(&bytes) {
            let usage = complete(server.address, body).unwrap().json()["usage"].clone();
            assert_eq!(usage["prompt_tokens"], bytes.0.div_ceil(4));
            assert_eq!(usage["completion_tokens"], bytes.1.div_ceil(4));
            let cost = times.map(|times: f64| usd(&[*bytes]) * times);
            assert_eq!(usage["cost"].as_f64(), cost, "{reports:?}");
        }
        // A scripted error, and requests that are wrong, cost nothing.
        assert_eq!(complete(server.address, &asking(1, 2)).unwrap().status, 402);
        assert_eq!(complete(server.address, &json!({})).unwrap().status, 400);
        let other = json!({"messages": [{"role": "user", "content": "Hello?"}]});
        assert_eq!(complete(server.address, &other).unwrap().status, 404);
        let stats = server.stop();
        assert_eq!(stats.charged_usd, usd(&bytes), "{reports:?}");
        let want = Outcomes {
            ok: 3,
            error: 1,
            refused: 2,
            ..Outcomes::default()
        };
        assert_eq!((stats.requests, stats.outcomes), (6, want));
        assert_eq!((stats.turns.answered, stats.turns.repeated), (2, 1));
    }
    let server = Served::start(Options {
        reports: Reports::None,
        price,
        ..options()
    });
    let answer = complete(server.address, &asking(1, 0)).unwrap().json();
    assert_eq!(answer.get("usage"), None);
    assert!(server.stop().charged_usd > 0.0);
}

#[test]
fn a_client_that_leaves_early_is_charged() {
    let server = Served::start(Options {
        latency: Latency::Fixed(Duration::from_secs(3600)),
        price: Some(Price {
            input: 1.0,
            cached: None,
            output: 1.0,
        }),
        ..options()
    });
    let streams = [0, 1].map(|seed| {
        let body = asking(seed, 0).to_string();
        http::send(server.address, COMPLETION, &body)
    });
    until(|| server.stats().tokens_out == 2 * WRITTEN[0].div_ceil(4) as u64);
    assert_eq!(server.stats().outcomes, Outcomes::default());
    let [stays, leaves] = streams;
    drop(leaves);
    until(|| server.stats().outcomes.gone == 1);
    // A server that stops leaves those that wait.
    let stats = server.stop();
    assert!(http::receive(stays).is_none());
    assert_eq!((stats.outcomes.gone, stats.turns.answered), (2, 0));
    assert!(stats.charged_usd > 0.0);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let runtime = Runtime::new().unwrap();
    let refused = |options| {
        let started = runtime.block_on(Mock::start(options));
        started.map(drop).unwrap_err().message
    };
    let shares = Shares {
        reset: 0.7,
        half: 0.7,
        ..Shares::default()
    };
    let said = refused(Options {
        shares,
        ..options()
    });
    assert!(said.contains("add up to 1.4"), "{said}");
    let said = refused(Options {
        reports: Reports::More,
        ..options()
    });
    assert!(said.contains("without a price"), "{said}");
    let said = refused(Options {
        price: Some(Price {
            input: f64::NAN,
            cached: None,
            output: 1.0,
        }),
        ..options()
    });
    assert!(said.contains("a price is not"), "{said}");
}
