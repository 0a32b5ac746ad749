//! `--gate`: what a run must show.

use std::rc::Rc;

use super::{
    args::GateArgs,
    compare::compared,
    exit::{Exit, say},
    scoring::Scoring,
    setup::Ready,
    side::{Loaded, Side},
};
use crate::{
    aggregate::gate::{Evidence, Gate, GateError, judge},
    domain::{
        GateOutcome, GateResult, VariantName,
        comparison::{Comparison, SidePair},
    },
    error::{Error, Result},
    report,
};

/// All gates of a command.
pub(super) struct Gates(Vec<Given>);

/// A gate with the variants of the run that it compares with, if it names one.
struct Given {
    gate: Gate,
    baseline: Option<Vec<Side>>,
}

impl Gates {
    /// Reads them and opens the runs that they name.
    ///
    /// # Errors
    /// When one is none, or names a run that is not there.
    pub fn parse(args: &GateArgs) -> Result<Self> {
        let parse = |text: &String| {
            let parsed = text.parse::<Gate>();
            let gate = parsed.map_err(|e: GateError| Error::input(e.to_string()))?;
            let baseline = gate.baseline.as_deref().map(Side::find).transpose()?;
            Ok(Given { gate, baseline })
        };
        Ok(Self(args.gate.iter().map(parse).collect::<Result<_>>()?))
    }

    /// Whether they can be judged on a run that is about to begin.
    ///
    /// # Errors
    /// When one lacks a baseline, or that was scored otherwise.
    pub fn check(&self, ready: &Ready) -> Result<()> {
        let scoring = Scoring::of_new(ready);
        for given in &self.0 {
            for variant in &ready.plan.grid.variants {
                if let Some(baseline) = given.against(variant)? {
                    Scoring::of(baseline).refuse_other(&scoring)?;
                }
            }
        }
        Ok(())
    }

    /// Judges each for each variant of a run, which is opened if there is any, and says what came
    /// of it.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn judge(&self, run: impl FnOnce() -> Result<Loaded>) -> Result<Exit> {
        if self.0.is_empty() {
            return Ok(Exit::Done);
        }
        let mut results = Vec::new();
        for side in Side::all(&Rc::new(run()?)) {
            for given in &self.0 {
                let name = side.summary().variant.as_str();
                results.push(given.judge(&side, name, given.pair(&side)?.as_ref()));
            }
        }
        Ok(said(&results))
    }

    /// The same for each side of a comparison but the first.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn judge_sides(&self, sides: &[Side], of: &Comparison) -> Result<Exit> {
        let mut results = Vec::new();
        let first = of.sides.first().map(|side| &side.name);
        for (side, named) in sides.iter().zip(&of.sides).skip(1) {
            let within = of
                .pairs
                .iter()
                .find(|p| Some(&p.a) == first && p.b == named.name);
            for given in &self.0 {
                let against = match given.baseline {
                    Some(_) => given.pair(side)?,
                    None => within.cloned(),
                };
                results.push(given.judge(side, &named.name, against.as_ref()));
            }
        }
        Ok(said(&results))
    }
}

impl Given {
    fn judge(&self, side: &Side, name: &str, pair: Option<&SidePair>) -> GateResult {
        let on = Evidence {
            name,
            variant: side.summary(),
            reading: side.run.summary.reading,
            pair,
        };
        judge(&self.gate, on)
    }

    /// Compares with the baseline, if the gate asks for that.
    fn pair(&self, side: &Side) -> Result<Option<SidePair>> {
        let Some(baseline) = self.against(&side.summary().variant)? else {
            return Ok(None);
        };
        let comparison = compared(&[baseline.clone(), side.clone()], None)?;
        Ok(comparison.pairs.into_iter().next())
    }

    /// The side that a variant is compared with: the variant of that name, or the only one.
    fn against(&self, variant: &VariantName) -> Result<Option<&Side>> {
        let gate = &self.gate;
        if !gate.subject.compares() {
            return Ok(None);
        }
        let Some(baseline) = &self.baseline else {
            return Err(Error::input(format!("gate `{}` names no run", gate.text))
                .hint(format!("write `{} vs RUN`", gate.text)));
        };
        let same = baseline
            .iter()
            .find(|side| side.summary().variant == *variant);
        match (same, &baseline[..]) {
            (Some(side), _) | (None, [side]) => Ok(Some(side)),
            (None, _) => {
                let run = gate.baseline.as_deref().unwrap_or_default();
                let why = format!("gate `{}`: run {run} has no variant {variant}", gate.text);
                let first = baseline.first().map(Side::spec).unwrap_or_default();
                Err(Error::input(why).hint(format!("name one of its variants, such as {first}")))
            }
        }
    }
}

/// Says what came of gates; 1 unless all are shown.
fn said(results: &[GateResult]) -> Exit {
    for result in results {
        say(&report::gates::line(result));
    }
    match results.iter().all(|r| r.outcome == GateOutcome::Shown) {
        true => Exit::Done,
        false => Exit::Unmet,
    }
}
