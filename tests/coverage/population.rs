//! The populations that cases are drawn from.

use crate::variates::Variates;

/// True pass rates of cases under one variant.
#[derive(Debug, Clone, Copy)]
pub enum Rates {
    /// All the same.
    Same(f64),
    /// Beta with that mean and intraclass correlation.
    Beta { mean: f64, icc: f64 },
    /// Two kinds of case.
    Mixture {
        one: f64,
        other: f64,
        share_of_one: f64,
    },
}

impl Rates {
    /// The population of tables A and B with that name.
    pub fn named(name: &str) -> Self {
        let beta = |mean, icc| Self::Beta { mean, icc };
        let mixture = |one, other, share_of_one| Self::Mixture {
            one,
            other,
            share_of_one,
        };
        match name {
            "homogeneous .80" => Self::Same(0.8),
            "Beta .80, ICC .1" => beta(0.8, 0.1),
            "Beta .80, ICC .3" => beta(0.8, 0.3),
            "Beta .80, ICC .6" => beta(0.8, 0.6),
            "Beta .50, ICC .3" => beta(0.5, 0.3),
            "Beta .95, ICC .3" => beta(0.95, 0.3),
            "bimodal .98/.05 (80:20)" => mixture(0.98, 0.05, 0.8),
            ".995, but 5 % dead cases" => mixture(0.995, 0.0, 0.95),
            other => panic!("unknown population {other}"),
        }
    }

    /// The rate of one case.
    pub fn draw(self, variates: &mut Variates) -> f64 {
        match self {
            Self::Same(rate) => rate,
            Self::Beta { mean, icc } => {
                let mass = (1.0 - icc) / icc;
                variates.beta(mean * mass, (1.0 - mean) * mass)
            }
            Self::Mixture {
                one,
                other,
                share_of_one,
            } => {
                if variates.uniform() < share_of_one {
                    one
                } else {
                    other
                }
            }
        }
    }

    /// The mean rate.
    pub fn mean(self) -> f64 {
        match self {
            Self::Same(mean) | Self::Beta { mean, .. } => mean,
            Self::Mixture {
                one,
                other,
                share_of_one,
            } => share_of_one * one + (1.0 - share_of_one) * other,
        }
    }
}

/// True pass rates of cases under A and B.
#[derive(Debug, Clone, Copy)]
pub enum PairedRates {
    /// A = ex(mu + tau·u1 + om·u2), B = ex(mu + de + tau·u1 + om·u3) with standard normal u and
    /// ex(z) = 1/(1 + e^-z).
    Logit { mu: f64, tau: f64, om: f64, de: f64 },
    /// A = .85; B = .91 in nine cases of ten, .31 in the tenth: the means are equal.
    Skewed,
}

impl PairedRates {
    /// The population of table C with that name.
    pub fn named(name: &str) -> Self {
        let logit = |mu, tau, om, de| Self::Logit { mu, tau, om, de };
        match name {
            "same per-case rates" => logit(1.0, 1.5, 0.0, 0.0),
            "equal mean, cases differ" => logit(1.0, 1.5, 1.0, 0.0),
            "same, near ceiling" => logit(4.0, 1.0, 0.0, 0.0),
            "equal mean, skewed" => Self::Skewed,
            "B better (+.5 logit)" => logit(1.0, 1.5, 0.3, 0.5),
            "B worse, near ceiling" => logit(3.5, 1.0, 0.0, -1.0),
            other => panic!("unknown population {other}"),
        }
    }

    /// The rates of one case under A and B.
    pub fn draw(self, variates: &mut Variates) -> (f64, f64) {
        match self {
            Self::Logit { mu, tau, om, de } => {
                let case = mu + tau * variates.normal();
                let a = expit(case + om * variates.normal());
                (a, expit(case + de + om * variates.normal()))
            }
            Self::Skewed if variates.uniform() < 0.9 => (0.85, 0.91),
            Self::Skewed => (0.85, 0.31),
        }
    }

    /// The mean of B - A.
    pub fn mean_difference(self) -> f64 {
        match self {
            Self::Logit { mu, tau, om, de } => {
                let sd = tau.hypot(om);
                mean_expit(mu + de, sd) - mean_expit(mu, sd)
            }
            Self::Skewed => 0.0,
        }
    }
}

fn expit(z: f64) -> f64 {
    1.0 / (1.0 + (-z).exp())
}

/// Mean of ex(mu + sd·u), by the trapezoid rule over ±10 standard deviations: exact to rounding,
/// since all derivatives vanish at the ends.
fn mean_expit(mu: f64, sd: f64) -> f64 {
    let steps = (-1000..=1000).map(|i| f64::from(i) / 100.0);
    let (sum, weights) = steps.fold((0.0, 0.0), |(sum, weights), u| {
        let weight = (-u * u / 2.0).exp();
        (sum + weight * expit(mu + sd * u), weights + weight)
    });
    sum / weights
}
