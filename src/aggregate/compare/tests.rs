use super::*;
use crate::{
    aggregate::fixture::variant,
    domain::comparison::{Change, Verdict},
};

/// Cases by the numbers of seeds that pass, of 12.
fn of_12(name: &str, passed: &[u64]) -> VariantSummary {
    let ids: Vec<String> = (0..passed.len()).map(|i| format!("c{i:02}")).collect();
    let cases = ids
        .iter()
        .zip(passed)
        .map(|(id, k)| (id.as_str(), *k, 12, 12));
    variant(name, &cases.collect::<Vec<_>>())
}

fn compared(variants: &[VariantSummary], reading: Reading, margin: Option<f64>) -> Comparison {
    let sides = variants.iter().map(|summary| Contender {
        name: summary.variant.to_string(),
        run: "r".to_owned(),
        summary,
        differs: Vec::new(),
    });
    let terms = Terms {
        reading,
        level: Level::default(),
        margin,
        cluster: &|_| None,
    };
    compare(sides.collect(), &terms)
}

fn verdict_of(a: &VariantSummary, b: &VariantSummary, margin: Option<f64>) -> (Verdict, bool) {
    let comparison = compared(&[a.clone(), b.clone()], Reading::Fixed, margin);
    let rate = &comparison.pairs[0].pass_rate;
    (rate.verdict, rate.fragile)
}

#[test]
fn the_verdict_is_that_of_the_interval() {
    let low = of_12("low", &[6; 10]);
    let high = of_12("high", &[10; 10]);
    let near = of_12("near", &[7, 6, 6, 6, 6, 6, 6, 6, 6, 6]);
    for (a, b, margin, want) in [
        (&low, &high, None, Verdict::Better),
        (&high, &low, None, Verdict::Worse),
        (&low, &near, None, Verdict::NoDifferenceShown),
        (&low, &near, Some(0.01), Verdict::NoDifferenceShown),
        (&low, &near, Some(0.5), Verdict::Equivalent),
    ] {
        assert_eq!(
            verdict_of(a, b, margin),
            (want, false),
            "{} {}",
            a.variant,
            b.variant
        );
    }
}

/// Both readings rest on the same estimate, and only one of them on which cases were written.
#[test]
fn the_readings_differ_in_their_intervals() {
    let (a, b) = (
        of_12("a", &[12, 0, 12, 0, 6, 6]),
        of_12("b", &[12, 12, 12, 0, 6, 12]),
    );
    for reading in [Reading::Fixed, Reading::Sample] {
        let rate = &compared(&[a.clone(), b.clone()], reading, None).pairs[0].pass_rate;
        assert_eq!(rate.fixed.estimate, rate.sample.estimate);
        let width = |f: &crate::domain::Figure| f.hi.unwrap() - f.lo.unwrap();
        assert!(width(&rate.fixed) < width(&rate.sample));
        let want = match reading {
            Reading::Fixed => Verdict::Better,
            Reading::Sample => Verdict::NoDifferenceShown,
        };
        assert_eq!(rate.verdict, want);
    }
}

#[test]
fn what_is_missing_may_decide() {
    let whole = of_12("whole", &[6; 10]);
    let ids: Vec<String> = (0..10).map(|i| format!("c{i:02}")).collect();
    let of = |passed, scored| {
        let cases = ids.iter().map(|id| (id.as_str(), passed, scored, 12));
        variant("holed", &cases.collect::<Vec<_>>())
    };
    // What is missing of each case could fail or pass: two cannot turn the verdict, three can.
    assert_eq!(verdict_of(&whole, &of(9, 10), None).0, Verdict::Better);
    assert_eq!(verdict_of(&whole, &of(8, 10), None).0, Verdict::Better);
    assert_eq!(
        verdict_of(&whole, &of(7, 9), None).0,
        Verdict::InconclusiveMissing
    );
    assert_eq!(
        verdict_of(&of(7, 9), &whole, None).0,
        Verdict::InconclusiveMissing
    );
}

#[test]
fn cases_of_one_side_are_left_out_and_named() {
    let a = variant("a", &[("x", 1, 2, 2), ("y", 1, 2, 2), ("z", 0, 0, 2)]);
    let b = variant("b", &[("w", 1, 2, 2), ("y", 2, 2, 2), ("z", 2, 2, 2)]);
    let pair = &compared(&[a, b], Reading::Fixed, None).pairs[0];
    let ids = |ids: &[CaseId]| ids.iter().map(CaseId::to_string).collect::<Vec<_>>();
    assert_eq!(
        (ids(&pair.only_a), ids(&pair.only_b)),
        (vec!["x".into()], vec!["w".into(), "z".into()])
    );
    assert_eq!(pair.cases.len(), 1);
    assert_eq!(pair.pass_rate.fixed.estimate, Some(0.5));
    assert_eq!(pair.pass_rate.fixed.n_cases, 1);
    // The rates that differ by it are those of y alone.
    let rates = [&pair.pass_rate.a, &pair.pass_rate.b].map(|rate| rate.estimate);
    assert_eq!(rates, [Some(0.5), Some(1.0)]);
}

