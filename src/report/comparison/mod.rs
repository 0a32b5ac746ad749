//! A comparison for a person, and as Markdown.

mod blocks;
mod words;

use std::fmt::Write as _;

use super::{
    Style, markdown,
    table::{self, Column},
    text::one_line,
    wrap::prose,
};
use crate::domain::comparison::Comparison;
use blocks::Block;

/// Cases listed in each direction, unless all are wanted.
const CASES: usize = 20;

/// The text for a terminal, ending in a line break. Text is at most `width` wide, tables as wide as
/// their names and numbers are.
#[must_use]
pub fn terminal(comparison: &Comparison, all: bool, width: usize, style: Style) -> String {
    let mut text = String::new();
    let mut is_after_table = false;
    for block in blocks::of(comparison, if all { usize::MAX } else { CASES }) {
        if is_after_table && matches!(block, Block::Text(_)) {
            text.push('\n');
        }
        is_after_table = matches!(block, Block::Table { .. });
        let lines = match block {
            Block::Title(title) => vec![String::new(), style.bold(&one_line(&title))],
            Block::Verdict(words) => vec![style.bold(&one_line(&words))],
            Block::Text(words) => prose(&one_line(&words), width),
            Block::Table { head, rows, right } => {
                table::styled(&table::lines(&columns(&head, &rows, right)), style)
            }
        };
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// The same as Markdown.
#[must_use]
pub fn markdown(comparison: &Comparison, all: bool) -> String {
    let mut doc = String::from("# Comparison\n");
    for block in blocks::of(comparison, if all { usize::MAX } else { CASES }) {
        doc.push('\n');
        match block {
            Block::Title(title) => {
                let _ = writeln!(doc, "## {}", markdown::escape(&title));
            }
            Block::Verdict(words) => {
                let _ = writeln!(doc, "**{}**", markdown::escape(&words));
            }
            Block::Text(words) => {
                let _ = writeln!(doc, "{}", markdown::escape(&words));
            }
            Block::Table { head, rows, right } => {
                let rows: Vec<Vec<String>> = rows
                    .iter()
                    .map(|row| row.iter().map(|cell| markdown::escape(cell)).collect())
                    .collect();
                let head: Vec<String> = head.iter().map(|cell| markdown::escape(cell)).collect();
                markdown::table(&mut doc, &head, right, &rows);
            }
        }
    }
    doc
}

fn columns(head: &[String], rows: &[Vec<String>], right: usize) -> Vec<Column> {
    let cells = |i: usize| {
        rows.iter()
            .map(|row| row.get(i).cloned().unwrap_or_default())
            .collect()
    };
    head.iter()
        .enumerate()
        .map(|(i, head)| {
            let (head, cells) = (head.clone(), cells(i));
            match i < right {
                true => Column::left(head, cells),
                false => Column::right(head, cells),
            }
        })
        .collect()
}
