//! Every key of the config, once: its path, what it takes, its default, what depends on it.

use super::kinds::{Kind, did_you_mean};

/// Whether a key changes what a run means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It changes what sessions do or how they are judged: it is in the run digest.
    Meaning,
    /// It changes when sessions run, or how their results are read and shown: it may differ on
    /// resume. The readings of `[suite]` are here: they ask for no session again.
    Operation,
}

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Names joined by dots; `*` stands for any one name.
    pub path: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What depends on it.
    pub class: Class,
    /// Its default, as TOML; none: not set.
    pub default: Option<&'static str>,
    /// The kinds of model that it goes with; empty: all, and all that is no model.
    pub only: &'static [&'static str],
    /// Whether its table must have it; of a model, if it goes with the model's kind.
    pub is_required: bool,
    /// The option of the command line that sets it.
    pub flag: Option<&'static str>,
    /// One line.
    pub doc: &'static str,
}

const ANY: i64 = i64::MAX;
const U32: i64 = u32::MAX as i64;

const fn key(path: &'static str, kind: Kind, class: Class, doc: &'static str) -> Key {
    Key {
        path,
        kind,
        class,
        default: None,
        only: &[],
        is_required: false,
        flag: None,
        doc,
    }
}

impl Key {
    const fn default(mut self, toml: &'static str) -> Self {
        self.default = Some(toml);
        self
    }

    const fn only(mut self, kinds: &'static [&'static str]) -> Self {
        self.only = kinds;
        self
    }

    const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    const fn flag(mut self, flag: &'static str) -> Self {
        self.flag = Some(flag);
        self
    }

    /// The names of the path.
    pub fn parts(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.path.split('.')
    }

    /// The environment variable that sets it: scalar keys outside `[models]` and `[variants]`.
    #[must_use]
    pub fn env(&self) -> Option<String> {
        (self.kind.is_scalar() && !self.path.contains('*'))
            .then(|| format!("FARM_{}", self.path.replace('.', "_").to_uppercase()))
    }

    /// How many names its table's header has: `[run]` has one, `[models.NAME]` two,
    /// `[tools.mcp.NAME]` three.
    pub(super) fn header_len(&self) -> usize {
        let any = self.parts().position(|part| part == "*");
        match (any, self.parts().next()) {
            (Some(at), _) => at + 1,
            (None, Some("tools")) => 2,
            _ => 1,
        }
    }

    /// The table of its `*`, such as `models`; none where it has none.
    pub(super) fn section(&self) -> Option<&'static str> {
        let (section, _) = self.path.split_once(".*")?;
        Some(section)
    }
}

use Class::{Meaning, Operation};
use Kind::{
    Amount, Cap, Choice, Command, Count, Json, Names, Path, Price, Seconds, Seeds, Share, Switch,
    Text, Texts, Time,
};

const SOME: Kind = Count { min: 1, max: U32 };
const MANY: Kind = Count { min: 1, max: ANY };

/// The kinds of model.
pub(super) const MODEL_KINDS: &[&str] = &["scripted", "openai", "cassette"];
const SCRIPTED: &[&str] = &["scripted"];
const OPENAI: &[&str] = &["openai"];
const CASSETTE: &[&str] = &["cassette"];

