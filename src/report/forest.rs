//! A forest plot of pass rates as SVG: `farm report --format svg`.
//!
//! One file that stands for itself, in a README as on a page: no script, no font and no picture
//! from elsewhere, light or dark as the reader's system is. All its classes begin with `ff-`, and
//! it has no ids, so several may stand in one page. The same summary gives the same bytes.

mod canvas;
mod look;

use std::fmt::Write as _;

use canvas::Canvas;

use super::{
    cases::{self, Group},
    text::{self, Unit},
};
use crate::domain::{CaseSummary, Figure, Reading, Summary, VariantSummary};

/// How many marks a plot holds unless all are wanted; a case has one for each variant.
pub const MARKS: usize = 200;

/// Pixels, of the whole picture and around what it shows. As wide as a README on GitHub.
const WIDTH: f64 = 860.0;
const PAD: f64 = 20.0;
/// Pixels of one character of the monospaced text.
const CHAR: f64 = 6.7;
/// Characters of a name; a longer one loses its middle.
const NAME: usize = 36;
/// Variants whose overall rate is drawn through the cases; with more, the lines hide the marks.
const GUIDES: usize = 3;
const TICKS: [(f64, &str); 5] = [
    (0.0, "0"),
    (0.25, "0.25"),
    (0.5, "0.5"),
    (0.75, "0.75"),
    (1.0, "1"),
];
const READINGS: [Reading; 2] = [Reading::Fixed, Reading::Sample];

/// The plot: the pass rate over all cases in both readings, then every case, the worst first
/// (by the mean over the variants), each with one mark for every variant in the order of the run.
/// At most `marks` marks of cases are drawn, if it is given; the picture says what is left out.
#[must_use]
pub fn render(summary: &Summary, marks: Option<usize>) -> String {
    let groups = cases::groups(summary);
    let variants = summary.variants.len().max(1);
    let shown = marks.map_or(groups.len(), |n| (n / variants).max(1));
    let shown = groups.get(..shown).unwrap_or(&groups);
    let mut plot = Plot::new(summary, shown);
    plot.title(groups.len());
    plot.legend();
    plot.heads();
    let top = plot.y;
    plot.overall();
    let guides = plot.y;
    plot.cases(shown);
    let bottom = plot.y;
    plot.axis();
    plot.foot(groups.len() - shown.len());
    let under = plot.grid([top, bottom], [guides, bottom]);
    under.picture(&plot.canvas, WIDTH, plot.y, &about(summary))
}

struct Plot<'a> {
    summary: &'a Summary,
    /// What is drawn over the grid.
    canvas: Canvas,
    /// Where the next thing begins.
    y: f64,
    /// Where 0 and 1 are.
    left: f64,
    right: f64,
    /// Where the rates end, in numbers.
    numbers: f64,
}

