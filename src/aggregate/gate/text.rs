//! How gates are written.

use std::str::FromStr;

use super::Subject;
use crate::domain::VariantName;

/// A condition on a figure: `pass_rate >= 0.8`, `diff.pass_rate >= -0.05 vs RUN`.
#[derive(Debug, Clone)]
pub struct Gate {
    /// As it was written.
    pub text: String,
    /// The only variant that it is for; none: all.
    pub variant: Option<VariantName>,
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

impl Gate {
    /// Whether this variant is judged by it.
    #[must_use]
    pub fn is_for(&self, variant: &VariantName) -> bool {
        self.variant.as_ref().is_none_or(|only| only == variant)
    }
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
        let (variant, name) = match name.split_once(':') {
            None => (None, name),
            Some((variant, name)) => {
                let variant = VariantName::new(variant.trim()).map_err(|e| wrong(e.to_string()))?;
                (Some(variant), name)
            }
        };
        let subject = Subject::named(name.trim()).map_err(wrong)?;
        let mut words = rest.split_whitespace();
        let number = words.next().unwrap_or_default();
        let threshold: f64 = number
            .parse()
            .ok()
            .filter(|n: &f64| n.is_finite())
            .ok_or_else(|| wrong(format!("{number:?} is not a number")))?;
        if let Some((least, most)) = subject.range()
            && !(least..=most).contains(&threshold)
        {
            let why = format!("{number} is out of reach: the figure is from {least} to {most}");
            return Err(wrong(why));
        }
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
            variant,
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
    fn a_gate_may_be_for_one_variant() {
        let gate: Gate = "candidate: pass_rate >= 0.8".parse().unwrap();
        let is_for = |name| gate.is_for(&VariantName::new(name).unwrap());
        assert!(is_for("candidate") && !is_for("baseline"));
        let all: Gate = "pass_rate >= 0.8".parse().unwrap();
        assert!(all.is_for(&VariantName::new("baseline").unwrap()));
    }

    #[test]
    fn what_is_no_gate_is_said() {
        for (text, why) in [
            ("", "write FIGURE >= NUMBER"),
            ("pass_rate > 0.8", "write FIGURE >= NUMBER"),
            ("pass_rat >= 0.8", "did you mean pass_rate?"),
            ("pass@0 >= 0.8", "did you mean pass@K?"),
            ("pass_rate >= 80%", "\"80%\" is not a number"),
            (
                "pass_rate >= 80",
                "80 is out of reach: the figure is from 0 to 1",
            ),
            (
                "diff.pass_rate >= -5 vs a",
                "-5 is out of reach: the figure is from -1 to 1",
            ),
            ("a b: pass_rate >= 1", "not a valid variant name"),
            ("metrics. >= 1", "there is no figure metrics."),
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
