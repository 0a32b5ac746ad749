//! What sessions wait for: it is seen, it is recorded, and it is no working time.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    live::{args, ends, folder, ledger, model, parked, run, sessions, solve},
    running::Running,
    status,
    stub::{Say, Stub, error, http, says},
    support::Folder,
};

/// What all sessions waited for, each time.
fn waits(folder: &Folder) -> Vec<String> {
    let records = sessions(folder, "run").into_values().flatten();
    let waits = records.filter_map(|record| record["waits"].as_array().cloned());
    let what = |wait: Value| wait["for"].as_str().unwrap().to_owned();
    waits.flatten().map(what).collect()
}

#[test]
fn what_a_rate_makes_wait_is_recorded() {
    let folder = folder(4);
    let stub = Stub::start(|asked| says(&solve(asked.task())));
    // A call a second.
    let rates = "rates = { requests_per_minute = 60 }";
    folder.write("live.toml", model("m", &stub.base_url(), rates));
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(0);
    assert_eq!(ledger(&folder, "passed"), 4);
    let kinds = BTreeSet::from_iter(waits(&folder));
    assert_eq!(kinds, BTreeSet::from(["rate".to_owned()]));
}

#[test]
fn a_pause_that_is_asked_for_is_recorded() {
    let folder = folder(1);
    let stub = Stub::start(|asked| match asked.n {
        0 => http("429 Slow", "retry-after: 1\r\n", "{}"),
        _ => says(&solve(asked.task())),
    });
    folder.write("live.toml", model("m", &stub.base_url(), ""));
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(0);
    assert_eq!(waits(&folder), ["backoff"]);
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
    fn begin(
        &self,
        folder: &Folder,
        more: &[&'static str],
        env: &[(&str, &str)],
    ) -> (Running, Stub) {
        let says = self.says;
        let stub = Stub::start(move |_| says());
        let table = format!("{TOKENS}{}", self.model);
        folder.write("live.toml", model("m", &stub.base_url(), &table));
        let all = ["--concurrency", "4", "--quiet", "--no-probe"];
        let all = [&all[..], self.more, more].concat();
        (
            Running::start_with(folder, args("live.toml", &all), env),
            stub,
        )
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

/// However a run is told to wind down, for a minute those that wait go on waiting, unless they are
/// dropped.
fn are_seen_and_dropped(stuck: &Stuck, way: &str) {
    let folder = folder(9);
    let until: &[&str] = match way {
        // By then all sessions that may be in flight are, also on a slow machine.
        "--until" => &["--until", "10s"],
        _ => &[],
    };
    let (mut farm, stub) = stuck.begin(&folder, until, &[]);
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
    let resume = "resume run --quiet --config sound.toml --until none";
    folder.farm(resume.split(' ')).exits(0);
    assert_eq!(ledger(&folder, "passed"), 9);
}

#[test]
fn a_run_that_winds_down_waits_no_longer_than_a_minute_for_rates_and_retries() {
    // A minute, but for the test.
    let env = [("FARM_TEST_PATIENCE", "50")];
    for stuck in &STUCK[1..3] {
        let folder = folder(9);
        // Those that think at a rate of one a minute are through in time.
        let stuck = Stuck {
            says: match stuck.thinking {
                0 => stuck.says,
                _ => || error(500, "try again"),
            },
            thinking: 0,
            waiting: (stuck.waiting.0, 4 - stuck.thinking),
            ..*stuck
        };
        let (farm, stub) = stuck.begin(&folder, &[], &env);
        status::until(&folder, |status| {
            status["in_flight"][stuck.waiting.0].as_u64() >= Some(stuck.waiting.1)
        });
        folder.write("run/STOP", "");
        let (code, said) = farm.end();
        assert_eq!(code, Some(3), "{said}");
        assert!(!said.contains("parked"), "{said}");
        assert_eq!(ledger(&folder, "not_run"), 9);
        let asked = stub.counts().asked;
        assert!(asked <= 4, "{asked}");
        let sound = Stub::start(|asked| says(&solve(asked.task())));
        folder.write("sound.toml", model("m", &sound.base_url(), TOKENS));
        folder
            .farm(["resume", "run", "--quiet", "--config", "sound.toml"])
            .exits(0);
        assert_eq!(ledger(&folder, "passed"), 9);
    }
}

#[test]
fn those_that_wait_for_a_slot_are_seen_and_dropped() {
    are_seen_and_dropped(&STUCK[0], "TERM");
}

#[test]
fn those_that_wait_for_a_rate_are_seen_and_dropped() {
    are_seen_and_dropped(&STUCK[1], "STOP");
}

#[test]
fn those_that_wait_to_ask_again_are_seen_and_dropped() {
    are_seen_and_dropped(&STUCK[2], "--until");
}

#[test]
fn those_that_wait_for_money_are_seen_and_dropped() {
    are_seen_and_dropped(&STUCK[3], "INT");
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
    let kinds = BTreeSet::from_iter(waits(&folder));
    assert_eq!(kinds, BTreeSet::from(["slot".to_owned()]));
}
