//! What it takes to tell two variants apart: `farm plan`.

use std::{cmp::Ordering, collections::BTreeMap, fmt::Write, time::Duration};

use super::{
    Style,
    table::{self, Column},
    text::{self, count, number, percent, plural},
    wrap,
};
use crate::domain::plan::{Advice, Design, Pilot, Replies, Source, StudyPlan};

/// Cases that are named.
const NAMES: usize = 20;

/// For a terminal of `width` columns, ending in a line break.
#[must_use]
pub fn render(plan: &StudyPlan, width: usize, style: Style) -> String {
    let mut out = format!(
        "To show a difference of {} in pass rate, at level {} with power {}:\n",
        number(plan.difference),
        percent(plan.level),
        percent(plan.power)
    );
    let page = Page { plan, style, width };
    page.pilot(&mut out);
    page.noise(&mut out);
    page.present(&mut out);
    page.targets(&mut out);
    page.advice(&mut out);
    for pilot in &plan.pilot {
        page.replies(&mut out, pilot);
    }
    page.remarks(&mut out);
    out
}

struct Page<'a> {
    plan: &'a StudyPlan,
    style: Style,
    width: usize,
}

impl Page<'_> {
    fn table(&self, out: &mut String, columns: &[Column]) {
        self.lines(out, &table::lines(columns));
    }

    /// The lines of a table, after an empty one.
    fn lines(&self, out: &mut String, table: &[String]) {
        out.push('\n');
        for line in table::styled(table, self.style) {
            let _ = writeln!(out, "{line}");
        }
    }

    fn pilot(&self, out: &mut String) {
        let pilot = &self.plan.pilot;
        if pilot.is_empty() {
            return;
        }
        let facts: [Fact; 8] = [
            ("variant", |p| format!("{}/{}", p.run, p.variant)),
            ("cases", |p| count(p.cases)),
            ("seeds", |p| count(p.seeds)),
            ("sessions scored", |p| count(p.sessions)),
            ("pass rate", |p| p.pass_rate.map_or_else(none, number)),
            ("its noise due to seeds", |p| share(p.variance.seed_share)),
            ("cost of a session", |p| {
                p.cost_usd.map_or_else(unknown, text::usd)
            }),
            ("sessions a second", |p| {
                p.sessions_per_s.map_or_else(unknown, speed)
            }),
        ];
        let labels = facts.iter().map(|(label, _)| (*label).to_owned());
        let first = Column::left("pilot", labels.collect());
        let names: &[&str] = match pilot.len() {
            1 => &["A and B"],
            _ => &["A", "B"],
        };
        let sides = names.iter().zip(pilot).map(|(name, side)| {
            Column::left(*name, facts.iter().map(|(_, of)| of(side)).collect())
        });
        let sides: Vec<Column> = sides.collect();
        for table in table::side_by_side(&first, &sides, self.width) {
            self.lines(out, &table);
        }
    }

    /// Where the noise of one unit's difference sits.
    fn noise(&self, out: &mut String) {
        let noise = &self.plan.noise;
        let seeds = plural(self.plan.seeds, "seed");
        let within = (noise.within_a + noise.within_b) / self.plan.seeds as f64;
        let columns = [
            Column::left(
                format!("noise of a {}", self.unit()),
                vec![
                    format!("between {}s", self.unit()),
                    format!("between {seeds} a side"),
                ],
            ),
            Column::right("variance", [noise.between, within].map(four).to_vec()),
            Column::right(
                "share",
                [1.0 - noise.seed_share, noise.seed_share]
                    .map(|s| share(Some(s)))
                    .to_vec(),
            ),
            Column::left("", [noise.between_is, noise.within_is].map(source).to_vec()),
        ];
        self.table(out, &columns);
    }

    fn present(&self, out: &mut String) {
        let Some(design) = &self.plan.present else {
            let _ = writeln!(out, "\nWith `--cases N` farm says what so many cases show.");
            return;
        };
        let what = format!(
            "{} × {}",
            plural(design.units, self.unit()),
            plural(design.seeds, "seed")
        );
        let line = match self.plan.mde {
            Some(mde) if mde <= 1.0 => {
                format!("{what} show a difference of {} or more.", number(mde))
            }
            Some(_) => format!("{what} show no difference, however large."),
            None => format!(
                "{what} show no difference: one {} is no sample.",
                self.unit()
            ),
        };
        let _ = writeln!(out, "\n{}", self.style.bold(&line));
    }

    fn targets(&self, out: &mut String) {
        let targets = &self.plan.targets;
        if targets.is_empty() {
            return;
        }
        let plan = self.plan;
        // One row by units, one by seeds.
        let mut rows: Vec<Row> = Vec::new();
        for target in targets {
            let design = target.by_units;
            let compared = design.map(|d| d.units).zip(plan.units);
            let words = by(compared, &format!("{}s", self.unit()), design);
            rows.push((number(target.difference), words, design));
            if plan.units.is_some() {
                let design = target.by_seeds;
                let compared = design.map(|d| (d.seeds, plan.seeds));
                rows.push((String::new(), by(compared, "seeds", design), design));
            }
        }
        let of = |cell: fn(&Design) -> String| -> Vec<String> {
            let designs = rows.iter().map(|row| row.2.as_ref());
            designs.map(|d| d.map_or_else(String::new, cell)).collect()
        };
        let column = |of: fn(&Row) -> &String| rows.iter().map(|row| of(row).clone()).collect();
        let mut columns = vec![
            Column::right("to show", column(|row| &row.0)),
            Column::left("by", column(|row| &row.1)),
            Column::right(format!("{}s", self.unit()), of(|d| count(d.units))),
        ];
        if self.plan.unit.is_cluster {
            columns.push(Column::right("cases", of(|d| count(d.cases))));
        }
        columns.extend([
            Column::right("seeds", of(|d| count(d.seeds))),
            Column::right("sessions", of(|d| count(d.sessions))),
            Column::right("cost", of(|d| d.cost_usd.map_or_else(unknown, text::usd))),
            Column::right("time", of(|d| d.seconds.map_or_else(unknown, span))),
        ]);
        self.table(out, &columns);
        self.prose(
            out,
            "Sessions, cost and time are those of A and B together.",
        );
    }

    fn advice(&self, out: &mut String) {
        let noise = &self.plan.noise;
        let of_seeds = share(Some(noise.seed_share));
        let unit = self.unit();
        let shown = number(self.plan.difference);
        let text = match self.plan.advice {
            Advice::Enough => format!("That is enough to show {shown}."),
            Advice::AddSeeds => {
                format!("{of_seeds} of the noise is due to seeds: add seeds, or {unit}s.")
            }
            Advice::AddUnits if noise.seed_share < 0.5 => {
                let of_units = share(Some(1.0 - noise.seed_share));
                format!("{of_units} of the noise is due to {unit}s: add {unit}s.")
            }
            Advice::AddUnits => format!(
                "{of_seeds} of the noise is due to seeds, but no number of them is enough to show \
                 {shown}: add {unit}s."
            ),
        };
        out.push('\n');
        self.prose(out, &text);
    }

    /// How many different sessions the cases had.
    fn replies(&self, out: &mut String, pilot: &Pilot) {
        let name = format!("{}/{}", pilot.run, pilot.variant);
        let Some(replies) = &pilot.replies else {
            out.push('\n');
            self.prose(
                out,
                &format!("Distinct replies of {name}: unknown, it has no farm.db."),
            );
            return;
        };
        let mut cases: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for of in replies.iter().filter(|of| of.sessions > 0) {
            *cases.entry((of.sessions, of.distinct)).or_default() += 1;
        }
        let cases = cases.into_iter().rev();
        let spread: Vec<String> = cases
            .map(|((sessions, distinct), cases)| {
                format!(
                    "{distinct} of {} in {}",
                    plural(sessions, "seed"),
                    plural(cases, "case")
                )
            })
            .collect();
        out.push('\n');
        self.prose(
            out,
            &format!("Distinct replies of {name}: {}.", spread.join("; ")),
        );
        let is_same = |of: &&Replies| of.sessions > 1 && of.distinct == 1;
        let same: Vec<&str> = replies
            .iter()
            .filter(is_same)
            .map(|of| of.case.as_str())
            .collect();
        if !same.is_empty() {
            let named = text::named(&same, NAMES);
            self.prose(out, &format!("All seeds the same: {named}."));
        }
    }

    fn remarks(&self, out: &mut String) {
        let warnings = self.plan.warnings.iter();
        let warnings = warnings.map(|text| ("warning:", Style::yellow as Paint, text));
        let notes = self.plan.notes.iter();
        let notes = notes.map(|text| ("note:", Style::dim as Paint, text));
        for (n, (label, paint, text)) in warnings.chain(notes).enumerate() {
            if n == 0 {
                out.push('\n');
            }
            let mut said = String::new();
            self.prose(&mut said, &format!("{label} {text}"));
            out.push_str(&said.replacen(label, &paint(self.style, label), 1));
        }
    }

    /// Broken between words.
    fn prose(&self, out: &mut String, text: &str) {
        for line in wrap::prose(&text::one_line(text), self.width) {
            let _ = writeln!(out, "{line}");
        }
    }

    fn unit(&self) -> &'static str {
        if self.plan.unit.is_cluster {
            "cluster"
        } else {
            "case"
        }
    }
}

