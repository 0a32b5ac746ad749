//! What sessions wait for: it is seen, it is recorded, and it is no working time.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    live::{args, ends, folder, ledger, model, parked, query, run, sessions, solve},
    running::Running,
    status,
    stub::{Say, Stub, http, says},
    support::Folder,
};

/// The waits of all sessions: what for, and how long.
fn waits(folder: &Folder) -> Vec<(String, f64)> {
    let steps = sessions(folder, "run").into_values().flatten();
    let waits = steps.filter_map(|step| step["waits"].as_array().cloned());
    let of = |wait: &Value, end: &str| wait[end].as_f64().unwrap();
    waits
        .flatten()
        .map(|wait| {
            let what = wait["for"].as_str().unwrap().to_owned();
            (what, of(&wait, "ended") - of(&wait, "began"))
        })
        .collect()
}

#[test]
fn what_a_rate_makes_wait_is_no_working_time() {
    let folder = folder(6);
    let stub = Stub::start(|asked| says(&solve(asked.task())));
    // A call a second: the last of them waits for longer than a session may work.
    let config = model(
        "m",
        &stub.base_url(),
        "rates = { requests_per_minute = 60 }",
    ) + "[session]\nmax_seconds = 2\n";
    folder.write("live.toml", config);
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(0);
    assert_eq!(ledger(&folder, "passed"), 6);
    let waits = waits(&folder);
    assert!(waits.iter().all(|(what, _)| what == "rate"), "{waits:?}");
    assert!(waits.len() >= 4, "{waits:?}");
    let longest = waits
        .iter()
        .map(|(_, seconds)| *seconds)
        .fold(0.0, f64::max);
    assert!(longest > 2.0, "{waits:?}");
    let most = query(&folder, "SELECT max(work_s) FROM session")[0];
    assert!(most < 2.0, "{most}");
}

#[test]
fn a_pause_that_is_asked_for_is_kept_and_is_no_working_time() {
    let folder = folder(1);
    let stub = Stub::start(|asked| match asked.n {
        0 => http("429 Slow", "retry-after: 3\r\n", "{}"),
        _ => says(&solve(asked.task())),
    });
    let config = model("m", &stub.base_url(), "") + "[session]\nmax_seconds = 2\n";
    folder.write("live.toml", config);
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(0);
    let waits = waits(&folder);
    assert_eq!(waits.len(), 1, "{waits:?}");
    assert!(waits[0].0 == "backoff" && waits[0].1 > 2.9, "{waits:?}");
    assert_eq!(ends(&folder)["m/p-0/0"]["status"], "completed");
}

