//! The cap is a cap: of a run, of a model and of a session, whatever providers say of their prices.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use farm::{
    domain::Price,
    mock::{Latency, Options, Reports, Shares},
};
use serde_json::json;

use crate::{
    live::{
        assert_covered, booked, ends, folder, ledger, model, of_variant, parked, run, sessions,
        solve, suite,
    },
    served::{Served, serving},
    stub::{Say, Stub, http},
};

/// A call of the suite costs about 0.0017 USD at this price, and is reserved at about 0.008.
const PRICE: Price = Price {
    input: 1.8,
    cached: None,
    output: 9.0,
};

const TABLE: &str = "price = { input = 1.8, output = 9 }\nparameters = { max_tokens = 100 }\n";

fn serve(cases: usize, seeds: u64, options: impl FnOnce(Options) -> Options) -> Served {
    Served::start(options(Options {
        price: Some(PRICE),
        ..serving(&suite(cases), 0..seeds)
    }))
}

fn base_url(server: &Served) -> String {
    format!("http://{}/v1", server.address)
}

#[test]
fn five_hundred_at_once_stay_below_the_cap() {
    let folder = folder(6);
    let server = serve(6, 100, |options| Options {
        latency: Latency::Fixed(Duration::from_millis(20)),
        ..options
    });
    let table = format!("{TABLE}slots = {{ start = 500 }}");
    folder.write("live.toml", model("m", &base_url(&server), &table));
    let more = "--seeds 100 --concurrency 500 --max-cost 1.00 --no-probe";
    let more: Vec<&str> = more.split(' ').collect();
    let said = run(&folder, "live.toml", &more).exits(3);

    let charged = server.stats().charged_usd;
    let first = booked(&folder);
    assert_covered(charged, first);
    assert!(charged <= 1.0 && first <= 1.0, "{charged} {first}");
    // What is left is less than one more call could cost.
    assert!(first > 0.99, "{first}");
    assert!(ledger(&folder, "not_run") > 0);
    assert_eq!(ledger(&folder, "errored"), 0);
    for words in [
        "parked: a call that may cost ",
        "resume with a higher --max-cost",
        "since it has spent what it may",
        "`farm resume run` goes on with it",
    ] {
        assert!(said.stderr.contains(words), "{}", said.stderr);
    }
    let parked_then = parked(&folder);
    assert_eq!(parked_then.len(), 1, "{parked_then:?}");
    assert_eq!(parked_then[0].0, "the run");
    assert!(parked_then[0].1.contains("--max-cost"), "{parked_then:?}");

    folder
        .farm(["resume", "run", "--quiet", "--max-cost", "5"])
        .exits(0);
    let done = ledger(&folder, "passed") + ledger(&folder, "failed");
    assert_eq!(done, 600);
    assert!(parked(&folder).is_empty());
    let stats = server.stop();
    let all = booked(&folder);
    assert_covered(stats.charged_usd, all);
    assert!(all <= 5.0, "{all}");
    // Nothing that was paid for is asked for again.
    assert_eq!((stats.turns.answered, stats.turns.repeated), (1200, 0));
}

