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

/// The digest follows every key that is declared to mean something, and no other.
#[test]
fn the_digest_follows_the_meaning() {
    let values = |key: &Key| match key.path {
        // These name something that must be there.
        "session.tools" | "variants.*.tools" => ("['calculator']", "['file_read']"),
        "session.verifiers" => ("['schema']", "['repeat']"),
        "variants.*.model" => ("'m'", "'n'"),
        "tools.web_fetch.pages" => ("'a'", "'b'"),
        "models.*.scripts" => ("'a.jsonl'", "'b.jsonl'"),
        _ => match key.kind {
            Kind::Switch => ("true", "false"),
            Kind::Count { .. } | Kind::Amount | Kind::Seeds => ("11", "12"),
            Kind::Share => ("0.5", "0.6"),
            Kind::Choice(&[first, second]) => (first, second),
            Kind::Choice(_) => ("scripted", "scripted"),
            Kind::Path | Kind::Text => ("'a.md'", "'b.md'"),
            Kind::Names => ("[]", "[]"),
            Kind::Time => ("'8h'", "'none'"),
            Kind::Json => ("{ a = 1 }", "{ a = 2 }"),
        },
    };
    let base = "models.m.kind = 'scripted'\nmodels.n = { kind = 'scripted', text_calls = true }\n";
    let mut changed = 0;
    for key in KEYS {
        let digest = |value: &str| {
            let value = match key.kind {
                Kind::Choice(_) => format!("'{value}'"),
                _ => value.to_owned(),
            };
            let path = key.path.replace("variants.*", "variants.v");
            let path = path.replace("models.*", "models.m");
            let mut config = format!("{path} = {value}\n");
            if key.path != "models.*.kind" {
                config.insert_str(0, base);
            }
            if path.starts_with("variants") && key.path != "variants.*.model" {
                config += "variants.v.model = 'm'\n";
            }
            let resolved = Fixture::new(&config).resolve(&[], &[], &[]);
            let resolved = resolved.unwrap_or_else(|e| panic!("{config}{:?}", e.problems));
            resolved.digest().unwrap()
        };
        let (a, b) = values(key);
        if a == b {
            // There is one kind of model so far.
            assert_eq!(key.path, "models.*.kind");
            continue;
        }
        let follows = digest(a) != digest(b);
        assert_eq!(follows, key.class == Class::Meaning, "{}", key.path);
        changed += 1;
    }
    assert_eq!(changed, KEYS.len() - 1);
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
