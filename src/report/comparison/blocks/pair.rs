//! Of two sides.

use super::{
    Block, readings, strings,
    words::{self, p},
};
use crate::{
    domain::{
        CaseId, Reading,
        comparison::{CaseDifference, Comparison, Ratio, SidePair, Verdict},
    },
    report::text::{self, Unit},
    stats::{planning::POWER, signflip::DRAWS},
};

/// Cases named that only one side has.
const NAMED: usize = 10;

pub(super) fn blocks(
    blocks: &mut Vec<Block>,
    comparison: &Comparison,
    pair: &SidePair,
    shown: usize,
) {
    let rate = &pair.pass_rate;
    blocks.push(Block::Title("Verdict".to_owned()));
    blocks.push(Block::Verdict(words::verdict(
        pair,
        comparison.reading,
        comparison.margin,
    )));
    if rate.fragile {
        blocks.push(Block::Text(
            "Fragile: the sign-flip test, which asks about new cases and assumes less, does not bear \
             it out."
                .to_owned(),
        ));
    }
    if rate.verdict == Verdict::NoDifferenceShown {
        let power = text::percent(POWER);
        let finds = match rate.mde {
            Some(mde) => {
                let mde = text::number(mde);
                format!("finds one of {mde} with a chance of {power}, and smaller ones less often")
            }
            None => format!("finds none, however large, with a chance of {power}"),
        };
        blocks.push(Block::Text(format!(
            "Not to show a difference is not to show that there is none: for new cases like these, \
             a comparison of this size {finds}."
        )));
    }
    let cases = text::plural(pair.cases.len() as u64, "case");
    let (a, b) = (&pair.a, &pair.b);
    let title = format!("B − A over {cases} scored on both (A {a}, B {b})");
    blocks.push(Block::Title(title));
    figures(blocks, comparison, pair);
    changes(blocks, pair, shown);
}

fn figures(blocks: &mut Vec<Block>, comparison: &Comparison, pair: &SidePair) {
    let rate = &pair.pass_rate;
    let none = || "–".to_owned();
    let mut rows = Vec::new();
    for (side, figure) in [("A", &rate.a), ("B", &rate.b)] {
        let label = format!("pass rate of {side} on these cases");
        rows.push(vec![label, text::figure(figure, Unit::Plain), none()]);
    }
    for of in readings(comparison.reading) {
        let p = match of {
            Reading::Fixed => p(rate.p_fixed),
            Reading::Sample => p(rate.p),
        };
        let value = text::figure(rate.first(of), Unit::Signed);
        rows.push(vec![format!("difference: {}", text::reading(of)), value, p]);
    }
    let kind = match rate.signflip_exact {
        true => "exact".to_owned(),
        false => format!("{} draws", text::count(DRAWS)),
    };
    let signflip = p(Some(rate.p_signflip));
    rows.push(vec![format!("sign-flip test ({kind})"), none(), signflip]);
    let mde = rate.mde.map_or_else(|| "n/a".to_owned(), text::number);
    let power = text::percent(POWER);
    let label = format!("minimum detectable effect, new cases (power {power})");
    rows.push(vec![label, mde, none()]);
    let ratios: [(&str, &Ratio); 4] = [
        ("steps of completed sessions", &pair.steps),
        ("tokens in", &pair.tokens_in),
        ("tokens out", &pair.tokens_out),
        ("cost", &pair.cost_usd),
    ];
    let mut notes: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, of) in ratios {
        let figure = &of.ratio;
        if figure.estimate.is_some() {
            let cases = text::plural(figure.n_cases, "case");
            let (method, level) = (text::method(&figure.method), text::level(figure));
            let value = text::bare(figure, Unit::Plain);
            let value = format!("{value} {cases} {method} {level}");
            rows.push(vec![format!("{name}, B / A"), value, p(of.p)]);
        }
        if let Some(note) = figure.note.as_deref() {
            match notes.iter_mut().find(|(known, _)| *known == note) {
                Some((_, names)) => names.push(name),
                None => notes.push((note, vec![name])),
            }
        }
    }
    let (head, right) = (strings(["figure", "value", "p"]), 2);
    blocks.push(Block::Table { head, rows, right });
    let completed = comparison.sides.iter().map(|side| {
        let (k, n) = (side.completed, side.ledger.scored());
        format!("{} of {} on {}", text::count(k), text::count(n), side.name)
    });
    let completed = completed.collect::<Vec<_>>().join(", ");
    blocks.push(Block::Text(format!("Completed sessions: {completed}.")));
    for (note, names) in notes {
        let names = names.join(", ");
        blocks.push(Block::Text(format!("Ratio of {names}: {note}.")));
    }
}