#[test]
fn a_model_that_has_spent_its_own_parks_alone() {
    let folder = folder(5);
    let server = serve(5, 10, |options| options);
    let config = |cap_usd: f64| {
        let capped = format!("{TABLE}max_cost_usd = {cap_usd}");
        model("capped", &base_url(&server), &capped)
            + &model("free", &base_url(&server), TABLE)
            + "[variants.a]\nmodel = \"capped\"\n[variants.b]\nmodel = \"free\"\n\
               [variants.c]\nmodel = \"capped\"\n"
    };
    folder
        .write("live.toml", config(0.05))
        .write("more.toml", config(5.0));
    let said = run(&folder, "live.toml", &["--seeds", "10"]).exits(3);
    assert!(
        said.stderr.contains("raise models.capped.max_cost_usd"),
        "{}",
        said.stderr
    );
    let done =
        |variant| of_variant(&folder, variant, "passed") + of_variant(&folder, variant, "failed");
    assert_eq!(done(1), 50, "b is not concerned");
    assert!(done(0) + done(2) < 30 && of_variant(&folder, 0, "not_run") > 0);
    assert!(of_variant(&folder, 2, "not_run") > 0);
    assert_eq!(ledger(&folder, "errored"), 0);
    let parked = parked(&folder);
    assert_eq!(parked.len(), 1, "{parked:?}");
    let (what, reason) = &parked[0];
    assert_eq!(what, "model capped");
    // What it says is booked is the model's own.
    let told = reason.split("beside the ").nth(1).unwrap();
    let told: f64 = told.split(' ').next().unwrap().parse().unwrap();
    assert!(told <= 0.05, "{reason}");
    folder
        .farm(["resume", "run", "--quiet", "--config", "more.toml"])
        .exits(0);
    assert_eq!(ledger(&folder, "passed") + ledger(&folder, "failed"), 150);
    assert_covered(server.stop().charged_usd, booked(&folder));
}

#[test]
fn a_session_spends_no_more_than_it_may() {
    let folder = folder(4);
    let server = serve(4, 5, |options| options);
    // One call may be made, not a second that could cost as much again.
    let config = model("m", &base_url(&server), TABLE) + "[session]\nmax_cost_usd = 0.009\n";
    folder.write("live.toml", config);
    let more = ["--seeds", "5", "--quiet", "--no-probe"];
    run(&folder, "live.toml", &more).exits(0);
    let ends = ends(&folder);
    assert_eq!(ends.len(), 20);
    for (key, end) in &ends {
        assert_eq!(end["status"], "budget_exhausted", "{key}: {end}");
        assert_eq!(end["limit"], "cost_usd", "{key}: {end}");
        assert!(end["cost_usd"].as_f64().unwrap() <= 0.009, "{key}: {end}");
    }
    assert_eq!(ledger(&folder, "failed"), 20, "they are scored");
    let stats = server.stop();
    assert_eq!((stats.requests, stats.turns.answered), (20, 20));
    assert_covered(stats.charged_usd, booked(&folder));
}

#[test]
fn whatever_providers_say_of_their_prices() {
    let cap_usd = 0.3;
    for reports in [Reports::None, Reports::Tokens, Reports::Less, Reports::More] {
        let folder = folder(4);
        // Also for calls that are broken off, of which nothing is said.
        let server = serve(4, 10, |options| Options {
            reports,
            shares: Shares {
                reset: 0.05,
                half: 0.05,
                ..Shares::default()
            },
            ..options
        });
        folder.write("live.toml", model("m", &base_url(&server), TABLE));
        let cap = cap_usd.to_string();
        let more = ["--seeds", "10", "--quiet", "--max-cost", &cap];
        let said = run(&folder, "live.toml", &more);
        let stats = server.stop();
        let booked = booked(&folder);
        assert!(booked <= cap_usd, "{reports:?}: {booked}");
        assert!(stats.outcomes.reset + stats.outcomes.half > 0);
        // Who understates is not found out; all others are booked in full.
        let charged = match reports {
            Reports::Less => stats.charged_usd / 2.0,
            _ => stats.charged_usd,
        };
        assert_covered(charged, booked);
        // Calls of which nothing is said stand at the most that they could cost, so fewer fit.
        let left = ledger(&folder, "not_run");
        let fits = matches!(reports, Reports::Less | Reports::Tokens);
        assert_eq!(left == 0, fits, "{reports:?}: {left} left, {booked} booked");
        assert_eq!(said.code, if fits { 0 } else { 3 }, "{}", said.stderr);
    }
}

