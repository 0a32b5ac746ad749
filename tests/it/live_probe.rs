//! What is wrong with an endpoint is told once, before anything runs.

use crate::{
    live::{args, folder, ledger, model, run, solve},
    stub::{Say, Stub, error, http, says as replies},
    support::{Folder, farm},
};

/// What farm says of an endpoint that answers so, the address as `HOST`; nothing has been run.
#[track_caller]
fn refused(stub: &Stub, base_url: &str) -> String {
    let folder = folder(2);
    let table =
        model("m", base_url, "") + "[variants.a]\nmodel = \"m\"\n[variants.b]\nmodel = \"m\"\n";
    folder.write("live.toml", table);
    let said = run(&folder, "live.toml", &["--seeds", "3", "--quiet"]).exits(2);
    assert_eq!(said.stdout, "");
    nothing_is_left(&folder);
    said.stderr.replace(&stub.address.to_string(), "HOST")
}

#[track_caller]
fn nothing_is_left(folder: &Folder) {
    let names = folder.names();
    assert!(
        !names.iter().any(|name| name == "run" || name == "results"),
        "{names:?}"
    );
}

/// The same of one that says this, and how often each of two variants asked it.
#[track_caller]
fn says(asks: usize, answer: impl Fn() -> Say + Send + Sync + 'static) -> String {
    let stub = Stub::start(move |_| answer());
    let said = refused(&stub, &stub.base_url());
    assert_eq!(stub.counts().asked, 2 * asks);
    said
}

