//! Models that are asked over the network, cassettes, judges, and caps on what they cost.

use super::*;
use crate::domain::ResponseFormat;

const LIVE: &str = r#"
[run]
max_cost_usd = 20
probe = false
[session.judge]
model = "small"
rubric = "Is the step of use?"
[score]
judge = "small"
[models.large]
kind = "openai"
base_url = "HTTPS://Api.Example/v1/"
model = "vendor/large:free"
api_key_env = "EXAMPLE_KEY"
api_key_header = "x-key"
headers = { HTTP-Referer = "https://farm.example", X-Title = "farm" }
send_seed = false
response_format = "none"
parameters = { temperature = 0.5, max_tokens = 1000 }
price = { input = 0.15, cached = 0, output = 2 }
max_cost_usd = 0.5
slots = { start = 4, max = 8 }
rates = { requests_per_minute = 60, tokens_per_minute = 100000 }
max_tries = 1
connect_timeout_s = 0.5
timeout_s = 5
[models.small]
kind = "openai"
base_url = "http://127.0.0.1:8080"
model = "small"
price.input = 0
price.output = 0
parameters = { max_tokens = 10, max_completion_tokens = 20 }
[models.tape]
kind = "cassette"
from = "run"
[variants.long]
model = "large"
parameters = { max_completion_tokens = 2000 }
[variants.short]
model = "large"
parameters = { max_tokens = 7 }
[variants.replayed]
model = "tape"
"#;

fn live(model: &ModelConfig) -> &OpenAi {
    match &model.kind {
        ModelKind::OpenAi(live) => live,
        other => panic!("{other:?}"),
    }
}

#[test]
fn all_of_a_live_model_is_read() {
    let resolved = resolve_text(LIVE);
    assert_eq!(resolved.run.max_cost_usd, Some(20.0));
    assert!(!resolved.run.probe);
    let [long, short, replayed] = &resolved.variants[..] else {
        panic!("{:?}", resolved.variants)
    };
    let own = |text: &str| text.to_owned();
    let want = OpenAi {
        base_url: own("https://api.example/v1"),
        model: own("vendor/large:free"),
        api_key_env: Some(own("EXAMPLE_KEY")),
        api_key_header: Some(own("x-key")),
        headers: vec![
            (own("HTTP-Referer"), own("https://farm.example")),
            (own("X-Title"), own("farm")),
        ],
        send_seed: false,
        response_format: ResponseFormat::None,
        price: Some(Price {
            input: 0.15,
            cached: Some(0.0),
            output: 2.0,
        }),
        max_cost_usd: Some(0.5),
        slots_start: 4,
        slots_max: Some(8),
        requests_per_minute: Some(60),
        tokens_per_minute: Some(100_000),
        max_tries: 1,
        connect_timeout: Duration::from_millis(500),
        timeout: Duration::from_secs(5),
        output_limit: Some(2000),
    };
    assert_eq!(live(&long.model), &want);
    let shorter = OpenAi {
        output_limit: Some(7),
        ..want
    };
    assert_eq!(live(&short.model), &shorter);
    let tape = ModelKind::Cassette(OneRun.find("run", resolved_folder(replayed)).unwrap());
    assert_eq!(replayed.model.kind, tape);

    let judge = resolved.session.judge.as_ref().unwrap();
    assert_eq!(judge.rubric, "Is the step of use?");
    assert_eq!(judge.parameters["max_tokens"], 10);
    let grader = resolved.score_judge.as_ref().unwrap();
    assert_eq!(grader.model, judge.model);
    let plain = live(&judge.model);
    assert_eq!(plain.output_limit, Some(20));
    assert_eq!(plain.base_url, "http://127.0.0.1:8080");
    assert_eq!((&plain.api_key_env, plain.send_seed), (&None, true));
    assert_eq!(plain.response_format, ResponseFormat::JsonSchema);
    assert_eq!((plain.slots_start, plain.slots_max), (64, None));
    assert_eq!((plain.max_tries, plain.max_cost_usd), (6, None));
    assert_eq!(plain.connect_timeout, Duration::from_secs(10));
    assert_eq!(plain.timeout, Duration::from_secs(600));
    assert_eq!(resolved.models().count(), 5);
}

#[test]
fn debug_shows_no_key() {
    let fixture = Fixture::new(LIVE);
    let resolved = fixture.resolve(&[("EXAMPLE_KEY", "sk-canary")], &[], &[]);
    let shown = format!("{:?}", resolved.unwrap());
    assert!(
        shown.contains("EXAMPLE_KEY") && !shown.contains("canary"),
        "{shown}"
    );
}

