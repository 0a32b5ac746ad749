//! The figures over all cases as labelled rows, one value per variant: what the terminal and
//! Markdown show in the same order and the same words.

use std::collections::BTreeSet;

use super::text::{self, Unit};
use crate::domain::{Amount, Bounds, Figure, Overall, Reading, Summary};

/// Rows that belong together.
pub(super) struct Group<'a> {
    pub name: &'static str,
    pub rows: Vec<Row<'a>>,
}

/// One figure.
pub(super) struct Row<'a> {
    pub label: String,
    /// One short line for the table "what it means".
    pub meaning: &'static str,
    /// In the order of the variants.
    pub values: Vec<Value<'a>>,
}

/// What one variant has to say.
pub(super) enum Value<'a> {
    Figure(&'a Figure, Unit),
    /// Rests on fewer sessions, which have a row of their own.
    Completed(&'a Figure),
    Text(String),
    Absent,
}

/// How much of a figure is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// With sessions and method.
    Full,
    /// With sessions.
    Counted,
    /// Alone, if it rests on as many sessions as the pass rate: those stand in a row above.
    Bare,
}

impl Value<'_> {
    pub fn text(&self, form: Form, pass_rate: &Figure) -> String {
        let (figure, unit) = match self {
            Self::Figure(figure, unit) => (figure, *unit),
            Self::Completed(figure) => (figure, Unit::Plain),
            Self::Text(text) => return text.clone(),
            Self::Absent => return "–".to_owned(),
        };
        let counted_above = matches!(self, Self::Completed(_))
            || (figure.n, figure.n_planned) == (pass_rate.n, pass_rate.n_planned);
        match form {
            Form::Full => text::figure(figure, unit),
            Form::Bare if counted_above => text::tight(figure, unit),
            Form::Bare | Form::Counted => text::counted(figure, unit),
        }
    }
}

/// All rows. A group without rows is left out.
pub(super) fn groups(summary: &Summary) -> Vec<Group<'_>> {
    let mut groups = vec![
        pass_rate(summary),
        shares(summary),
        means(summary),
        totals(summary),
        over_k(summary),
        metrics(summary),
        noise(summary),
    ];
    groups.retain(|group| !group.rows.is_empty());
    groups
}

/// Why figures or intervals are undefined, and warnings: each with the figures it is said of.
pub(super) fn notes(summary: &Summary) -> Vec<(&str, Vec<String>)> {
    let mut notes: Vec<(&str, Vec<String>)> = Vec::new();
    for row in groups(summary).into_iter().flat_map(|g| g.rows) {
        for value in row.values {
            let (Value::Figure(figure, _) | Value::Completed(figure)) = value else {
                continue;
            };
            let Some(note) = figure.note.as_deref() else {
                continue;
            };
            match notes.iter_mut().find(|(known, _)| *known == note) {
                Some((_, labels)) if labels.contains(&row.label) => {}
                Some((_, labels)) => labels.push(row.label.clone()),
                None => notes.push((note, vec![row.label.clone()])),
            }
        }
    }
    notes
}

fn row<'a>(
    summary: &'a Summary,
    label: impl Into<String>,
    meaning: &'static str,
    value: impl Fn(&'a Overall) -> Value<'a>,
) -> Row<'a> {
    let overall = summary.variants.iter().map(|v| &v.overall);
    Row {
        label: text::one_line(&label.into()),
        meaning,
        values: overall.map(value).collect(),
    }
}

fn plain(figure: &Figure) -> Value<'_> {
    Value::Figure(figure, Unit::Plain)
}

fn pass_rate(summary: &Summary) -> Group<'_> {
    let fixed = row(
        summary,
        text::reading(Reading::Fixed),
        "Share of scored sessions whose checks all hold. The interval is for running these same \
         cases again with other seeds",
        |o| plain(&o.pass_rate.fixed),
    );
    let sample = row(
        summary,
        text::reading(Reading::Sample),
        "The same share. The interval is for other cases of the same kind, so it also holds the \
         luck of which cases were written",
        |o| plain(&o.pass_rate.sample),
    );
    let mut rows = match summary.reading {
        Reading::Fixed => vec![fixed, sample],
        Reading::Sample => vec![sample, fixed],
    };
    let bounded = |o: &Overall| o.pass_rate_bounds.is_some() || o.incomplete;
    if summary.variants.iter().any(|v| bounded(&v.overall)) {
        rows.push(row(
            summary,
            "if missing fail … pass",
            "The pass rate if all missing sessions had failed, and if all had passed. incomplete: \
             over 5 % are missing, or half of one case",
            |o| {
                let bounds = o.pass_rate_bounds.map(range);
                let incomplete = o.incomplete.then(|| "incomplete".to_owned());
                let parts: Vec<String> = bounds.into_iter().chain(incomplete).collect();
                if parts.is_empty() {
                    Value::Absent
                } else {
                    Value::Text(parts.join(" "))
                }
            },
        ));
    }
    Group {
        name: "pass rate",
        rows,
    }
}

fn range(Bounds { lo, hi }: Bounds) -> String {
    format!("{} … {}", text::number(lo), text::number(hi))
}

