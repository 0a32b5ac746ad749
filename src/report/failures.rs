//! Why sessions failed: `farm report --failures`.

use std::fmt::Write;

use super::{
    Style,
    markdown::{code, escape},
    text::{self, one_line},
    wrap,
};
use crate::domain::{
    Code,
    failures::{BadStep, FailureGroup, Failures, VariantFailures},
    shell,
};

/// How failures are shown.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The run as a user names it.
    pub run: &'a str,
    /// Groups of failed, and of errored, sessions before the rest is left out; all if none.
    pub groups: Option<usize>,
    /// Columns; Markdown has none.
    pub width: usize,
    /// Whether it is coloured; Markdown is not.
    pub style: Style,
}

/// For a terminal, ending in a line break.
#[must_use]
pub fn render(failures: &Failures, view: &View<'_>) -> String {
    let style = view.style;
    let mut out = format!("{}\n", head(failures));
    for part in parts(failures, view) {
        for (title, group) in part.titled() {
            let _ = writeln!(out, "\n{}", style.bold(&title));
            for fact in facts(group) {
                let values = text::and_more(&fact.values, fact.more);
                out += &field(2, fact.label, &values, view.width);
            }
            out += &field(2, "example", &example(group), view.width);
            for (label, text) in group.example.step.iter().flat_map(told) {
                out += &field(4, label, text, view.width);
            }
            let _ = writeln!(out, "  {}", style.dim(&command(group, view)));
        }
        out.extend(part.more());
    }
    out.extend(ungrouped(failures));
    out
}

/// As Markdown. What comes out of a run stands in code spans: nothing of it has a meaning there.
#[must_use]
pub fn markdown(failures: &Failures, view: &View<'_>) -> String {
    let mut doc = format!("# Failures\n\n{}\n", head(failures));
    for part in parts(failures, view) {
        for (title, group) in part.titled() {
            let _ = writeln!(doc, "\n## {}\n", escape(&title));
            for fact in facts(group) {
                let values: Vec<String> = fact.values.iter().map(|value| code(value)).collect();
                let values = text::and_more(&values, fact.more);
                let _ = writeln!(doc, "- {}: {values}", fact.label);
            }
            let _ = writeln!(doc, "- example: {}", escape(&example(group)));
            for (label, text) in group.example.step.iter().flat_map(told) {
                let _ = writeln!(doc, "  - {label}: {}", code(text));
            }
            let _ = writeln!(doc, "\n{}", code(&command(group, view)));
        }
        doc.extend(part.more());
    }
    doc.extend(ungrouped(failures));
    doc
}

/// Failed or errored sessions, as far as they are shown.
struct Part<'a> {
    title: &'static str,
    of: &'static str,
    groups: &'a [FailureGroup],
    left_out: usize,
}

fn parts<'a>(failures: &'a Failures, view: &View<'_>) -> [Part<'a>; 2] {
    let part = |title, of, groups: &'a [FailureGroup]| {
        let shown = view.groups.unwrap_or(groups.len()).min(groups.len());
        let (groups, rest) = groups.split_at_checked(shown).unwrap_or((groups, &[]));
        Part {
            title,
            of,
            groups,
            left_out: rest.len(),
        }
    };
    [
        part("Failure", "failed", &failures.failed),
        part("Error", "errored", &failures.errored),
    ]
}

impl Part<'_> {
    /// Groups under `Failure 1: baseline, 12 sessions (70.6 % of its failed), 2 cases`.
    fn titled(&self) -> impl Iterator<Item = (String, &FailureGroup)> {
        self.groups.iter().zip(1..).map(|(group, number)| {
            let title = format!(
                "{} {number}: {}, {} ({:.1} % of its {}), {}",
                self.title,
                group.variant,
                text::plural(group.sessions, "session"),
                group.share * 100.0,
                self.of,
                text::plural(group.cases, "case"),
            );
            (title, group)
        })
    }

    fn more(&self) -> Option<String> {
        let groups = text::plural(self.left_out as u64, "more group");
        let of = self.of;
        (self.left_out > 0).then(|| format!("\n{groups} of {of} sessions: `--all` shows them.\n"))
    }
}

/// `22 of 79 scored sessions failed, in 4 groups; 3 errored, in 1 group.`
fn head(failures: &Failures) -> String {
    let sum = |of: fn(&VariantFailures) -> u64| failures.variants.iter().map(of).sum();
    let groups = |groups: &[FailureGroup]| text::plural(groups.len() as u64, "group");
    let scored = text::plural(sum(|v| v.scored), "scored session");
    let mut head = match sum(|v| v.failed) {
        0 => format!("No session failed, of {scored}"),
        n => format!(
            "{} of {scored} failed, in {}",
            text::count(n),
            groups(&failures.failed)
        ),
    };
    let errored = sum(|v| v.errored);
    if errored > 0 {
        let groups = groups(&failures.errored);
        let _ = write!(head, "; {} errored, in {groups}", text::count(errored));
    }
    head + "."
}

/// What the sessions of a group have in common, or their cases.
struct Fact {
    label: &'static str,
    values: Vec<String>,
    /// How many values are left out.
    more: u64,
}

fn facts(group: &FailureGroup) -> Vec<Fact> {
    let all = |label, values| Fact {
        label,
        values,
        more: 0,
    };
    let mut facts = Vec::new();
    if !group.checks.is_empty() {
        facts.push(all("checks", group.checks.clone()));
    }
    facts.push(all("status", vec![text::ended(group.status, group.limit)]));
    if let Some(error) = &group.error {
        let code = error.code.map(Code::as_str);
        facts.push(all(
            "error",
            vec![code.unwrap_or(&error.message).to_owned()],
        ));
    }
    let named = group.case_ids.iter().map(ToString::to_string).collect();
    facts.push(Fact {
        more: group.cases.saturating_sub(group.case_ids.len() as u64),
        ..all("cases", named)
    });
    facts
}

/// `baseline/web-003/0, step 2`; steps are counted from 1, as in `farm trace show`.
fn example(group: &FailureGroup) -> String {
    let session = &group.example.session;
    match &group.example.step {
        Some(step) => format!("{session}, step {}", step.step + 1),
        None => session.to_string(),
    }
}

/// What there is to a step.
fn told(step: &BadStep) -> impl Iterator<Item = (&'static str, &str)> {
    let texts = [
        ("thought", &step.thought),
        ("call", &step.call),
        ("answer", &step.answer),
        ("wrong", &step.wrong),
    ];
    texts
        .into_iter()
        .filter_map(|(label, text)| Some((label, text.as_deref()?)))
}

fn command(group: &FailureGroup, view: &View<'_>) -> String {
    let session = &group.example.session;
    format!("farm trace show {session} --run {}", shell(view.run))
}

fn ungrouped(failures: &Failures) -> Option<String> {
    let sessions: u64 = failures.variants.iter().map(|v| v.ungrouped).sum();
    let words = text::plural(sessions, "more session");
    (sessions > 0).then(|| format!("\n{words} failed in yet other ways.\n"))
}

/// A label and a text beside it.
fn field(indent: usize, label: &str, text: &str, width: usize) -> String {
    let room = width.saturating_sub(indent + wrap::LABEL);
    let lines = wrap::words(&one_line(text), room);
    wrap::field(indent, label, str::to_owned, &lines)
}

#[cfg(test)]
mod tests;
