//! What a run would take, for a person: `farm run --dry-run`.

use super::{
    Style,
    table::{self, Column},
    text, wrap,
};
use crate::domain::forecast::{Forecast, Span};

const WIDTH: usize = 80;

/// The whole, ending in a line break.
#[must_use]
pub fn render(forecast: &Forecast, style: Style) -> String {
    let variants = &forecast.variants;
    let names = variants.iter().map(|v| v.variant.to_string()).collect();
    let first = Column::left("variant", names);
    let count = |of: fn(&crate::domain::forecast::VariantForecast) -> Span<u64>| {
        let of = variants.iter().map(of);
        of.map(|span| shown(span, text::count)).collect()
    };
    let costs = variants.iter().map(|v| shown(v.cost_usd, text::usd));
    let sessions = variants.iter().map(|v| text::count(v.sessions)).collect();
    let rest = [
        Column::right("sessions", sessions),
        Column::right("calls", count(|v| v.calls)),
        Column::right("tokens in", count(|v| v.tokens_in)),
        Column::right("tokens out", count(|v| v.tokens_out)),
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
    use crate::domain::forecast::{SCHEMA, VariantForecast};

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
                    calls: span(1080, Some(2880)),
                    tokens_in: span(450_000, None),
                    tokens_out: span(130_000, Some(1_474_560)),
                    cost_usd: Span {
                        likely: Some(0.13),
                        most: None,
                    },
                },
                VariantForecast {
                    variant: "scripted".parse().unwrap(),
                    sessions: 360,
                    calls: span(1080, Some(1080)),
                    tokens_in: span(450_000, Some(9_000_000)),
                    tokens_out: span(130_000, Some(1_474_560)),
                    cost_usd: Span {
                        likely: Some(0.0),
                        most: Some(0.0),
                    },
                },
            ],
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
