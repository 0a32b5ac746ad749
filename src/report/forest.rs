//! A forest plot of pass rates as SVG: `farm report --format svg`.
//!
//! One file that stands for itself, in a README as on a page: no script, no font and no picture
//! from elsewhere, light or dark as the reader's system is. All its classes begin with `ff-`, and
//! it has no ids, so several may stand in one page. The same summary gives the same bytes.

mod look;

use std::fmt::Write as _;

use super::{
    cases::{self, Group},
    overall,
    text::{self, Unit, visible},
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
const READINGS: [(Reading, &str); 2] = [
    (Reading::Fixed, "these cases, new seeds"),
    (Reading::Sample, "new cases like these"),
];

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
    plot.finish(top, guides, bottom)
}

struct Plot<'a> {
    summary: &'a Summary,
    /// What is drawn over the grid.
    body: String,
    /// Where the next thing begins.
    y: f64,
    /// Where 0 and 1 are.
    left: f64,
    right: f64,
    /// Where the numbers end.
    numbers: f64,
    /// The height of a mark's row.
    row: f64,
}

impl<'a> Plot<'a> {
    fn new(summary: &'a Summary, shown: &[Group<'_>]) -> Self {
        let ids = shown.iter().map(|g| name(g.id.as_str()));
        let labels = ids.chain(READINGS.map(|(_, label)| label.to_owned()));
        let label = labels.map(|l| l.chars().count()).max().unwrap_or(0);
        let figures = shown.iter().flat_map(|g| &g.of).flatten();
        let figures = figures.map(|c| &c.pass_rate);
        let overall = summary.variants.iter().map(|v| &v.overall.pass_rate.fixed);
        let n = figures.chain(overall).map(|f| text::sessions(f).len());
        let numbers = WIDTH - PAD - 12.0 - width(n.max().unwrap_or(1));
        Self {
            summary,
            body: String::new(),
            y: PAD,
            left: PAD + width(label) + 16.0,
            right: numbers - width("0.000 [0.000, 0.000]".len()) - 18.0,
            numbers,
            row: if summary.variants.len() > 1 {
                15.0
            } else {
                16.0
            },
        }
    }

    fn title(&mut self, cases: usize) {
        let ledger = &self.summary.ledger;
        let of = match self.summary.variants.as_slice() {
            [only] => format!(" of {}", name(only.variant.as_str())),
            _ => " by case".to_owned(),
        };
        self.y += 14.0;
        self.text("ff-title", PAD, &format!("Pass rate{of}"));
        self.y += 19.0;
        let mut words = format!(
            "{} · {} of {} scored",
            text::plural(cases as u64, "case"),
            text::count(ledger.scored()),
            text::plural(ledger.planned, "session")
        );
        if ledger.missing() > 0 {
            let _ = write!(words, " · missing: {}", cases::missing(ledger));
        }
        self.text("ff-note", PAD, &words);
        self.y += 10.0;
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
            let wide = 16.0 + width(label.chars().count()) + 22.0;
            if x > PAD && x + wide > WIDTH - PAD + 22.0 {
                x = PAD;
                self.y += 18.0;
            }
            let _ = write!(self.body, "<g class=\"{}\">", look::colour(i));
            self.mark(i, x + 5.0);
            self.body.push_str("</g>\n");
            self.middle("ff-text", x + 16.0, &label);
            x += wide;
        }
        self.y += 12.0;
    }

    /// The heads of the columns, with the axis between them.
    fn heads(&mut self) {
        self.y += 20.0;
        self.ticks();
        let level = self.summary.variants.first().map(|v| {
            let figure = &v.overall.pass_rate.fixed;
            format!("pass rate [{}]", text::level(figure))
        });
        self.text("ff-note ff-end", self.numbers, &level.unwrap_or_default());
        self.text("ff-note ff-end", WIDTH - PAD, "n");
        self.y += 6.0;
    }

    fn overall(&mut self) {
        let mut readings = READINGS;
        if self.summary.reading == Reading::Sample {
            readings.reverse();
        }
        for (i, (reading, label)) in readings.into_iter().enumerate() {
            let variants = &self.summary.variants;
            let rates = variants
                .iter()
                .map(|v| Some((overall::first(&v.overall.pass_rate, reading), String::new())));
            let rates: Vec<_> = rates.collect();
            self.group(label, &rates, i % 2 == 0, Kind::Overall);
        }
        self.y += 10.0;
    }

    fn cases(&mut self, groups: &[Group<'_>]) {
        for (i, group) in groups.iter().enumerate() {
            let of = group.of.iter();
            let rates: Vec<_> = of.map(|c| c.map(|c| (&c.pass_rate, unscored(c)))).collect();
            self.group(group.id.as_str(), &rates, i % 2 == 0, Kind::Case);
        }
    }

    /// One label with a row for each variant: a figure, and what is said in place of one.
    fn group(
        &mut self,
        label: &str,
        rates: &[Option<(&Figure, String)>],
        striped: bool,
        kind: Kind,
    ) {
        let inner = if rates.len() > 1 { 4.0 } else { 2.0 };
        let height = self.row * rates.len() as f64 + 2.0 * inner;
        if striped {
            let _ = writeln!(
                self.body,
                r#"<rect class="ff-stripe" x="{}" y="{}" width="{}" height="{}" rx="3"/>"#,
                px(PAD - 6.0),
                px(self.y),
                px(WIDTH - 2.0 * PAD + 12.0),
                px(height)
            );
        }
        let top = self.y;
        self.y = top + height / 2.0;
        let class = match kind {
            Kind::Overall => "ff-text ff-strong",
            Kind::Case => "ff-text",
        };
        self.middle(class, PAD, &name(label));
        for (i, rate) in rates.iter().enumerate() {
            self.y = top + inner + self.row * (i as f64 + 0.5);
            if let Some((figure, instead)) = rate {
                self.row(i, label, figure, instead, kind);
            }
        }
        self.y = top + height;
    }

    fn row(&mut self, i: usize, label: &str, figure: &Figure, instead: &str, kind: Kind) {
        let of = self.summary.variants.get(i).map(|v| v.variant.as_str());
        let _ = writeln!(
            self.body,
            "<g class=\"{}\"><title>{}</title>",
            look::colour(i),
            escape(&format!(
                "{label}, {}: {}",
                of.unwrap_or_default(),
                text::figure(figure, Unit::Plain)
            ))
        );
        if let Some(estimate) = figure.estimate {
            let [lo, at, hi] = [
                figure.lo.unwrap_or(estimate),
                estimate,
                figure.hi.unwrap_or(estimate),
            ]
            .map(|p| px(self.x(p)));
            let y = px(self.y);
            match kind {
                Kind::Overall => {
                    let (above, below) = (px(self.y - 6.0), px(self.y + 6.0));
                    let _ = writeln!(
                        self.body,
                        r#"<path class="ff-diamond" d="M{lo} {y}L{at} {above}L{hi} {y}L{at} {below}Z"/>"#
                    );
                }
                Kind::Case => {
                    let cap = px(self.y - 3.0);
                    let _ = writeln!(
                        self.body,
                        r#"<path class="ff-bar" d="M{lo} {y}H{hi}M{lo} {cap}v6M{hi} {cap}v6"/>"#
                    );
                }
            }
            self.mark(i, self.x(estimate));
            self.body.push('\n');
        } else {
            self.middle("ff-note", self.left + 6.0, instead);
        }
        self.body.push_str("</g>\n");
        let numbers = text::bare(figure, Unit::Plain);
        self.middle("ff-text ff-end", self.numbers, &numbers);
        self.middle("ff-text ff-end", WIDTH - PAD, &text::sessions(figure));
    }

    fn axis(&mut self) {
        self.y += 16.0;
        self.ticks();
        self.y += 8.0;
    }

    fn foot(&mut self, left_out: usize) {
        let variants = &self.summary.variants;
        let mut lines = Vec::new();
        if left_out > 0 {
            lines.push(format!(
                "The worst cases are shown; {} left out.",
                match left_out {
                    1 => "1 better one is".to_owned(),
                    n => format!("{} better ones are", text::count(n as u64)),
                }
            ));
        }
        if let Some(first) = variants.first() {
            let rate = &first.overall.pass_rate;
            let mut methods = format!(
                "{} intervals: {} for these cases, {} for new ones",
                text::level(&rate.fixed),
                text::method(&rate.fixed.method),
                text::method(&rate.sample.method),
            );
            if let Some(case) = first.cases.first() {
                let _ = write!(
                    methods,
                    ", {} for a case",
                    text::method(&case.pass_rate.method)
                );
            }
            lines.push(methods + ". n: sessions scored (/ planned).");
            if variants.len() <= GUIDES {
                lines.push("Dashed: the pass rate over all cases.".to_owned());
            }
        }
        if variants.len() > 1 {
            lines.push(
                "Overlapping intervals do not compare variants: compare them case by case."
                    .to_owned(),
            );
        }
        for line in lines {
            self.y += 15.0;
            self.text("ff-note", PAD, &line);
        }
        self.y += PAD - 4.0;
    }

    /// Grid and guides lie under everything, so the picture is put together last.
    fn finish(self, top: f64, guides: f64, bottom: f64) -> String {
        let (wide, high) = (px(WIDTH), px(self.y));
        let about = escape(&about(self.summary));
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ff-plot\" width=\"{wide}\" \
             height=\"{high}\" viewBox=\"0 0 {wide} {high}\" role=\"img\" aria-label=\"{about}\">\n"
        );
        svg.push_str(look::STYLE);
        let _ = writeln!(
            svg,
            r#"<rect class="ff-back" x="0.5" y="0.5" width="{}" height="{}" rx="8"/>"#,
            px(WIDTH - 1.0),
            px(self.y - 1.0)
        );
        // Stripes are part of the body and translucent, so lines under them show through.
        for (p, _) in TICKS {
            let class = if p == 0.0 || p == 1.0 {
                "ff-grid ff-end-line"
            } else {
                "ff-grid"
            };
            line(&mut svg, class, self.x(p), top, bottom);
        }
        let variants = &self.summary.variants;
        for (i, variant) in variants
            .iter()
            .enumerate()
            .filter(|_| variants.len() <= GUIDES)
        {
            if let Some(p) = first(variant, self.summary.reading).estimate {
                let _ = write!(svg, "<g class=\"{}\">", look::colour(i));
                line(&mut svg, "ff-guide", self.x(p), guides, bottom);
                svg.push_str("</g>\n");
            }
        }
        svg + &self.body + "</svg>\n"
    }

    fn ticks(&mut self) {
        for (p, label) in TICKS {
            self.text("ff-note ff-centre", self.x(p), label);
        }
    }

    fn mark(&mut self, i: usize, x: f64) {
        let (x, y, shape) = (px(x), px(self.y), look::shape(i));
        let _ = write!(
            self.body,
            r#"<path class="ff-mark" transform="translate({x} {y})" d="{shape}"/>"#
        );
    }

    /// Text that stands on the present line.
    fn text(&mut self, class: &str, x: f64, text: &str) {
        let (x, y) = (px(x), px(self.y));
        let _ = writeln!(
            self.body,
            r#"<text class="{class}" x="{x}" y="{y}">{}</text>"#,
            escape(text)
        );
    }

    /// Text whose middle is on the present line.
    fn middle(&mut self, class: &str, x: f64, text: &str) {
        self.y += 4.0;
        self.text(class, x, text);
        self.y -= 4.0;
    }

    fn x(&self, p: f64) -> f64 {
        self.left + p.clamp(0.0, 1.0) * (self.right - self.left)
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Overall,
    Case,
}

