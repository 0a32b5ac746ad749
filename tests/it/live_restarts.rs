//! Endpoints that fail for a while or for ever, and replies that come too late.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    http::until,
    live::{args, booked, ends, folder, ledger, model, query, run, sessions, solve},
    running::Running,
    stub::{Gate, Say, Stub, error, http, message, says},
    support::Folder,
};

/// What the manifest counts.
fn total(folder: &Folder, what: &str) -> Value {
    folder.json("run/manifest.json")["totals"][what].clone()
}

/// The attempt of the only session.
fn attempt(folder: &Folder) -> Value {
    sessions(folder, "run")["m/p-0/0"][0]["attempt"].clone()
}

#[test]
fn a_session_outlives_an_endpoint_that_fails_for_a_while() {
    let folder = folder(1);
    // A call that succeeds, then eight failures of all kinds, then all is well.
    let stub = Stub::start(|asked| match asked.n {
        0 => message(
            &json!({"role": "assistant", "content": null, "tool_calls": [{
            "id": "a", "type": "function", "function": {
                "name": "calculator", "arguments": "{\"expression\": \"10 * 7\"}"}}]}),
        ),
        1..=8 if asked.n % 2 == 0 => Say::Bytes(String::new()),
        1..=8 => error(503, "busy"),
        _ => says(&solve(asked.task())),
    });
    folder.write("live.toml", model("m", &stub.base_url(), "max_tries = 5"));
    // With this seed the pauses that are drawn are short.
    let more = ["--quiet", "--no-probe", "--run-seed", "61497"];
    run(&folder, "live.toml", &more).exits(0);
    assert_eq!(ledger(&folder, "passed"), 1);
    assert_eq!(stub.counts().asked, 10);
    assert_eq!(attempt(&folder), 0, "it went on from its first turn");
    assert_eq!(total(&folder, "restarts"), 1);
    assert_eq!(total(&folder, "lost_attempts"), 0);
    let ends = ends(&folder);
    assert_eq!(ends["m/p-0/0"]["steps_used"], 2);
}

#[test]
fn an_endpoint_that_never_works_errs_its_sessions_and_a_resume_begins_anew() {
    let folder = folder(1);
    let broken = Stub::start(|_| error(500, "out of memory"));
    let config = |url: &str| model("m", url, "max_tries = 1");
    folder.write("live.toml", config(&broken.base_url()));
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(3);
    assert_eq!(
        (ledger(&folder, "errored"), ledger(&folder, "failed")),
        (1, 0)
    );
    let end = &ends(&folder)["m/p-0/0"];
    assert_eq!(end["status"], "model_error");
    let host = &broken.address;
    let want = format!("provider: model m at {host}: HTTP 500: out of memory (tried once)");
    assert_eq!(end["error"], want);
    // One try each time: from where it was, then, broken at the same place again, anew.
    assert_eq!(broken.counts().asked, 3);
    assert_eq!(total(&folder, "restarts"), 2);
    assert_eq!(attempt(&folder), 1);

    let works = Stub::start(|asked| says(&solve(asked.task())));
    folder.write("works.toml", config(&works.base_url()));
    let resume = ["resume", "run", "--quiet", "--config", "works.toml"];
    folder.farm(resume).exits(0);
    assert_eq!(ledger(&folder, "passed"), 1);
    assert_eq!(attempt(&folder), 2);
    assert_eq!(total(&folder, "lost_attempts"), 2);
}

