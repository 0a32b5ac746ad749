//! How many cases and seeds a comparison needs, and what a given design can see.

use std::collections::BTreeMap;

use super::cases::{Case, Units, unit_seeds};
use super::level::Level;
use super::moments::{mean, variance};
use super::paired::Pair;
use super::quantile::{normal_quantile, t_quantile};

/// Chance of seeing a difference that is there, where nothing else is asked.
pub const POWER: f64 = 0.8;

/// Taken off before rounding up, so that a design that fits exactly is not one too large.
const SLACK: f64 = 1e-9;

/// Where the noise of a paired comparison comes from \[Miller 2024\]. A case with n seeds a side
/// has a difference of variance V(n) = ω² + (σ_A² + σ_B²)/n. Cases count as independent; where
/// they are clustered, "cases" below are units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Noise {
    /// ω²: variance of the true differences between cases.
    pub omega2: f64,
    /// σ_A²: variance between the seeds of a case under A.
    pub var_a: f64,
    /// σ_B²: the same under B.
    pub var_b: f64,
}

impl Noise {
    /// Without a pilot, a guess and to be called one: cases that pass four times in five
    /// (σ² = 0.16 on both sides), with true differences of sd 0.17 (ω² = 0.03).
    pub const GUESS: Self = Self {
        omega2: 0.03,
        var_a: 0.16,
        var_b: 0.16,
    };

    /// The noise seen in a pilot, from the cases with two or more scored sessions on both sides:
    /// σ² the mean variances within cases, ω² = max(0, s_d² - mean(σ_Ai²/n_Ai + σ_Bi²/n_Bi)) with
    /// s_d² the sample variance of the differences.
    ///
    /// `None` for fewer than two such cases (one seed per case does not tell seeds from cases), and
    /// for values that are not finite.
    pub fn of(pairs: &[Pair]) -> Option<Self> {
        let is_used = |pair: &&Pair| pair.a.variance.and(pair.b.variance).is_some();
        let column = |of: fn(&Pair) -> Option<f64>| -> Vec<f64> {
            pairs.iter().filter(is_used).filter_map(of).collect()
        };
        let of_seeds = mean(&column(|pair| {
            let noise = |case: Case| Some(case.variance? / case.n as f64);
            Some(noise(pair.a)? + noise(pair.b)?)
        }))?;
        let found = Self {
            omega2: (variance(&column(Pair::difference))? - of_seeds).max(0.0),
            var_a: mean(&column(|pair| pair.a.variance))?,
            var_b: mean(&column(|pair| pair.b.variance))?,
        };
        let parts = [found.omega2, found.var_a, found.var_b];
        parts.iter().all(|v| v.is_finite()).then_some(found)
    }

    /// The noise of seeds as a pilot shows it, with the guess of ω²: σ² the mean variances within
    /// the cases that have two or more scored sessions on that side.
    ///
    /// `None` where a side has no such case.
    pub fn of_seeds(pairs: &[Pair]) -> Option<Self> {
        let of = |side: fn(&Pair) -> Case| {
            let variances: Vec<f64> = pairs.iter().filter_map(|p| side(p).variance).collect();
            mean(&variances)
        };
        Some(Self {
            var_a: of(|pair| pair.a)?,
            var_b: of(|pair| pair.b)?,
            ..Self::GUESS
        })
    }

    /// The noise of a pilot with one seed a case: V(1) = s_d², the sample variance of the
    /// differences, split into its parts as that of the guess is.
    ///
    /// `None` for fewer than two differences.
    pub fn of_one_seed(pairs: &[Pair]) -> Option<Self> {
        let differences: Vec<f64> = pairs.iter().filter_map(Pair::difference).collect();
        let guess = Self::GUESS;
        let scale = variance(&differences)? / guess.variance(1);
        Some(Self {
            omega2: guess.omega2 * scale,
            var_a: guess.var_a * scale,
            var_b: guess.var_b * scale,
        })
    }

    /// V(n), the variance of one case's difference at `seeds` seeds a side; at least one.
    pub fn variance(&self, seeds: u64) -> f64 {
        self.omega2 + (self.var_a + self.var_b) / seeds.max(1) as f64
    }

    /// Cases needed to see a true difference of `delta` with chance `power`:
    /// max(2, ⌈(z_{1-α/2} + z_power)²·V(n)/δ² + z²_{1-α/2}/2⌉), the last term Guenther's correction
    /// for Student's law \[Guenther 1981\].
    ///
    /// `None` unless δ > 0 and α/2 < power < 1, and where no number holds the answer.
    pub fn cases_needed(&self, delta: f64, seeds: u64, level: Level, power: f64) -> Option<u64> {
        let z = both_quantiles(level, power)?;
        let cases = z * z * self.variance(seeds) / squared(delta)? + level.z() * level.z() / 2.0;
        up(cases).map(|cases| cases.max(2))
    }

