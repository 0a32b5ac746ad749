use super::super::pilot::tests::{of, side};
use super::*;
use crate::domain::VariantSummary;

fn asked() -> Question {
    Question {
        difference: Some(0.1),
        power: planning::POWER,
        level: Level::default(),
        units: None,
        seeds: None,
        zero_temperature: Vec::new(),
    }
}

#[test]
fn without_a_pilot_guesses_answer() {
    let plan = plan(&[], &asked());
    assert_eq!(
        (plan.seeds, plan.units, plan.mde, plan.present),
        (1, None, None, None)
    );
    // (1.959964 + 0.841621)²·0.35/0.01 + 1.92 = 276.6
    let of = |t: &Target| {
        (
            t.difference,
            t.by_units.map(|d| (d.units, d.sessions)),
            t.by_seeds,
        )
    };
    let targets: Vec<_> = plan.targets.iter().map(of).collect();
    assert_eq!(
        targets,
        [(0.1, Some((277, 554)), None), (0.2, Some((71, 142)), None)]
    );
    assert_eq!(plan.noise.seed_share, round(0.32 / 0.35));
    assert_eq!(plan.advice, Advice::AddSeeds);

    let of_30 = Question {
        units: Some(30),
        seeds: Some(4),
        ..asked()
    };
    let plan = super::plan(&[], &of_30);
    assert_eq!(
        plan.present.map(|d| (d.cases, d.seeds, d.sessions)),
        Some((30, 4, 240))
    );
    let mde = plan.mde.unwrap();
    let differences: Vec<f64> = plan.targets.iter().map(|t| t.difference).collect();
    assert_eq!(differences, [0.1, mde, 0.2]);
    // 30·0.01/7.8489 = 0.0382 leaves room for 0.32 in 39 seeds.
    assert_eq!(plan.targets[0].by_seeds.map(|d| d.seeds), Some(39));
    assert!(plan.targets[2].by_seeds.unwrap().seeds < 4);
}

#[test]
fn the_advice_fits_what_is_possible() {
    let of = |difference, units, seeds| {
        let asked = Question {
            difference: Some(difference),
            units,
            seeds: Some(seeds),
            ..asked()
        };
        plan(&[], &asked).advice
    };
    for (difference, units, seeds, want) in [
        (0.1, None, 1, Advice::AddSeeds),
        (0.1, None, 12, Advice::AddUnits),
        (0.1, Some(60), 1, Advice::AddSeeds),
        (0.1, Some(20), 1, Advice::AddUnits),
        (0.1, Some(300), 1, Advice::Enough),
    ] {
        assert_eq!(of(difference, units, seeds), want, "{units:?} × {seeds}");
    }
}

#[test]
fn what_it_takes_is_that_of_both_sides() {
    let cases = [("a", 1, 4), ("b", 3, 4), ("c", 4, 4)];
    let priced = |usd: Option<f64>| {
        let mut summary = of(&cases);
        summary.overall.cost_usd.mean.estimate = usd;
        summary
    };
    fn timed(summary: &VariantSummary, per_s: Option<f64>) -> Pilot<'_> {
        Pilot {
            sessions_per_s: per_s,
            ..side("r", summary)
        }
    }
    let (dear, cheap, unknown) = (priced(Some(0.5)), priced(Some(0.25)), priced(None));
    let one = || timed(&dear, Some(4.0));
    for (sides, want) in [
        (vec![one()], (Some(12.0), Some(6.0))),
        (
            vec![one(), timed(&cheap, Some(1.0))],
            (Some(9.0), Some(15.0)),
        ),
        (vec![one(), timed(&unknown, None)], (None, None)),
    ] {
        let present = plan(&sides, &asked()).present.unwrap();
        assert_eq!((present.cases, present.seeds, present.sessions), (3, 4, 24));
        assert_eq!((present.cost_usd, present.seconds), want);
    }
    let known = plan(&[one()], &asked());
    assert_eq!(known.pilot[0].sessions, 12);
    assert!(
        known
            .targets
            .iter()
            .all(|t| t.by_units.unwrap().cost_usd.is_some())
    );
}

#[test]
fn clusters_are_counted_and_their_cases_paid_for() {
    let summary = &of(&[("a1", 1, 4), ("a2", 3, 4), ("b", 2, 4)]);
    let clustered = Pilot {
        clusters: [(&summary.cases[0].id, "a"), (&summary.cases[1].id, "a")].into(),
        ..side("r", summary)
    };
    let plan = plan(&[clustered], &asked());
    assert!(plan.unit.is_cluster);
    let present = plan.present.unwrap();
    assert_eq!((present.units, present.cases, present.sessions), (2, 3, 24));
    let by_units = plan.targets[0].by_units.unwrap();
    assert_eq!(by_units.cases, (by_units.units as f64 * 1.5).ceil() as u64);
}

#[test]
fn seeds_at_zero_temperature_are_a_warning_where_there_are_several() {
    let warnings = |seeds| {
        let asked = Question {
            seeds: Some(seeds),
            zero_temperature: vec!["r/v".to_owned()],
            ..asked()
        };
        plan(&[], &asked).warnings
    };
    assert_eq!(warnings(1), [""; 0]);
    assert!(warnings(2)[0].contains("the temperature is 0 (r/v)"));
}

#[test]
fn no_difference_is_larger_than_one() {
    let large = Question {
        difference: Some(0.7),
        units: Some(2),
        ..asked()
    };
    let large = plan(&[], &large);
    assert!(large.mde.is_some_and(|mde| mde > 1.0));
    let differences: Vec<f64> = large.targets.iter().map(|t| t.difference).collect();
    assert_eq!(differences, [0.7]);
    let one = Question {
        units: Some(1),
        ..asked()
    };
    assert_eq!(plan(&[], &one).mde, None);
    let unnamed = Question {
        difference: None,
        ..asked()
    };
    let unnamed = plan(&[], &unnamed);
    assert_eq!(unnamed.difference, DIFFERENCE);
    assert!(
        unnamed
            .notes
            .iter()
            .any(|note| note.contains("0.05 is planned for"))
    );
}
