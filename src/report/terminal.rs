//! A summary for a person: the ledger, the figures of all variants side by side, and the cases,
//! worst first.

use super::{
    Style, cases,
    overall::{self, Form},
    served::{self, Strata},
    table::{self, Column},
    text, wrap,
};
pub(super) use super::{cases::mark, warnings::of as warnings};
use crate::domain::{CaseSummary, Figure, Label, Ledger, Summary, VariantSummary, shell};

/// How a summary is shown.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The run as the user may name it, for the commands in hints.
    pub run: &'a str,
    /// Columns of the terminal. Tables leave out what does not fit; at 80 nothing of weight is.
    pub width: usize,
    /// Cases shown of each variant; all if none.
    pub rows: Option<usize>,
    /// Whether it is coloured.
    pub style: Style,
}

/// The whole report, ending in a line break.
#[must_use]
pub fn render(summary: &Summary, view: &View<'_>) -> String {
    let mut page = Page {
        view,
        text: String::new(),
    };
    page.ledger(summary);
    page.overall(summary);
    page.served(summary);
    for variant in &summary.variants {
        page.cases(summary, variant);
    }
    page.legend(summary);
    page.text
}

struct Page<'a> {
    view: &'a View<'a>,
    text: String,
}

impl Page<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn table(&mut self, lines: &[String]) {
        for line in table::styled(lines, self.view.style) {
            self.line(&line);
        }
    }

    fn dim(&mut self, line: &str) {
        for line in wrap::prose(line, self.view.width) {
            self.line(&self.view.style.dim(&line));
        }
    }

    fn warn(&mut self, line: &str) {
        for line in wrap::prose(line, self.view.width) {
            self.line(&self.view.style.yellow(&line));
        }
    }

    fn ledger(&mut self, summary: &Summary) {
        for (i, mut lines) in ledger_tables(summary, self.view.width)
            .into_iter()
            .enumerate()
        {
            if i > 0 {
                self.line("");
            }
            if let (Some(rule), Some(planned)) = (lines.get(1).cloned(), lines.pop()) {
                lines.extend([rule, planned]);
            }
            self.table(&lines);
        }
        self.warnings(summary);
        self.line("");
    }

    fn warnings(&mut self, summary: &Summary) {
        let warnings = warnings(summary, self.view.run);
        if !warnings.is_empty() {
            self.line("");
        }
        for warning in warnings {
            self.warn(&warning);
        }
    }

    fn overall(&mut self, summary: &Summary) {
        let style = self.view.style;
        let (form, tables) = figure_tables(summary, self.view.width);
        for lines in tables {
            for (n, line) in table::styled(&lines, style).iter().enumerate() {
                self.line(&match n {
                    0 | 1 => line.clone(),
                    _ if !line.starts_with(' ') => style.bold(line),
                    _ if line.contains("incomplete") => style.yellow(line),
                    _ => line.clone(),
                });
            }
            self.line("");
        }
        if form != Form::Full {
            let level = summary
                .variants
                .first()
                .map(|v| text::level(pass_rate(summary, v)));
            self.dim(&format!(
                "{} intervals; `summary.md` names their methods.",
                level.unwrap_or_default()
            ));
        }
        if summary.variants.len() > 1 {
            self.dim(text::OVERLAP);
        }
        for (note, labels) in overall::notes(summary) {
            self.dim(&format!("note: {note} ({})", labels.join(", ")));
        }
        if !self.text.ends_with("\n\n") {
            self.line("");
        }
    }

    /// What answered: a line, or a table where that changed.
    fn served(&mut self, summary: &Summary) {
        for variant in &summary.variants {
            let Some(strata) = Strata::of(variant) else {
                continue;
            };
            let name = match summary.variants.len() {
                1 => String::new(),
                _ => format!("{} ", variant.variant),
            };
            if !strata.common.is_empty() {
                self.line(&format!("{name}served: {}", strata.common));
            }
            if !strata.rows.is_empty() {
                let head = match strata.common.is_empty() {
                    true => format!("{name}served: {}", strata.differing),
                    false => strata.differing.clone(),
                };
                self.table(&strata_lines(head, &strata.rows, self.view.width));
                if strata.more > 0 {
                    self.dim(&format!("… and {} more in `summary.json`", strata.more));
                }
                self.dim(served::MIXED);
            }
            self.line("");
        }
    }

    fn cases(&mut self, summary: &Summary, variant: &VariantSummary) {
        let style = self.view.style;
        let all = cases::worst_first(variant);
        let shown = all
            .get(..self.view.rows.unwrap_or(all.len()))
            .unwrap_or(&all);
        if shown.is_empty() {
            return;
        }
        let head = match summary.variants.len() {
            1 => "case".to_owned(),
            _ => variant.variant.to_string(),
        };
        let lines = case_lines(head, shown, self.view.width);
        let (head, rows) = lines.split_at_checked(2).unwrap_or((&lines, &[]));
        self.table(head);
        for (case, line) in shown.iter().zip(rows) {
            let dot = match case.label {
                Some(Label::Always) => style.green("●"),
                Some(Label::Never) => style.red("●"),
                Some(Label::Flaky) | None => style.yellow("●"),
            };
            self.line(&line.replace('●', &dot));
            let failed = cases::failed_checks(case);
            let missing = cases::missing(&case.ledger);
            for line in wrap::flow(&failed, " · ", self.view.width.saturating_sub(4)) {
                self.line(&format!("  {} {line}", style.red("✗")));
            }
            if !missing.is_empty() {
                self.line(&format!("  {} {missing}", style.yellow("!")));
            }
        }
        let hidden = all.len() - shown.len();
        if hidden > 0 {
            self.dim(&format!(
                "… {}: `farm report {} --all`",
                text::plural(hidden as u64, "more case"),
                shell(self.view.run)
            ));
        }
        self.line("");
    }

    fn legend(&mut self, summary: &Summary) {
        let mut cases = summary.variants.iter().flat_map(|v| &v.cases);
        if cases.any(|c| c.max_failure_rate.is_some()) {
            self.dim(
                "may fail: the largest failure rate still plausible of a case that always passed.",
            );
        }
        if self.text.contains('✗') {
            self.dim("✗ NAME k/n: the check failed in k of n sessions.");
        }
    }
}

