//! Live models behind endpoints that refuse, fail, hang and garble: no session is lost to it, none
//! scores otherwise, and every call is paid for.

use std::{collections::BTreeSet, time::Duration};

use farm::{
    domain::Price,
    mock::{Latency, Options, Shares},
};

use crate::{
    live::{
        assert_covered, booked, folder, ledger, malformed, model, query, run, scores, sessions,
        suite,
    },
    served::{Served, serving},
    support::Folder,
};

/// Slots of the endpoint: fewer than sessions in flight.
const CEILING: u64 = 48;

const PRICE: Price = Price {
    input: 1.0,
    cached: None,
    output: 5.0,
};

/// What the endpoint does to requests. The pause that it asks for is none, so that many refusals
/// in a row do not make a test long.
fn options(cases: usize, seeds: u64) -> Options {
    Options {
        shares: Shares {
            rate_limited: 0.20,
            failing: 0.05,
            hanging: 0.02,
            malformed: 0.02,
            ..Shares::default()
        },
        retry_after: Some(0),
        latency: Latency::Fixed(Duration::from_millis(2)),
        price: Some(PRICE),
        ..serving(&suite(cases), 0..seeds)
    }
}

/// Writes the config of a model there.
fn configure(folder: &Folder, server: &Served, more: &str) {
    let base_url = format!("http://{}/v1", server.address);
    let table = format!(
        "timeout_s = 0.5\nprice = {{ input = 1, output = 5 }}\nparameters = {{ max_tokens = 100 }}\n\
         slots = {{ max = {CEILING} }}\n{more}"
    );
    folder.write("live.toml", model("m", &base_url, &table));
}

#[test]
fn two_thousand_sessions_are_neither_lost_nor_changed() {
    let folder = folder(20);
    let scripted = ["--seeds", "100", "--quiet", "--config", "scripted.toml"];
    folder.run(&scripted).exits(0);
    std::fs::rename(folder.path("run"), folder.path("scripted")).unwrap();

    let server = Served::start(options(20, 100));
    configure(&folder, &server, "");
    let more = [
        "--seeds",
        "100",
        "--concurrency",
        "200",
        "--quiet",
        "--max-cost",
        "50",
    ];
    run(&folder, "live.toml", &more).exits(0);
    let stats = server.stop();

    // Every session has its place, and those that got what the script says score as it does.
    let (planned, errored) = (ledger(&folder, "planned"), ledger(&folder, "errored"));
    assert_eq!((planned, errored), (2000, 0));
    let (want, got) = (scores(&folder, "scripted"), scores(&folder, "run"));
    let garbled = malformed(&folder, "run");
    // A reply in fifty, of 2,000 that call.
    assert!((10..100).contains(&garbled.len()), "{}", garbled.len());
    assert!(malformed(&folder, "scripted").is_empty());
    assert_eq!(got.len(), 2000);
    for (key, score) in &got {
        assert!(
            garbled.contains(key) || *score == want[key],
            "{key}: {score}"
        );
    }

    // All that was done to it was met, and nothing else.
    let of = stats.outcomes;
    for n in [of.rate_limited, of.failing, of.hanging, of.malformed] {
        assert!(n > 0, "{of:?}");
    }
    assert_eq!((of.error, of.refused), (0, 0));
    assert_eq!(stats.turns.answered, 4000);
    // The server hears a little later than farm that a call was given up. Those that hang are left
    // out: they are many over the whole run.
    let most = stats.highest_answering;
    assert!(
        most <= CEILING + of.gone,
        "{most} at once, {} gone",
        of.gone
    );

    // Waits follow one another: time is not waited twice.
    let mut kinds = BTreeSet::new();
    for (key, records) in sessions(&folder, "run") {
        let mut last = 0.0;
        let waits = records
            .iter()
            .filter_map(|record| record["waits"].as_array());
        for wait in waits.flatten() {
            kinds.insert(wait["for"].as_str().unwrap().to_owned());
            let [began, ended] = ["began", "ended"].map(|at| wait[at].as_f64().unwrap());
            // Times are read from two clocks.
            assert!(last <= began + 1e-3 && began <= ended, "{key}: {records:?}");
            last = ended;
        }
    }
    assert_eq!(
        kinds,
        BTreeSet::from(["backoff", "slot"].map(str::to_owned))
    );

    // Nothing was charged that is not booked.
    let calls = &folder.json("run/manifest.json")["totals"]["calls"];
    assert!(calls.as_u64() >= Some(stats.requests), "{calls}");
    assert_covered(stats.charged_usd, booked(&folder));
    let open = query(
        &folder,
        "SELECT total(cost_usd IS NULL), total(kept) FROM call",
    );
    assert_eq!(open, [0.0, 4000.0], "every call is settled");
}
