use super::*;
use crate::domain::{
    Variance,
    plan::{Noise, SCHEMA, Target, Unit},
};

fn pilot(variant: &str, replies: Option<&[(u64, u64)]>) -> Pilot {
    let of_case = |(case, (sessions, distinct)): (usize, &(u64, u64))| Replies {
        case: format!("arith-{case:03}").parse().unwrap(),
        sessions: *sessions,
        distinct: *distinct,
    };
    Pilot {
        run: "pilot".to_owned(),
        variant: variant.parse().unwrap(),
        cases: 30,
        seeds: 4,
        sessions: 118,
        pass_rate: Some(0.7841),
        variance: Variance {
            between: Some(0.1),
            within: Some(0.1),
            icc: Some(0.5),
            deff: Some(2.5),
            seed_share: Some(0.2),
        },
        cost_usd: Some(0.0123),
        sessions_per_s: Some(4.25),
        replies: replies.map(|r| r.iter().enumerate().map(of_case).collect()),
    }
}

fn design(units: u64, seeds: u64) -> Design {
    Design {
        units,
        cases: units,
        seeds,
        sessions: 2 * units * seeds,
        cost_usd: Some((units * seeds) as f64 * 0.0246),
        seconds: Some((2 * units * seeds) as f64 / 4.25),
    }
}

fn measured() -> StudyPlan {
    let target = |difference, by_units, by_seeds: Option<u64>| Target {
        difference,
        by_units: Some(design(by_units, 4)),
        by_seeds: by_seeds.map(|seeds| design(30, seeds)),
    };
    StudyPlan {
        schema: SCHEMA.to_owned(),
        pilot: vec![
            pilot(
                "baseline",
                Some(&[(4, 4), (4, 2), (4, 1), (4, 1), (2, 2), (0, 0)]),
            ),
            pilot("cautious", None),
        ],
        level: 0.95,
        power: 0.8,
        difference: 0.05,
        unit: Unit {
            is_cluster: false,
            cases: 1.0,
        },
        seeds: 4,
        units: Some(30),
        noise: Noise {
            between: 0.02,
            between_is: Source::Measured,
            within_a: 0.1,
            within_b: 0.14,
            within_is: Source::Measured,
            total: 0.08,
            seed_share: 0.75,
        },
        mde: Some(0.1497),
        present: Some(design(30, 4)),
        targets: vec![
            target(0.05, 254, None),
            target(0.1, 65, Some(14)),
            target(0.1497, 30, Some(4)),
            target(0.2, 18, Some(2)),
        ],
        advice: Advice::AddUnits,
        notes: vec!["no difference was named: 0.05 is planned for".to_owned()],
        warnings: vec!["pilot/cautious is incomplete: 2 of 120 sessions are missing".to_owned()],
    }
}

fn guessed() -> StudyPlan {
    let of = |design: Design| Design {
        cost_usd: None,
        seconds: None,
        ..design
    };
    let mut plan = measured();
    plan.pilot.clear();
    plan.units = None;
    plan.mde = None;
    plan.present = None;
    plan.noise.between_is = Source::Guessed;
    plan.noise.within_is = Source::Guessed;
    plan.advice = Advice::AddSeeds;
    plan.warnings.clear();
    for target in &mut plan.targets {
        target.by_units = target.by_units.map(of);
        target.by_seeds = None;
    }
    plan.targets.truncate(2);
    plan
}

fn shown(plan: &StudyPlan) -> String {
    render(plan, 80, Style::default())
}