fn ledger_tables(summary: &Summary, width: usize) -> Vec<Vec<String>> {
    let ledgers = || {
        summary
            .variants
            .iter()
            .map(|v| (v.variant.to_string(), &v.ledger))
            .chain((summary.variants.len() != 1).then(|| ("all".to_owned(), &summary.ledger)))
    };
    let total = &summary.ledger;
    let states = || total.present().map(|(state, _)| state);
    let first = states().chain(["planned"]).map(str::to_owned).collect();
    let counts = |ledger: &Ledger| {
        let present = ledger.present_in(total).map(|(_, n)| n);
        present.chain([ledger.planned]).map(text::count).collect()
    };
    let mut rest: Vec<Column> = ledgers()
        .map(|(name, ledger)| Column::right(name, counts(ledger)))
        .collect();
    let marks = states().map(mark);
    let marks: Vec<String> = marks.map(str::to_owned).collect();
    if marks.iter().any(|mark| !mark.is_empty()) {
        rest.push(Column::left("", marks));
    }
    table::side_by_side(&Column::left("sessions", first), &rest, width)
}

/// The figures in the fullest form in which all variants stand side by side, else one below the
/// other.
fn figure_tables(summary: &Summary, width: usize) -> (Form, Vec<Vec<String>>) {
    let of = |form| {
        let mut labels = Vec::new();
        let mut cells: Vec<Vec<String>> = vec![Vec::new(); summary.variants.len()];
        if form == Form::Bare {
            labels.push("sessions scored".to_owned());
            for (column, v) in cells.iter_mut().zip(&summary.variants) {
                column.push(format!("n={}", text::sessions(pass_rate(summary, v))));
            }
        }
        for group in overall::groups(summary) {
            labels.push(group.name.to_owned());
            cells
                .iter_mut()
                .for_each(|column| column.push(String::new()));
            for row in group.rows {
                labels.push(format!("  {}", row.label));
                for ((column, value), v) in cells.iter_mut().zip(row.values).zip(&summary.variants)
                {
                    column.push(value.text(form, pass_rate(summary, v)));
                }
            }
        }
        let rest: Vec<Column> = summary
            .variants
            .iter()
            .zip(cells)
            .map(|(v, cells)| Column::left(v.variant.to_string(), cells))
            .collect();
        table::side_by_side(&Column::left("figures", labels), &rest, width)
    };
    for form in [Form::Full, Form::Counted] {
        let tables = of(form);
        if tables.len() <= 1 && tables.iter().all(|lines| table::fits(lines, width)) {
            return (form, tables);
        }
    }
    (Form::Bare, of(Form::Bare))
}