#[test]
fn a_reply_that_comes_too_late_changes_nothing() {
    let folder = folder(1);
    // The first reply to each turn is held back until another was given in its place.
    let gate = Arc::new(Gate::default());
    let stub = {
        let gate = gate.clone();
        Stub::start(move |asked| match asked.n {
            0 => {
                gate.pass();
                says("too late")
            }
            _ => {
                gate.open();
                says(&solve(asked.task()))
            }
        })
    };
    let table =
        "timeout_s = 0.2\nprice = { input = 1, output = 1 }\nparameters = { max_tokens = 9 }";
    folder.write("live.toml", model("m", &stub.base_url(), table));
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(0);
    assert_eq!(ledger(&folder, "passed"), 1);
    let rows = "SELECT (SELECT count(*) FROM session), (SELECT count(*) FROM turn), \
                (SELECT count(*) FROM step)";
    assert_eq!(query(&folder, rows), [1.0, 1.0, 1.0]);
    // What nobody waited for may cost all that it could.
    let calls =
        "SELECT count(*), total(kept), total(kept = 0 AND cost_usd = reserved_usd) FROM call";
    let calls = query(&folder, calls);
    assert!(
        calls[0] >= 2.0 && calls[1] == 1.0 && calls[2] == calls[0] - 1.0,
        "{calls:?}"
    );
}

#[test]
fn calls_that_hang_come_to_an_end_by_themselves() {
    let folder = folder(2);
    // The last session hangs for ever: all others are done by then.
    let stub = Stub::start(|asked| match asked.task().contains("11") {
        true => Say::Hang,
        false => says(&solve(asked.task())),
    });
    let table = "timeout_s = 0.5\nmax_tries = 1";
    folder.write("live.toml", model("m", &stub.base_url(), table));
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(3);
    assert_eq!(
        (ledger(&folder, "passed"), ledger(&folder, "errored")),
        (1, 1)
    );
    let error = &ends(&folder)["m/p-1/0"]["error"];
    let error = error.as_str().unwrap();
    assert!(error.starts_with("timeout: model m at "), "{error}");
    assert!(error.contains("no whole reply within 0.5 s"), "{error}");
}

#[test]
fn what_a_session_has_spent_is_not_forgotten_when_it_goes_on() {
    // A call may cost a little more than a dollar, and nobody says what it did. The second one comes
    // to nothing: it is broken off by the endpoint, or by those who interrupt the run.
    for breaks in [true, false] {
        let folder = folder(1);
        let stub = Stub::start(move |asked| match asked.n {
            0 => {
                let call = json!({"id": "a", "type": "function", "function": {
                    "name": "calculator", "arguments": "{\"expression\": \"10 * 7\"}"}});
                let message = json!({"role": "assistant", "tool_calls": [call]});
                let body = json!({"choices": [{"index": 0, "message": message}]});
                http("200 OK", "", &body.to_string())
            }
            1 if breaks => Say::Bytes(String::new()),
            1 => Say::Hang,
            _ => says(&solve(asked.task())),
        });
        let table = "price = { input = 1, output = 1 }\nparameters = { max_tokens = 1000000 }\n\
                     max_tries = 1\n";
        let config = model("m", &stub.base_url(), table) + "[session]\nmax_cost_usd = 2.5\n";
        folder.write("live.toml", config);
        let more = ["--quiet", "--no-probe"];
        if breaks {
            run(&folder, "live.toml", &more).exits(0);
            let restarts = &folder.json("run/manifest.json")["totals"]["restarts"];
            assert_eq!(restarts, 1);
        } else {
            let mut farm = Running::start(&folder, args("live.toml", &more));
            until(|| stub.counts().asked == 2);
            farm.signal("TERM");
            // Two that are not heard yet are one.
            farm.until("winding down");
            farm.signal("TERM");
            assert_eq!(farm.end().0, Some(3));
            folder.farm(["resume", "run", "--quiet"]).exits(0);
        }
        let end = ends(&folder).remove("m/p-0/0").unwrap();
        assert_eq!(
            (&end["status"], &end["limit"]),
            (&json!("budget_exhausted"), &json!("cost_usd")),
            "{end}"
        );
        assert_eq!(stub.counts().asked, 2, "a third may cost too much");
        let booked = booked(&folder);
        assert!(booked > 2.0 && booked <= 2.5, "{booked}");
    }
}
