//! What is run: a case file with all that belongs to it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;
use tempfile::TempDir;

/// A suite, and where its runs go.
pub(crate) struct Suite {
    /// Where farm stands; removed with the suite.
    dir: TempDir,
    /// The arguments of `farm run` that say what is run.
    pub(crate) args: Vec<String>,
}

/// Five cases: tools and a draw; calls that are blocked and a reply that is none; calls side by
/// side, one of them blocked; a budget that runs out, with tokens that add up; files.
pub(crate) const CASES: &str = r#"
{"id":"tools","task":"What is 6 * 7?","script":[{"thought":"I will multiply.","tool_call":{"tool":"calculator","args":{"expression":"6 * 7"}}},{"any_of":[{"weight":2,"tool_call":{"tool":"calculator","args":{"expression":"42 + 1"}}},{"tool_call":{"tool":"calculator","args":{"expression":"42 + 0"}}}]},{"answer":"It is {{observation}}."}]}
{"id":"blocked","task":"What is 8 / 2?","script":[{"tool_call":{"tool":"calculator","args":{"expr":"8 / 2"}}},{"raw":{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}},{"tool_call":{"tool":"abacus","args":{}}},{"tool_call":{"tool":"calculator","args":{"expression":"8 / 2"}}},{"answer":"{{observation}}"}]}
{"id":"parallel","task":"Three sums.","script":[{"tool_calls":[{"tool":"calculator","args":{"expression":"1 + 1"}},{"tool":"calculator","args":{"expr":"2 + 2"}},{"tool":"calculator","args":{"expression":"3 + 3"}}]},{"tool_call":{"tool":"calculator","args":{"expression":"2 + 2"}}},{"answer":"2, 4 and 6"}]}
{"id":"budget","task":"Count for ever.","max_steps":3,"script":[{"raw":{"choices":[{"message":{"content":"Once more.","tool_calls":[{"id":"call-1","type":"function","function":{"name":"calculator","arguments":"{\"expression\":\"1 + 1\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}}]}
{"id":"files","task":"Who is in charge?","files":"desk","script":[{"tool_call":{"tool":"file_read","args":{"path":"notes.txt"}}},{"tool_call":{"tool":"file_read","args":{"path":"missing.txt"}}},{"answer":"It says: {{observation}}"}]}
"#;

const SEALED: &str = r#"
{"id":"tools","checks":[{"kind":"answer_number","equals":43}],"metrics":[{"name":"efficiency","kind":"steps_over_optimal","optimal":2}]}
{"id":"blocked","checks":[{"kind":"answer_number","equals":4},{"kind":"blocked_steps","max":2}],"metrics":[{"name":"efficiency","kind":"steps_over_optimal","optimal":2}]}
{"id":"parallel","checks":[{"kind":"answer_contains","text":"6"},{"kind":"tool_called","tool":"calculator","times":3}],"metrics":[{"name":"efficiency","kind":"steps_over_optimal","optimal":2}]}
{"id":"budget","checks":[{"kind":"status","is":"budget_exhausted"}],"metrics":[{"name":"efficiency","kind":"steps_over_optimal","optimal":2}]}
{"id":"files","checks":[{"kind":"observation_contains","text":"Odile"}],"metrics":[{"name":"efficiency","kind":"steps_over_optimal","optimal":2}]}
"#;

impl Suite {
    fn new(cases: &str, sealed: &str, config: &str) -> Self {
        let args = [cases, "--sealed", sealed, "--config", config];
        Self {
            dir: tempfile::tempdir().unwrap(),
            args: args.map(str::to_owned).to_vec(),
        }
    }

    /// Five small cases; each reply takes so long.
    pub(crate) fn small(latency_ms: u64) -> Self {
        Self::with_config(&format!(
            "[models.scripted]\nkind = \"scripted\"\nlatency_ms = {latency_ms}\n"
        ))
    }

    /// The same five cases with another config.
    pub(crate) fn with_config(config: &str) -> Self {
        let suite = Self::new("cases.jsonl", "sealed.jsonl", "farm.toml");
        let write = |name: &str, text: &str| fs::write(suite.dir.path().join(name), text).unwrap();
        fs::create_dir(suite.dir.path().join("desk")).unwrap();
        write("cases.jsonl", CASES.trim_start());
        write("sealed.jsonl", SEALED.trim_start());
        write("desk/notes.txt", "Odile is in charge.");
        write("farm.toml", config);
        suite
    }

    /// The suite that comes with farm.
    pub(crate) fn shipped() -> Self {
        let path = |name: &str| format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
        Self::new(
            &path("eval/cases.jsonl"),
            &path("configs/sealed/cases.jsonl"),
            &path("configs/farm.toml"),
        )
    }

    /// 1,319 problems with the recorded solutions of two models, which lie in `data`.
    pub(crate) fn gsm8k(data: &Path) -> Self {
        let data = fs::canonicalize(data).unwrap();
        let path = |name: &str| data.join(name).to_str().unwrap().to_owned();
        let suite = Self::new(&path("cases.jsonl"), &path("sealed.jsonl"), "farm.toml");
        let model = |name: &str, scripts: &str| {
            let scripts = json!(path(scripts));
            format!("[models.{name}]\nkind = \"scripted\"\nscripts = {scripts}\n")
        };
        let config = model("6b", "scripts/6b_finetuning.jsonl")
            + &model("175b", "scripts/175b_verification.jsonl");
        fs::write(suite.dir.path().join("farm.toml"), config).unwrap();
        suite
    }

    /// The same with more arguments of `farm run`.
    pub(crate) fn with(mut self, more: &[&str]) -> Self {
        self.args.extend(more.iter().map(|&arg| arg.to_owned()));
        self
    }

    /// A name in the suite's own folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }
}
