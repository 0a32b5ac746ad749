//! Keys stay where they are: an endpoint may quote what it was sent as it likes, and no byte of a key
//! is left or said.

use std::fs;

use serde_json::json;

use crate::{
    live::{args, folder, ledger, model},
    stub::{Asked, Say, Stub, error, http, message},
    support::{Folder, Said, farm, files},
};

/// No text that looks like a key, so that only being known gives it away. What is looked for stays as
/// it is whether slashes are escaped or not.
const KEY: &str = "open/SesameKZq7+Wv:42/";
const MARK: &str = "SesameKZq7+Wv:42";

#[track_caller]
fn assert_clean(what: &str, bytes: &[u8]) {
    let held = bytes
        .windows(MARK.len())
        .any(|window| window == MARK.as_bytes());
    assert!(!held, "{what}: {}", String::from_utf8_lossy(bytes));
}

#[track_caller]
fn assert_silent(said: &Said) {
    assert_clean("stdout", said.stdout.as_bytes());
    assert_clean("stderr", said.stderr.as_bytes());
}

#[track_caller]
fn assert_folder_clean(folder: &Folder) {
    for file in files(&folder.path("run")) {
        assert_clean(&file.display().to_string(), &fs::read(&file).unwrap());
    }
}

/// farm with the key in its environment.
fn with_key(folder: &Folder, args: &[&str]) -> Said {
    let said = folder.command(farm().args(args).env("LIVE_TEST_KEY", KEY));
    assert_silent(&said);
    said
}

/// Two models, which send their key in either way, to an endpoint that answers so.
fn configure(folder: &Folder, stub: &Stub) {
    let key = "api_key_env = \"LIVE_TEST_KEY\"\nmax_tries = 9\n";
    let other = format!("{key}api_key_header = \"x-api-key\"");
    let url = stub.base_url();
    folder.write(
        "live.toml",
        model("a", &url, key) + &model("b", &url, &other),
    );
}

/// Quotes all headers wherever an answer has room for a text.
fn quotes(asked: &Asked) -> Say {
    let head = &asked.head;
    assert!(head.contains(KEY), "{head}");
    if asked.task().contains("11") {
        // It stands in the error of its session.
        return error(400, head);
    }
    match asked.n % 5 {
        0 => http("429 Slow", "retry-after-ms: 1\r\n", head),
        1 => {
            let args = json!({ "expression": head }).to_string();
            let call = json!({"id": head, "type": "function", "function": {"name": "calculator", "arguments": args}});
            message(&json!({"role": "assistant", "content": head, "tool_calls": [call]}))
        }
        2 => {
            let call = json!({"id": "a", "type": "function", "function": {"name": head, "arguments": head}});
            let message = json!({"role": "assistant", "reasoning": head, "tool_calls": [call]});
            let body = json!({"id": head, "model": head, "provider": head, "system_fingerprint": head,
                "choices": [{"index": 0, "message": message, "finish_reason": head}]});
            http("200 OK", "", &body.to_string().replace('/', "\\/"))
        }
        3 => message(&json!({"role": "assistant", "content": head})),
        _ => error(503, head),
    }
}

#[test]
fn an_endpoint_that_quotes_what_it_was_sent() {
    let folder = folder(3);
    let stub = Stub::start(quotes);
    configure(&folder, &stub);
    let more = ["--seeds", "3", "--no-probe", "-vvv", "--log", "run.log"];
    let said = with_key(&folder, &args("live.toml", &more));
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert_eq!(ledger(&folder, "errored"), 6);
    assert_folder_clean(&folder);
    assert_clean("the log", &fs::read(folder.path("run.log")).unwrap());
    // What stood around the key is there: in replies, in observations, in errors and in the log.
    let traces = files(&folder.path("run/traces"));
    let traces: String = traces
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    for words in [
        "\"content\":\"POST /v1/chat/completions HTTP/1.1\\r\\n",
        "Bearer [key]",
        "x-api-key: [key]",
        "\"error\":\"bad_request: ",
    ] {
        assert!(traces.contains(words), "{words}: {traces}");
    }
    assert!(folder.read("run.log").contains("[key]"));
    for args in [
        &["report", "run"][..],
        &["report", "run", "--failures", "--all"],
        &["report", "run", "--format", "html", "--traces", "all"],
        &["report", "run", "--format", "csv", "--rows", "steps"],
        &["status", "run", "--json"],
        &["trace", "show", "a/p-0/0", "--run", "run", "--full"],
        &["trace", "show", "b/p-1/0", "--run", "run", "--full"],
    ] {
        let args = [args, &["-vvv"]].concat();
        assert_eq!(with_key(&folder, &args).code, 0, "{args:?}");
    }
}

