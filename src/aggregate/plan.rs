//! What it takes to tell two variants apart: the planning part of the statistics specification.
//! (The plan of a run, its sessions, is in `run::plan`.)

use super::{
    figures::round,
    pilot::{Pilot, Seen},
};
use crate::{
    domain::plan::{self as study, Advice, Design, Noise, SCHEMA, StudyPlan, Target, Unit},
    stats::{Level, planning},
};

/// The difference that is planned for when none is named.
const DIFFERENCE: f64 = 0.05;

/// What is asked. What is absent is taken from the pilot, or assumed.
#[derive(Debug, Clone)]
pub struct Question {
    /// The difference in pass rate that is to be shown, above 0 and at most 1.
    pub difference: Option<f64>,
    /// Chance of seeing it, from 0.5 to below 1.
    pub power: f64,
    /// Confidence level.
    pub level: Level,
    /// Cases, or clusters where the pilot has those.
    pub units: Option<u64>,
    /// Seeds of each case, at least 1.
    pub seeds: Option<u64>,
    /// The names of variants whose temperature is 0.
    pub zero_temperature: Vec<String>,
}

/// What would answer the question: with two sides, by the noise of their differences; with one, by
/// its noise on both sides; without any, by guesses.
#[must_use]
pub fn plan(sides: &[Pilot<'_>], asked: &Question) -> StudyPlan {
    let mut seen = Seen::of(sides);
    let of_pilot = sides.iter().map(|side| side.seeds).min();
    let study = Study {
        noise: seen.noise,
        price: Price::of(sides, seen.unit),
        units: asked.units.or(seen.units),
        seeds: asked.seeds.or(of_pilot).unwrap_or(1).max(1),
        level: asked.level,
        power: asked.power,
    };
    let difference = asked.difference.unwrap_or(DIFFERENCE);
    let noise = noise(&seen, study.seeds);
    let advice = study.advice(difference, noise.seed_share);
    remark(&mut seen, asked, study.seeds);
    StudyPlan {
        schema: SCHEMA.to_owned(),
        pilot: sides.iter().map(pilot).collect(),
        level: study.level.get(),
        power: study.power,
        difference,
        unit: Unit {
            cases: round(seen.unit.cases),
            ..seen.unit
        },
        seeds: study.seeds,
        units: study.units,
        noise,
        mde: study.mde().map(round),
        present: study
            .units
            .map(|units| study.price.design(units, study.seeds)),
        targets: study.targets(difference),
        advice,
        notes: seen.notes,
        warnings: seen.warnings,
    }
}

/// What was assumed of the question, and what spoils it.
fn remark(seen: &mut Seen, asked: &Question, seeds: u64) {
    if asked.difference.is_none() {
        seen.notes.push(format!(
            "no difference was named: {DIFFERENCE} is planned for"
        ));
    }
    if seeds > 1 && !asked.zero_temperature.is_empty() {
        let names = asked.zero_temperature.join(", ");
        seen.warnings.push(format!(
            "the temperature is 0 ({names}): seeds may be copies of each other, and count as one then"
        ));
    }
    seen.notes.push(
        "this is for new cases like these; to tell A from B on these cases alone only the noise of \
         seeds counts, and fewer sessions do"
            .to_owned(),
    );
}

/// How large a comparison is, and what it can show.
struct Study {
    noise: planning::Noise,
    price: Price,
    units: Option<u64>,
    seeds: u64,
    level: Level,
    power: f64,
}

impl Study {
    /// The smallest difference that it shows.
    fn mde(&self) -> Option<f64> {
        let units = self.units?;
        self.noise.mde(units, self.seeds, self.level, self.power)
    }

    /// What would show the difference, twice the difference, and the smallest one that is shown
    /// now; ascending.
    fn targets(&self, difference: f64) -> Vec<Target> {
        let mut differences = vec![difference, 2.0 * difference];
        differences.extend(self.mde());
        differences.retain(|d| *d > 0.0 && *d <= 1.0);
        differences.sort_by(f64::total_cmp);
        differences.dedup_by(|a, b| round(*a) == round(*b));
        let target = |difference| Target {
            difference: round(difference),
            by_units: self.by_units(difference),
            by_seeds: self.by_seeds(difference),
        };
        differences.into_iter().map(target).collect()
    }

    fn by_units(&self, difference: f64) -> Option<Design> {
        let noise = &self.noise;
        let units = noise.cases_needed(difference, self.seeds, self.level, self.power)?;
        Some(self.price.design(units, self.seeds))
    }

    fn by_seeds(&self, difference: f64) -> Option<Design> {
        let (noise, units) = (&self.noise, self.units?);
        let seeds = noise.seeds_needed(difference, units, self.level, self.power)?;
        Some(self.price.design(units, seeds))
    }

    fn advice(&self, difference: f64, seed_share: f64) -> Advice {
        match self.mde() {
            Some(mde) if mde <= difference => Advice::Enough,
            _ if seed_share < 0.5 => Advice::AddUnits,
            _ if self.units.is_some() && self.by_seeds(difference).is_none() => Advice::AddUnits,
            _ => Advice::AddSeeds,
        }
    }
}

fn noise(seen: &Seen, seeds: u64) -> Noise {
    let planning::Noise {
        omega2,
        var_a,
        var_b,
    } = seen.noise;
    let total = seen.noise.variance(seeds);
    Noise {
        between: round(omega2),
        between_is: seen.between_is,
        within_a: round(var_a),
        within_b: round(var_b),
        within_is: seen.within_is,
        total: round(total),
        // A pilot without any noise is not believed: the total is above 0.
        seed_share: round(1.0 - omega2 / total),
    }
}

fn pilot(side: &Pilot<'_>) -> study::Pilot {
    let overall = &side.summary.overall;
    study::Pilot {
        run: side.run.clone(),
        variant: side.summary.variant.clone(),
        cases: overall.pass_rate.fixed.n_cases,
        seeds: side.seeds,
        sessions: side.summary.ledger.scored(),
        pass_rate: overall.pass_rate.fixed.estimate,
        variance: overall.variance,
        cost_usd: overall.cost_usd.mean.estimate,
        sessions_per_s: side.sessions_per_s.map(round),
        replies: side.replies.clone(),
    }
}

/// What sessions take, of A and of B.
struct Price {
    unit: Unit,
    /// US dollars of a session under A and one under B.
    usd: Option<f64>,
    /// Seconds of both.
    seconds: Option<f64>,
}

impl Price {
    fn of(sides: &[Pilot<'_>], unit: Unit) -> Self {
        // One side stands for both.
        let both = || sides.first().into_iter().chain(sides.last());
        let cost = both().map(|side| side.summary.overall.cost_usd.mean.estimate);
        let seconds = both().map(|side| side.sessions_per_s.map(|per_s| 1.0 / per_s));
        let is_known = !sides.is_empty();
        Self {
            unit,
            usd: cost.sum::<Option<f64>>().filter(|_| is_known),
            seconds: seconds.sum::<Option<f64>>().filter(|_| is_known),
        }
    }

    fn design(&self, units: u64, seeds: u64) -> Design {
        let cases = match self.unit.is_cluster {
            true => (units as f64 * self.unit.cases).ceil() as u64,
            false => units,
        };
        let of_one = cases.saturating_mul(seeds);
        Design {
            units,
            cases,
            seeds,
            sessions: of_one.saturating_mul(2),
            cost_usd: self.usd.map(|usd| round(usd * of_one as f64)),
            seconds: self.seconds.map(|s| round(s * of_one as f64)),
        }
    }
}

#[cfg(test)]
mod tests;
