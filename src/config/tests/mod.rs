//! The layers together: values and origins.

mod live;
mod mcp;
mod meaning;
mod problems;
mod resume;
mod schema;

use std::{fs, time::Duration};

use tempfile::TempDir;
use toml::Value;

use super::*;
use crate::domain::{Price, Reading, ToolMode};

const KNOWN: Known<'_> = Known {
    tools: &["calculator", "file_read", "web_fetch"],
    verifiers: &["schema", "budget", "repeat"],
};

/// Knows one run, `run`, with one variant, `v`.
#[derive(Debug)]
struct OneRun;

impl Recordings for OneRun {
    fn find(&self, from: &str, folder: &Path) -> Result<Cassette> {
        let digit = match from {
            "run" | "run/v" | "latest/live" => "1",
            "other/v" => "2",
            _ if folder.join(from).ends_with("run/v") => "1",
            _ => {
                let trace = Problem::at(Path::new("trace"), 3, 7, "is damaged");
                return Err(Error {
                    message: format!("there is no run {from}"),
                    ..Error::problems(vec![trace]).hint("look for one")
                });
            }
        };
        Ok(Cassette {
            run: folder.join("run"),
            id: "20260901T000000Z-abcdef".to_owned(),
            variant: "v".parse().unwrap(),
            replies_sha256: digit.repeat(64),
            kind: "openai".to_owned(),
            model: "large".to_owned(),
            price: None,
        })
    }
}

/// A folder with a config `farm.toml` and the files that it may name.
struct Fixture {
    dir: TempDir,
}

impl Fixture {
    fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("farm.toml", config),
            ("a.md", "Prompt A"),
            ("b.md", "Prompt B"),
            ("empty.md", "\n"),
            ("a.jsonl", "scripts a"),
            ("b.jsonl", "scripts b"),
            ("a/page", "page a"),
            ("b/page", "page b"),
        ] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { dir }
    }

    fn resolve(
        &self,
        env: &[(&str, &str)],
        flags: &[(&str, Value)],
        models: &[&str],
    ) -> Result<Resolved> {
        let file = self.dir.path().join("farm.toml");
        let env: Vec<_> = env
            .iter()
            .map(|(name, text)| ((*name).into(), (*text).into()))
            .collect();
        let models: Vec<_> = models.iter().map(|m| (*m).to_owned()).collect();
        resolve(&Sources {
            file: ConfigFile::Named(&file),
            env: &env,
            flags,
            models: &models,
            known: KNOWN,
            recordings: &OneRun,
        })
    }

    /// The problems, `F` for the config file and `D` for its folder.
    fn problems(&self, env: &[(&str, &str)], flags: &[(&str, Value)], models: &[&str]) -> String {
        let error = self.resolve(env, flags, models).unwrap_err();
        let dir = self.dir.path().display().to_string();
        let lines: Vec<String> = error.problems.iter().map(Problem::to_string).collect();
        lines
            .join("\n")
            .replace(&format!("{dir}/farm.toml"), "F")
            .replace(&dir, "D")
    }
}

fn resolve_text(config: &str) -> Resolved {
    Fixture::new(config).resolve(&[], &[], &[]).unwrap()
}

#[test]
fn without_a_file_one_scripted_model_runs() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("farm.toml");
    let sources = |file| Sources {
        file,
        env: &[],
        flags: &[],
        models: &[],
        known: KNOWN,
        recordings: &OneRun,
    };
    let resolved = resolve(&sources(ConfigFile::IfPresent(&missing))).unwrap();
    assert_eq!(resolved.run.seeds.range(), 0..1);
    assert_eq!(resolved.run.concurrency, 64);
    assert_eq!(resolved.suite.cases, Reading::Fixed);
    assert_eq!(resolved.session.verifiers, ["schema", "budget"]);
    assert_eq!(resolved.tools.file_read_max_bytes, 65536);
    assert_eq!(resolved.variants.len(), 1);
    let variant = &resolved.variants[0];
    assert_eq!(variant.name.as_str(), "scripted");
    assert_eq!(variant.limits, crate::domain::Limits::default());
    assert_eq!(variant.tools, KNOWN.tools);
    assert_eq!(variant.prompt.text, DEFAULT_PROMPT);
    assert_eq!(
        variant.model.kind,
        ModelKind::Scripted {
            scripts: None,
            latency: Duration::ZERO
        }
    );

    let error = resolve(&sources(ConfigFile::Named(&missing))).unwrap_err();
    let said = error.problems[0].to_string();
    assert!(
        said.contains("farm.toml: cannot be read: No such file"),
        "{said}"
    );
}

