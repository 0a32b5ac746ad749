//! What the overall figures need to know of one case, and how cases join into units.

use std::collections::HashMap;

use super::figure::Counts;
use super::moments;

/// Pass counts of one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Sessions that passed.
    pub passed: u64,
    /// Sessions scored: the denominator.
    pub scored: u64,
    /// Sessions planned. `planned - scored` are missing.
    pub planned: u64,
}

/// Scores of one case, condensed: all that the overall figures need.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Case {
    /// Sessions scored. A case with none is left out of every mean.
    pub n: u64,
    /// Sessions planned. `planned - n` are missing.
    pub planned: u64,
    /// Mean of the scores; 0 when there is none.
    pub mean: f64,
    /// Sample variance (divisor n - 1); `None` for fewer than two scores.
    pub variance: Option<f64>,
}

impl Case {
    /// Condenses the scores of one case, seeds ascending.
    pub fn new(scores: &[f64], planned: u64) -> Self {
        Self {
            n: scores.len() as u64,
            planned,
            mean: moments::mean(scores).unwrap_or(0.0),
            variance: moments::variance(scores),
        }
    }

    /// The mean, if anything was scored.
    pub fn value(&self) -> Option<f64> {
        (self.n > 0).then_some(self.mean)
    }
}

impl From<Tally> for Case {
    /// Mean k/n and variance k(n-k)/(n(n-1)) of k passes in n sessions.
    fn from(tally: Tally) -> Self {
        let (k, n) = (tally.passed as f64, tally.scored as f64);
        Self {
            n: tally.scored,
            planned: tally.planned,
            mean: if tally.scored > 0 { k / n } else { 0.0 },
            variance: (tally.scored > 1).then(|| k * (n - k) / (n * (n - 1.0))),
        }
    }
}

/// Counts of a figure over `cases`: cases used, their sessions, and all sessions planned, those
/// of unscored cases included.
pub(super) fn counts(cases: &[Case]) -> Counts {
    Counts {
        n_cases: cases.iter().filter(|c| c.n > 0).count() as u64,
        n: total(cases.iter().map(|c| c.n)),
        n_planned: total(cases.iter().map(|c| c.planned)),
    }
}

/// The seeds that a unit of `cases` cases counts as, J²/Σ(1/n_i): those of one case with as little
/// seed noise. `inverses` is Σ(1/n_i), of the scored seeds of its cases; n_i itself for one case.
pub(super) fn unit_seeds(inverses: f64, cases: usize) -> f64 {
    let cases = cases as f64;
    cases * cases / inverses
}

/// Sum of counts, saturating.
pub(super) fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Which unit each case belongs to: the cases of one cluster are one unit, a case without a
/// cluster is its own. The default is no clusters at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Units {
    of_case: Vec<usize>,
    count: usize,
}

impl Units {
    /// Groups cases by the cluster each one names, in case order.
    pub fn new<'a>(clusters: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        let mut units = Self::default();
        let mut known = HashMap::new();
        for cluster in clusters {
            let fresh = units.count;
            let unit = match cluster {
                Some(name) => *known.entry(name).or_insert(fresh),
                None => fresh,
            };
            units.count = units.count.max(unit + 1);
            units.of_case.push(unit);
        }
        units
    }

    /// Unit of the case at position `case`; a case that was never named is its own unit.
    pub fn of(&self, case: usize) -> usize {
        match self.of_case.get(case) {
            Some(unit) => *unit,
            None => self.count + (case - self.of_case.len()),
        }
    }

    /// Means within units of one value per case (`None`: the case is left out), for the units
    /// that have any, in order of first appearance.
    pub fn means(&self, values: impl IntoIterator<Item = Option<f64>>) -> Vec<f64> {
        let gathered = self.gather(values).into_iter();
        gathered
            .filter(|(_, cases)| *cases > 0)
            .map(|(sum, cases)| sum / cases as f64)
            .collect()
    }

    /// Sum and number of the values of each unit, by unit.
    pub(super) fn gather(
        &self,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Vec<(f64, usize)> {
        let mut sums = vec![(0.0, 0); self.count];
        for (case, value) in values.into_iter().enumerate() {
            let unit = self.of(case);
            if unit >= sums.len() {
                sums.resize(unit + 1, (0.0, 0));
            }
            if let (Some(value), Some((sum, cases))) = (value, sums.get_mut(unit)) {
                *sum += value;
                *cases += 1;
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tally_and_scores_agree() {
        let tally = Tally {
            passed: 2,
            scored: 3,
            planned: 4,
        };
        let (counted, listed) = (Case::from(tally), Case::new(&[1.0, 0.0, 1.0], 4));
        assert_eq!((counted.n, counted.planned), (listed.n, listed.planned));
        assert_eq!(counted.mean, listed.mean);
        assert!((counted.variance.unwrap() - listed.variance.unwrap()).abs() < 1e-15);
        assert_eq!(Case::from(Tally::default()).value(), None);
    }

    #[test]
    fn clusters_are_units() {
        let units = Units::new([Some("b"), None, Some("a"), Some("b"), None]);
        let of: Vec<_> = (0..7).map(|case| units.of(case)).collect();
        assert_eq!(of, [0, 1, 2, 0, 3, 4, 5]);
        let values = [Some(1.0), None, Some(0.5), Some(0.0), Some(0.25)];
        assert_eq!(units.means(values), [0.5, 0.5, 0.25]);
        assert_eq!(Units::default().means(values), [1.0, 0.5, 0.0, 0.25]);
    }
}