#[test]
fn changes_of_cases_hold_among_all_of_them() {
    let (a, b) = (
        of_12("a", &[12, 12, 0, 6, 6]),
        of_12("b", &[0, 11, 12, 6, 7]),
    );
    let pair = &compared(&[a, b], Reading::Fixed, None).pairs[0];
    let changes: Vec<Option<Change>> = pair.cases.iter().map(|case| case.change).collect();
    let want = [
        Some(Change::Regression),
        None,
        Some(Change::Improvement),
        None,
        None,
    ];
    assert_eq!(changes, want);
    for case in &pair.cases {
        assert!(case.q >= case.p, "{}", case.id);
    }
}

#[test]
fn a_leaderboard_tells_who_can_be_told_apart() {
    let best = of_12("best", &[11; 10]);
    let good = of_12("good", &[10; 10]);
    let poor = of_12("poor", &[3; 10]);
    let comparison = compared(&[poor, best, good], Reading::Fixed, None);
    let places = comparison.leaderboard.unwrap();
    let shown: Vec<(&str, &[usize])> = places
        .iter()
        .map(|place| (place.name.as_str(), &place.groups[..]))
        .collect();
    assert_eq!(shown, [("best", &[0][..]), ("good", &[0]), ("poor", &[1])]);
    assert_eq!(comparison.pairs.len(), 3);
    for pair in &comparison.pairs {
        let rate = &pair.pass_rate;
        assert!(rate.p_holm >= rate.p_fixed);
        let (alone, among) = (&rate.fixed, rate.simultaneous.as_ref().unwrap());
        assert!(among.lo < alone.lo && alone.hi < among.hi);
    }
}

/// In the reading of these cases, one case is enough to tell sides apart, among others too.
#[test]
fn a_third_side_does_not_hide_a_difference() {
    let of = |name, passed| variant(name, &[("x", passed, 1000, 1000)]);
    let sides = [of("a", 100), of("b", 900), of("c", 500)];
    let comparison = compared(&sides, Reading::Fixed, None);
    let groups = comparison
        .leaderboard
        .unwrap()
        .into_iter()
        .map(|place| place.groups);
    assert_eq!(groups.collect::<Vec<_>>(), [[0], [1], [2]]);
}

/// One seed a side: the sign-flip test is McNemar's, and the pilot for the smallest difference is
/// the spread of the differences.
#[test]
fn one_seed_a_side_is_enough() {
    let ids: Vec<String> = (0..40).map(|i| format!("c{i:02}")).collect();
    let of = |name, passes: fn(usize) -> bool| {
        let cases = ids
            .iter()
            .enumerate()
            .map(|(i, id)| (id.as_str(), u64::from(passes(i)), 1, 1));
        variant(name, &cases.collect::<Vec<_>>())
    };
    let (a, b) = (of("a", |i| i < 12), of("b", |i| i >= 2));
    let rate = &compared(&[a, b], Reading::Fixed, None).pairs[0].pass_rate;
    // 28 better, 12 - 10 = 2 worse: 2·P(Bin(30, ½) ≤ 2).
    assert!((rate.p_signflip - 2.0 * 466.0 / 2f64.powi(30)).abs() < 1e-12);
    assert!(rate.signflip_exact && rate.mde.is_some_and(|mde| mde > 0.0));
}

/// Where no session of any case differs, seeds could still have hidden a difference.
#[test]
fn two_perfect_sides_are_not_proven_equal() {
    let (a, b) = (of_12("a", &[12; 10]), of_12("b", &[12; 10]));
    let rate = &compared(&[a, b], Reading::Fixed, None).pairs[0].pass_rate;
    assert_eq!(rate.verdict, Verdict::NoDifferenceShown);
    assert_eq!((rate.p, rate.p_signflip), (Some(1.0), 1.0));
    assert!(rate.mde.is_some_and(|mde| mde > 0.0));
    assert!(rate.sample.hi > Some(0.0) && rate.fixed.hi > Some(0.0));
}

#[test]
fn nothing_in_common_gives_no_verdict() {
    let (a, b) = (
        variant("a", &[("x", 1, 1, 1)]),
        variant("b", &[("y", 1, 1, 1)]),
    );
    let pair = &compared(&[a, b], Reading::Fixed, None).pairs[0];
    let rate = &pair.pass_rate;
    assert_eq!((rate.fixed.estimate, rate.p, rate.mde), (None, None, None));
    assert_eq!(rate.verdict, Verdict::NoDifferenceShown);
    assert_eq!(rate.p_signflip, 1.0);
}