#[test]
fn a_later_layer_wins_and_says_so() {
    let fixture = Fixture::new("[run]\n\nconcurrency = 2\nseeds = 3\n");
    let flag = [("run.concurrency", Value::Integer(9))];
    let env = [("FARM_RUN_CONCURRENCY", "7"), ("HOME", "x")];
    type Row<'a> = (
        &'a [(&'a str, &'a str)],
        &'a [(&'a str, Value)],
        u32,
        &'a str,
    );
    let table: [Row<'_>; 3] = [
        (&[], &[], 2, "F:3"),
        (&env, &[], 7, "FARM_RUN_CONCURRENCY"),
        (&env, &flag, 9, "--concurrency"),
    ];
    let file = fixture.dir.path().join("farm.toml").display().to_string();
    for (env, flags, want, origin) in table {
        let resolved = fixture.resolve(env, flags, &[]).unwrap();
        assert_eq!(resolved.run.concurrency, want);
        let got = resolved.origin("run.concurrency").unwrap().to_string();
        assert_eq!(got.replace(&file, "F"), origin);
        assert_eq!(resolved.run.seeds.range(), 0..3);
        assert_eq!(resolved.origin("run.run_seed"), Some(&Origin::Default));
        assert_eq!(resolved.origin("run.sealed"), None);
    }
}

#[test]
fn environment_values_are_toml_or_text() {
    let fixture = Fixture::new("");
    let env = [
        ("FARM_RUN_SEEDS", "3..5"),
        ("FARM_RUN_UNSCORED", "true"),
        ("FARM_RUN_SEALED", "12"),
        ("FARM_RUN_UNTIL", "07:00:00"),
        ("FARM_SUITE_CASES", "sample"),
        ("FARM_SUITE_LEVEL", "0.9"),
        ("FARM_SESSION_MAX_STEPS", "3"),
        ("FARM_TOOLS_FILE_READ_MAX_BYTES", "10"),
        ("FARM_CONFIG", "ignored"),
        ("FARM_GOLDEN", "ignored"),
        ("FARM_TEST_ABORT", "ignored"),
        ("FARM_REQUIRE_GSM8K", "ignored"),
    ];
    let resolved = fixture.resolve(&env, &[], &[]).unwrap();
    assert_eq!(resolved.run.seeds.range(), 3..5);
    assert!(resolved.run.unscored);
    assert_eq!(Ok(resolved.run.until), "07:00".parse());
    // Named by the environment, so from where farm stands.
    assert_eq!(resolved.run.sealed.unwrap().path, Path::new("12"));
    assert_eq!(resolved.suite.cases, Reading::Sample);
    assert!((resolved.suite.level - 0.9).abs() < 1e-12);
    assert_eq!(resolved.variants[0].limits.max_steps, 3);
    assert_eq!(resolved.tools.file_read_max_bytes, 10);
}

const VARIANTS: &str = r#"
[session]
max_steps = 5
max_tokens = 100
prompt = "a.md"
[models.zed]
kind = "scripted"
scripts = "a.jsonl"
latency_ms = 20
parameters = { temperature = 0.5, top_p = 1 }
[models."gpt-4.1"]
kind = "scripted"
tool_mode = "json"
text_calls = true
[variants.short]
model = "zed"
prompt = "b.md"
tools = []
limits = { max_steps = 2, max_cost_usd = 1 }
parameters = { temperature = 0 }
[variants.plain]
model = "gpt-4.1"
"#;

