//! Live models behind an endpoint that refuses, fails, hangs and garbles, while farm is killed; and
//! beside one that does nothing else.

use std::{path::Path, time::Duration};

use farm::{
    domain::Price,
    mock::{Latency, Options, Shares, Stats},
};

use crate::{
    campaign::{Tally, campaign, say},
    compare::Reference,
    durable::copy,
    is_long,
    log::Log,
    process::{End, Process},
    random::Random,
    run::Run,
    served::{Served, serving},
    suite::{CASES, Suite},
};

/// Sessions in flight: more than the endpoint has slots.
const CONCURRENCY: u64 = 100;
const CEILING: u64 = 48;
/// US dollars that the run may cost: more than it does.
const CAP: f64 = 20.0;

fn serve(seeds: u64, shares: Shares) -> Served {
    Served::start(Options {
        shares,
        retry_after: Some(0),
        latency: Latency::Fixed(Duration::from_millis(2)),
        price: Some(Price {
            input: 1.0,
            cached: None,
            output: 5.0,
        }),
        ..serving(CASES.trim(), 0..seeds)
    })
}

fn model(name: &str, server: &Served, more: &str) -> String {
    format!(
        "[models.{name}]\nkind = \"openai\"\nbase_url = \"http://{}/v1\"\nmodel = \"m\"\n{more}\n",
        server.address
    )
}

/// The endpoint of a run, and what is run on it.
fn faulty(seeds: u64) -> (Served, Suite) {
    let server = serve(
        seeds,
        Shares {
            rate_limited: 0.20,
            failing: 0.05,
            hanging: 0.02,
            malformed: 0.02,
            ..Shares::default()
        },
    );
    let table = format!(
        "timeout_s = 2\nprice = {{ input = 1, output = 5 }}\nparameters = {{ max_tokens = 100 }}\n\
         slots = {{ max = {CEILING} }}"
    );
    let (seeds, cap) = (seeds.to_string(), CAP.to_string());
    let suite = Suite::with_config(&model("m", &server, &table));
    (server, suite.with(&["--seeds", &seeds, "--max-cost", &cap]))
}

/// What the books of a run say after a kill.
struct Books {
    /// Calls that were reserved.
    calls: u64,
    /// US dollars, those of calls in flight at their reservations.
    booked: f64,
    /// Calls whose reply is not durable: in flight, or just settled.
    in_flight: u64,
    /// Calls whose reply was of use, and the turns that were made of them.
    kept: [i64; 2],
}

impl Books {
    fn read(run: &Path) -> Self {
        let (conn, _copy) = copy(run);
        let sql = "
            SELECT count(*), total(coalesce(cost_usd, reserved_usd)),
              count(*) FILTER (WHERE cost_usd IS NULL OR kept = 1 AND purpose = 'turn' AND NOT EXISTS (
                SELECT 1 FROM turn WHERE turn.session = call.session
                  AND turn.attempt = call.attempt AND turn.turn = call.turn)),
              count(*) FILTER (WHERE kept = 1), (SELECT count(*) FROM turn)
            FROM call";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Self {
                calls: row.get::<_, i64>(0)? as u64,
                booked: row.get(1)?,
                in_flight: row.get::<_, i64>(2)? as u64,
                kept: [row.get(3)?, row.get(4)?],
            })
        };
        conn.query_row(sql, [], read).unwrap()
    }

    /// Fails if a call was made that is not in the books, if more was charged than is booked, or
    /// booked than may be.
    #[track_caller]
    fn cover(&self, stats: &Stats) {
        let (requests, calls) = (stats.requests, self.calls);
        assert!(
            requests <= calls,
            "{requests} requests, {calls} in the books"
        );
        let (charged, booked) = (stats.charged_usd, self.booked);
        // Sums of binary fractions depend on their order.
        assert!(
            charged <= booked + 1e-9,
            "{charged} charged, {booked} booked"
        );
        assert!(booked <= CAP, "{booked}");
    }
}

