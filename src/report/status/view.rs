//! A status for a person: at most 80 columns, but for a name that is longer.

use std::time::Duration;

use super::{ErrorGroup, InFlight, Parked, Status};
use crate::{
    domain::{Ledger, shortened},
    report::{
        Style,
        table::{self, Column},
        text::{self, Unit},
        wrap,
    },
    store::manifest::RunStatus,
};

const WIDTH: usize = 80;

/// Characters of a variant's name.
const NAME: usize = 24;

/// The whole, ending in a line break.
#[must_use]
pub fn render(status: &Status, style: Style) -> String {
    let mut lines = Vec::new();
    for facts in [head(status, style), progress(status), costs(status)] {
        let flowing = wrap::flow(&facts, " · ", WIDTH);
        // What sessions are at may be longer than a line.
        lines.extend(flowing.iter().flat_map(|line| wrap::words(line, WIDTH)));
    }
    lines.extend(
        status
            .parked
            .iter()
            .flat_map(|parked| of_parked(parked, style)),
    );
    for table in ledgers(status) {
        lines.push(String::new());
        lines.extend(table::styled(&table, style));
    }
    let errors = status.errors.iter().flatten();
    let errors: Vec<String> = errors.flat_map(|group| error(group, style)).collect();
    if !errors.is_empty() {
        lines.push(String::new());
        lines.extend(errors);
    }
    if status.more_errors > 0 {
        let more = text::plural(status.more_errors, "more kind");
        lines.push(format!("… and {more} of error"));
    }
    lines.join("\n") + "\n"
}

fn head(status: &Status, style: Style) -> Vec<String> {
    let state = status.state.as_str();
    let winds_down = status.worker.as_ref().is_some_and(|w| w.winding_down);
    let state = match status.state {
        RunStatus::Running if winds_down => style.yellow("winding down"),
        RunStatus::Running | RunStatus::Finished => style.green(state),
        RunStatus::Interrupted => style.yellow(state),
        RunStatus::Failed => style.red(state),
    };
    let worker = status.worker.as_ref().map(|w| {
        let host = text::visible(&w.host);
        format!("process {} on {host}", w.pid)
    });
    let run = style.bold(&text::visible(&status.run));
    [run, state].into_iter().chain(worker).collect()
}

fn progress(status: &Status) -> Vec<String> {
    let ledger = &status.ledger;
    let done = ledger.planned.saturating_sub(ledger.not_run);
    let done = format!("{}/{} done", text::count(done), text::count(ledger.planned));
    // Who has just begun has not looked yet.
    let begun = status.open.filter(|n| *n > 0 && status.worker.is_some());
    let in_flight = match &status.in_flight {
        Some(of) => Some(in_flight(of)),
        None => begun.map(|n| format!("{} in flight", text::count(n))),
    };
    let speed = status.sessions_per_s.map(|s| format!("{s:.1}/s"));
    let eta = status
        .eta_s
        .and_then(|s| Duration::try_from_secs_f64(s).ok())
        .map(|eta| format!("ETA {}", text::span(eta)));
    let facts = [Some(done), in_flight, speed, eta];
    facts.into_iter().flatten().collect()
}

/// `16 in flight: 10 thinking, 4 at tools, 1 backing off until 12:03:07 UTC, 1 at the scorer`.
fn in_flight(of: &InFlight) -> String {
    let until = of.backoff_until.as_deref().and_then(|at| at.get(11..19));
    let backoff = match until {
        Some(until) if of.backoff == 1 => format!("backing off until {until} UTC"),
        Some(until) => format!("backing off, the first until {until} UTC"),
        None => "backing off".to_owned(),
    };
    let parts = [
        (of.thinking, "thinking"),
        (of.tool, "at tools"),
        (of.slot, "for a slot"),
        (of.rate, "for a rate"),
        (of.backoff, &backoff),
        (of.money, "for money"),
        (of.server, "for a server of tools"),
        (of.scorer, "at the scorer"),
    ];
    let all = format!("{} in flight", text::count(parts.iter().map(|p| p.0).sum()));
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", text::count(n)))
        .collect();
    match parts[..] {
        [] => all,
        _ => format!("{all}: {}", parts.join(", ")),
    }
}

fn costs(status: &Status) -> Vec<String> {
    let totals = &status.totals;
    let cost = status.cost_usd.filter(|usd| *usd > 0.0).map(text::usd);
    let of = |n: u64, noun| (n > 0).then(|| text::plural(n, noun));
    let facts = [
        cost,
        of(totals.restarts, "restart"),
        of(totals.lost_attempts, "lost attempt"),
    ];
    facts.into_iter().flatten().collect()
}

/// `parked   endpoint https://api.example.com/v1: HTTP 401, the key is not known`.
fn of_parked(parked: &Parked, style: Style) -> Vec<String> {
    let said = text::one_line(&format!("{}: {}", parked.what, parked.reason));
    let said = wrap::words(&said, WIDTH - wrap::LABEL);
    let field = wrap::field(0, "parked", |label| style.yellow(label), &said);
    field.lines().map(str::to_owned).collect()
}

/// One row a variant, with the states in which there are sessions. Of each variant as many are
/// planned.
fn ledgers(status: &Status) -> Vec<Vec<String>> {
    let all = (status.variants.len() > 1).then_some(&status.ledger);
    let ledgers: Vec<&Ledger> = status
        .variants
        .iter()
        .map(|v| &v.ledger)
        .chain(all)
        .collect();
    let names = status.variants.iter().map(|v| v.variant.as_str());
    let names = names.chain(all.map(|_| "all"));
    let first = Column::left("variant", names.map(|n| shortened(n, NAME)).collect());
    let counts = |i: usize| {
        let of = |l: &&Ledger| l.present_in(&status.ledger).nth(i);
        let counts = ledgers.iter().filter_map(of);
        counts.map(|(_, n)| text::count(n)).collect()
    };
    let states = status.ledger.present().enumerate();
    let mut rest: Vec<Column> = states
        .map(|(i, (state, _))| Column::right(state, counts(i)))
        .collect();
    let rates = status.variants.iter().map(|v| &v.pass_rate);
    let rates = rates.map(|rate| text::bare(rate, Unit::Plain));
    rest.push(Column::left("pass rate so far", rates.collect()));
    table::side_by_side(&first, &rest, WIDTH)
}

/// `12 × what went wrong`, and where to see it.
fn error(group: &ErrorGroup, style: Style) -> [String; 2] {
    let count = format!("{} ×", text::count(group.count));
    let message = text::one_line(&group.message);
    let room = WIDTH.saturating_sub(count.chars().count() + 2); // a blank and the mark
    let message = shortened(&message, room);
    [
        format!("{} {message}", style.red(&count)),
        format!("    such as {}", group.example),
    ]
}