#[test]
fn dates_that_have_passed_are_no_wait_and_those_far_off_park() {
    let folder = folder(1);
    let stub = Stub::start(|asked| match asked.n {
        0 => http(
            "429 Slow",
            "retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\n",
            "{}",
        ),
        1 => http("429 Slow", "retry-after: in a while\r\n", "{}"),
        _ => says(&solve(asked.task())),
    });
    folder.write("live.toml", model("m", &stub.base_url(), ""));
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(0);
    assert_eq!(ledger(&folder, "passed"), 1);
    assert_eq!(stub.counts().asked, 3);

    let folder = crate::live::folder(3);
    let stub = Stub::start(|_| {
        let later = "retry-after: Fri, 01 Jan 2100 00:00:00 GMT\r\n";
        http("429 Slow", later, r#"{"error": {"message": "not today"}}"#)
    });
    folder.write("live.toml", model("m", &stub.base_url(), ""));
    let more = ["--quiet", "--no-probe", "--concurrency", "1"];
    run(&folder, "live.toml", &more).exits(3);
    assert_eq!((ledger(&folder, "not_run"), stub.counts().asked), (3, 1));
    let (_, reason) = &parked(&folder)[0];
    assert!(reason.starts_with("quota_exhausted: "), "{reason}");
    assert!(
        reason.contains("not today: the endpoint asks for a pause of "),
        "{reason}"
    );
}

#[test]
fn an_endpoint_under_maintenance_for_longer_than_an_hour_parks() {
    let folder = folder(2);
    let stub = Stub::start(|_| {
        http(
            "503 Down",
            "retry-after: 86400\r\n",
            r#"{"error": "closed"}"#,
        )
    });
    folder.write("live.toml", model("m", &stub.base_url(), ""));
    let more = ["--quiet", "--no-probe", "--concurrency", "1"];
    run(&folder, "live.toml", &more).exits(3);
    assert_eq!((ledger(&folder, "not_run"), stub.counts().asked), (2, 1));
    let (_, reason) = &parked(&folder)[0];
    assert!(reason.starts_with("provider: "), "{reason}");
    assert!(
        reason.ends_with("closed: the endpoint asks for a pause of 86400 s"),
        "{reason}"
    );
}

/// How four sessions come to wait, and what they are seen at.
struct Stuck {
    model: &'static str,
    more: &'static [&'static str],
    says: fn() -> Say,
    /// Thinking, and waiting for what.
    thinking: u64,
    waiting: (&'static str, u64),
}

/// At a dollar a million tokens, a call may cost a little more than one.
const TOKENS: &str = "parameters = { max_tokens = 1000000 }\n";

const STUCK: [Stuck; 4] = [
    Stuck {
        model: "slots = { max = 1 }",
        more: &[],
        says: || Say::Hang,
        thinking: 1,
        waiting: ("slot", 3),
    },
    Stuck {
        model: "rates = { requests_per_minute = 1 }",
        more: &[],
        says: || Say::Hang,
        thinking: 1,
        waiting: ("rate", 3),
    },
    Stuck {
        model: "",
        more: &[],
        says: || http("429 Slow", "retry-after: 3000\r\n", "{}"),
        thinking: 0,
        waiting: ("backoff", 4),
    },
    Stuck {
        model: "price = { input = 1, output = 1 }",
        more: &["--max-cost", "1.5"],
        says: || Say::Hang,
        thinking: 1,
        waiting: ("money", 3),
    },
];

impl Stuck {
    /// Begins a run that gets stuck so; with who answers.
    fn begin(&self, folder: &Folder, more: &[&'static str]) -> (Running, Stub) {
        let says = self.says;
        let stub = Stub::start(move |_| says());
        let table = format!("{TOKENS}{}", self.model);
        folder.write("live.toml", model("m", &stub.base_url(), &table));
        let all = ["--concurrency", "4", "--quiet", "--no-probe"];
        let all = [&all[..], self.more, more].concat();
        (Running::start(folder, args("live.toml", &all)), stub)
    }

    /// Waits until that is seen.
    fn is_seen(&self, folder: &Folder) -> Value {
        let (what, n) = self.waiting;
        status::until(folder, |status| {
            let of = |what: &str| status["in_flight"][what].as_u64().unwrap_or(0);
            (of("thinking"), of(what)) == (self.thinking, n)
        })
    }
}

#[test]
fn what_sessions_wait_for_is_seen_and_they_can_be_dropped() {
    // However the run is told to wind down, those that wait go on waiting until they are dropped.
    for (stuck, way) in STUCK.iter().zip(["TERM", "STOP", "--until", "INT"]) {
        let folder = folder(9);
        let until: &[&str] = if way == "--until" {
            &["--until", "1s"]
        } else {
            &[]
        };
        let (mut farm, stub) = stuck.begin(&folder, until);
        let status = stuck.is_seen(&folder);
        let has_end = status["in_flight"]["backoff_until"].is_string();
        assert_eq!(has_end, stuck.waiting.0 == "backoff", "{status}");
        match way {
            "STOP" => drop(folder.write("run/STOP", "")),
            "--until" => {}
            signal => {
                farm.signal(signal);
                farm.until("winding down: sessions in flight finish");
            }
        }
        status::until(&folder, |status| status["worker"]["winding_down"] == true);
        stuck.is_seen(&folder);
        let asked = stub.counts().asked;
        if matches!(way, "STOP" | "--until") {
            farm.signal("TERM");
            farm.until("winding down");
        }
        farm.signal("TERM");
        let (code, said) = farm.end();
        assert_eq!(code, Some(3), "{way}: {said}");
        assert!(
            said.contains("interrupted: sessions in flight are dropped"),
            "{said}"
        );
        assert_eq!(stub.counts().asked, asked, "{way}: it asked again");
        assert_eq!(ledger(&folder, "not_run"), 9);

        // All of it can be run still.
        let sound = Stub::start(|asked| says(&solve(asked.task())));
        folder.write("sound.toml", model("m", &sound.base_url(), TOKENS));
        let resume = [
            "resume",
            "run",
            "--quiet",
            "--config",
            "sound.toml",
            "--until",
            "none",
        ];
        folder.farm(resume).exits(0);
        assert_eq!(ledger(&folder, "passed"), 9);
    }
}

#[test]
fn winding_down_lets_those_that_wait_for_a_slot_finish() {
    let folder = folder(9);
    let gate = std::sync::Arc::new(crate::stub::Gate::default());
    let stub = {
        let gate = gate.clone();
        Stub::start(move |asked| {
            gate.pass();
            says(&solve(asked.task()))
        })
    };
    folder.write(
        "live.toml",
        model("m", &stub.base_url(), "slots = { max = 1 }"),
    );
    let more = ["--concurrency", "4", "--quiet", "--no-probe"];
    let farm = Running::start(&folder, args("live.toml", &more));
    status::until(&folder, |status| status["in_flight"]["slot"] == 3);
    folder.write("run/STOP", "");
    status::until(&folder, |status| status["worker"]["winding_down"] == true);
    gate.open();
    assert_eq!(farm.end().0, Some(3));
    assert_eq!(
        (ledger(&folder, "passed"), ledger(&folder, "not_run")),
        (4, 5)
    );
    let kinds: BTreeSet<String> = waits(&folder).into_iter().map(|(what, _)| what).collect();
    assert_eq!(kinds, BTreeSet::from(["slot".to_owned()]));
}
