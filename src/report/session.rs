//! A trace as a person reads it: `farm trace show`, `farm demo`.

use super::{
    Style, served,
    text::{self, visible},
    wrap,
};
use crate::domain::{
    Decision, Judgment, Observation, Status,
    trace::{Record, RunEnd, RunStart, StepLine},
};

/// Characters of a line before the rest is left out.
const LINE: usize = 400;

/// How a session is shown.
#[derive(Debug, Clone, Copy)]
pub struct View {
    /// Lines of an observation, a thought or a call before the rest is left out; whole if none.
    pub lines: Option<usize>,
    /// Whether it is coloured.
    pub style: Style,
}

/// The session, or several one after another, ending in a line break.
#[must_use]
pub fn render(records: &[Record], view: &View) -> String {
    let mut page = Page {
        view,
        text: String::new(),
        max_steps: 0,
    };
    for (i, record) in records.iter().enumerate() {
        match record {
            Record::RunStart(start) => {
                if i > 0 {
                    page.text.push('\n');
                }
                page.start(start);
            }
            Record::Step(line) => {
                let siblings = |r: Option<&Record>| match r {
                    Some(Record::Step(other)) => other.step.turn == line.step.turn,
                    _ => false,
                };
                let before = i.checked_sub(1).and_then(|i| records.get(i));
                page.step(line, siblings(before) || siblings(records.get(i + 1)));
            }
            Record::RunEnd(end) => page.end(end),
        }
    }
    if !matches!(records.last(), Some(Record::RunEnd(_))) {
        page.text.push_str("\nno end recorded\n");
    }
    page.text
}

struct Page<'a> {
    view: &'a View,
    text: String,
    max_steps: u32,
}

impl Page<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// A label and a text of any number of lines, indented below each other.
    fn field(&mut self, label: &str, content: &str, limit: Option<usize>) {
        let style = self.view.style;
        let content = visible(content);
        let lines = content.trim_end_matches('\n').split('\n');
        let mut lines: Vec<String> = match limit {
            Some(_) => lines.map(cut).collect(),
            None => lines.map(str::to_owned).collect(),
        };
        let left_out = limit.map_or(0, |limit| lines.len().saturating_sub(limit));
        if left_out > 0 {
            lines.truncate(lines.len() - left_out);
            let more = text::plural(left_out as u64, "more line");
            lines.push(style.dim(&format!("… {more}")));
        }
        let field = wrap::field(2, label, |label| style.dim(label), &lines);
        self.text.push_str(&field);
    }

    fn start(&mut self, start: &RunStart) {
        self.max_steps = start.max_steps;
        let key = format!("{}/{}/{}", start.variant, start.case, start.seed);
        let mut head = self.view.style.bold(&key);
        if start.attempt > 0 {
            head.push_str(&format!("  attempt {}", start.attempt + 1));
        }
        self.line(&head);
        self.field("task", &start.task, None);
        self.field(
            "budget",
            &text::plural(start.max_steps.into(), "step"),
            None,
        );
        let tools = match start.tools.is_empty() {
            true => "none".to_owned(),
            false => start.tools.join(", "),
        };
        self.field("tools", &tools, None);
    }

    fn step(&mut self, line: &StepLine, in_company: bool) {
        let step = &line.step;
        let style = self.view.style;
        let mut head = style.bold(&format!("step {}/{}", step.step + 1, self.max_steps));
        if in_company {
            let place = format!("  turn {}, call {}", step.turn + 1, step.call + 1);
            head.push_str(&style.dim(&place));
        }
        self.text.push('\n');
        self.line(&head);
        if let Some(turn) = served::turn(line) {
            self.field("turn", &turn, None);
        }
        self.decision(&step.decision, line.refused);
        for repair in &line.repairs {
            self.field("repaired", repair, self.view.lines);
        }
        self.judgments(&step.judgments);
        if let Some(observation) = &step.observation {
            let blocked = step.decision.tool_call.is_some() && step.is_blocked();
            self.observation(observation, blocked);
        }
    }

    fn decision(&mut self, decision: &Decision, refused: bool) {
        let limit = self.view.lines;
        if let Some(thought) = decision.thought.as_deref().filter(|t| !t.is_empty()) {
            self.field("thought", thought, limit);
        }
        if let Some(call) = &decision.tool_call {
            self.field("call", &call.to_string(), limit);
        }
        match &decision.answer {
            Some(answer) if refused => self.field("refusal", answer, None),
            Some(answer) => self.field("answer", answer, None),
            None if decision.tool_call.is_none() => self.field("reply", "not usable", None),
            None => {}
        }
    }

    fn judgments(&mut self, judgments: &[Judgment]) {
        let width = judgments
            .iter()
            .map(|j| visible(&j.verifier).chars().count())
            .max()
            .unwrap_or(0);
        let style = self.view.style;
        for j in judgments {
            let mark = if j.passed {
                style.green("✓")
            } else {
                style.red("✗")
            };
            let reason = visible(&j.reason).replace('\n', "\n           ");
            let name = format!("{:<width$}", visible(&j.verifier));
            self.line(&format!("  {mark} {name}  {:.2}  {reason}", j.score));
        }
    }

    fn observation(&mut self, observation: &Observation, blocked: bool) {
        let label = match (blocked, observation.ok) {
            (true, _) => "blocked",
            (false, false) => "error",
            (false, true) => "result",
        };
        self.field(label, &observation.content, self.view.lines);
    }

    fn end(&mut self, end: &RunEnd) {
        let style = self.view.style;
        let ended = text::ended(end.status, end.limit);
        let ended = match end.status {
            Status::Completed => style.green(&ended),
            _ => style.yellow(&ended),
        };
        self.text.push('\n');
        self.line(&format!("{ended}  {}", facts(end).join(" · ")));
        if let Some(error) = &end.error {
            self.field("error", error, None);
        }
    }
}

/// What a session took: steps, mean score, tokens, cost, and what it waited for in the end.
pub(super) fn facts(end: &RunEnd) -> Vec<String> {
    let tokens = match (end.usage.tokens_in, end.usage.tokens_out) {
        (None, None) => "tokens unknown".to_owned(),
        (tokens_in, tokens_out) => {
            let count = |n: Option<u64>| n.map_or_else(|| "?".to_owned(), text::count);
            format!("tokens {} in, {} out", count(tokens_in), count(tokens_out))
        }
    };
    let mut facts = vec![text::plural(end.steps_used.into(), "step")];
    facts.extend(
        end.mean_score
            .map(|s| format!("mean score {}", text::number(s))),
    );
    facts.push(tokens);
    facts.push(
        end.cost_usd
            .map_or_else(|| "cost unknown".to_owned(), text::usd),
    );
    facts.extend(served::waited(&end.waits));
    facts
}

/// A line of bearable length.
fn cut(line: &str) -> String {
    let length = line.chars().count();
    if length <= LINE {
        return line.to_owned();
    }
    let shown: String = line.chars().take(LINE).collect();
    format!(
        "{shown} … {}",
        text::plural((length - LINE) as u64, "more character")
    )
}
