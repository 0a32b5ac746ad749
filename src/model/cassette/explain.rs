//! Why a request is not on a tape: where it first differs from the one that was recorded.

use std::{fmt, io};

use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Source,
    tape::{End, Session, Turn},
};
use crate::{
    domain::{
        Limit, Observation, shortened,
        trace::{Record, RunStart, Step},
    },
    model::{Conversation, Options, normalise, wire::TOOLS},
};

/// Characters that are shown before a difference, and in all.
const BEFORE: usize = 15;
const SHOWN: usize = 50;

/// A request that has no recorded reply.
pub(super) struct Asked {
    pub conversation: Conversation,
    pub options: Options,
}

/// Why it has none.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    /// It is the recorded conversation, which went no further: it ended by this limit, if by one.
    Over(Option<Limit>, String),
    /// It differs.
    Differs(String),
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Over(_, how) | Self::Differs(how) => f.write_str(how),
        }
    }
}

/// What a trace says of a session.
pub(super) struct Traced {
    pub start: RunStart,
    /// In their order; each with its turn.
    pub steps: Vec<Step>,
}

impl Traced {
    fn read(session: &Session) -> io::Result<Self> {
        let mut records = session.records()?.into_iter();
        let Some(Record::RunStart(start)) = records.next() else {
            return Err(io::Error::other("it does not begin with run_start"));
        };
        let steps = records.filter_map(|record| match record {
            Record::Step(line) => Some(line.step),
            _ => None,
        });
        Ok(Self {
            start,
            steps: steps.collect(),
        })
    }
}

/// Looks for what differs; reads the session's trace again.
pub(super) fn find(asked: &Asked, session: &Session, source: &Source) -> Found {
    match Traced::read(session) {
        Ok(traced) => compare(asked, &traced, &session.turns, session.end.as_ref(), source),
        Err(e) => Found::Differs(format!(
            "the request differs from the one that was recorded, and its trace cannot be read any \
             more: {e}"
        )),
    }
}

/// Puts the recorded conversation together again, as far as its trace tells, and compares.
pub(super) fn compare(
    asked: &Asked,
    traced: &Traced,
    turns: &[Turn],
    end: Option<&End>,
    source: &Source,
) -> Found {
    let (conversation, options) = (&asked.conversation, asked.options);
    let wanted = usize::try_from(conversation.assistant_count()).unwrap_or(usize::MAX);
    let asked = messages(conversation);
    let system = asked.first().and_then(|first| first["content"].as_str());
    let prompt = system.filter(|system| is_filled(&source.prompt, system));
    let mut recorded = conversation
        .anew(prompt.unwrap_or(&source.prompt))
        .about(&traced.start.task);
    // The turn that each message belongs to, beyond prompt and task.
    let mut turn_of = Vec::new();
    for (number, turn) in turns.iter().enumerate().take(wanted) {
        let Ok(reply) = normalise::normalise(200, turn.body.get(), options) else {
            break;
        };
        let of_turn = |step: &&Step| step.turn as usize == number;
        let came_back = traced.steps.iter().filter(of_turn);
        let came_back: Vec<&Observation> =
            came_back.filter_map(|s| s.observation.as_ref()).collect();
        recorded.push_turn(&reply, came_back);
        turn_of.resize(messages(&recorded).len().saturating_sub(2), number);
    }
    let recorded = messages(&recorded);
    if let Some(place) = first_apart(&recorded, &asked) {
        let name = match place {
            0 => "the prompt".to_owned(),
            1 => "the task".to_owned(),
            place => {
                let role = asked.get(place).or(recorded.get(place));
                let role = role.and_then(|message| message["role"].as_str());
                let turn = turn_of.get(place - 2).map(|turn| format!(", turn {turn}"));
                format!(
                    "message {place} ({}{})",
                    role.unwrap_or("?"),
                    turn.unwrap_or_default()
                )
            }
        };
        let how = quoted(recorded.get(place), asked.get(place));
        return Found::Differs(format!("{name} differs: {how}"));
    }
    let others = of_shape(conversation, options, &traced.start, source);
    if !others.is_empty() {
        return Found::Differs(others.join("; "));
    }
    if wanted >= turns.len() {
        return over(turns.len(), end, &traced.start);
    }
    Found::Differs(format!(
        "the request differs in what no trace tells: the descriptions of tools, or how farm reads \
         replies (recorded by farm {})",
        source.farm
    ))
}

fn messages(conversation: &Conversation) -> Vec<Value> {
    match conversation.to_value() {
        Value::Array(messages) => messages,
        _ => Vec::new(),
    }
}

