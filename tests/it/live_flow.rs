//! How many calls there are at once, and who waits for whom.

use std::sync::Arc;

use crate::{
    live::{args, folder, ledger, model, run, solve},
    running::Running,
    status,
    stub::{Gate, Stub, says},
};

#[test]
fn as_many_calls_at_once_as_the_endpoint_has_slots_and_never_more() {
    let folder = folder(10);
    // No reply comes before all slots are taken.
    let gate = Arc::new(Gate::default());
    let stub = {
        let gate = gate.clone();
        Stub::start(move |asked| {
            gate.pass();
            says(&solve(asked.task()))
        })
    };
    // Three variants are one endpoint, and calls are counted, not who makes them.
    let config = model("m", &stub.base_url(), "slots = { max = 40 }")
        + "[variants.a]\nmodel = \"m\"\n[variants.b]\nmodel = \"m\"\nparameters = { top_p = 0.5 }\n\
           [variants.c]\nmodel = \"m\"\n";
    folder.write("live.toml", config);
    let more = [
        "--seeds",
        "40",
        "--concurrency",
        "60",
        "--quiet",
        "--no-probe",
    ];
    let farm = Running::start(&folder, args("live.toml", &more));
    let status = status::until(&folder, |status| {
        let of = |what: &str| status["in_flight"][what].as_u64();
        (of("thinking"), of("slot")) == (Some(40), Some(20))
    });
    // Of 1,200, those alone have begun that may be in flight.
    assert_eq!(status["open"], 60);
    assert_eq!(stub.counts().in_flight, 40);
    gate.open();
    assert_eq!(farm.end().0, Some(0));
    assert_eq!(ledger(&folder, "passed"), 1200);
    let counts = stub.counts();
    assert_eq!((counts.asked, counts.most), (1200, 40));
}

#[test]
fn one_slow_call_idles_no_slot() {
    let folder = folder(4);
    // The first reply comes when all others have come.
    let last = Arc::new(Gate::default());
    let stub = {
        let last = last.clone();
        Stub::start(move |asked| {
            match asked.n {
                0 => last.pass(),
                39 => last.open(),
                _ => {}
            }
            says(&solve(asked.task()))
        })
    };
    folder.write("live.toml", model("m", &stub.base_url(), ""));
    let more = [
        "--seeds",
        "10",
        "--concurrency",
        "2",
        "--quiet",
        "--no-probe",
    ];
    run(&folder, "live.toml", &more).exits(0);
    assert_eq!(ledger(&folder, "passed"), 40);
    assert_eq!(stub.counts().most, 2);
}
