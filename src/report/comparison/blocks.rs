//! What is said of a comparison, in order: the same for a terminal and for Markdown.

use super::words::{self, p, signed};
use crate::{
    domain::{
        CaseId, Reading,
        comparison::{
            CaseDifference, Change, Comparison, Differs, Place, Ratio, Side, SidePair, Verdict,
        },
    },
    report::{
        cases,
        text::{self, Unit},
    },
};

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

/// The parts; `shown` cases in each direction.
pub(super) fn of(comparison: &Comparison, shown: usize) -> Vec<Block> {
    let mut blocks = vec![sides(comparison)];
    blocks.extend(incomplete(&comparison.sides));
    match (&comparison.leaderboard, &comparison.pairs[..]) {
        (None, [pair]) => one_pair(&mut blocks, comparison, pair, shown),
        (places, pairs) => {
            leaderboard(
                &mut blocks,
                comparison,
                places.as_deref().unwrap_or(&[]),
                pairs,
            );
        }
    }
    differs(&mut blocks, &comparison.sides);
    blocks
}

/// The reading of the verdict before the other one.
fn readings(first: Reading) -> [Reading; 2] {
    match first {
        Reading::Fixed => [Reading::Fixed, Reading::Sample],
        Reading::Sample => [Reading::Sample, Reading::Fixed],
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

fn sides(comparison: &Comparison) -> Block {
    let row = |side: &Side| {
        let rates = readings(comparison.reading)
            .map(|of| text::bare(side.pass_rate.first(of), Unit::Plain));
        let [first, second] = rates;
        let ledger = &side.ledger;
        let missing = match cases::missing(ledger) {
            none if none.is_empty() => "–".to_owned(),
            some => some,
        };
        let passed = format!(
            "{} / {}",
            text::count(ledger.passed),
            text::count(ledger.scored())
        );
        vec![side.name.clone(), passed, missing, first, second]
    };
    let [first, second] = readings(comparison.reading).map(words::reading);
    Block::Table {
        head: words(["side", "passed / scored", "missing", first, second]),
        rows: comparison.sides.iter().map(row).collect(),
        right: usize::MAX,
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
            "Incomplete: too much is missing of {of} to rely on its figures."
        ))
    })
}

fn one_pair(blocks: &mut Vec<Block>, comparison: &Comparison, pair: &SidePair, shown: usize) {
    let rate = &pair.pass_rate;
    blocks.push(Block::Title("Verdict".to_owned()));
    blocks.push(Block::Verdict(words::verdict(pair, comparison.reading)));
    if rate.fragile {
        blocks.push(Block::Text(
            "Fragile: the sign-flip test, which assumes less, does not bear it out.".to_owned(),
        ));
    }
    if let (Verdict::NoDifferenceShown, Some(mde)) = (rate.verdict, rate.mde) {
        blocks.push(Block::Text(format!(
            "A comparison of this size shows a difference of {} in 80 of 100 runs, and smaller \
             ones less often.",
            text::number(mde)
        )));
    }
    blocks.push(Block::Title(format!("{} − {}", pair.b, pair.a)));
    blocks.push(figures(comparison, pair));
    changes(blocks, pair, shown);
}

fn figures(comparison: &Comparison, pair: &SidePair) -> Block {
    let rate = &pair.pass_rate;
    let mut rows = Vec::new();
    for of in readings(comparison.reading) {
        let figure = rate.first(of);
        let method = text::method(&figure.method);
        let level = text::level(figure);
        let value = format!(
            "{} n={} {method} {level}",
            signed(figure),
            text::sessions(figure)
        );
        rows.push(vec![
            format!("pass rate: {}", words::reading(of)),
            value,
            match of {
                Reading::Fixed => "–".to_owned(),
                Reading::Sample => p(rate.p),
            },
        ]);
    }
    let kind = if rate.signflip_exact {
        "exact"
    } else {
        "99,999 draws"
    };
    rows.push(vec![
        format!("sign-flip test ({kind})"),
        "–".to_owned(),
        p(Some(rate.p_signflip)),
    ]);
    let mde = rate.mde.map_or_else(|| "n/a".to_owned(), text::number);
    rows.push(vec![
        "smallest difference shown in 80 of 100 runs".to_owned(),
        mde,
        "–".to_owned(),
    ]);
    let ratios: [(&str, &Ratio); 4] = [
        ("steps", &pair.steps),
        ("tokens in", &pair.tokens_in),
        ("tokens out", &pair.tokens_out),
        ("cost", &pair.cost_usd),
    ];
    for (name, of) in ratios {
        if of.ratio.estimate.is_some() {
            let value = text::figure(&of.ratio, Unit::Plain);
            rows.push(vec![
                format!("{name}: {} / {}", pair.b, pair.a),
                value,
                p(of.p),
            ]);
        }
    }
    Block::Table {
        head: words(["figure", "value", "p"]),
        rows,
        right: 2,
    }
}