    /// Seeds a side needed on `cases` cases to see a true difference of `delta` with chance
    /// `power`: max(1, ⌈(σ_A² + σ_B²)/(Gδ²/(z_{1-α/2} + z_power)² - ω²)⌉).
    ///
    /// `None` if no number of seeds is enough (add cases), and outside the domain of
    /// [`Noise::cases_needed`].
    pub fn seeds_needed(&self, delta: f64, cases: u64, level: Level, power: f64) -> Option<u64> {
        let z = both_quantiles(level, power)?;
        let room = cases as f64 * squared(delta)? / (z * z) - self.omega2;
        if room <= 0.0 {
            return None;
        }
        up((self.var_a + self.var_b) / room).map(|seeds| seeds.max(1))
    }

    /// The smallest true difference that `cases` cases with `seeds` seeds a side see with chance
    /// `power`: (t_{G-1,1-α/2} + t_{G-1,power})·√(V(n)/G). It can exceed 1: then nothing is seen.
    ///
    /// `None` for fewer than two cases, and unless α/2 < power < 1.
    pub fn mde(&self, cases: u64, seeds: u64, level: Level, power: f64) -> Option<f64> {
        let se = (self.variance(seeds) / cases as f64).sqrt();
        mde_of_error(se, cases, level, power)
    }
}

/// Pairs of units: the cases of each cluster as one, in the order of their first case, so that
/// what is said of cases here holds of units. Cases that are not scored on both sides are left out.
///
/// J cases become one whose mean is that of theirs and whose seeds make as much noise: variance/n =
/// Σ(variance_i/n_i)/J². Such a unit counts J²/Σ(1/n_i) seeds, as in
/// [`reg_paired_t`](super::paired::reg_paired_t). A plan gives each of its J cases as many: n is
/// that number over J, to the nearest whole one, and the variance is that of the unit's mean at
/// one seed of each case.
pub fn joined(pairs: &[Pair], units: &Units) -> Vec<Pair> {
    let mut of_unit: BTreeMap<usize, Vec<&Pair>> = BTreeMap::new();
    let scored = pairs
        .iter()
        .enumerate()
        .filter(|(_, pair)| pair.is_scored());
    for (at, pair) in scored {
        of_unit.entry(units.of(at)).or_default().push(pair);
    }
    let side = |pairs: &[&Pair], of: fn(&Pair) -> Case| {
        let cases: Vec<Case> = pairs.iter().map(|pair| of(pair)).collect();
        joined_cases(&cases)
    };
    let pairs = of_unit.values().map(|pairs| Pair {
        a: side(pairs, |pair| pair.a),
        b: side(pairs, |pair| pair.b),
    });
    pairs.collect()
}

fn joined_cases(cases: &[Case]) -> Case {
    if let [case] = cases {
        return *case;
    }
    let count = cases.len() as f64;
    let means: Vec<f64> = cases.iter().map(|case| case.mean).collect();
    let inverses = cases.iter().map(|case| 1.0 / case.n as f64).sum();
    let seeds = unit_seeds(inverses, cases.len()) / count;
    let n = (seeds.round() as u64).max(1);
    let noise = cases
        .iter()
        .map(|case| Some(case.variance? / case.n as f64));
    let noise = noise.sum::<Option<f64>>().map(|sum| sum / (count * count));
    Case {
        n,
        planned: n,
        mean: mean(&means).unwrap_or(0.0),
        variance: noise.map(|noise| noise * n as f64),
    }
}

/// The smallest true difference that a comparison over `units` units with standard error `se` sees
/// with chance `power`: (t_{G-1,1-α/2} + t_{G-1,power})·SE. With the error of the comparison itself
/// ([`super::paired::Paired::se`]) it says what "no difference shown" could have missed, whatever
/// the seed counts.
///
/// `None` for fewer than two units, an error that is not finite, and unless α/2 < power < 1.
pub fn mde_of_error(se: f64, units: u64, level: Level, power: f64) -> Option<f64> {
    let df = units.checked_sub(1)? as f64;
    let t = t_quantile(power, df)? - t_quantile(level.tail(), df)?;
    (t > 0.0 && se.is_finite()).then_some(t * se)
}

/// z_{1-α/2} + z_power, if positive.
fn both_quantiles(level: Level, power: f64) -> Option<f64> {
    Some(level.z() + normal_quantile(power)?).filter(|z| *z > 0.0)
}

fn squared(delta: f64) -> Option<f64> {
    Some(delta * delta).filter(|square| delta > 0.0 && *square > 0.0)
}