#[test]
fn an_endpoint_that_quotes_it_and_is_parked_or_probed() {
    let folder = folder(2);
    let stub = Stub::start(|asked| error(402, &asked.head));
    configure(&folder, &stub);
    let probed = with_key(&folder, &args("live.toml", &["-vvv"]));
    assert_eq!(probed.code, 2);
    assert!(
        probed.stderr.contains("quota_exhausted"),
        "{}",
        probed.stderr
    );
    let parked = with_key(&folder, &args("live.toml", &["-vvv", "--no-probe"]));
    assert_eq!(parked.code, 3);
    assert!(parked.stderr.contains("[key]"), "{}", parked.stderr);
    assert_folder_clean(&folder);
    let status = with_key(&folder, &["status", "run"]);
    assert!(status.stdout.contains("[key]"), "{}", status.stdout);
}

#[test]
fn a_run_that_is_killed_leaves_no_key() {
    let folder = folder(3);
    let stub = Stub::start(quotes);
    configure(&folder, &stub);
    let more = ["--seeds", "3", "--no-probe", "-vvv"];
    let output = farm()
        .current_dir(folder.path(""))
        .args(args("live.toml", &more))
        .env("LIVE_TEST_KEY", KEY)
        .env("FARM_TEST_ABORT", "commit:12:before")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), None, "it was to abort");
    assert_clean("stdout", &output.stdout);
    assert_clean("stderr", &output.stderr);
    assert!(folder.path("run/farm.db-wal").exists());
    assert_folder_clean(&folder);
}

#[test]
fn a_key_in_the_wrong_place_is_not_quoted() {
    let folder = folder(1);
    let refused = |folder: &Folder| {
        let said = folder.farm(args("live.toml", &["-vvv"])).exits(2);
        assert_silent(&said);
        assert!(!folder.path("run").exists());
        said.stderr
    };
    let url = "http://127.0.0.1:1/v1";
    // Where the name of the variable belongs, as it is and with nothing that a name could not hold.
    folder.write(
        "live.toml",
        model("m", url, &format!("api_key_env = \"{KEY}\"")),
    );
    insta::assert_snapshot!(refused(&folder), @r#"
    error: 1 problem in the input
      live.toml:5:15: models.m.api_key_env: is no name of an environment variable; name the variable that holds the key, such as "OPENROUTER_API_KEY"
    "#);
    let like_a_name = "gsk_4f9kZq7SesameOpen0123456789";
    folder.write(
        "live.toml",
        model("m", url, &format!("api_key_env = \"{like_a_name}\"")),
    );
    let said = refused(&folder);
    assert!(!said.contains("SesameOpen"), "{said}");
    insta::assert_snapshot!(said, @r#"
    error: 1 problem in the input
      live.toml:5:15: models.m.api_key_env: is no name of an environment variable; name the variable that holds the key, such as "OPENROUTER_API_KEY"
    "#);
    // Among the headers.
    let headers = format!("headers = {{ authorization = \"Bearer {KEY}\" }}");
    folder.write("live.toml", model("m", url, &headers));
    insta::assert_snapshot!(refused(&folder), @r"
    error: 1 problem in the input
      live.toml:5:11: models.m.headers: `authorization` holds a key; put the key into an environment variable: api_key_env names it, and api_key_header the header
    ");
    // In a variable that farm takes for config.
    folder.write(
        "live.toml",
        model("m", url, "api_key_env = \"FARM_LIVE_KEY\""),
    );
    let mut command = farm();
    command
        .args(args("live.toml", &["-vvv"]))
        .env("FARM_LIVE_KEY", KEY);
    let said = folder.command(&mut command).exits(2);
    assert_silent(&said);
    insta::assert_snapshot!(said.stderr, @r"
    error: 2 problems in the input
      FARM_LIVE_KEY: no key of the config has this environment variable; unset it, or name a key: FARM_RUN_SEEDS sets run.seeds
      live.toml:5:15: models.m.api_key_env: is a variable that farm takes for config of its own; name another one: FARM_RUN_SEEDS and its like set keys of the config
    ");
    // In the address.
    folder.write(
        "live.toml",
        model("m", &format!("http://user:{MARK}@127.0.0.1:1/v1"), ""),
    );
    insta::assert_snapshot!(refused(&folder), @r"
    error: 1 problem in the input
      live.toml:3:12: models.m.base_url: must not have a user or password; put the key into the variable that api_key_env names
    ");
}