#[test]
fn variants_take_what_they_do_not_say_from_session_and_model() {
    let resolved = resolve_text(VARIANTS);
    let [short, plain] = &resolved.variants[..] else {
        panic!("{:?}", resolved.variants)
    };
    assert_eq!(
        (short.name.as_str(), plain.name.as_str()),
        ("short", "plain")
    );
    assert_eq!(
        (short.prompt.text.as_str(), plain.prompt.text.as_str()),
        ("Prompt B", "Prompt A")
    );
    assert_eq!((short.tools.len(), plain.tools.len()), (0, 3));
    assert_eq!(
        (short.limits.max_steps, short.limits.max_tokens),
        (2, Some(100))
    );
    assert_eq!(
        (short.limits.max_cost_usd, plain.limits.max_cost_usd),
        (Some(1.0), None)
    );
    assert_eq!(plain.limits.max_steps, 5);
    let parameters = serde_json::to_value(&short.parameters).unwrap();
    assert_eq!(
        parameters,
        serde_json::json!({"temperature": 0, "top_p": 1})
    );
    assert_eq!(
        (short.model.tool_mode, plain.model.tool_mode),
        (ToolMode::Native, ToolMode::Json)
    );
    assert!(plain.model.text_calls);
    let ModelKind::Scripted { scripts, latency } = &short.model.kind else {
        panic!("{:?}", short.model.kind)
    };
    let scripts = scripts.as_ref().unwrap();
    assert_eq!(scripts.file.written, "a.jsonl");
    assert!(scripts.file.path.is_absolute());
    assert_eq!(scripts.sha256, sha256_hex(b"scripts a"));
    assert_eq!(*latency, Duration::from_millis(20));
}

#[test]
fn selected_models_are_variants_in_the_order_of_the_config() {
    let fixture = Fixture::new(VARIANTS);
    let names = |models: &[&str]| {
        let resolved = fixture.resolve(&[], &[], models).unwrap();
        let names: Vec<&str> = resolved.variants.iter().map(|v| v.name.as_str()).collect();
        names.join(" ")
    };
    assert_eq!(names(&[]), "short plain");
    assert_eq!(names(&["gpt-4.1"]), "gpt-4.1");
    assert_eq!(names(&["gpt-4.1", "zed", "zed"]), "zed gpt-4.1");
    let without_variants = VARIANTS.split("[variants").next().unwrap();
    let names: Vec<_> = resolve_text(without_variants).variants;
    assert_eq!(names.len(), 2);
}

#[test]
fn the_shipped_config_is_sound() {
    let fixture = Fixture::new("");
    let root = fixture.dir.path();
    for folder in ["configs/scripts", "configs/prompts", "eval/pages"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    fs::write(root.join("configs/scripts/cases.jsonl"), "").unwrap();
    fs::write(root.join("configs/prompts/react.md"), DEFAULT_PROMPT).unwrap();
    let file = root.join(DEFAULT_FILE);
    fs::write(&file, include_str!("../../../configs/farm.toml")).unwrap();
    let resolved = resolve(&Sources {
        file: ConfigFile::Named(&file),
        env: &[],
        flags: &[],
        models: &[],
        known: KNOWN,
        recordings: &OneRun,
    })
    .unwrap();
    assert!(resolved.tools.web_fetch_pages.is_some());
    assert_eq!(resolved.variants.len(), 1);
    assert_eq!(resolved.run.seeds.range(), 0..1);
}

#[test]
fn what_the_shipped_config_shows_in_comments_is_sound_too() {
    let shipped = include_str!("../../../configs/farm.toml");
    let comments = shipped.lines().filter_map(|line| line.strip_prefix("# "));
    let toml = comments.filter(|text| text.starts_with('[') || text.contains(" = "));
    let toml: Vec<&str> = toml.collect();
    let resolved = resolve_text(&toml.join("\n"));
    let kinds = resolved.variants.iter().map(|v| v.model.kind.as_str());
    assert_eq!(kinds.collect::<Vec<_>>(), ["openai", "cassette"]);
    let cap = [("run.max_cost_usd", Value::Integer(5))];
    let fixture = Fixture::new(&toml.join("\n"));
    assert!(fixture.resolve(&[], &cap, &["live"]).is_ok());
}
