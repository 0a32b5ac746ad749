use super::*;
use crate::report::{Style, fixture};

fn ledger(rows: [u64; 7]) -> Ledger {
    let [passed, failed, errored, killed, not_run, skipped, unscored] = rows;
    Ledger {
        planned: rows.iter().sum(),
        passed,
        failed,
        errored,
        killed,
        not_run,
        skipped,
        unscored,
    }
}

fn variant(name: &str, rows: [u64; 7], pass_rate: Figure) -> VariantStatus {
    VariantStatus {
        variant: name.parse().unwrap(),
        ledger: ledger(rows),
        pass_rate,
    }
}

fn error(count: u64, message: &str) -> ErrorGroup {
    ErrorGroup {
        message: message.to_owned(),
        count,
        example: "baseline/web-003/7".parse().unwrap(),
    }
}

fn at_work() -> Status {
    let variants = vec![
        variant(
            "baseline",
            [1231, 69, 2, 0, 897, 0, 1],
            fixture::rate(1231, 1300, 1300),
        ),
        variant("cautious", [0, 0, 12, 0, 2188, 0, 0], fixture::nothing(0)),
    ];
    let mut all = Ledger::default();
    variants.iter().for_each(|v| all.add(&v.ledger));
    Status {
        schema: STATUS_SCHEMA.to_owned(),
        run: "20261201T020001Z-0a1b2c".to_owned(),
        at: "2026-12-01T02:03:04Z".to_owned(),
        state: RunStatus::Running,
        worker: Some(Holder {
            pid: 4242,
            host: "barn".to_owned(),
            winding_down: false,
        }),
        ledger: all,
        open: Some(1015),
        in_flight: Some(InFlight {
            thinking: 1010,
            tool: 4,
            scorer: 1,
            ..InFlight::default()
        }),
        sessions_per_s: Some(36.25),
        eta_s: Some(7612.5),
        cost_usd: Some(0.0412),
        totals: Totals {
            restarts: 3,
            lost_attempts: 1,
            lost_cost_usd: 0.001,
            ..Totals::default()
        },
        parked: Vec::new(),
        variants,
        errors: Some(vec![
            error(
                12,
                "provider: HTTP 502: the upstream server did not answer in time, and it said so at length",
            ),
            error(2, "timeout: no reply\nafter \x1b[31m600 s"),
        ]),
        more_errors: 3,
    }
}

fn over() -> Status {
    let variants = vec![variant(
        "scripted",
        [11, 1, 0, 0, 0, 0, 0],
        fixture::rate(11, 12, 12),
    )];
    Status {
        state: RunStatus::Finished,
        worker: None,
        ledger: variants[0].ledger,
        open: None,
        in_flight: None,
        sessions_per_s: None,
        eta_s: None,
        cost_usd: None,
        totals: Totals::default(),
        variants,
        errors: None,
        more_errors: 0,
        ..at_work()
    }
}

