//! Of comparisons: intervals of differences and ratios, and their p-values.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{higher, level, nested, same, score, sound, tally};
use crate::stats::multiple::{benjamini_hochberg, bonferroni, holm};
use crate::stats::paired::{Pair, mover, reg_paired_t, unit_differences};
use crate::stats::planning::{Noise, POWER};
use crate::stats::random::Stream;
use crate::stats::ratio::{hodges_lehmann, log_t_paired};
use crate::stats::signflip::{convolved, drawn, enumerated, sign_flip};
use crate::stats::two_cases::{fisher, newcombe};
use crate::stats::verdict::{Threshold, Verdict};
use crate::stats::{Case, Figure, Interval, Level, Units};

type Suite = Vec<(Pair, Option<&'static str>)>;

/// Pairs of cases, some with nothing scored on a side, each with a cluster or without.
fn suite() -> impl Strategy<Value = Suite> {
    let scores = || vec(score(), 0..5).prop_map(|x| Case::new(&x, 5));
    let case = || prop_oneof![tally().prop_map(Case::from), scores()];
    let pair = (case(), case()).prop_map(|(a, b)| Pair { a, b });
    let cluster = prop_oneof![3 => Just(None), 1 => Just(Some("a")), 1 => Just(Some("b"))];
    vec((pair, cluster), 1..40)
}

fn split(suite: &Suite) -> (Vec<Pair>, Units) {
    let pairs = suite.iter().map(|(pair, _)| *pair).collect();
    (pairs, Units::new(suite.iter().map(|(_, cluster)| *cluster)))
}

fn swapped(pairs: &[Pair]) -> Vec<Pair> {
    let swap = |pair: &Pair| Pair {
        a: pair.b,
        b: pair.a,
    };
    pairs.iter().map(swap).collect()
}

/// The figure with its sign turned.
fn negated(figure: &Figure) -> Figure {
    Figure {
        estimate: figure.estimate.map(|v| -v),
        lo: figure.hi.map(|v| -v),
        hi: figure.lo.map(|v| -v),
        ..figure.clone()
    }
}

/// The interval of the higher level holds the one of the lower.
fn holds(outer: &Figure, inner: &Figure) -> Result<(), TestCaseError> {
    if let (Some(outer), Some(inner)) = (outer.interval(), inner.interval()) {
        prop_assert!(
            outer.lo <= inner.lo && inner.hi <= outer.hi,
            "{:?} {:?}",
            outer,
            inner
        );
    }
    Ok(())
}

fn is_p(p: f64) -> bool {
    0.0 < p && p <= 1.0
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()) + 1e-12
}