fn changes(blocks: &mut Vec<Block>, pair: &SidePair, shown: usize) {
    let d = |case: &CaseDifference| case.difference.estimate.unwrap_or(0.0);
    let (mut better, mut worse): (Vec<_>, Vec<_>) = pair
        .cases
        .iter()
        .filter(|case| d(case) != 0.0)
        .partition(|case| d(case) > 0.0);
    let same = pair.cases.len() - better.len() - worse.len();
    let shown_of = |cases: &[&CaseDifference], change| {
        cases
            .iter()
            .filter(|case| case.change == Some(change))
            .count()
    };
    blocks.push(Block::Title("Cases".to_owned()));
    blocks.push(Block::Text(format!(
        "Of {} on both sides {} fare better on {} ({} shown, q ≤ 0.10), {} worse ({} shown), {} the \
         same.",
        text::plural(pair.cases.len() as u64, "case"),
        text::count(better.len() as u64),
        pair.b,
        shown_of(&better, Change::Improvement),
        text::count(worse.len() as u64),
        shown_of(&worse, Change::Regression),
        text::count(same as u64),
    )));
    for (title, cases) in [("Regressions", &mut worse), ("Improvements", &mut better)] {
        if cases.is_empty() {
            continue;
        }
        let q = |case: &CaseDifference| case.q.unwrap_or(1.0);
        cases.sort_by(|x, y| {
            q(x).total_cmp(&q(y))
                .then(d(y).abs().total_cmp(&d(x).abs()))
        });
        blocks.push(Block::Title(title.to_owned()));
        blocks.push(case_table(pair, cases.iter().take(shown).copied()));
        if cases.len() > shown {
            let more = text::plural((cases.len() - shown) as u64, "case");
            blocks.push(Block::Text(format!("{more} more; --all shows them.")));
        }
    }
    for (ids, side) in [(&pair.only_a, &pair.a), (&pair.only_b, &pair.b)] {
        blocks.extend(only(ids, side));
    }
}

fn case_table<'a>(pair: &SidePair, cases: impl Iterator<Item = &'a CaseDifference>) -> Block {
    let rows = cases.map(|case| {
        vec![
            case.id.to_string(),
            format!("{}/{}", case.a.0, case.a.1),
            format!("{}/{}", case.b.0, case.b.1),
            signed(&case.difference),
            p(case.p),
            p(case.q),
        ]
    });
    Block::Table {
        rows: rows.collect(),
        head: words(["case", &pair.a, &pair.b, "difference", "p", "q"]),
        right: 1,
    }
}

/// Cases that only one side has.
fn only(ids: &[CaseId], side: &str) -> Option<Block> {
    let count = ids.len();
    let mut names: Vec<&str> = ids.iter().take(10).map(|id| id.as_str()).collect();
    if count > names.len() {
        names.push("…");
    }
    (count > 0).then(|| {
        let cases = text::plural(count as u64, "case");
        Block::Text(format!(
            "Scored on {side} only, so left out: {cases} ({}).",
            names.join(", ")
        ))
    })
}

fn leaderboard(
    blocks: &mut Vec<Block>,
    comparison: &Comparison,
    places: &[Place],
    pairs: &[SidePair],
) {
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
        head: words(["place", "side", words::reading(comparison.reading), "group"]),
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
        vec![
            format!("{} − {}", pair.b, pair.a),
            signed(rate.first(comparison.reading)),
            p(rate.p),
            p(rate.p_holm),
            p(Some(rate.p_signflip)),
            words::short(pair),
        ]
    };
    blocks.push(Block::Title("Pairs".to_owned()));
    blocks.push(Block::Table {
        head: words([
            "difference",
            words::reading(comparison.reading),
            "p",
            "p (Holm)",
            "sign-flip p",
            "verdict",
        ]),
        rows: pairs.iter().map(row).collect(),
        right: usize::MAX,
    });
}

/// `a`, `b`, … `z`, `a1`, …
fn letter(group: usize) -> String {
    let letter = char::from(b'a' + (group % 26) as u8);
    match group / 26 {
        0 => letter.to_string(),
        n => format!("{letter}{n}"),
    }
}

fn differs(blocks: &mut Vec<Block>, sides: &[Side]) {
    let [first, rest @ ..] = sides else { return };
    for side in rest.iter().filter(|side| !side.differs.is_empty()) {
        blocks.push(Block::Title(format!(
            "What {} has otherwise than {}",
            side.name, first.name
        )));
        let row = |d: &Differs| {
            vec![
                d.what.clone(),
                words::value(d.first.as_ref()),
                words::value(d.this.as_ref()),
            ]
        };
        blocks.push(Block::Table {
            head: words(["what", &first.name, &side.name]),
            rows: side.differs.iter().take(50).map(row).collect(),
            right: usize::MAX,
        });
        if side.differs.len() > 50 {
            let more = side.differs.len() - 50;
            blocks.push(Block::Text(format!("{more} more; --format json has all.")));
        }
    }
}
