//! How gates are written.

use std::str::FromStr;

use super::Subject;

/// A condition on a figure: `pass_rate >= 0.8`, `diff.pass_rate >= -0.05 vs RUN`.
#[derive(Debug, Clone)]
pub struct Gate {
    /// As it was written.
    pub text: String,
    /// What is judged.
    pub subject: Subject,
    /// On which side of the threshold the figure must be.
    pub relation: Relation,
    /// In the unit of the figure.
    pub threshold: f64,
    /// The run to compare with, as it was named.
    pub baseline: Option<String>,
}

/// On which side of a threshold a figure must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `>=`
    AtLeast,
    /// `<=`
    AtMost,
}

/// Why a text is no gate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("gate `{text}`: {why}")]
pub struct GateError {
    text: String,
    why: String,
}

impl FromStr for Gate {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, GateError> {
        let wrong = |why: String| GateError {
            text: text.to_owned(),
            why,
        };
        let relations = [(">=", Relation::AtLeast), ("<=", Relation::AtMost)];
        let split = relations
            .into_iter()
            .find_map(|(sign, relation)| Some((text.split_once(sign)?, relation)));
        let Some(((name, rest), relation)) = split else {
            let why = "write FIGURE >= NUMBER or FIGURE <= NUMBER, such as 'pass_rate >= 0.8'";
            return Err(wrong(why.to_owned()));
        };
        let subject = Subject::named(name.trim()).map_err(wrong)?;
        let mut words = rest.split_whitespace();
        let number = words.next().unwrap_or_default();
        let threshold: f64 = number
            .parse()
            .ok()
            .filter(|n: &f64| n.is_finite())
            .ok_or_else(|| wrong(format!("{number:?} is not a number")))?;
        let baseline = match (words.next(), words.next(), words.next()) {
            (None, ..) => None,
            (Some("vs"), Some(run), None) => Some(run.to_owned()),
            _ => return Err(wrong("what follows the number must be `vs RUN`".to_owned())),
        };
        if baseline.is_some() && !subject.compares() {
            let why = "only diff.pass_rate and ratio.FIGURE are judged against a run";
            return Err(wrong(why.to_owned()));
        }
        Ok(Self {
            text: text.trim().to_owned(),
            subject,
            relation,
            threshold,
            baseline,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_read() {
        for (text, relation, threshold, baseline) in [
            ("pass_rate >= 0.8", Relation::AtLeast, 0.8, None),
            ("case.pass_rate>=0.5", Relation::AtLeast, 0.5, None),
            (" cost_usd <= 2 ", Relation::AtMost, 2.0, None),
            ("pass@3 >= .9", Relation::AtLeast, 0.9, None),
            ("metrics.efficiency <= 1.5", Relation::AtMost, 1.5, None),
            (
                "diff.pass_rate >= -0.05 vs results/suite",
                Relation::AtLeast,
                -0.05,
                Some("results/suite"),
            ),
            ("ratio.cost_usd <= 1.1", Relation::AtMost, 1.1, None),
        ] {
            let gate: Gate = text.parse().unwrap();
            assert_eq!(
                (gate.relation, gate.threshold),
                (relation, threshold),
                "{text}"
            );
            assert_eq!(gate.baseline.as_deref(), baseline, "{text}");
        }
    }

    #[test]
    fn what_is_no_gate_is_said() {
        for (text, why) in [
            ("", "write FIGURE >= NUMBER"),
            ("pass_rate > 0.8", "write FIGURE >= NUMBER"),
            ("pass_rat >= 0.8", "did you mean pass_rate?"),
            ("pass@0 >= 0.8", "did you mean pass@K?"),
            ("pass_rate >= 80%", "\"80%\" is not a number"),
            ("pass_rate >= nan", "\"nan\" is not a number"),
            ("pass_rate >=", "\"\" is not a number"),
            ("pass_rate >= 0.8 vs", "must be `vs RUN`"),
            ("pass_rate >= 0.8 vs a b", "must be `vs RUN`"),
            ("pass_rate >= 0.8 vs a", "only diff.pass_rate"),
        ] {
            let error = text.parse::<Gate>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