proptest! {
    #[test]
    fn differences_of_runs(suite in suite(), level in level()) {
        let (pairs, units) = split(&suite);
        let (pairs_back, units_back) = split(&suite.iter().rev().copied().collect());
        let sample = |pairs: &[Pair], units: &Units, l| reg_paired_t(pairs, units, l).figure;
        for difference in [sample, mover] {
            let figure = difference(&pairs, &units, level);
            sound(&figure, -1.0, 1.0)?;
            nested(&figure, &difference(&pairs, &units, higher(level)))?;
            same(&figure, &difference(&pairs_back, &units_back, level))?;
            same(&negated(&figure), &difference(&swapped(&pairs), &units, level))?;
        }
        let count = unit_differences(&pairs, &units).len();
        let (sample, fixed) = (reg_paired_t(&pairs, &units, level), mover(&pairs, &units, level));
        prop_assert_eq!(sample.figure.estimate, fixed.estimate);
        prop_assert_eq!(fixed.interval().is_some(), count > 0);
        prop_assert_eq!(sample.figure.interval().is_some(), count > 1);
        prop_assert_eq!((sample.se.is_some(), sample.p.is_some()), (count > 1, count > 1));
        prop_assert!(sample.p.is_none_or(is_p) && sample.se.is_none_or(|se| se > 0.0));
    }

    /// p and interval are of one mind.
    #[test]
    fn p_is_small_where_0_is_outside(suite in suite(), level in level()) {
        let (pairs, units) = split(&suite);
        let paired = reg_paired_t(&pairs, &units, level);
        if let (Some(p), Some(limits)) = (paired.p, paired.figure.interval()) {
            let alpha = 1.0 - level.get();
            if (p - alpha).abs() > 1e-6 {
                let is_outside = limits.lo > 0.0 || limits.hi < 0.0;
                prop_assert_eq!(p < alpha, is_outside, "{} {:?}", p, limits);
            }
        }
    }

    #[test]
    fn differences_of_one_case(a in tally(), b in tally(), level in level()) {
        let figure = newcombe(a, b, level);
        sound(&figure, -1.0, 1.0)?;
        prop_assert_eq!(figure.interval().is_some(), a.scored > 0 && b.scored > 0);
        nested(&figure, &newcombe(a, b, higher(level)))?;
        same(&negated(&figure), &newcombe(b, a, level))?;
        let p = fisher(a, b).unwrap();
        prop_assert!(is_p(p) && close(p, fisher(b, a).unwrap()), "{}", p);
    }

    #[test]
    fn sign_flips_of_runs(suite in suite(), seed in any::<u64>()) {
        // Signs double with each case: few enough to be enumerated quickly.
        let suite: Suite = suite.into_iter().take(12).collect();
        let (pairs, units) = split(&suite);
        let found = sign_flip(&pairs, &units, seed, "test");
        prop_assert!(is_p(found.p) && found.exact);
        prop_assert!(found.nonzero as usize <= unit_differences(&pairs, &units).len());
        let back = sign_flip(&swapped(&pairs), &units, seed, "test");
        prop_assert_eq!((back.p, back.nonzero), (found.p, found.nonzero));
        let (pairs, units) = split(&suite.iter().rev().copied().collect());
        prop_assert!(close(sign_flip(&pairs, &units, seed, "test").p, found.p));
    }

    #[test]
    fn sign_flips_agree(d in vec(-12..=12_i64, 0..14), draws in 1..200_u64) {
        let real: Vec<f64> = d.iter().map(|d| *d as f64 / 12.0).collect();
        let exact = enumerated(&real).unwrap();
        prop_assert!(is_p(exact) && close(convolved(&d).unwrap(), exact));
        let (hits, p) = drawn(&real, draws, &mut Stream::new(0, "test"));
        prop_assert!(is_p(p) && hits <= draws);
    }

    #[test]
    fn adjusted_p(p in vec(0.0..=1.0, 1..30), level in level()) {
        let (family, share) = (holm(&p), benjamini_hochberg(&p));
        for ((p, family), share) in p.iter().zip(&family).zip(&share) {
            prop_assert!(p <= share && share <= &(family + 1e-12) && *family <= 1.0);
        }
        for adjusted in [&family, &share] {
            for (i, j) in (1..p.len()).map(|j| (j - 1, j)) {
                prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
            }
        }
        prop_assert!(bonferroni(level, p.len() as u64) >= level);
    }

    #[test]
    fn ratios(
        pairs in vec((prop_oneof![1 => Just(0.0), 9 => 1e-4..1e4], 1e-4..1e4), 0..30),
        level in level(),
    ) {
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let found = log_t_paired(&a, &b, level);
        sound(&found.figure, 0.0, f64::MAX)?;
        prop_assert!(found.p.is_none_or(is_p));
        prop_assert!(found.figure.interval().is_none() || found.p.is_some());
        nested(&found.figure, &log_t_paired(&a, &b, higher(level)).figure)?;
        let back = log_t_paired(&b, &a, level);
        if let (Some(there), Some(back)) = (found.figure.interval(), back.figure.interval()) {
            prop_assert!(close(there.lo * back.hi, 1.0) && close(there.hi * back.lo, 1.0));
        }
        let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().rev().copied().unzip();
        same(&found.figure, &log_t_paired(&a, &b, level).figure)?;
    }

    #[test]
    fn robust_centres(d in vec(prop_oneof![Just(0.0), -1e3..1e3], 0..25), level in level()) {
        let figure = hodges_lehmann(&d, level);
        let (least, most) = d.iter().fold((0.0_f64, 0.0_f64), |(l, m), v| (l.min(*v), m.max(*v)));
        sound(&figure, least, most)?;
        holds(&hodges_lehmann(&d, higher(level)), &figure)?;
        let backwards: Vec<f64> = d.iter().rev().copied().collect();
        same(&figure, &hodges_lehmann(&backwards, level))?;
    }

    #[test]
    fn plans(
        (omega2, var_a, var_b) in (0.0..0.1, 0.0..0.25, 0.0..0.25),
        delta in 0.01..0.5,
        (cases, seeds) in (2..500u64, 1..40u64),
        level in level(),
    ) {
        let noise = Noise { omega2, var_a, var_b };
        let needed = |delta, seeds| noise.cases_needed(delta, seeds, level, POWER).unwrap();
        prop_assert!(needed(delta, seeds) >= needed(delta * 1.5, seeds));
        prop_assert!(needed(delta, seeds) >= needed(delta, seeds + 1));
        let least = |cases| noise.mde(cases, seeds, level, POWER).unwrap();
        prop_assert!(least(cases) >= least(cases + 1) && least(cases) >= 0.0);
        if let Some(seeds) = noise.seeds_needed(delta, cases, level, POWER) {
            prop_assert!(seeds >= 1);
            prop_assert!(noise.seeds_needed(delta, cases + 1, level, POWER).unwrap() <= seeds);
        }
    }

    #[test]
    fn verdicts_turn_with_the_sign(
        (lo, width) in (-1.0..1.0, 0.0..1.0),
        margin in proptest::option::of(0.0..1.0),
    ) {
        let limits = Interval { lo, hi: lo + width };
        let turned = Interval { lo: -limits.hi, hi: -lo };
        let want = match Verdict::of(limits, margin) {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            neutral => neutral,
        };
        prop_assert_eq!(Verdict::of(turned, margin), want);
        let tau = margin.unwrap_or(0.5);
        prop_assert_eq!(Threshold::at_least(limits, tau), Threshold::at_most(turned, -tau));
    }

    /// A pilot of the same cases on both sides has no noise between cases beyond that of seeds.
    #[test]
    fn noise_of_a_pilot(suite in suite()) {
        let (pairs, _) = split(&suite);
        if let Some(noise) = Noise::of(&pairs) {
            prop_assert!(noise.omega2 >= 0.0 && noise.var_a >= 0.0 && noise.var_b >= 0.0);
            let turned = Noise::of(&swapped(&pairs)).unwrap();
            prop_assert_eq!((turned.var_a, turned.var_b), (noise.var_b, noise.var_a));
            prop_assert!(close(turned.omega2, noise.omega2));
        }
        let same: Vec<Pair> = pairs.iter().map(|pair| Pair { a: pair.a, b: pair.a }).collect();
        prop_assert!(Noise::of(&same).is_none_or(|noise| noise.omega2 == 0.0));
        let nothing = reg_paired_t(&same, &Units::default(), Level::default());
        prop_assert!(nothing.p.is_none_or(|p| p == 1.0));
    }
}