/// Whether a system message is this prompt with tools told where it says so. Which tools is told by
/// the request apart from it.
fn is_filled(prompt: &str, system: &str) -> bool {
    let Some((before, rest)) = prompt.split_once(TOOLS) else {
        return false;
    };
    let after = rest.rsplit(TOOLS).next().unwrap_or(rest);
    let told = system.strip_prefix(before);
    told.is_some_and(|told| told.ends_with(after))
}

/// The first place at which two lists differ; one that goes on where the other is over differs too.
fn first_apart(a: &[Value], b: &[Value]) -> Option<usize> {
    let place = a.iter().zip(b).position(|(a, b)| a != b);
    place.or_else(|| (a.len() != b.len()).then_some(a.len().min(b.len())))
}

/// What differs in that which all requests of a session share.
fn of_shape(
    conversation: &Conversation,
    options: Options,
    start: &RunStart,
    source: &Source,
) -> Vec<String> {
    let shape = conversation.shape();
    let request = shape.to_value();
    let mut found = Vec::new();
    let mut tell = |what: &str, recorded: Option<String>, asked: Option<String>| {
        if recorded != asked {
            let [recorded, asked] = [recorded, asked].map(|text| text.unwrap_or("nothing".into()));
            let (recorded, asked) = apart(&recorded, &asked);
            found.push(format!(
                "{what} differs: recorded {recorded}, asked {asked}"
            ));
        }
    };
    if let Some(mode) = source.tool_mode {
        tell("tool_mode", json(&mode), json(&shape.tool_mode()));
    }
    let tools = request["tools"].as_array().into_iter().flatten();
    let names: Vec<&str> = tools
        .filter_map(|tool| tool["function"]["name"].as_str())
        .collect();
    tell("the list of tools", json(&start.tools), json(&names));
    let asked = request["parameters"].as_object();
    let own = asked.into_iter().flat_map(Map::keys);
    let own = own.filter(|name| !source.parameters.contains_key(*name));
    for name in source.parameters.keys().chain(own) {
        let recorded = source.parameters.get(name).and_then(json);
        let asked = asked.and_then(|asked| asked.get(name)).and_then(json);
        tell(&format!("parameter {name}"), recorded, asked);
    }
    if let Some(send) = source.send_reasoning {
        tell("send_reasoning", json(&send), json(&shape.send_reasoning()));
    }
    if let Some(text_calls) = source.text_calls {
        tell("text_calls", json(&text_calls), json(&options.text_calls));
    }
    found
}

/// A value in the form in which it enters a digest: 1 is 1.0.
fn json(value: &impl Serialize) -> Option<String> {
    serde_json_canonicalizer::to_string(value).ok()
}

/// How the recorded session ended, for one that is about to go on.
fn over(turns: usize, end: Option<&End>, start: &RunStart) -> Found {
    let how = match end {
        None => "its trace has no end".to_owned(),
        Some(End {
            status,
            limit,
            error,
        }) => {
            let limit = limit.map(|limit| match limit {
                Limit::Steps => format!(" of max_steps {}", start.max_steps),
                other => format!(" of {}", other.as_str()),
            });
            let error = error
                .as_deref()
                .map(|e| format!(": {}", shortened(e, 4 * SHOWN)));
            format!(
                "{}{}{}",
                status.as_str(),
                limit.unwrap_or_default(),
                error.unwrap_or_default()
            )
        }
    };
    let turns = match turns {
        1 => "1 turn".to_owned(),
        n => format!("{n} turns"),
    };
    let how = format!("the recorded session ended after {turns}: {how}");
    Found::Over(end.and_then(|end| end.limit), how)
}

/// Two messages where they differ: by their texts if nothing else does.
fn quoted(recorded: Option<&Value>, asked: Option<&Value>) -> String {
    let (Some(recorded), Some(asked)) = (recorded, asked) else {
        return match recorded {
            Some(_) => "it was recorded, and is not asked".to_owned(),
            None => "it is asked, and was not recorded".to_owned(),
        };
    };
    let is_rest_same = || {
        let rest = |message: &Value| {
            let mut message = message.clone();
            message["content"] = Value::Null;
            message
        };
        rest(recorded) == rest(asked)
    };
    let texts = recorded["content"].as_str().zip(asked["content"].as_str());
    let (recorded, asked) = match texts {
        Some((recorded, asked)) if is_rest_same() => {
            let (recorded, asked) = apart(recorded, asked);
            (format!("{recorded:?}"), format!("{asked:?}"))
        }
        _ => apart(&recorded.to_string(), &asked.to_string()),
    };
    format!("recorded {recorded}, asked {asked}")
}

/// Two texts around the first place at which they differ.
fn apart(a: &str, b: &str) -> (String, String) {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(BEFORE);
    let cut = |text: &str| {
        let rest: String = text.chars().skip(from).collect();
        let mark = if from > 0 { "…" } else { "" };
        format!("{mark}{}", shortened(&rest, SHOWN))
    };
    (cut(a), cut(b))
}
