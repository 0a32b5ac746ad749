//! The inputs of a row, as the estimators take them.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::stats::paired::Pair;
use crate::stats::planning::Noise;
use crate::stats::random::Stream;
use crate::stats::{Case, Level, Tally};

#[derive(Deserialize)]
pub(super) struct Inputs(Map<String, Value>);

impl Inputs {
    pub fn get<T: serde::de::DeserializeOwned>(&self, name: &str) -> T {
        let value = self
            .0
            .get(name)
            .unwrap_or_else(|| panic!("no input {name}"));
        serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("input {name}: {e}"))
    }

    pub fn level(&self) -> Level {
        Level::new(self.get("level")).unwrap()
    }

    /// `kn`: passes and scored sessions, all planned.
    pub fn tallies(&self) -> Vec<Tally> {
        let kn: Vec<(u64, u64)> = self.get("kn");
        kn.into_iter()
            .map(|(passed, scored)| Tally {
                passed,
                scored,
                planned: scored,
            })
            .collect()
    }

    /// `kn`, or the scores in `cases`.
    pub fn cases(&self) -> Vec<Case> {
        if self.0.contains_key("kn") {
            return self.tallies().into_iter().map(Case::from).collect();
        }
        of_scores(&self.get::<Vec<Vec<f64>>>("cases"))
    }

    /// `A` and `B`: passes and scored sessions, or scores when they are not whole numbers. A case
    /// that B does not have has nothing scored there.
    pub fn pairs(&self) -> Vec<Pair> {
        let side = |name: &str| {
            let rows: Vec<Vec<f64>> = self.get(name);
            let kn = rows.iter().map(|row| match row.as_slice() {
                [k, n] if k.fract() == 0.0 && n.fract() == 0.0 => Some(Case::from(Tally {
                    passed: *k as u64,
                    scored: *n as u64,
                    planned: *n as u64,
                })),
                _ => None,
            });
            let kn: Option<Vec<Case>> = kn.collect();
            kn.unwrap_or_else(|| of_scores(&rows))
        };
        let (a, b) = (side("A"), side("B"));
        let b = b.into_iter().chain(std::iter::repeat(Case::default()));
        a.into_iter().zip(b).map(|(a, b)| Pair { a, b }).collect()
    }

    /// The stream of `seed` and `label`.
    pub fn stream(&self) -> Stream {
        Stream::new(self.get("seed"), &self.get::<String>("label"))
    }

    /// Noise, level 1 - alpha and power of a plan.
    pub fn plan(&self) -> (Noise, Level, f64) {
        let noise = Noise {
            omega2: self.get("omega2"),
            var_a: self.get("sA2"),
            var_b: self.get("sB2"),
        };
        let level = Level::new(1.0 - self.get::<f64>("alpha")).unwrap();
        (noise, level, self.get("power"))
    }

    /// One case on both sides: `ka` of `na`, `kb` of `nb`.
    pub fn two_tallies(&self) -> (Tally, Tally) {
        let side = |k: &str, n: &str| Tally {
            passed: self.get(k),
            scored: self.get(n),
            planned: self.get(n),
        };
        (side("ka", "na"), side("kb", "nb"))
    }
}

fn of_scores(scores: &[Vec<f64>]) -> Vec<Case> {
    let case = |x: &Vec<f64>| Case::new(x, x.len() as u64);
    scores.iter().map(case).collect()
}
