//! Signals while hundreds of calls hang: the first winds down, the second ends it at once, and all
//! that was sent is booked.

use std::time::Instant;

use farm::{
    domain::Price,
    mock::{Options, Shares},
};

use crate::{
    live::{args, assert_covered, booked, folder, ledger, model, query, suite},
    running::Running,
    served::{Served, serving},
    support::PATIENCE,
};

const HANGING: u64 = 300;

fn serve(shares: Shares) -> Served {
    Served::start(Options {
        shares,
        price: Some(Price {
            input: 1.0,
            cached: None,
            output: 5.0,
        }),
        ..serving(&suite(5), 0..80)
    })
}

fn config(server: &Served) -> String {
    let table = "price = { input = 1, output = 5 }\nparameters = { max_tokens = 100 }\n\
                 slots = { start = 300 }";
    model("m", &format!("http://{}/v1", server.address), table)
}

#[test]
fn with_many_calls_hanging() {
    let folder = folder(5);
    let hanging = serve(Shares {
        hanging: 1.0,
        ..Shares::default()
    });
    folder.write("live.toml", config(&hanging));
    let more = "--seeds 80 --concurrency 300 --max-cost 9 --quiet --no-probe";
    let more: Vec<&str> = more.split(' ').collect();
    let mut farm = Running::start(&folder, args("live.toml", &more));
    let until = |is_so: &dyn Fn() -> bool| {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < PATIENCE, "{:?}", hanging.stats());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    };
    until(&|| hanging.stats().in_flight == HANGING);
    farm.signal("INT");
    farm.until("winding down: sessions in flight finish");
    assert_eq!(hanging.stats().in_flight, HANGING, "nobody was dropped");
    farm.signal("INT");
    let (code, said) = farm.end();
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("interrupted: sessions in flight are dropped"),
        "{said}"
    );
    until(&|| hanging.stats().in_flight == 0);
    assert_eq!(ledger(&folder, "not_run"), 400);
    assert_eq!(folder.json("run/manifest.json")["status"], "interrupted");

    // Nobody knows what they cost: they stand at the most that they could.
    let charged = hanging.stop().charged_usd;
    assert_covered(charged, booked(&folder));
    let calls = "SELECT count(*), total(kept = 0 AND cost_usd = reserved_usd) FROM call";
    assert_eq!(query(&folder, calls), [300.0, 300.0]);

    let sound = serve(Shares::default());
    folder.write("sound.toml", config(&sound));
    let resume = [
        "resume",
        "run",
        "--quiet",
        "--config",
        "sound.toml",
        "--max-cost",
        "9",
    ];
    folder.farm(resume).exits(0);
    assert_eq!(ledger(&folder, "passed") + ledger(&folder, "failed"), 400);
    assert_covered(charged + sound.stop().charged_usd, booked(&folder));
}
