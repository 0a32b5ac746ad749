//! Plain tables: a header, a rule, rows; no borders, nothing wrapped.

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle,
};

use super::{Style, text::visible};

const LOOK: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A column with its header.
#[derive(Clone)]
pub(super) struct Column {
    pub head: String,
    pub cells: Vec<String>,
    pub right: bool,
}

impl Column {
    pub fn left(head: impl Into<String>, cells: Vec<String>) -> Self {
        Self {
            head: head.into(),
            cells,
            right: false,
        }
    }

    pub fn right(head: impl Into<String>, cells: Vec<String>) -> Self {
        Self {
            right: true,
            ..Self::left(head, cells)
        }
    }
}

/// The lines of a table: header, rule, one line per row.
pub(super) fn lines(columns: &[Column]) -> Vec<String> {
    let mut table = Table::new();
    table
        .load_style(LOOK)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(columns.iter().map(|c| &c.head));
    let rows = columns.iter().map(|c| c.cells.len()).max().unwrap_or(0);
    for row in 0..rows {
        table.add_row(columns.iter().map(|c| {
            c.cells
                .get(row)
                .map_or_else(String::new, |cell| visible(cell))
        }));
    }
    for (column, of) in table.column_iter_mut().zip(columns) {
        column
            .set_padding((0, 1))
            .set_constraint(ColumnConstraint::ContentWidth);
        if of.right {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
        .lines()
        .map(|line| match line.strip_suffix('─') {
            Some(rule) => rule.to_owned(), // not under the last column's padding
            None => line.trim_end().to_owned(),
        })
        .collect()
}

/// The lines of a table with a bold head and dim rules.
pub(super) fn styled(lines: &[String], style: Style) -> Vec<String> {
    let styled = lines.iter().enumerate().map(|(n, line)| match n {
        0 => style.bold(line),
        _ if line.starts_with('─') => style.dim(line),
        _ => line.clone(),
    });
    styled.collect()
}

/// Columns beside each other as far as `width` allows, then in further tables below, each with
/// `first` at its left.
pub(super) fn side_by_side(first: &Column, rest: &[Column], width: usize) -> Vec<Vec<String>> {
    let mut tables = Vec::new();
    let mut rest = rest;
    while !rest.is_empty() {
        let of = |n: usize| {
            let columns: Vec<Column> = std::iter::once(first)
                .chain(rest.iter().take(n))
                .cloned()
                .collect();
            lines(&columns)
        };
        let fitting = (2..=rest.len()).take_while(|n| fits(&of(*n), width)).last();
        let n = fitting.unwrap_or(1);
        tables.push(of(n));
        rest = rest.get(n..).unwrap_or_default();
    }
    tables
}

/// Whether no line is wider than `width`.
pub(super) fn fits(lines: &[String], width: usize) -> bool {
    lines.iter().all(|line| line.chars().count() <= width)
}