/// A label, and the text of a side.
type Fact = (&'static str, fn(&Pilot) -> String);

/// A colour.
type Paint = fn(Style, &str) -> String;

/// A row of the table: the difference, by what it is shown, and with how many.
type Row = (String, String, Option<Design>);

/// More or fewer, of a number needed and the present one.
fn by(needed: Option<(u64, u64)>, what: &str, design: Option<Design>) -> String {
    let words = match needed.map(|(needed, present)| needed.cmp(&present)) {
        _ if design.is_none() => "no number of",
        Some(Ordering::Less) => "fewer",
        Some(Ordering::Equal) => "as many",
        Some(Ordering::Greater) | None => "more",
    };
    format!("{words} {what}")
}

fn none() -> String {
    "n/a".to_owned()
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn share(share: Option<f64>) -> String {
    share.map_or_else(none, |share| format!("{:.0} %", share * 100.0))
}

fn four(variance: f64) -> String {
    format!("{variance:.4}")
}

fn speed(per_s: f64) -> String {
    match per_s < 10.0 {
        true => number(per_s),
        false => format!("{per_s:.1}"),
    }
}

fn span(seconds: f64) -> String {
    text::span(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

fn source(source: Source) -> String {
    match source {
        Source::Measured => "measured".to_owned(),
        Source::Guessed => "guessed".to_owned(),
    }
}

#[cfg(test)]
mod tests;