#[test]
fn killed_three_times_over_a_faulty_endpoint() {
    const SEED: u64 = 20_261_205;
    let seeds = if is_long() { 400 } else { 60 };
    let (server, suite) = faulty(seeds);
    let undisturbed = Reference::of(&suite, CONCURRENCY);
    drop(server);
    say(&format!(
        "chaos, kill -9 over a faulty endpoint: seed {SEED}"
    ));
    let mut random = Random::new(SEED);
    let mut at: Vec<u64> = (0..3).map(|_| random.within(0..5 * seeds)).collect();
    at.sort_unstable();
    let tally = campaign("kill -9 over a faulty endpoint", &[at], |at| {
        killed_at(&undisturbed, seeds, at)
    });
    assert_eq!(tally.kills, 3);
}

/// Kills a run each time that so many of its sessions are done.
fn killed_at(undisturbed: &Reference, seeds: u64, at: &[u64]) -> Tally {
    let (server, suite) = faulty(seeds);
    let mut run = Run::new(&suite, "killed", CONCURRENCY);
    let mut in_flight = 0;
    for &at in at {
        let done = run.done() as u64;
        let mut process = run.start(None);
        let left = at.saturating_sub(done);
        let begun = |log: &Log| !log.asked.is_empty() && log.settled >= left;
        assert!(
            process.until(|process| begun(&process.log)),
            "{}",
            process.stderr()
        );
        process.kill();
        assert_eq!(run.end(process), End::Killed);
        let books = Books::read(&run.folder);
        books.cover(&server.stats());
        in_flight += books.in_flight;
    }
    let tally = run.finish();
    undisturbed.is_met_by(&run);
    undisturbed.has_no_diff_to(&run);
    let books = Books::read(&run.folder);
    let stats = server.stop();
    books.cover(&stats);
    assert_eq!(books.in_flight, 0);
    let [calls, turns] = books.kept;
    assert_eq!(calls, turns, "each turn has one call that was of use");
    assert_eq!(stats.turns.answered as usize, tally.turns);
    // Beside the turn that each process probes.
    let repeated = stats.turns.repeated.saturating_sub(1);
    assert!(
        repeated <= in_flight,
        "{repeated} turns were asked for again, {in_flight} calls were in flight"
    );
    // The server hears a little later than farm that a call was given up, or that farm is gone. Those
    // that hang are left out: they are many over the whole run.
    let (most, gone) = (stats.highest_answering, stats.outcomes.gone);
    assert!(most <= CEILING + gone, "{most} at once, {gone} gone");
    say(&format!(
        "chaos, over a faulty endpoint: {} requests, {repeated} turns answered again of {in_flight} \
         that were in flight, {:.4} USD charged, {:.4} booked",
        stats.requests, stats.charged_usd, books.booked
    ));
    tally
}

#[test]
fn a_storm_of_failures_holds_up_nobody_who_is_sound() {
    // Each session of the storm fails three times.
    let seeds = if is_long() { 667 } else { 80 };
    let storm = serve(
        seeds,
        Shares {
            failing: 1.0,
            ..Shares::default()
        },
    );
    let sound = serve(seeds, Shares::default());
    let config = model("storm", &storm, "max_tries = 1") + &model("sound", &sound, "");
    let seeds_text = seeds.to_string();
    let suite = Suite::with_config(&config).with(&["--seeds", &seeds_text, "--no-probe"]);
    let folder = suite.path("run");
    let args = ["run", "--quiet", "--concurrency", "20", "--out"];
    let args = args.into_iter().chain([folder.to_str().unwrap()]);
    let args: Vec<&str> = args.chain(suite.args.iter().map(String::as_str)).collect();
    let mut process = Process::start(&suite, &folder, 0, &args, None);
    // A good part of what is sound is through before all of the others have failed.
    let half = 5 * seeds / 2;
    assert!(
        process.until(|_| sound.stats().turns.answered >= half),
        "{}",
        process.stderr()
    );
    let failures = storm.stats().requests;
    assert_eq!(process.wait(), End::Exit(3), "{}", process.stderr());
    assert_eq!(storm.stats().outcomes.failing, 3 * 5 * seeds);
    assert!(failures < 3 * 5 * seeds, "{failures}");
    let text = std::fs::read_to_string(folder.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    let of = |variant: usize, state: &str| {
        summary["variants"][variant]["ledger"][state]
            .as_u64()
            .unwrap()
    };
    assert_eq!(of(0, "errored"), 5 * seeds);
    assert_eq!(of(1, "passed") + of(1, "failed"), 5 * seeds);
}