#[test]
fn who_charges_more_than_was_reserved_is_booked_in_full_and_ends_the_run() {
    let folder = folder(4);
    // Ten times the price of the config, and honest about it.
    let server = serve(4, 10, |options| Options {
        price: Some(Price {
            input: 18.0,
            cached: None,
            output: 90.0,
        }),
        ..options
    });
    folder.write("live.toml", model("m", &base_url(&server), TABLE));
    let more = ["--seeds", "10", "--concurrency", "2", "--max-cost", "0.1"];
    let said = run(&folder, "live.toml", &more).exits(3);
    let stats = server.stop();
    let (booked, charged) = (booked(&folder), stats.charged_usd);
    assert!((booked - charged).abs() < 1e-9, "{booked} {charged}");
    // At most two calls were in flight when it was found out; else the next one no longer fitted.
    assert!(charged > 0.09 && stats.requests < 12, "{charged} {stats:?}");
    assert!(ledger(&folder, "not_run") > 0);
    for (words, said) in [
        ("since it has spent what it may", &said.stderr),
        ("more than was reserved for them", &said.stdout),
    ] {
        assert!(said.contains(words), "{said}");
    }
    let over = folder.json("run/summary.json")["overcharges"][0].clone();
    assert_eq!(
        (&over["model"], &over["calls"]),
        (&json!("m"), &json!(stats.requests))
    );
    assert!(over["usd"].as_f64().unwrap() > 0.0, "{over}");
}

#[test]
fn replies_that_cannot_be_used_are_paid_for_by_their_session() {
    let folder = folder(3);
    let server = serve(3, 2, |options| Options {
        shares: Shares {
            malformed: 1.0,
            ..Shares::default()
        },
        ..options
    });
    folder.write("live.toml", model("m", &base_url(&server), TABLE));
    let more = ["--seeds", "2", "--quiet", "--no-probe"];
    run(&folder, "live.toml", &more).exits(0);
    let costs = ends(&folder).into_values();
    let cost: f64 = costs.map(|end| end["cost_usd"].as_f64().unwrap()).sum();
    let stats = server.stop();
    assert_eq!((stats.outcomes.malformed, stats.outcomes.ok), (6, 6));
    assert!((cost - stats.charged_usd).abs() < 1e-12, "{cost} {stats:?}");
    assert!((booked(&folder) - cost).abs() < 1e-12);
}

