//! Of more than two sides.

use super::{
    Block, strings,
    words::{self, p},
};
use crate::{
    domain::comparison::{Comparison, Place, SidePair},
    report::text::{self, Unit},
};

pub(super) fn blocks(blocks: &mut Vec<Block>, comparison: &Comparison, places: &[Place]) {
    let reading = text::reading(comparison.reading);
    let letters = |place: &Place| place.groups.iter().map(|group| letter(*group)).collect();
    let row = |(at, place): (usize, &Place)| {
        let rate = text::bare(&place.pass_rate, Unit::Plain);
        vec![
            (at + 1).to_string(),
            place.name.clone(),
            rate,
            letters(place),
        ]
    };
    blocks.push(Block::Title("Leaderboard".to_owned()));
    blocks.push(Block::Table {
        head: strings(["place", "side", reading, "group"]),
        rows: places.iter().enumerate().map(row).collect(),
        right: usize::MAX,
    });
    blocks.push(Block::Text(
        "Sides that share a letter cannot be told apart. The best of several is biased upwards: \
         run it again on fresh seeds before you quote its figure."
            .to_owned(),
    ));
    let row = |pair: &SidePair| {
        let rate = &pair.pass_rate;
        let figure = rate.simultaneous.as_ref();
        vec![
            format!("{} − {}", pair.b, pair.a),
            figure.map_or_else(
                || "n/a".to_owned(),
                |figure| text::bare(figure, Unit::Signed),
            ),
            p(rate.p_holm),
            p(Some(rate.p_signflip)),
            words::short(pair),
        ]
    };
    blocks.push(Block::Title("Pairs".to_owned()));
    blocks.push(Block::Table {
        head: strings(["difference", reading, "p (Holm)", "sign-flip p", "verdict"]),
        rows: comparison.pairs.iter().map(row).collect(),
        right: usize::MAX,
    });
    for pair in &comparison.pairs {
        let left_out = [&pair.only_a, &pair.only_b].map(|ids| ids.len() as u64);
        if left_out != [0, 0] {
            let [of_a, of_b] = left_out.map(|n| text::plural(n, "case"));
            let both = text::plural(pair.cases.len() as u64, "case");
            let (a, b) = (&pair.a, &pair.b);
            blocks.push(Block::Text(format!(
                "{b} − {a} is over the {both} scored on both; left out are {of_a} of {a} and {of_b} of \
                 {b}, which count for their places."
            )));
        }
    }
    let percent = text::percent(comparison.level);
    blocks.push(Block::Text(format!(
        "The intervals hold for all pairs at once, at {percent} (Bonferroni). To be better \
         or worse takes the pair's own interval and the p-value adjusted for all pairs (Holm), to be \
         equivalent the interval for all."
    )));
}

/// `a`, `b`, … `z`, `a1`, …
fn letter(group: usize) -> String {
    let letter = char::from(b'a' + (group % 26) as u8);
    match group / 26 {
        0 => letter.to_string(),
        n => format!("{letter}{n}"),
    }
}
