//! What a resolved config means, and that it can be written and read back.

use super::*;

#[test]
fn a_resolved_config_resolves_to_the_same() {
    let config =
        format!("[run]\nsealed = \"x/s.jsonl\"\n[tools.web_fetch]\npages = \"a\"\n{VARIANTS}");
    let fixture = Fixture::new(&config);
    let flags = [("run.seeds", Value::String("3..5".to_owned()))];
    let env = [("FARM_SUITE_LEVEL", "0.9")];
    for models in [&[][..], &["gpt-4.1"]] {
        let first = fixture.resolve(&env, &flags, models).unwrap();
        let folder = fixture.dir.path().join("results/run");
        fs::create_dir_all(&folder).unwrap();
        let text = first.to_toml(&folder);
        let file = folder.join("config.toml");
        fs::write(&file, &text).unwrap();
        let again = resolve(&Sources {
            file: ConfigFile::Named(&file),
            env: &[],
            flags: &[],
            models: &[],
            known: KNOWN,
            recordings: &OneRun,
        })
        .unwrap();
        assert_eq!(again.meaning(), first.meaning(), "{text}");
        assert_eq!(again.suite, first.suite);
        assert_eq!(again.run.seeds, first.run.seeds);
        let sealed = again.run.sealed.unwrap();
        assert_eq!(sealed.written, "../../x/s.jsonl");
        assert_eq!(again.variants.len(), first.variants.len());
        if models.is_empty() {
            let dir = fixture.dir.path().display().to_string();
            insta::assert_snapshot!(text.replace(&dir, "D"), @r#"
# Every value of this run, and where it came from.

[suite]
cases = "fixed" # default
level = 0.9 # FARM_SUITE_LEVEL

[run]
seeds = "3..5" # --seeds
run_seed = 0 # default
concurrency = 64 # default
until = "none" # default
max_cost_usd = "none" # default
probe = true # default
sealed = "../../x/s.jsonl" # farm.toml:2
unscored = false # default

[session]
prompt = "../../a.md" # farm.toml:9
tools = ["calculator", "file_read", "web_fetch"] # default
verifiers = ["schema", "budget"] # default
send_reasoning = false # default
max_steps = 5 # farm.toml:7
max_tokens = 100 # farm.toml:8

[tools.file_read]
max_bytes = 65536 # default

[tools.web_fetch]
pages = "../../a" # farm.toml:4

[models.zed]
kind = "scripted" # farm.toml:11
scripts = "../../a.jsonl" # farm.toml:12
latency_ms = 20 # farm.toml:13
tool_mode = "native" # default
text_calls = false # default
parameters = { temperature = 0.5, top_p = 1 } # farm.toml:14

[models."gpt-4.1"]
kind = "scripted" # farm.toml:16
latency_ms = 0 # default
tool_mode = "json" # farm.toml:17
text_calls = true # farm.toml:18
parameters = {} # default

[variants.short]
model = "zed" # farm.toml:20
prompt = "../../b.md" # farm.toml:21
tools = [] # farm.toml:22
limits.max_steps = 2 # farm.toml:23
limits.max_cost_usd = 1 # farm.toml:23
parameters = { temperature = 0 } # farm.toml:24

[variants.plain]
model = "gpt-4.1" # farm.toml:26
"#);
        }
    }
}

/// Two values of a key that are not the same.
fn values(key: &Key) -> (&'static str, &'static str) {
    match key.path {
        // These name something that must be there, or have a form of their own.
        "session.tools" | "variants.*.tools" => ("['calculator']", "['file_read']"),
        "session.verifiers" => ("['schema']", "['repeat']"),
        "variants.*.model" | "session.judge.model" | "score.judge" => ("'m'", "'n'"),
        "tools.web_fetch.pages" => ("'a'", "'b'"),
        "models.*.scripts" => ("'a.jsonl'", "'b.jsonl'"),
        "models.*.from" => ("'run/v'", "'other/v'"),
        "tools.mcp.*.command" => ("['a']", "['./a.md']"),
        "tools.mcp.*.env" | "tools.mcp.*.secret_env" => ("['A']", "[]"),
        "tools.mcp.*.share" => ("'session'", "'run'"),
        "models.*.base_url" => ("'http://a'", "'http://b'"),
        "models.*.api_key_env" => ("'A_KEY'", "'B_KEY'"),
        "models.*.api_key_header" => ("'x-a'", "'x-b'"),
        "suite.cases" => ("'fixed'", "'sample'"),
        "models.*.tool_mode" => ("'native'", "'json'"),
        "models.*.response_format" => ("'json_schema'", "'none'"),
        _ => match key.kind {
            Kind::Switch => ("true", "false"),
            Kind::Count { .. } | Kind::Amount | Kind::Price | Kind::Seconds | Kind::Seeds => {
                ("11", "12")
            }
            Kind::Share => ("0.5", "0.6"),
            Kind::Cap => ("11", "'none'"),
            Kind::Path | Kind::Text => ("'a.md'", "'b.md'"),
            Kind::Time => ("'8h'", "'none'"),
            Kind::Json => ("{ a = 1 }", "{ a = 2 }"),
            Kind::Texts => ("{ a = '1' }", "{ a = '2' }"),
            Kind::Choice(_) | Kind::Names | Kind::Command => panic!("{}: which?", key.path),
        },
    }
}

/// The digest of a config that sets this key to this value, and else what it needs.
fn digest_with(key: &Key, value: &str) -> String {
    let mut lines = vec![
        ("models.n.kind", "'scripted'"),
        ("models.n.text_calls", "true"),
    ];
    lines.extend(match key.only {
        ["openai"] => vec![
            ("models.m.kind", "'openai'"),
            ("models.m.base_url", "'http://a'"),
            ("models.m.model", "'large'"),
            ("models.m.api_key_env", "'A_KEY'"),
            ("models.m.price.input", "1"),
            ("models.m.price.output", "2"),
            ("models.m.parameters", "{ max_tokens = 9 }"),
        ],
        ["cassette"] => vec![("models.m.kind", "'cassette'")],
        _ => vec![("models.m.kind", "'scripted'")],
    });
    match key.parts().next() {
        Some("variants") => lines.push(("variants.v.model", "'m'")),
        Some("tools") if key.path.contains("mcp") => {
            lines.push(("tools.mcp.s.command", "['server']"));
        }
        Some("session") if key.path.contains("judge") => {
            lines.extend([
                ("session.judge.model", "'n'"),
                ("session.judge.rubric", "'r'"),
            ]);
        }
        _ => {}
    }
    let path = key.path.replace("variants.*", "variants.v");
    let path = path.replace("models.*", "models.m");
    let path = path.replace("mcp.*", "mcp.s");
    lines.retain(|(other, _)| *other != path);
    lines.push((&path, value));
    let config: String = lines.iter().map(|(k, v)| format!("{k} = {v}\n")).collect();
    let resolved = Fixture::new(&config).resolve(&[], &[], &[]);
    let resolved = resolved.unwrap_or_else(|e| panic!("{config}{:?}", e.problems));
    resolved.digest().unwrap()
}

/// The digest follows every key that is declared to mean something, and no other.
#[test]
fn the_digest_follows_the_meaning() {
    for key in KEYS.iter().filter(|key| key.path != "models.*.kind") {
        let (a, b) = values(key);
        let follows = digest_with(key, a) != digest_with(key, b);
        assert_eq!(follows, key.class == Class::Meaning, "{}", key.path);
    }
    let kinds = [
        "kind = 'scripted'",
        "kind = 'openai', base_url = 'http://a', model = 'm'",
        "kind = 'cassette', from = 'run/v'",
    ];
    let digests = kinds.map(|kind| {
        let config = format!("models.m = {{ {kind} }}");
        resolve_text(&config).digest().unwrap()
    });
    let distinct: std::collections::BTreeSet<_> = digests.iter().collect();
    assert_eq!(distinct.len(), keys::MODEL_KINDS.len());
}

/// Runs of an older farm go on: what a later one adds is not in their meaning.
#[test]
fn what_the_committed_results_mean_stays() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(home.join("results/suite/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let now = resolve(&Sources {
        file: ConfigFile::Named(&home.join(DEFAULT_FILE)),
        env: &[],
        flags: &[],
        models: &[],
        known: KNOWN,
        recordings: &OneRun,
    });
    let now = now.unwrap().meaning();
    assert_eq!(differences(&manifest["meaning"], &now), []);
    assert_eq!(
        digest(&serde_json::json!({"config": now, "inputs": manifest["inputs"]["sha256"]}))
            .unwrap(),
        manifest["digest"].as_str().unwrap()
    );
}

#[test]
fn the_digest_does_not_follow_places() {
    let a = resolve_text("[session]\nprompt = \"a.md\"\n")
        .digest()
        .unwrap();
    let fixture = Fixture::new("session.prompt = 'sub/../other.md' # moved\n");
    fs::create_dir(fixture.dir.path().join("sub")).unwrap();
    fs::write(fixture.dir.path().join("other.md"), "Prompt A").unwrap();
    let b = fixture.resolve(&[], &[], &[]).unwrap().digest().unwrap();
    assert_eq!(a, b);
    let large = |n: i64| {
        resolve_text(&format!("run.run_seed = {n}"))
            .digest()
            .unwrap()
    };
    assert_ne!(large(i64::MAX), large(i64::MAX - 1));
}