/// All keys, in the order in which a resolved config is written.
#[rustfmt::skip]
pub const KEYS: &[Key] = &[
    key("suite.cases", Choice(&["fixed", "sample"]), Operation,
        "which reading of a pass rate comes first: these cases, or cases like these").default("\"fixed\""),
    key("suite.level", Share, Operation, "confidence level of all intervals").default("0.95"),

    key("run.seeds", Seeds, Operation, "how many seeds, or \"A..B\" half open").default("1").flag("--seeds"),
    key("run.run_seed", Count { min: 0, max: ANY }, Meaning, "the number that all randomness derives from").default("0").flag("--run-seed"),
    key("run.concurrency", Count { min: 1, max: U32 }, Operation, "sessions in flight per endpoint").default("64").flag("--concurrency"),
    key("run.until", Time, Operation, "when to wind down: a span such as \"8h\", a time of day, a moment, or \"none\"").default("\"none\"").flag("--until"),
    key("run.max_cost_usd", Cap, Operation, "the most US dollars that live models may cost in all, or \"none\"").default("\"none\"").flag("--max-cost"),
    key("run.probe", Switch, Operation, "ask each live model once before the run").default("true").flag("--no-probe"),
    key("run.sealed", Path, Operation, "the sealed halves; what they say enters the digest, not where they are").flag("--sealed"),
    key("run.unscored", Switch, Operation, "run without a scorer").default("false").flag("--unscored"),

    key("session.prompt", Path, Meaning, "file with the system prompt; not set: the built-in one"),
    key("session.tools", Names, Meaning, "what the agent may call").default(r#"["calculator", "file_read", "web_fetch"]"#),
    key("session.verifiers", Names, Meaning, "what judges each step").default(r#"["schema", "budget"]"#),
    key("session.send_reasoning", Switch, Meaning, "send reasoning text back to the model").default("false"),
    key("session.max_steps", SOME, Meaning, "tool calls and answers, blocked and failed ones too").default("8"),
    key("session.max_tokens", MANY, Meaning, "tokens in and out together"),
    key("session.max_cost_usd", Amount, Meaning, "US dollars"),
    key("session.max_seconds", Amount, Meaning, "working seconds"),

    key("session.judge.model", Text, Meaning, "a name of [models]: it judges each step").required(),
    key("session.judge.rubric", Text, Meaning, "by what it judges a step").required(),

    key("score.judge", Text, Meaning, "a name of [models]: it grades the checks of kind model_graded"),

    key("tools.file_read.max_bytes", Count { min: 1, max: ANY }, Meaning, "the longest file that is read").default("65536"),
    key("tools.web_fetch.pages", Path, Meaning, "folder of the pages that can be fetched"),

    key("tools.mcp.*.command", Command, Meaning, "a program that serves tools over MCP, with its arguments; what begins with ./ or ../ is a path").required(),
    key("tools.mcp.*.env", Names, Operation, "environment variables that it gets besides HOME, LANG, PATH and TMPDIR; it gets no others").default("[]"),
    key("tools.mcp.*.secret_env", Names, Operation, "more variables that it gets, whose values are taken out of what it says").default("[]"),
    key("tools.mcp.*.share", Choice(&["session", "run"]), Meaning, "a process for each session, or one for the whole run").default("\"session\""),
    key("tools.mcp.*.max_processes", SOME, Operation, "the most processes of it at the same time; sessions wait for one").default("32"),
    key("tools.mcp.*.resumable", Switch, Operation, "whether a session that called it may go on with a new process").default("false"),
    key("tools.mcp.*.max_bytes", Count { min: 1, max: 4 << 20 }, Meaning, "the longest result that is taken").default("65536"),
    key("tools.mcp.*.start_timeout_s", Seconds, Operation, "how long to wait until it says what tools it has; an older server that does not answer what it does not know takes 10 of them").default("60"),
    key("tools.mcp.*.timeout_s", Seconds, Operation, "how long to wait for the result of a call").default("60"),

    key("models.*.kind", Choice(MODEL_KINDS), Meaning, "what answers").required(),
    key("models.*.base_url", Text, Operation, "address of the endpoint: what stands before /chat/completions").only(OPENAI).required(),
    key("models.*.model", Text, Meaning, "the model as the endpoint knows it").only(OPENAI).required(),
    key("models.*.api_key_env", Text, Operation, "the environment variable that holds the key").only(OPENAI),
    key("models.*.api_key_header", Text, Operation, "the header that the key is sent in, as it is; not set: authorization, after \"Bearer \"").only(OPENAI),
    key("models.*.headers", Texts, Meaning, "headers that are sent along").default("{}").only(OPENAI),
    key("models.*.from", Path, Meaning, "the recording: RUN/VARIANT, or RUN if it has one variant").only(CASSETTE).required(),
    key("models.*.scripts", Path, Meaning, "file of scripts; not set: those of the cases").only(SCRIPTED),
    key("models.*.latency_ms", Count { min: 0, max: U32 }, Operation, "how long a scripted reply takes").default("0").only(SCRIPTED),
    key("models.*.tool_mode", Choice(&["native", "json"]), Meaning, "provider tool calls, or one JSON object").default("\"native\""),
    key("models.*.text_calls", Switch, Meaning, "whether calls written into the text count").default("false"),
    key("models.*.send_seed", Switch, Meaning, "send the session's seed along").default("true").only(OPENAI),
    key("models.*.response_format", Choice(&["json_schema", "json_object", "none"]), Meaning, "how a JSON object is asked for, with tool_mode = \"json\"").default("\"json_schema\"").only(OPENAI),
    key("models.*.parameters", Json, Meaning, "sent with each request, such as temperature").default("{}"),
    key("models.*.price.input", Price, Operation, "of a request, US dollars per million tokens").only(OPENAI).required(),
    key("models.*.price.cached", Price, Operation, "of what the provider had in its cache; not set: as the rest").only(OPENAI),
    key("models.*.price.output", Price, Operation, "of a reply, US dollars per million tokens").only(OPENAI).required(),
    key("models.*.max_cost_usd", Amount, Operation, "the most US dollars that it may cost in a run").only(OPENAI),
    key("models.*.slots.start", SOME, Operation, "calls at the same time, to begin with").default("64").only(OPENAI),
    key("models.*.slots.max", SOME, Operation, "the most calls at the same time; not set: run.concurrency").only(OPENAI),
    key("models.*.rates.requests_per_minute", MANY, Operation, "the most requests in a minute").only(OPENAI),
    key("models.*.rates.tokens_per_minute", MANY, Operation, "the most tokens in a minute, in and out together").only(OPENAI),
    key("models.*.max_tries", SOME, Operation, "how often a call is tried; 429 never counts").default("6").only(OPENAI),
    key("models.*.connect_timeout_s", Seconds, Operation, "how long to wait for a connection").default("10").only(OPENAI),
    key("models.*.timeout_s", Seconds, Operation, "how long to wait for a whole reply").default("600").only(OPENAI),

    key("variants.*.model", Text, Meaning, "a name of [models]").required(),
    key("variants.*.prompt", Path, Meaning, "in place of session.prompt"),
    key("variants.*.tools", Names, Meaning, "in place of session.tools"),
    key("variants.*.limits.max_steps", SOME, Meaning, "in place of session.max_steps"),
    key("variants.*.limits.max_tokens", MANY, Meaning, "in place of session.max_tokens"),
    key("variants.*.limits.max_cost_usd", Amount, Meaning, "in place of session.max_cost_usd"),
    key("variants.*.limits.max_seconds", Amount, Meaning, "in place of session.max_seconds"),
    key("variants.*.parameters", Json, Meaning, "over those of the model, one by one"),
];

/// What a path leads to.
#[derive(Debug)]
pub(super) enum Found {
    /// A key.
    Key(&'static Key),
    /// A table that holds keys.
    Table,
    /// Nothing, and what may have been meant.
    Unknown(Option<String>),
}

/// Looks a path up.
pub(super) fn find(path: &[String]) -> Found {
    match below(path).next() {
        Some(key) if key.parts().count() == path.len() => Found::Key(key),
        Some(_) => Found::Table,
        None => Found::Unknown(
            path.split_last()
                .and_then(|(name, parent)| meant(name, parent)),
        ),
    }
}

/// The keys whose path begins with `prefix`.
fn below(prefix: &[String]) -> impl Iterator<Item = &'static Key> {
    KEYS.iter().filter(|key| {
        let mut parts = key.parts();
        prefix
            .iter()
            .all(|name| parts.next().is_some_and(|p| p == "*" || p == name))
    })
}

/// The same name in another table, one below if there is one, or the nearest name in this one, or
/// all names in this one.
fn meant(name: &str, parent: &[String]) -> Option<String> {
    let elsewhere = below(parent)
        .chain(KEYS)
        .find(|key| key.parts().last() == Some(name))
        .map(|key| format!("did you mean `{}`?", key.path.replace('*', "NAME")));
    elsewhere.or_else(|| {
        let mut here: Vec<&str> = below(parent)
            .filter_map(|key| key.parts().nth(parent.len()))
            .collect();
        here.dedup();
        let known = || (!here.is_empty()).then(|| format!("known here are {}", here.join(", ")));
        did_you_mean(name, &here).or_else(known)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_their_defaults_fit() {
        for (i, key) in KEYS.iter().enumerate() {
            assert!(KEYS[..i].iter().all(|k| k.path != key.path), "{}", key.path);
            if let Some(default) = key.default {
                let value: toml::Value = default.parse().unwrap();
                assert_eq!(key.kind.check(&value), Ok(()), "{}", key.path);
            }
        }
    }

    #[test]
    fn paths_lead_to_keys() {
        let find = |path: &str| {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            match find(&path) {
                Found::Key(key) => key.path.to_owned(),
                Found::Table => "table".to_owned(),
                Found::Unknown(meant) => meant.unwrap_or_default(),
            }
        };
        let table = [
            ("run", "table"),
            ("models.any", "table"),
            ("models.any.kind", "models.*.kind"),
            ("variants.v.limits", "table"),
            ("run.seed", "did you mean `seeds`?"),
            ("ruin", "did you mean `run`?"),
            ("concurrency", "did you mean `run.concurrency`?"),
            (
                "variants.v.max_steps",
                "did you mean `variants.NAME.limits.max_steps`?",
            ),
            ("models.any.kind.x", ""),
            ("tools.mcp.any", "table"),
            ("tools.mcp.any.command", "tools.mcp.*.command"),
            ("tools.zzz", "known here are file_read, web_fetch, mcp"),
        ];
        for (path, want) in table {
            assert_eq!(find(path), want, "{path}");
        }
    }

    #[test]
    fn environment_names() {
        let names: Vec<String> = KEYS.iter().filter_map(Key::env).collect();
        assert!(names.contains(&"FARM_RUN_CONCURRENCY".to_owned()));
        assert!(names.contains(&"FARM_TOOLS_FILE_READ_MAX_BYTES".to_owned()));
        assert!(
            !names
                .iter()
                .any(|n| n.contains("MODELS") || n == "FARM_SESSION_TOOLS")
        );
    }
}
