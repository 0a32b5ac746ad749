//! Of intervals that hold at every look, and of the bootstrap.

use proptest::collection::vec;
use proptest::prelude::*;

use super::{higher, level, nested, same, score, sound};
use crate::stats::Level;
use crate::stats::bootstrap::{Kind, Statistic, bootstrap};
use crate::stats::random::Stream;
use crate::stats::sequential::{
    Seen, StopRule, at_look, beaten, complete_blocks, cs_beta_binomial, cs_paired, ended_prefix,
};

fn seen() -> impl Strategy<Value = Seen> {
    prop_oneof![
        1 => Just(Seen::Open),
        1 => Just(Seen::Missing),
        9 => score().prop_map(Seen::Scored),
    ]
}

/// Cases of up to eight seeds.
fn cases(count: usize) -> impl Strategy<Value = Vec<Vec<Seen>>> {
    vec(vec(seen(), 1..8), count)
}

proptest! {
    #[test]
    fn confidence_sequences(x in vec(score(), 1..60), level in level()) {
        let (sum, n) = (x.iter().sum::<f64>(), x.len() as u64);
        let figure = cs_beta_binomial(sum, n, level);
        sound(&figure, 0.0, 1.0)?;
        prop_assert!(figure.interval().is_some());
        nested(&figure, &cs_beta_binomial(sum, n, higher(level)))?;
        let turned = cs_beta_binomial(n as f64 - sum, n, level);
        prop_assert!((figure.lo.unwrap() + turned.hi.unwrap() - 1.0).abs() < 1e-9);
        // As many again of the same say more.
        let twice = cs_beta_binomial(2.0 * sum, 2 * n, level).interval().unwrap();
        let once = figure.interval().unwrap();
        prop_assert!(twice.hi - twice.lo < once.hi - once.lo);
    }

    #[test]
    fn looks(seeds in vec(seen(), 0..30), level in level(), threshold in 0.0..1.0) {
        let figure = at_look(&seeds, level);
        // What ran ahead of the prefix changes nothing.
        let mut ahead = ended_prefix(&seeds).to_vec();
        ahead.extend([Seen::Open, Seen::Scored(1.0), Seen::Missing]);
        prop_assert_eq!(&at_look(&ahead, level), &figure);
        if figure.estimate.is_some() {
            sound(&figure, 0.0, 1.0)?;
        }
        let limits = figure.interval().unwrap();
        let rule = |width, threshold| StopRule { width, threshold }.is_met(&figure);
        prop_assert!(!rule(None, None));
        prop_assert!(!rule(None, Some(f64::midpoint(limits.lo, limits.hi))));
        prop_assert!(!rule(Some(0.0), None));
        prop_assert_eq!(
            rule(Some(0.3), Some(threshold)),
            rule(Some(0.3), None) || rule(None, Some(threshold))
        );
    }

    #[test]
    fn paired_sequences(
        (a, b) in (1..6usize).prop_flat_map(|n| (cases(n), cases(n))),
        level in level(),
    ) {
        let figure = cs_paired(&a, &b, 2, level);
        let limits = figure.interval().unwrap();
        if complete_blocks(&a).min(complete_blocks(&b)) == 0 {
            prop_assert_eq!((figure.estimate, limits.lo, limits.hi), (None, -1.0, 1.0));
        } else {
            sound(&figure, -1.0, 1.0)?;
            nested(&figure, &cs_paired(&a, &b, 2, higher(level)))?;
            nested(&figure, &cs_paired(&a, &b, 3, level))?;
            let backwards = |cases: &[Vec<Seen>]| cases.iter().rev().cloned().collect::<Vec<_>>();
            same(&figure, &cs_paired(&backwards(&a), &backwards(&b), 2, level))?;
        }
        // At most one of two stops, and only where the interval says so.
        let stopped = beaten(&[&a, &b], 2, level);
        prop_assert!(stopped != [true, true]);
        prop_assert!(stopped == [false, false] || limits.lo > 0.0 || limits.hi < 0.0);
    }

    #[test]
    fn bootstraps(
        x in vec(prop_oneof![Just(0.0), -10.0..10.0], 0..20),
        seed in any::<u64>(),
        level in level(),
    ) {
        let (least, most) = x.iter().fold((0.0_f64, 0.0_f64), |(l, m), v| (l.min(*v), m.max(*v)));
        for statistic in [Statistic::Mean, Statistic::Median] {
            for kind in [Kind::Percentile, Kind::Bca] {
                let of = |level: Level| {
                    bootstrap(&x, statistic, kind, 99, &mut Stream::new(seed, "test"), level)
                };
                let found = of(level);
                sound(&found.figure, least, most)?;
                prop_assert_eq!(&of(level), &found);
                let wider = of(higher(level)).figure;
                if let (Some(inner), Some(outer)) = (found.figure.interval(), wider.interval()) {
                    prop_assert!(outer.lo <= inner.lo && inner.hi <= outer.hi);
                }
            }
        }
    }
}