fn pass_rate<'a>(summary: &Summary, variant: &'a VariantSummary) -> &'a Figure {
    variant.overall.pass_rate.first(summary.reading)
}

/// A table, if it fits; else two lines and more for each of the rows.
fn strata_lines(head: String, rows: &[served::Row], width: usize) -> Vec<String> {
    let cells = |of: fn(&served::Row) -> &String| rows.iter().map(of).cloned().collect();
    let lines = table::lines(&[
        Column::left(head.clone(), cells(|row| &row.served)),
        Column::right("sessions", cells(|row| &row.sessions)),
        Column::right("passed", cells(|row| &row.passed)),
        Column::right("scored", cells(|row| &row.scored)),
        Column::left("pass rate", cells(|row| &row.pass_rate)),
    ]);
    if table::fits(&lines, width) {
        return lines;
    }
    let below = |row: &served::Row| {
        let mut lines = wrap::words(&row.served, width);
        lines.push(format!(
            "  sessions: {}, passed: {} of {}, pass rate {}",
            row.sessions, row.passed, row.scored, row.pass_rate
        ));
        lines
    };
    let head = wrap::words(&head, width).into_iter();
    head.chain(rows.iter().flat_map(below)).collect()
}

/// Header, rule and one line per case; the columns of least weight go first when it is too wide.
fn case_lines(head: String, cases: &[&CaseSummary], width: usize) -> Vec<String> {
    let column = |f: &dyn Fn(&CaseSummary) -> String| cases.iter().map(|c| f(c)).collect();
    let estimate = |x: Option<f64>| x.map_or_else(|| "–".to_owned(), text::number);
    let id = Column::left(head, column(&|c| c.id.to_string()));
    let bar = Column::left("", column(&|c| cases::error_bar(&c.pass_rate)));
    let rate = Column::left(
        "pass rate",
        column(&|c| text::bare(&c.pass_rate, text::Unit::Plain)),
    );
    let n = Column::right("n", column(&|c| text::sessions(&c.pass_rate)));
    let label = Column::left("label", column(&|c| cases::label(c).to_owned()));
    let steps = Column::right("steps", column(&|c| estimate(c.steps.mean.estimate)));
    let score = Column::right("score", column(&|c| estimate(c.verifier_score.estimate)));
    let may_fail = Column::right(
        "may fail",
        column(&|c| c.max_failure_rate.map(text::number).unwrap_or_default()),
    );
    let layouts = [
        vec![&id, &bar, &rate, &n, &label, &may_fail, &steps, &score],
        vec![&id, &bar, &rate, &n, &label, &may_fail, &steps],
        vec![&id, &bar, &rate, &n, &label, &may_fail],
        vec![&id, &rate, &n, &label, &may_fail],
    ];
    let render = |columns: Vec<&Column>| {
        let columns: Vec<Column> = columns.into_iter().cloned().collect();
        table::lines(&columns)
    };
    let mut rendered = layouts.into_iter().map(render);
    let narrowest = vec![&id, &rate, &n];
    rendered
        .find(|lines| table::fits(lines, width))
        .unwrap_or_else(|| render(narrowest))
}