#[test]
fn a_run_at_work_says_all() {
    insta::assert_snapshot!(render(&at_work(), Style::default()), @r#"
    20261201T020001Z-0a1b2c · running · process 4242 on barn
    1,315/4,400 done · 1,015 in flight: 1,010 thinking, 4 at tools, 1 at the scorer
    36.2/s · ETA 2 h 06 min
    $0.0412 · 3 restarts · 1 lost attempt

    variant   passed  failed  errored  not_run  unscored  pass rate so far
    ──────────────────────────────────────────────────────────────────────────
    baseline   1,231      69        2      897         1  0.947 [0.933, 0.958]
    cautious       0       0       12    2,188         0  n/a
    all        1,231      69       14    3,085         1

    12 × provider: HTTP 502: the upstream server did not answer in time, and it sai…
        such as baseline/web-003/7
    2 × timeout: no reply after \u{1b}[31m600 s
        such as baseline/web-003/7
    … and 3 more kinds of error
    "#);
}

#[test]
fn a_run_that_is_over_says_what_there_is() {
    insta::assert_snapshot!(render(&over(), Style::default()), @r#"
    20261201T020001Z-0a1b2c · finished
    12/12 done

    variant   passed  failed  pass rate so far
    ──────────────────────────────────────────────
    scripted      11       1  0.917 [0.646, 0.985]
    "#);
}

#[test]
fn nothing_is_wider_than_a_terminal() {
    let long = "long-name".repeat(12);
    let all_states = [
        123_456, 123_456, 123_456, 123_456, 123_456, 123_456, 123_456,
    ];
    let variants = vec![variant(&long, all_states, fixture::rate(1, 2, 2))];
    let wide = Status {
        ledger: variants[0].ledger,
        variants,
        ..at_work()
    };
    let text = render(&wide, Style::default());
    let widest = text.lines().map(|l| l.chars().count()).max();
    assert!(widest <= Some(80), "{text}");
    assert!(
        text.contains("123,456") && text.contains("unscored"),
        "{text}"
    );
}

#[test]
fn what_is_no_number_is_not_shown() {
    let odd = Status {
        eta_s: Some(f64::MAX),
        cost_usd: Some(0.0),
        totals: Totals::default(),
        in_flight: Some(InFlight::default()),
        ..at_work()
    };
    let text = render(&odd, Style::default());
    assert!(text.contains("0 in flight · 36.2/s\n"), "{text}");
    assert!(!text.contains("ETA") && !text.contains('$'), "{text}");
}

#[test]
fn colour_is_for_a_look() {
    let text = render(&at_work(), Style { colour: true });
    for painted in [
        "\x1b[32mrunning\x1b[0m",
        "\x1b[31m12 ×\x1b[0m",
        "\\u{1b}[31m600 s",
    ] {
        assert!(text.contains(painted), "{painted:?} in {text:?}");
    }
}

#[test]
fn json_is_one_line_when_watched() {
    let line = json(&at_work(), false).unwrap();
    assert_eq!((line.lines().count(), line.ends_with('\n')), (1, true));
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    let pretty = json(&at_work(), true).unwrap();
    assert_eq!(read(&line), read(&pretty));
    assert_eq!(read(&line)["errors"][0]["example"], "baseline/web-003/7");
    assert_eq!(read(&line)["worker"]["pid"], 4242);
}

#[test]
fn what_sessions_in_flight_are_at_is_said() {
    let of = |in_flight| {
        let status = Status {
            in_flight,
            ..at_work()
        };
        let text = render(&status, Style::default());
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        let (_, said) = text.split_once('\n').unwrap();
        said.split_once("36.2/s").unwrap().0.to_owned()
    };
    let every = InFlight {
        thinking: 10,
        tool: 2,
        slot: 3,
        rate: 1,
        backoff: 1,
        backoff_until: Some("2026-12-01T12:03:07Z".to_owned()),
        money: 1,
        server: 2,
        scorer: 1,
    };
    insta::assert_snapshot!(of(Some(every.clone())), @r#"
    1,315/4,400 done
    21 in flight: 10 thinking, 2 at tools, 3 for a slot, 1 for a rate, 1 backing off
    until 12:03:07 UTC, 1 for money, 2 for a server of tools, 1 at the scorer
    "#);
    let backing_off = InFlight {
        backoff: 2,
        ..every.clone()
    };
    insta::assert_snapshot!(of(Some(backing_off)), @r#"
    1,315/4,400 done
    22 in flight: 10 thinking, 2 at tools, 3 for a slot, 1 for a rate, 2 backing
    off, the first until 12:03:07 UTC, 1 for money, 2 for a server of tools, 1 at
    the scorer
    "#);
    let unknown = InFlight {
        backoff: 2,
        backoff_until: None,
        ..InFlight::default()
    };
    insta::assert_snapshot!(of(Some(unknown)), @"1,315/4,400 done · 2 in flight: 2 backing off ·");
    // Nobody has looked yet.
    insta::assert_snapshot!(of(None), @"1,315/4,400 done · 1,015 in flight ·");

    let json = |of: &InFlight| serde_json::to_string(of).unwrap();
    insta::assert_snapshot!(json(&every), @r#"{"thinking":10,"tool":2,"slot":3,"rate":1,"backoff":1,"backoff_until":"2026-12-01T12:03:07Z","money":1,"server":2,"scorer":1}"#);
    insta::assert_snapshot!(json(&InFlight::default()), @r#"{"thinking":0,"tool":0,"scorer":0}"#);
}

#[test]
fn what_is_parked_is_said_with_its_reason() {
    let parked = |what: &str, reason: &str| Parked {
        what: what.to_owned(),
        reason: reason.to_owned(),
        since: "2026-12-01T02:03:00Z".to_owned(),
    };
    let status = Status {
        parked: vec![
            parked(
                "endpoint https://api.example.com/v1",
                "HTTP 401: the key in EXAMPLE_KEY is not known there\n\u{1b}[31mlog in again",
            ),
            parked("the run", "it has spent $5.000 of $5.000"),
        ],
        ..over()
    };
    insta::assert_snapshot!(render(&status, Style::default()), @r#"
    20261201T020001Z-0a1b2c · finished
    12/12 done
    parked   endpoint https://api.example.com/v1: HTTP 401: the key in EXAMPLE_KEY
             is not known there \u{1b}[31mlog in again
    parked   the run: it has spent $5.000 of $5.000

    variant   passed  failed  pass rate so far
    ──────────────────────────────────────────────
    scripted      11       1  0.917 [0.646, 0.985]
    "#);
    let value = serde_json::to_value(&status).unwrap();
    assert_eq!(value["parked"][1]["what"], "the run");
    assert_eq!(value["parked"][0]["since"], "2026-12-01T02:03:00Z");
}

#[test]
fn those_that_wait_for_leave_do_not_move() {
    let waiting = InFlight {
        slot: 1,
        rate: 2,
        backoff: 3,
        money: 4,
        ..InFlight::default()
    };
    assert!(!waiting.is_moving());
    for moving in [
        InFlight {
            thinking: 1,
            ..waiting.clone()
        },
        InFlight {
            tool: 1,
            ..waiting.clone()
        },
        InFlight {
            scorer: 1,
            ..waiting
        },
    ] {
        assert!(moving.is_moving());
    }
}