/// ⌈x⌉ with the slack; `None` if no count holds it.
fn up(x: f64) -> Option<u64> {
    let x = (x - SLACK).ceil();
    (x < u64::MAX as f64).then_some(x.max(0.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Tally;

    fn pair(a: &[f64], b: &[f64]) -> Pair {
        Pair {
            a: Case::new(a, 3),
            b: Case::new(b, 3),
        }
    }

    #[test]
    fn a_pilot_needs_two_cases_with_two_seeds() {
        let good = pair(&[0.0, 1.0], &[1.0, 1.0]);
        let single = pair(&[0.0], &[1.0, 1.0]);
        assert_eq!(Noise::of(&[]), None);
        assert_eq!(Noise::of(&[good, single]), None);
        let noise = Noise::of(&[good, good, single]).unwrap();
        assert_eq!((noise.omega2, noise.var_a, noise.var_b), (0.0, 0.5, 0.0));
        assert_eq!(Noise::of(&[good, pair(&[f64::NAN; 2], &[1.0; 2])]), None);
    }

    #[test]
    fn what_a_pilot_does_not_show_is_guessed() {
        let (good, single) = (pair(&[0.0, 1.0], &[1.0, 1.0]), pair(&[0.0], &[1.0]));
        let seeds = Noise::of_seeds(&[good, single]).unwrap();
        assert_eq!((seeds.var_a, seeds.var_b), (0.5, 0.0));
        assert_eq!(seeds.omega2, Noise::GUESS.omega2);
        assert_eq!(Noise::of_seeds(&[single]), None);
        // Differences of 1 and -1: their variance is 2.
        let one = Noise::of_one_seed(&[single, pair(&[1.0], &[0.0])]).unwrap();
        assert!((one.variance(1) - 2.0).abs() < 1e-12, "{one:?}");
        assert!((one.omega2 / one.var_a - 0.03 / 0.16).abs() < 1e-12);
        assert_eq!(Noise::of_one_seed(&[single]), None);
    }

    #[test]
    fn cases_that_are_joined_keep_their_noise() {
        let case = |passed, scored| {
            Case::from(Tally {
                passed,
                scored,
                planned: scored,
            })
        };
        let (p, q) = (case(1, 2), case(3, 6));
        let pairs = [
            Pair { a: p, b: q },
            Pair {
                a: q,
                b: case(1, 1),
            },
        ];
        let apart = joined(&pairs, &Units::default());
        assert_eq!(apart, pairs);
        let both = joined(&pairs, &Units::new([Some("x"); 2]));
        let [Pair { a, b }] = both.as_slice() else {
            panic!("{both:?}");
        };
        // 4/(1/2 + 1/6) = 6 seeds, 3 of each case.
        assert_eq!((a.mean, a.n), (0.5, 3));
        let noise = |case: &Case| case.variance.unwrap() / case.n as f64;
        assert!((noise(a) - (noise(&p) + noise(&q)) / 4.0).abs() < 1e-15);
        assert_eq!(b.variance, None);
    }

    #[test]
    fn answers_fit_each_other() {
        let (noise, level) = (Noise::GUESS, Level::default());
        let cases = noise.cases_needed(0.1, 4, level, POWER).unwrap();
        // Guenther's correction against the t quantiles themselves.
        let (at, before) = (
            noise.mde(cases, 4, level, POWER).unwrap(),
            noise.mde(cases - 2, 4, level, POWER).unwrap(),
        );
        assert!(at < 0.1005 && before > 0.1, "{cases}: {at} {before}");
        let seeds = noise.seeds_needed(0.1, cases, level, POWER).unwrap();
        assert!((3..=4).contains(&seeds), "{seeds}");
    }

    #[test]
    fn a_comparison_says_what_it_could_have_seen() {
        let level = Level::default();
        // t_9 at .975 and .8: 2.2622 and 0.8834.
        let found = mde_of_error(0.1, 10, level, POWER).unwrap();
        assert!((found - 0.314_56).abs() < 1e-5, "{found}");
        for (se, units, power) in [
            (0.1, 1, POWER),
            (0.1, 0, POWER),
            (f64::NAN, 9, POWER),
            (0.1, 9, 0.01),
        ] {
            assert_eq!(mde_of_error(se, units, level, power), None);
        }
    }

    #[test]
    fn what_cannot_be_planned() {
        let (noise, level) = (Noise::GUESS, Level::default());
        for delta in [0.0, -0.1, f64::NAN, 1e-200] {
            assert_eq!(noise.cases_needed(delta, 4, level, POWER), None, "{delta}");
            assert_eq!(noise.seeds_needed(delta, 9, level, POWER), None, "{delta}");
        }
        for power in [0.0, 0.02, 1.0, f64::NAN] {
            assert_eq!(noise.cases_needed(0.1, 4, level, power), None, "{power}");
            assert_eq!(noise.mde(20, 4, level, power), None, "{power}");
        }
        assert_eq!(noise.cases_needed(1e-12, 4, level, POWER), None);
        assert_eq!(noise.seeds_needed(0.01, 10, level, POWER), None);
        assert_eq!(
            (noise.mde(0, 4, level, POWER), noise.mde(1, 4, level, POWER)),
            (None, None)
        );
        let quiet = Noise {
            omega2: 0.0,
            var_a: 0.0,
            var_b: 0.0,
        };
        assert_eq!(quiet.cases_needed(0.1, 4, level, POWER), Some(2));
        assert_eq!(quiet.seeds_needed(0.1, 4, level, POWER), Some(1));
    }
}