impl<'a> Plot<'a> {
    fn new(summary: &'a Summary, shown: &[Group<'_>]) -> Self {
        let ids = shown.iter().map(|g| name(g.id.as_str()));
        let labels = ids.chain(READINGS.map(|reading| text::reading(reading).to_owned()));
        let label = labels.map(|l| l.chars().count()).max().unwrap_or(0);
        let of_cases = shown.iter().flat_map(|g| &g.of).flatten();
        let of_cases = of_cases.map(|c| &c.pass_rate);
        let overall = summary.variants.iter().map(|v| &v.overall.pass_rate.fixed);
        let n = of_cases.chain(overall).map(|f| text::sessions(f).len());
        let numbers = WIDTH - PAD - 12.0 - width(n.max().unwrap_or(1));
        Self {
            summary,
            canvas: Canvas::default(),
            y: PAD,
            left: PAD + width(label) + 16.0,
            right: numbers - width("0.000 [0.000, 0.000]".len()) - 18.0,
            numbers,
        }
    }

    fn title(&mut self, cases: usize) {
        let ledger = &self.summary.ledger;
        let of = match self.summary.variants.as_slice() {
            [only] => format!("Pass rate of {}", name(only.variant.as_str())),
            _ => "Pass rate by case".to_owned(),
        };
        let mut words = format!(
            "{} · {} of {} scored",
            text::plural(cases as u64, "case"),
            text::count(ledger.scored()),
            text::plural(ledger.planned, "session")
        );
        if ledger.missing() > 0 {
            let _ = write!(words, " · missing: {}", cases::missing(ledger));
        }
        self.canvas.text("ff-title", PAD, self.y + 14.0, &of);
        self.canvas.text("ff-note", PAD, self.y + 33.0, &words);
        self.y += 43.0;
    }

    /// Which mark is which variant's; one variant stands in the title.
    fn legend(&mut self) {
        let variants = &self.summary.variants;
        if variants.len() < 2 {
            return;
        }
        self.y += 16.0;
        let mut x = PAD;
        for (i, variant) in variants.iter().enumerate() {
            let label = name(variant.variant.as_str());
            let end = x + 16.0 + width(label.chars().count());
            if x > PAD && end > WIDTH - PAD {
                self.y += 18.0;
                x = PAD;
            }
            let y = self.y;
            self.canvas.coloured(i, |c| c.mark(i, x + 5.0, y));
            self.canvas.label("ff-text", x + 16.0, y, &label);
            x += 38.0 + width(label.chars().count());
        }
        self.y += 12.0;
    }

    /// The heads of the columns.
    fn heads(&mut self) {
        self.y += 20.0;
        self.ticks();
        if let Some(variant) = self.summary.variants.first() {
            let level = text::level(&variant.overall.pass_rate.fixed);
            let head = format!("pass rate [{level}]");
            let canvas = &mut self.canvas;
            canvas.text("ff-note ff-end", self.numbers, self.y, &head);
            canvas.text("ff-note ff-end", WIDTH - PAD, self.y, "n");
        }
        self.y += 6.0;
    }

    fn overall(&mut self) {
        let mut readings = READINGS;
        if self.summary.reading == Reading::Sample {
            readings.reverse();
        }
        let variants = &self.summary.variants;
        for (i, reading) in readings.into_iter().enumerate() {
            let rates = variants.iter().map(|v| Row::Overall(rate(v, reading)));
            let label = text::reading(reading);
            self.group(label, &rates.map(Some).collect::<Vec<_>>(), i % 2 == 0);
        }
        self.y += 10.0;
    }

    fn cases(&mut self, groups: &[Group<'_>]) {
        for (i, group) in groups.iter().enumerate() {
            let rows = group.of.iter().map(|case| case.map(Row::Case));
            self.group(group.id.as_str(), &rows.collect::<Vec<_>>(), i % 2 == 0);
        }
    }

    /// One label with a row for each variant.
    fn group(&mut self, label: &str, rows: &[Option<Row<'_>>], striped: bool) {
        let (row, inner) = match rows.len() {
            0 | 1 => (16.0, 2.0),
            _ => (15.0, 4.0),
        };
        let (top, height) = (self.y, row * rows.len() as f64 + 2.0 * inner);
        if striped {
            let at = [PAD - 6.0, top, WIDTH - 2.0 * PAD + 12.0, height];
            self.canvas.rect("ff-stripe", at, 3.0);
        }
        let class = match rows.first() {
            Some(Some(Row::Overall(_))) => "ff-text ff-strong",
            _ => "ff-text",
        };
        self.canvas
            .label(class, PAD, top + height / 2.0, &name(label));
        for (i, of) in rows.iter().enumerate() {
            if let Some(of) = of {
                self.y = top + inner + row * (i as f64 + 0.5);
                self.row(i, label, *of);
            }
        }
        self.y = top + height;
    }

    /// The row of one variant, its middle on the present line.
    fn row(&mut self, i: usize, label: &str, row: Row<'_>) {
        let (y, left) = (self.y, self.left);
        let figure = row.figure();
        let at = |p: f64| self.x(p);
        let limits = figure.estimate.map(|p| {
            let [lo, hi] = [figure.lo, figure.hi].map(|l| at(l.unwrap_or(p)));
            [lo, at(p), hi]
        });
        let variant = self.summary.variants.get(i);
        let variant = variant.map_or("", |v| v.variant.as_str());
        let canvas = &mut self.canvas;
        canvas.coloured(i, |c| {
            let rate = text::figure(figure, Unit::Plain);
            c.title(&format!("{label}, {variant}: {rate}"));
            match (row, limits) {
                (Row::Overall(_), Some(limits)) => c.diamond(y, limits),
                (Row::Case(_), Some([lo, _, hi])) => c.bar(y, [lo, hi]),
                (Row::Overall(_), None) => {}
                (Row::Case(case), None) => {
                    c.label("ff-note", left + 6.0, y, &unscored(case));
                }
            }
            if let Some([_, at, _]) = limits {
                c.mark(i, at, y);
            }
        });
        let numbers = text::bare(figure, Unit::Plain);
        canvas.label("ff-text ff-end", self.numbers, y, &numbers);
        canvas.label("ff-text ff-end", WIDTH - PAD, y, &text::sessions(figure));
    }

    fn axis(&mut self) {
        self.y += 16.0;
        self.ticks();
        self.y += 8.0;
    }

    fn ticks(&mut self) {
        for (p, label) in TICKS {
            let x = self.x(p);
            self.canvas.text("ff-note ff-centre", x, self.y, label);
        }
    }

    fn foot(&mut self, left_out: usize) {
        let variants = &self.summary.variants;
        let mut lines = Vec::new();
        if left_out > 0 {
            let better = match left_out {
                1 => "1 better one is".to_owned(),
                n => format!("{} better ones are", text::count(n as u64)),
            };
            lines.push(format!("The worst cases are shown; {better} left out."));
        }
        if let Some(first) = variants.first() {
            lines.push(methods(first));
        }
        match variants.len() {
            0 => {}
            1 => lines.push("Dashed: the pass rate over all cases.".to_owned()),
            n => lines.push(format!(
                "{}{}",
                if n > GUIDES {
                    ""
                } else {
                    "Dashed: the pass rate over all cases. "
                },
                text::OVERLAP.replace('`', "")
            )),
        }
        for line in lines {
            self.y += 15.0;
            self.canvas.text("ff-note", PAD, self.y, &line);
        }
        self.y += PAD - 4.0;
    }

    /// What lies under the marks: the grid, and through the cases the rate over all of them.
    fn grid(&self, lines: [f64; 2], guides: [f64; 2]) -> Canvas {
        let mut under = Canvas::default();
        for (p, _) in TICKS {
            let class = match p {
                0.0 | 1.0 => "ff-grid ff-edge",
                _ => "ff-grid",
            };
            under.upright(class, self.x(p), lines);
        }
        let variants = &self.summary.variants;
        let few = variants
            .iter()
            .enumerate()
            .filter(|_| variants.len() <= GUIDES);
        for (i, variant) in few {
            if let Some(p) = rate(variant, self.summary.reading).estimate {
                under.coloured(i, |c| c.upright("ff-guide", self.x(p), guides));
            }
        }
        under
    }

    fn x(&self, p: f64) -> f64 {
        self.left + p.clamp(0.0, 1.0) * (self.right - self.left)
    }
}

/// What a row shows of a variant.
#[derive(Clone, Copy)]
enum Row<'a> {
    Overall(&'a Figure),
    Case(&'a CaseSummary),
}

impl<'a> Row<'a> {
    fn figure(self) -> &'a Figure {
        match self {
            Self::Overall(figure) => figure,
            Self::Case(case) => &case.pass_rate,
        }
    }
}

fn rate(variant: &VariantSummary, reading: Reading) -> &Figure {
    variant.overall.pass_rate.first(reading)
}

/// The picture in words, for those who do not see it.
fn about(summary: &Summary) -> String {
    let rates = summary.variants.iter().map(|v| {
        let rate = text::counted(rate(v, summary.reading), Unit::Plain);
        format!("{} {rate}", v.variant)
    });
    let rates = rates.collect::<Vec<_>>().join("; ");
    format!("Pass rates with their intervals, over all cases and by case: {rates}")
}

/// How the intervals are made.
fn methods(variant: &VariantSummary) -> String {
    let rate = &variant.overall.pass_rate;
    let case = variant.cases.first().map(|case| {
        let method = text::method(&case.pass_rate.method);
        format!(", {method} for a case")
    });
    format!(
        "{} intervals: {} for these cases, {} for new ones{}. n: sessions scored (/ planned).",
        text::level(&rate.fixed),
        text::method(&rate.fixed.method),
        text::method(&rate.sample.method),
        case.unwrap_or_default()
    )
}

/// What stands in place of a mark: where the sessions of the case are.
fn unscored(case: &CaseSummary) -> String {
    let states = case.ledger.present();
    let states = states.map(|(state, n)| format!("{} {state}", text::count(n)));
    let states = states.collect::<Vec<_>>().join(", ");
    format!("no session scored: {states}")
}

/// A name that is not too long.
fn name(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    if chars.len() <= NAME {
        return text.to_owned();
    }
    let (head, tail) = (NAME / 2, NAME - NAME / 2 - 1);
    let ends = [chars.get(..head), chars.get(chars.len() - tail..)];
    ends.map(|part| part.unwrap_or_default().iter().collect::<String>())
        .join("…")
}

fn width(chars: usize) -> f64 {
    chars as f64 * CHAR
}

#[cfg(test)]
mod tests;