#[test]
fn a_pilot_of_two_variants() {
    insta::assert_snapshot!(shown(&measured()), @r#"
    To show a difference of 0.050 in pass rate, at level 95 % with power 80 %:

    pilot                   A               B
    ──────────────────────────────────────────────────────
    variant                 pilot/baseline  pilot/cautious
    cases                   30              30
    seeds                   4               4
    sessions scored         118             118
    pass rate               0.784           0.784
    its noise due to seeds  20 %            20 %
    cost of a session       $0.0123         $0.0123
    sessions a second       4.250           4.250

    noise of a case         variance  share
    ─────────────────────────────────────────────────
    between cases             0.0200   25 %  measured
    between 4 seeds a side    0.0600   75 %  measured

    30 cases × 4 seeds show a difference of 0.150 or more.

    to show  by                  cases  seeds  sessions     cost        time
    ────────────────────────────────────────────────────────────────────────
      0.050  more cases            254      4     2,032  $24.994  7 min 59 s
             no number of seeds
      0.100  more cases             65      4       520   $6.396  2 min 03 s
             more seeds             30     14       840  $10.332  3 min 18 s
      0.150  as many cases          30      4       240   $2.952        57 s
             as many seeds          30      4       240   $2.952        57 s
      0.200  fewer cases            18      4       144   $1.771        34 s
             fewer seeds            30      2       120   $1.476        29 s
    Sessions, cost and time are those of A and B together.

    75 % of the noise is due to seeds, but no number of them is enough to show
    0.050: add cases.

    Distinct replies of pilot/baseline: 4 of 4 seeds in 1 case; 2 of 4 seeds in 1
    case; 1 of 4 seeds in 2 cases; 2 of 2 seeds in 1 case.
    All seeds the same: arith-002, arith-003.

    Distinct replies of pilot/cautious: unknown, it has no farm.db.

    warning: pilot/cautious is incomplete: 2 of 120 sessions are missing
    note: no difference was named: 0.05 is planned for
    "#);
}

#[test]
fn without_a_pilot() {
    insta::assert_snapshot!(shown(&guessed()), @r#"
    To show a difference of 0.050 in pass rate, at level 95 % with power 80 %:

    noise of a case         variance  share
    ────────────────────────────────────────────────
    between cases             0.0200   25 %  guessed
    between 4 seeds a side    0.0600   75 %  guessed

    With `--cases N` farm says what so many cases show.

    to show  by          cases  seeds  sessions     cost     time
    ─────────────────────────────────────────────────────────────
      0.050  more cases    254      4     2,032  unknown  unknown
      0.100  more cases     65      4       520  unknown  unknown
    Sessions, cost and time are those of A and B together.

    75 % of the noise is due to seeds: add seeds, or cases.

    note: no difference was named: 0.05 is planned for
    "#);
}

#[test]
fn clusters_and_their_cases_are_told_apart() {
    let clustered = StudyPlan {
        unit: Unit {
            is_cluster: true,
            cases: 1.5,
        },
        pilot: vec![pilot("baseline", Some(&[(4, 3)]))],
        ..measured()
    };
    let text = shown(&clustered);
    for part in [
        " A and B\n",
        "\nnoise of a cluster ",
        "\nbetween clusters ",
        "\n30 clusters × 4 seeds show a difference of 0.150 or more.\n",
        "clusters  cases  seeds",
        "add clusters.",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("All seeds the same"), "{text}");
}

#[test]
fn what_is_shown_now_is_said() {
    for (mde, want) in [
        (Some(0.05), "show a difference of 0.050 or more."),
        (Some(1.2), "show no difference, however large."),
        (None, "show no difference: one case is no sample."),
    ] {
        let text = shown(&StudyPlan { mde, ..measured() });
        assert!(text.contains(want), "{text}");
    }
    for (advice, seed_share, want) in [
        (Advice::Enough, 0.4, "That is enough to show 0.050."),
        (
            Advice::AddSeeds,
            0.8,
            "80 % of the noise is due to seeds: add seeds, or cases.",
        ),
        (
            Advice::AddUnits,
            0.2,
            "80 % of the noise is due to cases: add cases.",
        ),
    ] {
        let mut plan = measured();
        plan.advice = advice;
        plan.noise.seed_share = seed_share;
        assert!(shown(&plan).contains(want), "{}", shown(&plan));
    }
}

#[test]
fn many_cases_are_not_all_named() {
    let same = [(4, 1); 25];
    let plan = StudyPlan {
        pilot: vec![pilot("v", Some(&same))],
        ..measured()
    };
    let text = shown(&plan).replace('\n', " ");
    assert!(text.contains(": 1 of 4 seeds in 25 cases. "), "{text}");
    assert!(
        text.contains(" arith-019 and 5 more. ") && !text.contains("arith-020"),
        "{text}"
    );
}

#[test]
fn colour_adds_nothing_but_colour() {
    let plan = StudyPlan {
        warnings: vec!["the pilot is small".to_owned()],
        notes: vec!["this is for new cases like these".to_owned()],
        ..measured()
    };
    let coloured = render(&plan, 80, Style { colour: true });
    assert!(coloured.contains("\x1b[33mwarning:\x1b[0m the pilot"));
    let escapes = regex::Regex::new("\x1b\\[[0-9]+m").unwrap();
    assert_eq!(escapes.replace_all(&coloured, ""), shown(&plan));
}
