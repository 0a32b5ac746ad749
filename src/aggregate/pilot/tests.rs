use super::*;
use crate::{aggregate::fixture, stats::moments::variance};

pub(in crate::aggregate) fn side<'a>(run: &str, summary: &'a VariantSummary) -> Pilot<'a> {
    Pilot {
        run: run.to_owned(),
        summary,
        seeds: summary.cases[0].ledger.planned,
        clusters: BTreeMap::new(),
        sessions_per_s: None,
        replies: None,
    }
}

/// A variant whose cases passed k of n sessions, with four planned for each.
pub(in crate::aggregate) fn of(cases: &[(&str, u64, u64)]) -> VariantSummary {
    let cases: Vec<_> = cases.iter().map(|(id, k, n)| (*id, *k, *n, 4)).collect();
    fixture::variant("v", &cases)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

#[test]
fn two_sides_are_paired_by_case() {
    // In another order, and with a case on one side that the other lacks.
    let a = &of(&[("c", 1, 4), ("a", 4, 4), ("b", 2, 4), ("x", 0, 4)]);
    let b = &of(&[("b", 4, 4), ("a", 4, 4), ("c", 3, 4)]);
    let seen = Seen::of(&[side("r", a), side("s", b)]);
    assert_eq!(
        (seen.between_is, seen.within_is),
        (Source::Measured, Source::Measured)
    );
    assert_eq!((seen.units, seen.unit.is_cluster), (Some(3), false));
    // Variances k(n-k)/(n(n-1)) of a, b, c.
    let within_a = (0.0 + 4.0 / 12.0 + 3.0 / 12.0) / 3.0;
    let within_b = (0.0 + 0.0 + 3.0 / 12.0) / 3.0;
    assert!(close(seen.noise.var_a, within_a) && close(seen.noise.var_b, within_b));
    let s2 = variance(&[0.0, 0.5, 0.5]).unwrap();
    let between = (s2 - (within_a + within_b) / 4.0).max(0.0);
    assert!(close(seen.noise.omega2, between), "{:?}", seen.noise);
    insta::assert_snapshot!(seen.warnings.join("\n"), @r#"
    cases that are scored on one side only are left out (on both: 3)
    the pilot is small (cases: 3): the noise that it shows is rough
    "#);
    assert!(seen.notes.is_empty());
}

#[test]
fn one_side_stands_for_both() {
    let a = &of(&[("a", 1, 4), ("b", 4, 4), ("c", 1, 1), ("d", 0, 0)]);
    let seen = Seen::of(&[side("r", a)]);
    assert_eq!(
        (seen.between_is, seen.within_is),
        (Source::Guessed, Source::Measured)
    );
    assert_eq!(
        (seen.units, seen.noise.omega2),
        (Some(3), Noise::GUESS.omega2)
    );
    assert!(close(seen.noise.var_a, 0.125) && seen.noise.var_b == seen.noise.var_a);
}

#[test]
fn what_cannot_be_measured_is_guessed_and_said() {
    let one = &of(&[("a", 1, 4)]);
    let other = &of(&[("a", 2, 4)]);
    let still = &of(&[("a", 4, 4), ("b", 0, 4)]);
    let single = &of(&[("a", 1, 1), ("b", 0, 1)]);
    let turned = &of(&[("a", 0, 1), ("b", 1, 1)]);
    let apart = &of(&[("z", 1, 4)]);
    let guess = Noise::GUESS;
    let half = |var_a, var_b| Noise {
        var_a,
        var_b,
        ..guess
    };
    // The differences are 1 and -1: their variance is 2.
    let split = Noise {
        omega2: 2.0 * 0.03 / 0.35,
        var_a: 2.0 * 0.16 / 0.35,
        var_b: 2.0 * 0.16 / 0.35,
    };
    let (in_part, not) = (Source::Measured, Source::Guessed);
    for (sides, noise, within_is, said) in [
        (vec![], guess, not, "without a pilot"),
        (
            vec![one, other],
            half(0.25, 1.0 / 3.0),
            in_part,
            "one case does not show",
        ),
        (vec![single, turned], split, not, "how it splits is guessed"),
        (vec![single, single], guess, not, "every case did the same"),
        (vec![single], guess, not, "one seed shows no noise"),
        (
            vec![one, apart],
            guess,
            not,
            "no case is scored on both sides",
        ),
        (vec![still, still], guess, not, "every case did the same"),
        (
            vec![still],
            half(0.0, 0.0),
            in_part,
            "one variant stands for both",
        ),
        (
            vec![still],
            half(0.0, 0.0),
            in_part,
            "more seeds show nothing more",
        ),
    ] {
        let sides: Vec<_> = sides.into_iter().map(|of| side("r", of)).collect();
        let seen = Seen::of(&sides);
        assert_eq!(
            (seen.between_is, seen.within_is),
            (Source::Guessed, within_is),
            "{said}"
        );
        let same = |f: fn(&Noise) -> f64| close(f(&seen.noise), f(&noise));
        assert!(
            same(|n| n.omega2) && same(|n| n.var_a) && same(|n| n.var_b),
            "{said}"
        );
        let is_said = seen.notes.iter().any(|note| note.contains(said));
        assert!(is_said, "{said}: {:?}", seen.notes);
    }
}

#[test]
fn clusters_are_units() {
    let a = &of(&[("a1", 1, 4), ("a2", 3, 4), ("b", 2, 4)]);
    let b = &of(&[("a1", 3, 4), ("a2", 4, 4), ("b", 2, 2)]);
    fn clustered(of: &VariantSummary) -> Pilot<'_> {
        let of_one = of.cases.iter().take(2);
        Pilot {
            clusters: of_one.map(|case| (&case.id, "a")).collect(),
            ..side("r", of)
        }
    }
    let seen = Seen::of(&[clustered(a), clustered(b)]);
    assert_eq!(
        (seen.units, seen.unit.is_cluster, seen.unit.cases),
        (Some(2), true, 1.5)
    );
    // The seeds of two cases average out: (¼ + ¼)/4 for the cluster, and ⅓ for the case.
    assert!(
        close(seen.noise.var_a, f64::midpoint(0.125, 1.0 / 3.0)),
        "{:?}",
        seen.noise
    );
    assert_eq!(
        seen.notes,
        ["the cases of one cluster count as one (cases: 3, clusters: 2)"]
    );
}

#[test]
fn what_spoils_a_pilot_is_told() {
    let cases: Vec<String> = (0..12).map(|n| format!("c{n}")).collect();
    let cases: Vec<_> = cases.iter().map(|id| (&**id, 1, 4, 8)).collect();
    let half = fixture::variant("v", &cases);
    let replies = |sessions, distinct| Replies {
        case: "c".parse().unwrap(),
        sessions,
        distinct,
    };
    let warned = |replies: Vec<Replies>| {
        let side = Pilot {
            replies: Some(replies),
            ..side("r", &half)
        };
        Seen::of(&[side]).warnings
    };
    let incomplete = "r/v is incomplete: 48 of 96 sessions are missing";
    assert_eq!(warned(vec![replies(4, 1), replies(4, 2)]), [incomplete]);
    assert_eq!(warned(vec![replies(1, 1)]), [incomplete]);
    let both = warned(vec![replies(4, 1), replies(1, 1)]);
    assert!(
        both.len() == 2 && both[1].contains("are copies of each other"),
        "{both:?}"
    );
}