fn first(variant: &VariantSummary, reading: Reading) -> &Figure {
    overall::first(&variant.overall.pass_rate, reading)
}

/// The picture in words, for those who do not see it.
fn about(summary: &Summary) -> String {
    let rates = summary.variants.iter().map(|v| {
        let rate = text::counted(first(v, summary.reading), Unit::Plain);
        format!("{} {rate}", v.variant)
    });
    let rates: Vec<String> = rates.collect();
    format!(
        "Pass rates with their intervals, over all cases and by case: {}",
        rates.join("; ")
    )
}

/// What stands in place of a mark: where the sessions of the case are.
fn unscored(case: &CaseSummary) -> String {
    let rows = case.ledger.rows().into_iter().filter(|(_, n)| *n > 0);
    let states: Vec<String> = rows
        .map(|(state, n)| format!("{} {state}", text::count(n)))
        .collect();
    format!("no session scored: {}", states.join(", "))
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

fn line(svg: &mut String, class: &str, x: f64, top: f64, bottom: f64) {
    let (x, top, bottom) = (px(x), px(top), px(bottom));
    let _ = writeln!(svg, r#"<path class="{class}" d="M{x} {top}V{bottom}"/>"#);
}

/// Pixels with at most one decimal.
fn px(x: f64) -> String {
    let text = format!("{x:.1}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// Names that others gave, as text of XML: one line, nothing unseen, no markup.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
