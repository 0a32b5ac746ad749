//! `--gate`: what a run must show.

use std::{collections::HashMap, rc::Rc};

use super::{
    args::GateArgs,
    compared::compared,
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
    baseline: Option<Rc<[Side]>>,
}

/// What has to be known of a run to say whether gates can be judged on it.
struct Candidate<'a> {
    variants: Vec<&'a VariantName>,
    scoring: Scoring,
    seeds: u64,
    /// The names of its hidden metrics, if they are known.
    metrics: Option<Vec<String>>,
}

impl Gates {
    /// Reads them and opens the runs that they name.
    ///
    /// # Errors
    /// When one is none, or names a run that is not there.
    pub fn parse(args: &GateArgs) -> Result<Self> {
        let mut known: HashMap<String, Rc<[Side]>> = HashMap::new();
        let mut gates = Vec::new();
        for text in &args.gate {
            let parsed = text.parse::<Gate>();
            let gate = parsed.map_err(|e: GateError| Error::input(e.to_string()))?;
            let baseline = match &gate.baseline {
                None => None,
                Some(run) => Some(match known.get(run) {
                    Some(sides) => sides.clone(),
                    None => {
                        let sides: Rc<[Side]> = Side::find(run)?.into();
                        known.insert(run.clone(), sides.clone());
                        sides
                    }
                }),
            };
            gates.push(Given { gate, baseline });
        }
        Ok(Self(gates))
    }

    /// Whether they can be judged on a run that is about to begin.
    ///
    /// # Errors
    /// When one lacks a baseline, or that was scored otherwise; when one names a variant or a figure
    /// that the run will not have.
    pub fn check(&self, ready: &Ready) -> Result<()> {
        let (seeds, sealed) = (&ready.plan.grid.seeds, ready.sealed.as_ref());
        self.check_on(&Candidate {
            variants: ready.plan.grid.variants.iter().collect(),
            scoring: Scoring::of_new(ready),
            seeds: seeds.end - seeds.start,
            metrics: Some(sealed.map_or_else(Vec::new, |s| s.metric_names().to_vec())),
        })
    }

    /// The same of a run that is there.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn check_run(&self, run: &Rc<Loaded>) -> Result<()> {
        let sides = Side::all(run);
        let Some(first) = sides.first() else {
            return Ok(());
        };
        let seeds = &run.opened.grid.seeds;
        let of_summary = || run.summary.variants.iter();
        let metrics = of_summary().flat_map(|v| v.overall.metrics.keys().cloned());
        self.check_on(&Candidate {
            variants: of_summary().map(|v| &v.variant).collect(),
            scoring: Scoring::of(first),
            seeds: seeds.end - seeds.start,
            // A summary that was computed anew leaves them out.
            metrics: Some(metrics.collect()).filter(|m: &Vec<String>| !m.is_empty()),
        })
    }

    fn check_on(&self, on: &Candidate<'_>) -> Result<()> {
        for given in &self.0 {
            let gate = &given.gate;
            let wrong = |why: String| Error::input(format!("gate `{}`: {why}", gate.text));
            if let Some(why) = gate.subject.out_of_reach(on.seeds, on.metrics.as_deref()) {
                return Err(wrong(why));
            }
            if let Some(name) = &gate.variant
                && !on.variants.contains(&name)
            {
                let known: Vec<&str> = on.variants.iter().map(|v| v.as_str()).collect();
                let known = format!("there are {}", known.join(", "));
                return Err(wrong(format!("there is no variant {name}")).hint(known));
            }
            for variant in on.variants.iter().filter(|v| gate.is_for(v)) {
                if let Some(baseline) = given.against(variant)? {
                    let scoring = Scoring::of(baseline).refuse_other(&on.scoring);
                    scoring.map_err(|e| wrong(e.message))?;
                }
            }
        }
        Ok(())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What comes of each for each variant of a run.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn judge(&self, run: &Rc<Loaded>) -> Result<Vec<GateResult>> {
        let mut results = Vec::new();
        for side in Side::all(run) {
            for given in self.of(&side) {
                let name = side.summary().variant.as_str();
                results.push(given.judge(&side, name, given.pair(&side)?.as_ref()));
            }
        }
        Ok(results)
    }

    /// The same for each side of a comparison but the first, which is the baseline of gates that
    /// name none.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn judge_sides(&self, sides: &[Side], of: &Comparison) -> Result<Vec<GateResult>> {
        let mut results = Vec::new();
        let first = of.sides.first().map(|side| &side.name);
        for (side, named) in sides.iter().zip(&of.sides).skip(1) {
            let pairs = &mut of.pairs.iter();
            let within = pairs.find(|p| Some(&p.a) == first && p.b == named.name);
            for given in self.of(side) {
                let against = match given.baseline {
                    Some(_) => given.pair(side)?,
                    None => within.cloned(),
                };
                results.push(given.judge(side, &named.name, against.as_ref()));
            }
        }
        Ok(results)
    }

    /// Those that are for this variant.
    fn of(&self, side: &Side) -> impl Iterator<Item = &Given> {
        let variant = side.summary().variant.clone();
        self.0
            .iter()
            .filter(move |given| given.gate.is_for(&variant))
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
        let sides = [baseline.clone(), side.clone()];
        let comparison = compared(&sides, &side.manifest().suite, None).map_err(|e| Error {
            message: format!("gate `{}`: {}", self.gate.text, e.message),
            ..e
        })?;
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
pub(super) fn said(results: &[GateResult]) -> Exit {
    for result in results {
        say(&report::gates::line(result));
    }
    match results.iter().all(|r| r.outcome == GateOutcome::Shown) {
        true => Exit::Done,
        false => Exit::Unmet,
    }
}