#[test]
fn what_endpoints_refuse_is_told_once_and_what_to_do() {
    let wrong_key = says(1, || error(401, "no such key: sk-12345"));
    insta::assert_snapshot!(wrong_key, @r"
    error: auth: model m at HOST: HTTP 401: the key is missing, wrong or not allowed to use this model
    hint: check the key in the variable that api_key_env names, and whether it may use the model
    ");
    let no_model = says(1, || error(404, "the model `m` does not exist"));
    insta::assert_snapshot!(no_model, @r"
    error: not_found: model m at HOST: HTTP 404: the model `m` does not exist
    hint: check `model` and `base_url` of the model
    ");
    let no_tools = says(1, || error(400, "this model does not support tools"));
    insta::assert_snapshot!(no_tools, @r#"
    error: bad_request: model m at HOST: HTTP 400: this model does not support tools
    hint: look at the parameters of the model and the tools of the session; a model that takes no tools wants tool_mode = "json"
    "#);
    let no_money = says(1, || error(402, "no credits are left"));
    insta::assert_snapshot!(no_money, @r"
    error: quota_exhausted: model m at HOST: HTTP 402: no credits are left
    hint: top the account up, or name another endpoint; `--no-probe` runs what other endpoints serve
    ");
    let moved = says(1, || {
        http("308 Moved", "location: http://127.0.0.1:1/v1\r\n", "")
    });
    insta::assert_snapshot!(moved, @r"
    error: not_an_api: model m at HOST: HTTP 308: the address leads elsewhere, and a key goes to one host alone: put the final address into base_url
    hint: base_url is what stands before /chat/completions, such as https://HOST/v1
    ");
    let page = says(2, || {
        http("200 OK", "", "<!doctype html><html><title>Sign in")
    });
    insta::assert_snapshot!(page, @r#"
    error: not_an_api: model m at HOST: the reply is no chat completion: check the address; it begins with "<!doctype html><html><title>Sign in"
    hint: base_url is what stands before /chat/completions, such as https://HOST/v1
    "#);
    let other_api = says(2, || http("200 OK", "", "{\"hello\": \"world\"}"));
    insta::assert_snapshot!(other_api, @r"
    error: not_an_api: model m at HOST: the reply has no `choices`: check that the address is that of a chat-completions endpoint
    hint: base_url is what stands before /chat/completions, such as https://HOST/v1
    ");
    let broken = says(2, || error(500, "out of memory"));
    insta::assert_snapshot!(broken, @r"
    error: provider: model m at HOST: HTTP 500: out of memory (tried 2 times)
    hint: check that the endpoint is up and that base_url has its scheme, host and port; `--no-probe` begins without asking
    ");
}

#[test]
fn where_no_endpoint_is() {
    let ssh = Stub::start(|_| Say::Bytes("SSH-2.0-OpenSSH_9.9\r\n".to_owned()));
    insta::assert_snapshot!(refused(&ssh, &ssh.base_url()), @r"
    error: provider: model m at HOST: no reply: invalid HTTP version parsed (tried 2 times)
    hint: check that the endpoint is up and that base_url has its scheme, host and port; `--no-probe` begins without asking
    ");
    let tls = refused(&ssh, &format!("https://{}/v1", ssh.address));
    insta::assert_snapshot!(tls, @r"
    error: provider: model m at HOST: no connection: tls handshake eof (tried 2 times)
    hint: check that the endpoint is up and that base_url has its scheme, host and port; `--no-probe` begins without asking
    ");
    // Nobody listens there.
    let down = refused(&ssh, "http://127.0.0.1:1/v1");
    insta::assert_snapshot!(down, @r"
    error: provider: model m at 127.0.0.1:1: no connection: Connection refused (os error 111) (tried 2 times)
    hint: check that the endpoint is up and that base_url has its scheme, host and port; `--no-probe` begins without asking
    ");
}

#[test]
fn two_endpoints_with_trouble_of_their_own_are_both_told() {
    let folder = folder(1);
    let (first, second) = (
        Stub::start(|_| error(401, "no")),
        Stub::start(|_| error(404, "no such model")),
    );
    let config = model("first", &first.base_url(), "") + &model("second", &second.base_url(), "");
    folder.write("live.toml", config);
    let said = run(&folder, "live.toml", &["--quiet"]).exits(2).stderr;
    nothing_is_left(&folder);
    let said = said.replace(&first.address.to_string(), "FIRST");
    let said = said.replace(&second.address.to_string(), "SECOND");
    insta::assert_snapshot!(said, @r"
    error: auth: model first at FIRST: HTTP 401: the key is missing, wrong or not allowed to use this model
    not_found: model second at SECOND: HTTP 404: no such model
    hint: check the key in the variable that api_key_env names, and whether it may use the model
    hint: check `model` and `base_url` of the model
    ");
}

#[test]
fn an_endpoint_that_is_busy_is_there() {
    let folder = folder(1);
    let stub = Stub::start(|asked| match asked.n {
        0 => http("429 Slow", "retry-after: 1800\r\n", "{}"),
        _ => replies(&solve(asked.task())),
    });
    folder.write("live.toml", model("m", &stub.base_url(), ""));
    run(&folder, "live.toml", &["--quiet"]).exits(0);
    assert_eq!((ledger(&folder, "passed"), stub.counts().asked), (1, 2));
}

#[test]
fn without_a_probe_the_run_begins_and_parks() {
    let folder = folder(3);
    let stub = Stub::start(|_| error(401, "no such key"));
    folder.write("live.toml", model("m", &stub.base_url(), ""));
    let more = ["--no-probe", "--concurrency", "1"];
    let said = run(&folder, "live.toml", &more).exits(3);
    assert!(
        said.stderr.contains("parked: auth: model m at "),
        "{}",
        said.stderr
    );
    assert_eq!(stub.counts().asked, 1);
    assert_eq!(ledger(&folder, "not_run"), 3);

    // It goes on as it was begun, without a probe.
    folder.farm(["resume", "run", "--quiet"]).exits(3);
    assert_eq!(stub.counts().asked, 2);
    // One that asks first leaves the run as it is.
    let before = folder.read("run/manifest.json");
    let probing = model("m", &stub.base_url(), "") + "[run]\nprobe = true\n";
    folder.write("probing.toml", probing);
    let said = folder.farm(["resume", "run", "--quiet", "--config", "probing.toml"]);
    let said = said.exits(2).stderr;
    assert!(said.contains("auth: model m at "), "{said}");
    assert_eq!(folder.read("run/manifest.json"), before);
}

/// What farm says with this key in `LIVE_TEST_KEY`.
fn with_key(folder: &Folder, key: Option<&str>) -> String {
    let mut command = farm();
    command.args(args("live.toml", &["--quiet"]));
    match key {
        Some(key) => command.env("LIVE_TEST_KEY", key),
        None => command.env_remove("LIVE_TEST_KEY"),
    };
    let said = folder.command(&mut command).exits(2);
    nothing_is_left(folder);
    said.stderr
}

#[test]
fn a_key_that_is_not_there() {
    let folder = folder(1);
    let stub = Stub::start(|_| error(401, "no"));
    folder.write(
        "live.toml",
        model("m", &stub.base_url(), "api_key_env = \"LIVE_TEST_KEY\""),
    );
    let host = stub.address.to_string();
    let missing = with_key(&folder, None);
    insta::assert_snapshot!(missing.replace(&host, "HOST"), @r"
    error: 1 problem in the input
      live.toml:5:15: models.m.api_key_env: the environment variable LIVE_TEST_KEY is not set; export LIVE_TEST_KEY=…, or leave api_key_env out if HOST wants no key
    ");
    let empty = with_key(&folder, Some(" "));
    insta::assert_snapshot!(empty.replace(&host, "HOST"), @r"
    error: 1 problem in the input
      live.toml:5:15: models.m.api_key_env: the environment variable LIVE_TEST_KEY is empty; export LIVE_TEST_KEY=…, or leave api_key_env out if HOST wants no key
    ");
    let broken = with_key(&folder, Some("sesame\nopen"));
    insta::assert_snapshot!(broken.replace(&host, "HOST"), @r"
    error: model m: the key holds what no header can hold, such as a line break
    caused by: failed to parse header value
    ");
    assert_eq!(stub.counts().asked, 0);
}

/// A config with an agent and a judge of finished sessions, and a case that is graded.
fn graded(agent: &Stub, judge: &Stub) -> Folder {
    let folder = folder(1);
    let check = r#"{"id":"p-0","checks":[{"kind":"model_graded","rubric":"Is it right?"}]}"#;
    let judge = model("judge", &judge.base_url(), "max_tries = 1");
    let config = model("m", &agent.base_url(), "") + &judge + "[score]\njudge = \"judge\"\n";
    folder
        .write("sealed.jsonl", format!("{check}\n"))
        .write("live.toml", config);
    folder
}

#[test]
fn a_judge_is_probed_too() {
    let agent = Stub::start(|asked| replies(&solve(asked.task())));
    let run = |folder: &Folder| run(folder, "live.toml", &["--model", "m"]);
    for (judge, want) in [
        (
            Stub::start(|_| error(401, "no such key")),
            "auth: model judge at HOST: HTTP 401: the key is missing, wrong or not allowed",
        ),
        (
            Stub::start(|_| replies("Well done!")),
            "no_reply: model judge at HOST: none of 3 replies is a grade",
        ),
    ] {
        let folder = graded(&agent, &judge);
        let said = run(&folder).exits(2).stderr;
        let said = said.replace(&judge.address.to_string(), "HOST");
        assert!(
            said.contains("asking each of 1 live variant and 1 judge once"),
            "{said}"
        );
        assert!(said.contains(want), "{said}");
        nothing_is_left(&folder);
    }
    let judge = Stub::start(|_| replies(r#"{"reason": "it is", "score": 1, "passed": true}"#));
    let folder = graded(&agent, &judge);
    run(&folder).exits(0);
    assert_eq!(ledger(&folder, "passed"), 1);
    assert_eq!(judge.counts().asked, 2, "the probe and the session");
}

#[test]
fn a_dry_run_asks_nobody_and_counts_the_judge() {
    let stub = Stub::start(|_| error(500, "nobody is to be asked"));
    let folder = graded(&stub, &stub);
    let priced = "price = { input = 1.0, output = 10.0 }\nparameters = { max_tokens = 100 }";
    let judge = model("judge", &stub.base_url(), priced);
    let agent = model("m", &stub.base_url(), "parameters = { max_tokens = 100 }");
    folder.write("live.toml", agent + &judge + "[score]\njudge = \"judge\"\n");
    let more = ["--model", "m", "--seeds", "7", "--dry-run", "--json"];
    let said = run(&folder, "live.toml", &more).exits(0);
    assert_eq!(stub.counts().asked, 0);
    nothing_is_left(&folder);
    let forecast: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(forecast["sessions"], 7);
    assert_eq!(forecast["variants"][0]["calls"]["likely"], 21);
    let judge = &forecast["judges"][0];
    assert_eq!(
        (&judge["judges"], &judge["model"]),
        (&"sessions".into(), &"judge".into())
    );
    assert_eq!(judge["calls"], serde_json::json!({"likely": 7, "most": 21}));
    let usd = |span: &serde_json::Value| span["most"].as_f64();
    assert!(usd(&judge["cost_usd"]) > Some(0.0), "{judge}");
    // The agent has no price.
    assert_eq!(usd(&forecast["cost_usd"]), None);
}
