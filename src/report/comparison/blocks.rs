//! What is said of a comparison, in order: the same for a terminal and for Markdown.

mod board;
mod pair;

use super::words;
use crate::{
    domain::{
        Ledger, Reading,
        comparison::{Comparison, Differs, Side},
    },
    report::text::{self, Unit},
};

/// Settings listed that differ.
const SETTINGS: usize = 50;

/// A part of the text.
pub(super) enum Block {
    Title(String),
    /// What it comes to.
    Verdict(String),
    Text(String),
    /// Columns from `right` on are aligned to the right.
    Table {
        head: Vec<String>,
        rows: Vec<Vec<String>>,
        right: usize,
    },
}

/// The parts; `shown` cases in each table of them.
pub(super) fn of(comparison: &Comparison, shown: usize) -> Vec<Block> {
    let mut blocks = vec![sides(comparison)];
    blocks.extend(incomplete(&comparison.sides));
    differs(&mut blocks, &comparison.sides);
    match (&comparison.leaderboard, &comparison.pairs[..]) {
        (None, [one]) => pair::blocks(&mut blocks, comparison, one, shown),
        (places, _) => {
            board::blocks(
                &mut blocks,
                comparison,
                places.as_deref().unwrap_or_default(),
            );
        }
    }
    blocks
}

/// The reading of the verdict before the other one.
fn readings(first: Reading) -> [Reading; 2] {
    match first {
        Reading::Fixed => [Reading::Fixed, Reading::Sample],
        Reading::Sample => [Reading::Sample, Reading::Fixed],
    }
}

fn strings<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// The pass rates and the ledgers, of which states that no side has are left out.
fn sides(comparison: &Comparison) -> Block {
    let mut all = Ledger::default();
    comparison
        .sides
        .iter()
        .for_each(|side| all.add(&side.ledger));
    let [first, second] = readings(comparison.reading);
    let mut head = strings([
        "side",
        text::reading(first),
        text::reading(second),
        "planned",
    ]);
    head.extend(all.present().map(|(state, _)| state.to_owned()));
    let row = |side: &Side| {
        let rate = |of| text::bare(side.pass_rate.first(of), Unit::Plain);
        let planned = text::count(side.ledger.planned);
        let mut row = vec![side.name.clone(), rate(first), rate(second), planned];
        row.extend(side.ledger.present_in(&all).map(|(_, n)| text::count(n)));
        row
    };
    Block::Table {
        head,
        rows: comparison.sides.iter().map(row).collect(),
        right: 3,
    }
}

fn incomplete(sides: &[Side]) -> Option<Block> {
    let names: Vec<&str> = sides
        .iter()
        .filter(|side| side.incomplete)
        .map(|side| side.name.as_str())
        .collect();
    (!names.is_empty()).then(|| {
        let of = names.join(", ");
        Block::Text(format!(
            "Incomplete: too much is missing of {of}, or not scored, to rely on its figures."
        ))
    })
}

fn differs(blocks: &mut Vec<Block>, sides: &[Side]) {
    let [first, rest @ ..] = sides else { return };
    for side in rest.iter().filter(|side| side.differs.is_empty()) {
        blocks.push(Block::Text(format!(
            "{} ran what {} ran, with the same seeds: where models give the same reply to the same \
             seed, it says nothing new.",
            side.name, first.name
        )));
    }
    for side in rest.iter().filter(|side| !side.differs.is_empty()) {
        blocks.push(Block::Title(format!(
            "What differs between {} and {}",
            first.name, side.name
        )));
        let row = |d: &Differs| {
            vec![
                d.what.clone(),
                words::value(d.first.as_ref()),
                words::value(d.this.as_ref()),
            ]
        };
        blocks.push(Block::Table {
            head: strings(["what", &first.name, &side.name]),
            rows: side.differs.iter().take(SETTINGS).map(row).collect(),
            right: usize::MAX,
        });
        if side.differs.len() > SETTINGS {
            let more = side.differs.len() - SETTINGS;
            blocks.push(Block::Text(format!("{more} more; --format json has all.")));
        }
    }
}