#[test]
fn cached_tokens_have_their_price_and_the_providers_own_wins() {
    let folder = folder(2);
    // 900 of 1,000 tokens come from the cache; of one task the provider says what it took.
    let stub = Stub::start(|asked| {
        let mut usage = json!({"prompt_tokens": 1000, "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 900}});
        if asked.task().contains("11") {
            usage["cost"] = json!(0.25);
        }
        let message = json!({"role": "assistant", "content": "70"});
        let body = json!({"choices": [{"index": 0, "message": message}], "usage": usage});
        http("200 OK", "", &body.to_string())
    });
    let table =
        "price = { input = 3, cached = 0.3, output = 15 }\nparameters = { max_tokens = 100 }";
    folder.write("live.toml", model("m", &stub.base_url(), table));
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(0);
    let ends = ends(&folder);
    let cost = |case: &str| ends[&format!("m/{case}/0")]["cost_usd"].as_f64().unwrap();
    let counted = (100.0 * 3.0 + 900.0 * 0.3 + 10.0 * 15.0) / 1e6;
    assert!((cost("p-0") - counted).abs() < 1e-12, "{}", cost("p-0"));
    assert_eq!(cost("p-1"), 0.25);
    assert!((booked(&folder) - 0.25 - counted).abs() < 1e-9);
    let usage = &sessions(&folder, "run")["m/p-0/0"][1]["usage"];
    assert_eq!(usage["tokens_cached"], 900);
}

#[test]
fn a_cap_without_a_price_begins_nothing() {
    let folder = folder(1);
    let stub = Stub::start(|_| http("200 OK", "", "{}"));
    folder.write("live.toml", model("m", &stub.base_url(), ""));
    let said = run(&folder, "live.toml", &["--max-cost", "1"]).exits(2);
    assert!(said.stderr.contains("price"), "{}", said.stderr);
    assert_eq!(stub.counts().asked, 0);
    assert!(!folder.path("run").exists());
}

#[test]
fn a_resume_at_its_cap_asks_nobody_and_a_probe_that_failed_is_booked() {
    let folder = folder(3);
    let fails = Arc::new(AtomicBool::new(false));
    let stub = {
        let fails = fails.clone();
        Stub::start(move |asked| match fails.load(Ordering::SeqCst) {
            // Broken off: it may have cost what it was reserved at.
            true => Say::Bytes("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_owned()),
            false => {
                let message = json!({"role": "assistant", "content": solve(asked.task())});
                http(
                    "200 OK",
                    "",
                    &json!({"choices": [{"message": message}]}).to_string(),
                )
            }
        })
    };
    // A call without usage is settled at its reservation: 0.1 USD.
    let table = "price = { input = 0.0, output = 1000.0 }\nparameters = { max_tokens = 100 }\n\
                 max_tries = 1\n";
    let config =
        |cap: &str| model("m", &stub.base_url(), table) + &format!("[run]\nmax_cost_usd = {cap}\n");
    folder.write("live.toml", config("0.15"));
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(3);
    assert_eq!(stub.counts().asked, 1);
    let resume = ["resume", "run", "--quiet", "--config", "live.toml"];
    folder.farm(resume).exits(3);
    assert_eq!(stub.counts().asked, 1, "no call fits any more");

    folder.write("live.toml", config("0.35"));
    fails.store(true, Ordering::SeqCst);
    folder.farm(resume).exits(2);
    assert_eq!(stub.counts().asked, 2, "the probe");
    fails.store(false, Ordering::SeqCst);
    folder.farm(resume).exits(3);
    // 0.2 of 0.35 were booked: one more call fits, and that is the probe.
    assert_eq!(stub.counts().asked, 3);
    folder.write("live.toml", config("5"));
    folder.farm(resume).exits(0);
    assert_eq!(ledger(&folder, "passed"), 3);
}

/// Where the config has no price or no limit of replies, nothing tells what a call can cost at most.
#[test]
fn nobody_overcharges_where_no_most_is_known() {
    let folder = folder(2);
    let stub = Stub::start(|asked| {
        let mut usage = json!({"prompt_tokens": 10, "completion_tokens": 100_000});
        if asked.body["model"] == "told" {
            usage["cost"] = json!(0.25);
        }
        let message = json!({"role": "assistant", "content": "70"});
        let body = json!({"choices": [{"index": 0, "message": message}], "usage": usage});
        http("200 OK", "", &body.to_string())
    });
    let told = model("told", &stub.base_url(), "").replace("\"m\"", "\"told\"");
    let price = "price = { input = 1, output = 10 }";
    let priced = model("priced", &stub.base_url(), price);
    folder.write("live.toml", format!("{told}{priced}"));
    run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(0);
    let summary = folder.json("run/summary.json");
    assert!(summary.get("overcharges").is_none(), "{summary}");
    let want = 2.0 * (0.25 + 10.0 / 1e6 + 1.0);
    assert!((booked(&folder) - want).abs() < 1e-9, "{}", booked(&folder));
}

/// A session that may not spend what its next call can cost ends so in a replay too.
#[test]
fn a_session_out_of_money_is_replayed() {
    let folder = folder(2);
    let server = serve(2, 2, |options| options);
    let session = "[session]\nmax_cost_usd = 0.009\n";
    let live = model("m", &base_url(&server), TABLE);
    let replay =
        "[models.m]\nkind = \"cassette\"\nfrom = \"run\"\nparameters = { max_tokens = 100 }\n";
    folder
        .write("live.toml", format!("{session}{live}"))
        .write("replay.toml", format!("{session}{replay}"));
    let seeds = ["--seeds", "2", "--quiet", "--no-probe"];
    run(&folder, "live.toml", &seeds).exits(0);
    let ended = ends(&folder);
    assert!(
        ended.values().all(|end| end["limit"] == "cost_usd"),
        "{ended:?}"
    );
    let args = "run cases.jsonl --sealed sealed.jsonl --config replay.toml --out again --seeds 2";
    folder.farm(args.split(' ')).exits(0);
    assert_eq!(
        folder.read("again/summary.json"),
        folder.read("run/summary.json")
    );
}
