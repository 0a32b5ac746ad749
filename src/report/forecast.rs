//! What a run would take, for a person: `farm run --dry-run`.

use super::{
    Style,
    table::{self, Column},
    text, wrap,
};
use crate::domain::forecast::{Forecast, Judges, Span, Takes};

const WIDTH: usize = 80;

/// The whole, ending in a line break.
#[must_use]
pub fn render(forecast: &Forecast, style: Style) -> String {
    let mut rows: Vec<(String, String, &Takes)> = Vec::new();
    for of in &forecast.variants {
        rows.push((of.variant.to_string(), text::count(of.sessions), &of.takes));
    }
    for of in &forecast.judges {
        let what = match of.judges {
            Judges::Steps => "of steps",
            Judges::Sessions => "of sessions",
        };
        let name = format!("{}, judge {what}", of.model);
        rows.push((name, String::new(), &of.takes));
    }
    let first = Column::left("variant", rows.iter().map(|row| row.0.clone()).collect());
    let count = |of: fn(&Takes) -> Span<u64>| {
        let of = rows.iter().map(|row| of(row.2));
        of.map(|span| shown(span, text::count)).collect()
    };
    let costs = rows.iter().map(|row| shown(row.2.cost_usd, text::usd));
    let rest = [
        Column::right("sessions", rows.iter().map(|row| row.1.clone()).collect()),
        Column::right("calls", count(|takes| takes.calls)),
        Column::right("tokens in", count(|takes| takes.tokens_in)),
        Column::right("tokens out", count(|takes| takes.tokens_out)),
        Column::right("cost", costs.collect()),
    ];
    let mut lines = vec!["Likely, and at most:".to_owned()];
    for table in table::side_by_side(&first, &rest, WIDTH) {
        lines.push(String::new());
        lines.extend(table::styled(&table, style));
    }
    lines.push(String::new());
    let cap = match forecast.max_cost_usd {
        Some(cap) => format!("capped at {}", text::usd(cap)),
        None => "no cap: set one with --max-cost".to_owned(),
    };
    let sessions = text::plural(forecast.sessions, "session");
    let cost = shown(forecast.cost_usd, text::usd);
    lines.push(format!("{sessions}, {cost}; {cap}"));
    for note in &forecast.notes {
        let words: Vec<String> = note.split(' ').map(str::to_owned).collect();
        lines.extend(wrap::flow(&words, " ", WIDTH));
    }
    lines.join("\n") + "\n"
}

/// `1,080 … 2,880`; one number where both are the same.
fn shown<T: Copy + PartialEq>(span: Span<T>, as_text: fn(T) -> String) -> String {
    let one = |value: Option<T>| value.map_or("unknown".to_owned(), as_text);
    if span.likely == span.most {
        return one(span.likely);
    }
    format!("{} … {}", one(span.likely), one(span.most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::forecast::{JudgeForecast, SCHEMA, VariantForecast};

    #[test]
    fn for_a_person() {
        let span = |likely, most| Span {
            likely: Some(likely),
            most,
        };
        let forecast = Forecast {
            schema: SCHEMA.to_owned(),
            sessions: 720,
            variants: vec![
                VariantForecast {
                    variant: "gpt".parse().unwrap(),
                    sessions: 360,
                    takes: Takes {
                        calls: span(1080, Some(2880)),
                        tokens_in: span(450_000, None),
                        tokens_out: span(130_000, Some(1_474_560)),
                        cost_usd: Span {
                            likely: Some(0.13),
                            most: None,
                        },
                    },
                },
                VariantForecast {
                    variant: "scripted".parse().unwrap(),
                    sessions: 360,
                    takes: Takes {
                        calls: span(1080, Some(1080)),
                        tokens_in: span(450_000, Some(9_000_000)),
                        tokens_out: span(130_000, Some(1_474_560)),
                        cost_usd: Span {
                            likely: Some(0.0),
                            most: Some(0.0),
                        },
                    },
                },
            ],
            judges: vec![JudgeForecast {
                judges: Judges::Sessions,
                model: "mini".to_owned(),
                takes: Takes {
                    calls: span(720, Some(2160)),
                    tokens_in: span(600_000, None),
                    tokens_out: span(86_400, Some(259_200)),
                    cost_usd: Span {
                        likely: Some(0.02),
                        most: None,
                    },
                },
            }],
            cost_usd: Span {
                likely: Some(0.13),
                most: Some(1.0),
            },
            max_cost_usd: Some(1.0),
            notes: vec!["likely: 3 calls a session, 120 tokens a reply, 80 an observation, 4 bytes a token; `--pilot RUN` takes them from a run".to_owned()],
        };
        insta::assert_snapshot!(render(&forecast, Style::default()));
    }
}