/// The folder of the config that a cassette was found from.
fn resolved_folder(variant: &Variant) -> &Path {
    match &variant.model.kind {
        ModelKind::Cassette(cassette) => cassette.run.parent().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_was_written_is_read_back() {
    let fixture = Fixture::new(LIVE);
    let first = fixture.resolve(&[], &[], &[]).unwrap();
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
    });
    let again = again.unwrap_or_else(|e| panic!("{text}\n{:?}", e.problems));
    assert_eq!(again.meaning(), first.meaning());
    assert_eq!(again.run, first.run);
    assert_eq!(again.session, first.session);
    assert_eq!(
        live(&again.variants[0].model),
        live(&first.variants[0].model)
    );
    assert_eq!(operation_changes(&first, &again, &folder), []);
    let models = text.split_once("[models.large]").unwrap().1;
    insta::assert_snapshot!(models, @r#"

kind = "openai" # farm.toml:11
base_url = "HTTPS://Api.Example/v1/" # farm.toml:12
model = "vendor/large:free" # farm.toml:13
api_key_env = "EXAMPLE_KEY" # farm.toml:14
api_key_header = "x-key" # farm.toml:15
headers = { HTTP-Referer = "https://farm.example", X-Title = "farm" } # farm.toml:16
tool_mode = "native" # default
text_calls = false # default
send_seed = false # farm.toml:17
response_format = "none" # farm.toml:18
parameters = { max_tokens = 1000, temperature = 0.5 } # farm.toml:19
price.input = 0.15 # farm.toml:20
price.cached = 0 # farm.toml:20
price.output = 2 # farm.toml:20
max_cost_usd = 0.5 # farm.toml:21
slots.start = 4 # farm.toml:22
slots.max = 8 # farm.toml:22
rates.requests_per_minute = 60 # farm.toml:23
rates.tokens_per_minute = 100000 # farm.toml:23
max_tries = 1 # farm.toml:24
connect_timeout_s = 0.5 # farm.toml:25
timeout_s = 5 # farm.toml:26

[models.small]
kind = "openai" # farm.toml:28
base_url = "http://127.0.0.1:8080" # farm.toml:29
model = "small" # farm.toml:30
headers = {} # default
tool_mode = "native" # default
text_calls = false # default
send_seed = true # default
response_format = "json_schema" # default
parameters = { max_completion_tokens = 20, max_tokens = 10 } # farm.toml:33
price.input = 0 # farm.toml:31
price.output = 0 # farm.toml:32
slots.start = 64 # default
max_tries = 6 # default
connect_timeout_s = 10 # default
timeout_s = 600 # default

[models.tape]
kind = "cassette" # farm.toml:35
from = "../../run/v" # farm.toml:36
tool_mode = "native" # default
text_calls = false # default
parameters = {} # default

[variants.long]
model = "large" # farm.toml:38
parameters = { max_completion_tokens = 2000 } # farm.toml:39

[variants.short]
model = "large" # farm.toml:41
parameters = { max_tokens = 7 } # farm.toml:42

[variants.replayed]
model = "tape" # farm.toml:44
"#);
}

#[test]
fn who_judges_is_no_variant_unless_it_is_chosen() {
    let models = "[models.a]\nkind = 'scripted'\n[models.b]\nkind = 'scripted'\n\
        [models.j]\nkind = 'scripted'\n[models.g]\nkind = 'scripted'\n\
        [session.judge]\nmodel = 'j'\nrubric = 'r'\n[score]\njudge = 'g'\n";
    let fixture = Fixture::new(models);
    let folder = fixture.dir.path();
    for (chosen, want) in [
        (&[][..], "a b"),
        (&["b"], "b"),
        (&["j", "a"], "a j"),
        (&["g"], "g"),
    ] {
        let first = fixture.resolve(&[], &[], chosen).unwrap();
        let file = folder.join("again.toml");
        fs::write(&file, first.to_toml(folder)).unwrap();
        let again = resolve(&Sources {
            file: ConfigFile::Named(&file),
            env: &[],
            flags: &[],
            models: &[],
            known: KNOWN,
            recordings: &OneRun,
        });
        for resolved in [first, again.unwrap()] {
            let names: Vec<&str> = resolved.variants.iter().map(|v| v.name.as_str()).collect();
            assert_eq!(names.join(" "), want, "{chosen:?}");
            let judge = resolved.session.judge.unwrap();
            assert_eq!(judge.model.name.as_str(), "j");
            assert_eq!(resolved.score_judge.unwrap().model.name.as_str(), "g");
        }
    }
}

#[test]
fn a_cap_may_be_set_and_taken_away_by_the_environment() {
    let fixture = Fixture::new("[run]\nmax_cost_usd = 3\n");
    for (text, want) in [("none", None), ("0.25", Some(0.25)), ("7", Some(7.0))] {
        let env = [("FARM_RUN_MAX_COST_USD", text)];
        let resolved = fixture.resolve(&env, &[], &[]).unwrap();
        assert_eq!(resolved.run.max_cost_usd, want);
    }
    assert_eq!(resolve_text("").run.max_cost_usd, None);
    let judge = [
        ("FARM_SESSION_JUDGE_MODEL", "scripted"),
        ("FARM_SESSION_JUDGE_RUBRIC", "12"),
    ];
    let fixture =
        Fixture::new("[models.scripted]\nkind = 'scripted'\n[models.b]\nkind = 'scripted'");
    let resolved = fixture.resolve(&judge, &[], &[]).unwrap();
    assert_eq!(resolved.session.judge.unwrap().rubric, "12");
}

/// A live model `m` with these lines more; line 1 is its table.
fn with(lines: &str) -> String {
    format!("[models.m]\nkind = \"openai\"\nbase_url = \"http://a\"\nmodel = \"x\"\n{lines}")
}

#[test]
fn what_is_wrong_with_a_live_model() {
    let table = [
        ("", ""),
        (
            "api_key_env = \"sk-or-v1-0123\"",
            "F:5:15: models.m.api_key_env: is no name of an environment variable; name the \
             variable that holds the key, such as \"OPENROUTER_API_KEY\"",
        ),
        (
            "api_key_header = \"x-key\"",
            "F:5:18: models.m.api_key_header: there is no key to send; add api_key_env, the \
             environment variable that holds the key",
        ),
        (
            "api_key_env = \"K\"\napi_key_header = \"x key\"",
            "F:6:18: models.m.api_key_header: is no name of a header; name the header alone, such \
             as \"x-api-key\"",
        ),
        (
            "api_key_env = \"K\"\napi_key_header = \"Host\"",
            "F:6:18: models.m.api_key_header: is a header that farm sets itself; name the one \
             that the endpoint looks for",
        ),
        (
            "headers = { Authorization = \"Bearer sk-1\" }",
            "F:5:11: models.m.headers: `Authorization` holds a key; put the key into an \
             environment variable: api_key_env names it, and api_key_header the header",
        ),
        (
            "api_key_env = \"K\"\napi_key_header = \"X-Secret\"\nheaders = { x-secret = \"sk-1\" }",
            "F:7:11: models.m.headers: `x-secret` holds a key; put the key into an environment \
             variable: api_key_env names it, and api_key_header the header",
        ),
        (
            "headers = { a = 1 }",
            "F:5:11: models.m.headers: a: must be a text in quotes, is a whole number",
        ),
        (
            "parameters = { model = 'y', n = 2, seed = 1, stream = true, tools = [], messages = [] }",
            "F:5:14: models.m.parameters: `model` is set by farm itself; set `model` in the table \
             of the model\n\
             F:5:14: models.m.parameters: `messages` is set by farm itself; set `session.prompt`; \
             the task is that of the case\n\
             F:5:14: models.m.parameters: `tools` is set by farm itself; name them in \
             `session.tools`, or in the `tools` of a variant or case\n\
             F:5:14: models.m.parameters: `seed` is set by farm itself; set `run.run_seed`; \
             `send_seed = false` sends none\n\
             F:5:14: models.m.parameters: `stream` is set by farm itself; leave it out: replies \
             are not streamed\n\
             F:5:14: models.m.parameters: `n` is set by farm itself; leave it out: `run.seeds` says \
             how often a case is run",
        ),
        (
            "[variants.v]\nmodel = 'm'\nparameters = { seed = 1 }",
            "F:7:14: variants.v.parameters: `seed` is set by farm itself; set `run.run_seed`; \
             `send_seed = false` sends none",
        ),
        (
            "parameters = { max_tokens = 0, max_completion_tokens = 'x' }",
            "F:5:14: models.m.parameters: max_completion_tokens must be a whole number of at least \
             1, is \"x\"\n\
             F:5:14: models.m.parameters: max_tokens must be a whole number of at least 1, is 0",
        ),
        (
            "price.input = 1",
            "F:5:15: models.m.price.input: there is no output beside it; add models.m.price.output",
        ),
        (
            "price = { cached = 1 }",
            "F:5:20: models.m.price.cached: there is no input beside it; add models.m.price.input\n\
             F:5:20: models.m.price.cached: there is no output beside it; add models.m.price.output",
        ),
        (
            "price = { input = -1, output = nan }",
            "F:5:19: models.m.price.input: must be a number from 0 to 1000000, is -1\n\
             F:5:32: models.m.price.output: must be a number from 0 to 1000000, is nan",
        ),
        (
            "max_tries = 0\nslots.start = 0\nrates.requests_per_minute = 0",
            "F:5:13: models.m.max_tries: must be at least 1, is 0\n\
             F:6:15: models.m.slots.start: must be at least 1, is 0\n\
             F:7:29: models.m.rates.requests_per_minute: must be at least 1, is 0",
        ),
        (
            "timeout_s = 1e6\nconnect_timeout_s = 0",
            "F:5:13: models.m.timeout_s: must lie between 0.001 and 86400, is 1000000.0\n\
             F:6:21: models.m.connect_timeout_s: must lie between 0.001 and 86400, is 0",
        ),
        (
            "scripts = 'a.jsonl'\nlatency_ms = 1\nfrom = 'run/v'",
            "F:5:11: models.m.scripts: goes with models of kind scripted, and this one is openai; \
             remove it, or set kind = \"scripted\"\n\
             F:6:14: models.m.latency_ms: goes with models of kind scripted, and this one is \
             openai; remove it, or set kind = \"scripted\"\n\
             F:7:8: models.m.from: goes with models of kind cassette, and this one is openai; \
             remove it, or set kind = \"cassette\"",
        ),
        (
            "[models.n]\nkind = \"openai\"\nbase_url = \"http://a/\"\nmodel = \"y\"\nslots.max = 3\n\
             [models.o]\nkind = \"openai\"\nbase_url = \"http://a\"\nmodel = \"z\"\n\
             api_key_env = \"K\"\nslots.start = 1",
            "F:9:13: models.n.slots.max: is 3 here and not set for model `m` on the same endpoint; \
             give both the same: they share it",
        ),
        (
            "rates.tokens_per_minute = 9\n[models.n]\nkind = \"openai\"\nbase_url = \"http://A\"\n\
             model = \"y\"",
            "F:6:9: models.n.rates.tokens_per_minute: is not set here and 9 for model `m` on the \
             same endpoint; give both the same: they share it",
        ),
    ];
    for (lines, want) in table {
        let config = with(lines);
        let fixture = Fixture::new(&config);
        match fixture.resolve(&[], &[], &[]) {
            Ok(_) => assert_eq!("", want, "{config}"),
            Err(_) => {
                let got = fixture.problems(&[], &[], &[]);
                assert_eq!(got, want, "{config}");
                assert!(!got.contains("sk-"), "{got}");
            }
        }
    }
}

#[test]
fn what_is_missing_and_what_does_not_go_together() {
    let table = [
        (
            "[models.m]\nkind = \"openai\"",
            "F:1:9: model `m` has no base_url; add base_url = \"https://HOST/v1\", the address \
             before /chat/completions\n\
             F:1:9: model `m` has no model; add model = \"NAME\", as the endpoint knows it",
        ),
        (
            "[models.m]\nkind = \"openai\"\nbase_url = \"https://me:sk-1@a\"\nmodel = \"\"",
            "F:3:12: models.m.base_url: must not have a user or password; put the key into the \
             variable that api_key_env names\n\
             F:4:9: models.m.model: is empty",
        ),
        (
            "[models.m]\nkind = \"cassette\"",
            "F:1:9: model `m` has no from; add from = \"RUN/VARIANT\": a run's folder, its id, or \
             latest, and a variant of it",
        ),
        (
            "[models.m]\nkind = \"cassette\"\nfrom = \"nowhere\"",
            "F:3:8: models.m.from: there is no run nowhere; look for one\n\
             trace:3:7: is damaged",
        ),
        (
            "[models.m]\nkind = \"scripted\"\nbase_url = \"http://a\"\nprice.input = 1",
            "F:3:12: models.m.base_url: goes with models of kind openai, and this one is scripted; \
             remove it, or set kind = \"openai\"\n\
             F:4:15: models.m.price.input: goes with models of kind openai, and this one is \
             scripted; remove it, or set kind = \"openai\"",
        ),
        (
            "[models.m]\nkind = \"scriptd\"\nbase_url = 1\nlatency_ms = 5",
            "F:2:8: models.m.kind: \"scriptd\" is not known here, only scripted, openai, cassette; \
             did you mean `scripted`?\n\
             F:3:12: models.m.base_url: must be a text in quotes, is a whole number",
        ),
        (
            "[models.m]\nkind = \"scripted\"\n[session.judge]\nmodel = \"n\"\n[score]\njudge = \"mm\"",
            "F:4:9: session.judge.model: there is no rubric beside it; add session.judge.rubric\n\
             F:4:9: session.judge.model: unknown model `n`; known are m\n\
             F:6:9: score.judge: unknown model `mm`; known are m; did you mean `m`?",
        ),
        (
            "[session.judge]\nrubric = \"r\"",
            "F:2:10: session.judge.rubric: there is no model beside it; add session.judge.model",
        ),
        (
            "[models.m]\nkind = \"scripted\"\n[score]\njudge = \"m\"",
            "F:1:9: there is no variant: every model is a judge; add [variants.NAME] with model = \
             \"m\"",
        ),
        (
            "[models.m]\nkind = \"openai\"\napi_key = \"sk-1\"",
            "F:1:9: model `m` has no base_url; add base_url = \"https://HOST/v1\", the address \
             before /chat/completions\n\
             F:1:9: model `m` has no model; add model = \"NAME\", as the endpoint knows it\n\
             F:3:1: unknown key `models.m.api_key`; did you mean `api_key_env`?",
        ),
    ];
    for (config, want) in table {
        assert_eq!(
            Fixture::new(config).problems(&[], &[], &[]),
            want,
            "{config}"
        );
    }
}

#[test]
fn caps_that_could_not_hold() {
    let price = "price = { input = 1, output = 2 }\n";
    let limit = "parameters = { max_tokens = 9 }\n";
    let no_price = "model `m` has an unknown price; a cap could not hold; add price = { input = \
        …, output = … } to [models.m], in US dollars per million tokens";
    let no_limit = |who: &str| {
        format!(
            "{who} has an unknown output limit; a cap could not hold; add max_tokens to the \
             parameters of [models.m]"
        )
    };
    let run = "[run]\nmax_cost_usd = 5\n";
    let table = [
        (format!("{price}{limit}{run}"), String::new()),
        (format!("{price}{limit}max_cost_usd = 1"), String::new()),
        (limit.to_owned(), String::new()),
        (
            format!("{limit}{run}"),
            format!("F:7:16: run.max_cost_usd: {no_price}"),
        ),
        (
            format!("{price}{run}"),
            format!("F:7:16: run.max_cost_usd: {}", no_limit("variant `m`")),
        ),
        (
            "max_cost_usd = 1".to_owned(),
            format!("F:5:16: models.m.max_cost_usd: {no_price}"),
        ),
        (
            "[session]\nmax_cost_usd = 1".to_owned(),
            format!("F:6:16: session.max_cost_usd: {no_price}"),
        ),
        // Only where the cap is in force.
        (
            format!(
                "{price}[variants.v]\nmodel = \"m\"\nlimits.max_cost_usd = 1\n[variants.w]\nmodel = \
                 \"m\"\n"
            ),
            format!(
                "F:8:23: variants.v.limits.max_cost_usd: {}",
                no_limit("variant `v`")
            ),
        ),
        // A price is missing once, however many variants ask.
        (
            format!("{run}[variants.v]\nmodel = \"m\"\n[variants.w]\nmodel = \"m\"\n"),
            format!("F:6:16: run.max_cost_usd: {no_price}"),
        ),
        (
            format!(
                "{price}[models.s]\nkind = \"scripted\"\n[score]\njudge = \"m\"\n[session.judge]\nmodel \
                 = \"m\"\nrubric = \"r\"\n{run}"
            ),
            format!(
                "F:14:16: run.max_cost_usd: {}\nF:14:16: run.max_cost_usd: {}",
                no_limit("session.judge"),
                no_limit("score.judge")
            ),
        ),
    ];
    for (lines, want) in table {
        let config = with(&lines);
        let fixture = Fixture::new(&config);
        let got = match fixture.resolve(&[], &[], &[]) {
            Ok(_) => String::new(),
            Err(_) => fixture.problems(&[], &[], &[]),
        };
        assert_eq!(got, want, "{config}");
    }
    let flags = [("run.max_cost_usd", Value::Float(0.5))];
    let fixture = Fixture::new(&with(""));
    let want = format!("--max-cost: run.max_cost_usd: {no_price}");
    assert_eq!(fixture.problems(&[], &flags, &[]), want);
    // What costs nothing needs no price.
    let scripted = Fixture::new("[session]\nmax_cost_usd = 1\n");
    assert!(scripted.resolve(&[], &flags, &[]).is_ok());
}