fn shares(summary: &Summary) -> Group<'_> {
    let reading = summary.reading;
    Group {
        name: "rate",
        rows: vec![
            row(
                summary,
                "completion",
                "Scored sessions in which the agent ended by itself",
                move |o| plain(o.completion_rate.first(reading)),
            ),
            row(
                summary,
                "budget exhaustion",
                "Scored sessions that ran into a limit: steps, tokens, cost, seconds or context",
                move |o| plain(o.budget_exhaustion_rate.first(reading)),
            ),
            row(
                summary,
                "fallback stop",
                "Scored sessions stopped after three failed turns in a row",
                move |o| plain(o.fallback_stop_rate.first(reading)),
            ),
        ],
    }
}

fn means(summary: &Summary) -> Group<'_> {
    let reading = summary.reading;
    Group {
        name: "mean of case means",
        rows: vec![
            row(
                summary,
                "verifier score",
                "Mean score of all judgments of a session, from 0 to 1",
                move |o| plain(o.verifier_score.first(reading)),
            ),
            row(
                summary,
                "steps to completion",
                "Steps of completed sessions only: those that ended otherwise would distort it",
                |o| Value::Completed(&o.steps_to_completion.mean),
            ),
            row(
                summary,
                "completed / scored",
                "The sessions that steps to completion rests on, of all that were scored",
                |o| {
                    let steps = &o.steps_to_completion;
                    Value::Text(format!(
                        "{} / {}",
                        text::count(steps.completed),
                        text::count(steps.scored)
                    ))
                },
            ),
            row(
                summary,
                "blocked steps",
                "Steps that a verifier blocked before they ran",
                |o| plain(&o.blocked_steps.mean),
            ),
            row(summary, "tokens in", "Tokens of all requests", |o| {
                plain(&o.tokens_in.mean)
            }),
            row(summary, "tokens out", "Tokens of all replies", |o| {
                plain(&o.tokens_out.mean)
            }),
            row(
                summary,
                "cost in USD",
                "US dollars of final attempts",
                |o| Value::Figure(&o.cost_usd.mean, Unit::Usd),
            ),
            row(
                summary,
                "cost per pass in USD",
                "US dollars per session that passes: the mean cost over the pass rate",
                |o| match &o.cost_per_pass {
                    Some(cost) => Value::Figure(cost, Unit::Usd),
                    None => Value::Absent,
                },
            ),
        ],
    }
}

fn totals(summary: &Summary) -> Group<'_> {
    let whole = |amount: &Amount| {
        // Counts stay exact in f64 up to 2^53, and print without decimals.
        let total = amount.total.filter(|t| t.is_finite());
        Value::Text(total.map_or_else(unknown, |t| text::count(t.round() as u64)))
    };
    Group {
        name: "total",
        rows: vec![
            row(
                summary,
                "blocked steps",
                "Steps blocked in scored sessions; a total is a fact and has no interval",
                move |o| whole(&o.blocked_steps),
            ),
            row(
                summary,
                "tokens in",
                "Tokens of all requests of scored sessions; unknown when any call did not report them",
                move |o| whole(&o.tokens_in),
            ),
            row(
                summary,
                "tokens out",
                "Tokens of all replies of scored sessions; unknown when any call did not report them",
                move |o| whole(&o.tokens_out),
            ),
            row(
                summary,
                "cost",
                "US dollars of the final attempts of scored sessions",
                |o| Value::Text(o.cost_usd.total.map_or_else(unknown, text::usd)),
            ),
        ],
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

fn over_k(summary: &Summary) -> Group<'_> {
    let overall = || summary.variants.iter().map(|v| &v.overall);
    // k = 1 is the pass rate itself.
    let at: BTreeSet<u32> = overall()
        .flat_map(|o| o.pass_at_k.keys())
        .copied()
        .collect();
    let hat: BTreeSet<u32> = overall()
        .flat_map(|o| o.pass_hat_k.keys())
        .copied()
        .collect();
    let at = at.into_iter().filter(|k| *k > 1).map(|k| {
        row(
            summary,
            format!("pass@{k}"),
            "Chance that at least one of k seeds of a case passes",
            move |o| o.pass_at_k.get(&k).map_or(Value::Absent, plain),
        )
    });
    let hat = hat.into_iter().filter(|k| *k > 1).map(|k| {
        row(
            summary,
            format!("pass^{k}"),
            "Chance that all of k seeds of a case pass",
            move |o| o.pass_hat_k.get(&k).map_or(Value::Absent, plain),
        )
    });
    Group {
        name: "over k seeds",
        rows: at.chain(hat).collect(),
    }
}

fn metrics(summary: &Summary) -> Group<'_> {
    let names: BTreeSet<&str> = summary
        .variants
        .iter()
        .flat_map(|v| v.overall.metrics.keys())
        .map(String::as_str)
        .collect();
    let rows = names.into_iter().map(|name| {
        row(
            summary,
            name,
            "A metric defined in the sealed half of the cases",
            move |o| o.metrics.get(name).map_or(Value::Absent, plain),
        )
    });
    Group {
        name: "hidden metrics",
        rows: rows.collect(),
    }
}

fn noise(summary: &Summary) -> Group<'_> {
    let mut rows = Vec::new();
    let known = |o: &Overall| o.variance.seed_share.is_some();
    if summary.variants.iter().any(|v| known(&v.overall)) {
        rows.push(row(
            summary,
            "due to seeds",
            "Share of the variance of the pass rate that more seeds would reduce; the rest only \
             more cases would",
            |o| {
                let share = o.variance.seed_share;
                share.map_or(Value::Absent, |s| Value::Text(text::number(s)))
            },
        ));
    }
    Group {
        name: "noise of the pass rate",
        rows,
    }
}