fn changes(blocks: &mut Vec<Block>, pair: &SidePair, shown: usize) {
    let count = |of: &dyn Fn(&CaseDifference) -> bool| {
        text::count(pair.cases.iter().filter(|case| of(case)).count() as u64)
    };
    blocks.push(Block::Title("Cases".to_owned()));
    blocks.push(Block::Text(format!(
        "Of {} on both sides {} fare better on {}, {} worse, {} the same. p is Fisher's, q the same \
         adjusted for the number of cases (Benjamini-Hochberg): of regressions and improvements, q ≤ \
         0.10, at most one in ten is a false alarm. The intervals are Newcombe's.",
        text::plural(pair.cases.len() as u64, "case"),
        count(&|case| d(case) > 0.0),
        pair.b,
        count(&|case| d(case) < 0.0),
        count(&|case| d(case) == 0.0),
    )));
    // What is shown, by the test and by the sign of the difference.
    let tables = [
        ("Regressions", true, -1.0),
        ("Improvements", true, 1.0),
        ("Worse, but not shown to be", false, -1.0),
        ("Better, but not shown to be", false, 1.0),
    ];
    for (title, is_shown, sign) in tables {
        let is_in =
            |case: &&CaseDifference| case.change.is_some() == is_shown && d(case) * sign > 0.0;
        let mut cases: Vec<&CaseDifference> = pair.cases.iter().filter(is_in).collect();
        if cases.is_empty() {
            continue;
        }
        let q = |case: &CaseDifference| case.q.unwrap_or(1.0);
        cases.sort_by(|x, y| {
            let by_size = d(y).abs().total_cmp(&d(x).abs());
            q(x).total_cmp(&q(y)).then(by_size)
        });
        blocks.push(Block::Title(title.to_owned()));
        blocks.push(case_table(pair, cases.iter().take(shown).copied()));
        if cases.len() > shown {
            let more = cases.len() - shown;
            blocks.push(Block::Text(format!(
                "{} more: --all.",
                text::count(more as u64)
            )));
        }
    }
    for (ids, side) in [(&pair.only_a, &pair.a), (&pair.only_b, &pair.b)] {
        blocks.extend(only(ids, side));
    }
}

/// B - A; 0 where it is not defined.
fn d(case: &CaseDifference) -> f64 {
    case.difference.estimate.unwrap_or(0.0)
}

fn case_table<'a>(pair: &SidePair, cases: impl Iterator<Item = &'a CaseDifference>) -> Block {
    let rows = cases.map(|case| {
        vec![
            case.id.to_string(),
            format!("{}/{}", case.a.0, case.a.1),
            format!("{}/{}", case.b.0, case.b.1),
            text::bare(&case.difference, Unit::Signed),
            p(case.p),
            p(case.q),
        ]
    });
    Block::Table {
        rows: rows.collect(),
        head: strings(["case", &pair.a, &pair.b, "difference", "p", "q"]),
        right: 1,
    }
}

/// Cases that only one side has.
fn only(ids: &[CaseId], side: &str) -> Option<Block> {
    let cases = text::plural(ids.len() as u64, "case");
    let names = text::named(ids, NAMED);
    let words = format!("Scored on {side} only, so left out: {cases}, {names}.");
    (!ids.is_empty()).then_some(Block::Text(words))
}
