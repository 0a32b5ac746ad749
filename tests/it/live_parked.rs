//! An endpoint whose quota is spent is asked no more, and holds up no other.

use std::sync::{Arc, atomic::AtomicUsize, atomic::Ordering};

use serde_json::json;

use crate::{
    http::until,
    live::{args, folder, ledger, model, of_variant, parked, run, solve},
    running::Running,
    status,
    stub::{Gate, Stub, error, http, says},
};

/// Sessions in flight of each endpoint.
const CREDITS: usize = 8;

#[test]
fn a_spent_quota_parks_one_endpoint_and_leaves_the_other_its_pace() {
    let folder = folder(5);
    let broke = Stub::start(|asked| match asked.n < 6 {
        true => says(&solve(asked.task())),
        false => error(402, "no credits are left"),
    });
    // It answers nothing until the other one is parked, and then only to as many at once as may be
    // in flight: one credit that is held up would hold up all.
    let (gate, full) = (Arc::new(Gate::default()), Arc::new(Gate::default()));
    let sound = {
        let (gate, full) = (gate.clone(), full.clone());
        Stub::start(move |asked| {
            gate.pass();
            if asked.n >= CREDITS {
                if asked.n == 2 * CREDITS - 1 {
                    full.open();
                }
                full.pass();
            }
            says(&solve(asked.task()))
        })
    };
    let config = |broke: &str| model("broke", broke, "") + &model("sound", &sound.base_url(), "");
    folder.write("live.toml", config(&broke.base_url()));
    let more = ["--seeds", "8", "--concurrency", "8", "--no-probe"];
    let farm = Running::start(&folder, args("live.toml", &more));
    let status = status::until(&folder, |status| status["parked"][0].is_object());
    until(|| sound.counts().in_flight == CREDITS);
    assert_eq!(status["variants"][0]["ledger"]["errored"], 0);
    gate.open();
    let (code, said) = farm.end();
    assert_eq!(code, Some(3), "{said}");

    let of = |variant, state| of_variant(&folder, variant, state);
    assert_eq!((of(0, "passed"), of(0, "not_run")), (6, 34));
    assert_eq!(of(1, "passed"), 40);
    assert_eq!(sound.counts().most, CREDITS);
    // Those in flight were told too; none asked twice.
    let asked = broke.counts().asked;
    assert!((7..=6 + CREDITS).contains(&asked), "{asked}");
    let reason = format!(
        "quota_exhausted: model broke at {}: HTTP 402: no credits are left",
        broke.address
    );
    assert!(said.contains(&format!("parked: {reason}\n")), "{said}");
    let what = format!("endpoint {}", broke.base_url());
    assert_eq!(parked(&folder), [(what, reason)]);

    // Elsewhere it goes on where it was.
    let elsewhere = Stub::start(|asked| says(&solve(asked.task())));
    folder.write("elsewhere.toml", config(&elsewhere.base_url()));
    let resume = [
        "resume",
        "run",
        "--quiet",
        "--no-probe",
        "--config",
        "elsewhere.toml",
    ];
    folder.farm(resume).exits(0);
    assert_eq!(ledger(&folder, "passed"), 80);
    assert_eq!(elsewhere.counts().asked, 34);
    assert!(parked(&folder).is_empty());
}

#[test]
fn a_daily_quota_is_no_rate_limit() {
    let folder = folder(1);
    let stub = Stub::start(|asked| match asked.n {
        0 => says("ready"),
        _ => {
            let body =
                json!({"error": {"code": "insufficient_quota", "message": "come back tomorrow"}});
            http("429 Too Many Requests", "", &body.to_string())
        }
    });
    folder.write("live.toml", model("m", &stub.base_url(), ""));
    let said = run(
        &folder,
        "live.toml",
        &["--seeds", "9", "--concurrency", "1"],
    )
    .exits(3);
    assert!(said.stderr.contains("quota_exhausted"), "{}", said.stderr);
    // The probe, and the one that was told.
    assert_eq!(stub.counts().asked, 2);
    assert_eq!(ledger(&folder, "not_run"), 9);
}

#[test]
fn nobody_waits_for_what_is_parked() {
    let folder = folder(3);
    // Two are told to come again in half an hour, and the third that all is spent.
    let stub = Stub::start(|asked| match asked.n {
        0 | 1 => http("429 Slow", "retry-after: 1800\r\n", "{}"),
        _ => error(402, "no credits are left"),
    });
    folder.write("live.toml", model("m", &stub.base_url(), ""));
    let more = ["--concurrency", "3", "--no-probe"];
    let said = run(&folder, "live.toml", &more).exits(3);
    assert!(
        said.stderr.contains("no credits are left"),
        "{}",
        said.stderr
    );
    assert_eq!((ledger(&folder, "not_run"), stub.counts().asked), (3, 3));
}

#[test]
fn a_throttled_judge_is_no_failure() {
    let folder = folder(2);
    let agent = Stub::start(|asked| says(&solve(asked.task())));
    let refused = Arc::new(AtomicUsize::new(0));
    let judge = {
        let refused = refused.clone();
        Stub::start(move |asked| match asked.n % 3 {
            2 => says(r#"{"score": 1, "passed": true, "reason": "it is of use"}"#),
            _ => {
                refused.fetch_add(1, Ordering::SeqCst);
                http("429 Slow", "retry-after-ms: 1\r\n", "{}")
            }
        })
    };
    let config = model("agent", &agent.base_url(), "")
        + &model("judge", &judge.base_url(), "max_tries = 1")
        + "[session.judge]\nmodel = \"judge\"\nrubric = \"Is it of use?\"\n";
    folder.write("live.toml", config);
    let more = [
        "--model",
        "agent",
        "--seeds",
        "2",
        "--concurrency",
        "2",
        "--quiet",
    ];
    run(&folder, "live.toml", &more).exits(0);
    assert_eq!(ledger(&folder, "passed"), 4);
    assert_eq!(agent.counts().asked, 5, "the probe and each session once");
    assert!(refused.load(Ordering::SeqCst) >= 8);
}
