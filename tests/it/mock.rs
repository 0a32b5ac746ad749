//! `farm mock` as a user starts it: what it serves, how it ends, what it refuses.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    net::SocketAddr,
    path::Path,
    process::{ChildStdout, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use farm::{
    config,
    domain::{
        Action, Case, Clock, Observation, OnBehalf, Purpose, SessionId, ToolMode, provider_seed,
        rng_seed,
    },
    mock::Stats,
    model::{
        Caller, Conversation, Model as _, Normalised, Options, Reply, Request, Scripted, Scripts,
        Shape, Watch,
    },
};
use serde_json::{Map, Value, json};

use crate::{
    http::{self, COMPLETION, ask, complete, get, until},
    support::{Background, Folder, Said, farm_at_home, lines, process},
};

/// A server in a process of its own.
struct Mock {
    child: Background,
    stdout: BufReader<ChildStdout>,
    address: SocketAddr,
}

impl Mock {
    fn start(folder: &Path, args: &[&str]) -> Self {
        let mut command = process();
        command.arg("mock").args(args).current_dir(folder);
        Self::spawn(&mut command)
    }

    fn spawn(command: &mut Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Background(command.spawn().unwrap());
        let mut stdout = BufReader::new(child.0.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address = line
            .strip_prefix("http://")
            .and_then(|rest| rest.strip_suffix("/v1\n"))
            .unwrap_or_else(|| panic!("{line:?}"));
        Self {
            address: address.parse().unwrap(),
            child,
            stdout,
        }
    }

    fn stats(&self) -> Stats {
        serde_json::from_value(get(self.address, "/stats").json()).unwrap()
    }

    fn signal(&self, name: &str) {
        let pid = self.child.0.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for its end: the exit code, and what it said on stderr.
    fn end(mut self) -> (Option<i32>, String) {
        let mut more = String::new();
        self.stdout.read_to_string(&mut more).unwrap();
        assert_eq!(more, "", "more than one line");
        let mut said = String::new();
        let stderr = self.child.0.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut said).unwrap();
        (self.child.0.wait().unwrap().code(), said)
    }
}

fn home() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The body of a first request.
fn first(task: &str, seed: u32) -> Value {
    json!({"model": "m", "seed": seed, "messages": [{"role": "user", "content": task}]})
}

/// The scripted model of the shipped suite.
fn scripted(options: Options) -> Scripted {
    let lines = config::load_scripts(&home().join("configs/scripts/cases.jsonl"));
    let lines = lines.values.into_iter().map(|(_, script)| script);
    let scripts = Scripts::new(lines, []).unwrap();
    Scripted::new("scripted", scripts, options, None)
}

/// The request of a conversation, as a client of the given mode sends it.
fn request(conversation: &Conversation, rng_seed: u64, tool_mode: ToolMode) -> Value {
    let mut body = json!({
        "model": "any/model",
        "seed": provider_seed(rng_seed),
        "messages": conversation.to_value(),
    });
    match tool_mode {
        ToolMode::Native => body["tools"] = json!([{"type": "function"}]),
        ToolMode::Json => body["response_format"] = json!({"type": "json_object"}),
    }
    body
}

/// Has one session with both, as far as `most` replies; says how many they gave alike.
async fn compare(
    server: SocketAddr,
    model: &Scripted,
    case: &Case,
    seed: u64,
    options: Options,
) -> u64 {
    let caller = Caller {
        on_behalf: OnBehalf {
            session: Some(SessionId(0)),
            attempt: 0,
            turn: 0,
            purpose: Purpose::Turn,
        },
        watch: Arc::new(Watch::new(Clock::fixed(0.0))),
        purse: None,
    };
    let shape = Shape::new(&json!([]), options.tool_mode, &Map::new(), false);
    let mut conversation = Conversation::opening(shape, "Be careful.").about(&case.task);
    let rng_seed = rng_seed(0, &case.id, seed);
    for turn in 0..5 {
        let at = format!(
            "{} seed {seed} turn {turn} {:?}",
            case.id, options.tool_mode
        );
        let asked = Request {
            case: &case.id,
            seed,
            rng_seed,
            conversation: &conversation,
            caller: &caller,
        };
        let want = model.complete(&asked).await;
        let body = request(&conversation, rng_seed, options.tool_mode);
        let answer = complete(server, &body).unwrap();
        let got = Reply::receive(answer.status, &answer.body, options, Duration::ZERO);
        match (want, got) {
            (Ok(want), Ok(got)) => {
                // Who answers says so, and what it took.
                let said = Normalised {
                    usage: want.content.usage,
                    served: want.content.served.clone(),
                    ..got.content.clone()
                };
                assert_eq!(said, want.content, "{at}");
                let choices = |reply: &Reply| {
                    let body: Value = serde_json::from_str(reply.body.get()).unwrap();
                    body["choices"].clone()
                };
                assert_eq!(choices(&got), choices(&want), "{at}");
                let seen: Vec<Observation> = match &want.content.action {
                    Action::Answer(_) => return turn + 1,
                    Action::Calls(calls) => (0..calls.len())
                        .map(|call| Observation::ok(format!("\"{turn}\" ä\n{call}")))
                        .collect(),
                    Action::Malformed { .. } => Vec::new(),
                };
                conversation.push_turn(&want.content, &seen);
            }
            (Err(want), Err(got)) => {
                assert_eq!(got.kind, want.kind, "{at}");
                return turn + 1;
            }
            (want, got) => panic!("{at}: {want:?}, but {got:?}"),
        }
    }
    5
}

#[tokio::test]
async fn the_shipped_suite_is_answered_as_the_scripted_model_answers() {
    let server = Mock::start(home(), &["eval/cases.jsonl", "--for", "1h"]);
    let cases = lines(&std::fs::read_to_string(home().join("eval/cases.jsonl")).unwrap());
    assert_eq!(cases.len(), 30);
    let mut replies = 0;
    for tool_mode in [ToolMode::Native, ToolMode::Json] {
        let options = Options {
            tool_mode,
            ..Options::default()
        };
        let model = scripted(options);
        for case in &cases {
            let case: Case = serde_json::from_value(case.clone()).unwrap();
            for seed in 0..6 {
                replies += compare(server.address, &model, &case, seed, options).await;
            }
        }
    }
    let stats = server.stats();
    assert_eq!(stats.requests, replies);
    let of = &stats.outcomes;
    assert_eq!((of.ok + of.error, of.refused), (replies, 0));
    assert!(replies > 360 && of.ok > replies * 9 / 10, "{stats:?}");
}

#[test]
fn scripts_of_one_seed_are_found_by_their_number() {
    let folder = Folder::new();
    folder.write("cases.jsonl", r#"{"id":"a","task":"T"}"#);
    folder.write(
        "farm.toml",
        "[models.first]\nkind = \"scripted\"\nscripts = \"scripts.jsonl\"\ntool_mode = \"json\"\n\
         [models.second]\nkind = \"scripted\"\nscripts = \"second.jsonl\"\n",
    );
    folder.write(
        "scripts.jsonl",
        "{\"case\":\"a\",\"script\":[{\"answer\":\"every\"}]}\n\
         {\"case\":\"a\",\"seed\":2,\"script\":[{\"answer\":\"third\"}]}\n",
    );
    folder.write(
        "second.jsonl",
        r#"{"case":"a","seed":3,"script":[{"answer":"only"}]}"#,
    );
    let dir = folder.path("");
    let base = ["cases.jsonl", "--config", "farm.toml", "--for", "1h"];
    let number = |seed| provider_seed(rng_seed(7, &"a".parse().unwrap(), seed));

    let first_one = Mock::start(&dir, &[&base[..], &["--run-seed", "7"]].concat());
    let content = |seed| {
        let answer = complete(first_one.address, &first("T", number(seed))).unwrap();
        let content = &answer.json()["choices"][0]["message"]["content"];
        content.as_str().unwrap().to_owned()
    };
    // The mode of the model, for a request that does not say.
    assert_eq!(content(1), r#"{"answer":"every"}"#);
    assert_eq!(content(2), r#"{"answer":"third"}"#);
    let models = get(first_one.address, "/v1/models").json();
    assert_eq!(models["data"][0]["id"], "first");

    let more = ["--run-seed", "7", "--seeds", "3..4", "--model", "second"];
    let second = Mock::start(&dir, &[&base[..], &more].concat());
    let answer = complete(second.address, &first("T", number(3))).unwrap();
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "only");
    let answer = complete(second.address, &first("T", number(2))).unwrap();
    assert_eq!(answer.status, 404);
    let message = answer.json()["error"]["message"].to_string();
    assert!(message.contains("no script answers this task for this `seed`"));

    let said = folder.farm([
        "mock",
        "cases.jsonl",
        "--config",
        "farm.toml",
        "--model",
        "second",
    ]);
    insta::assert_snapshot!(said.exits(2).stderr, @r#"
    error: 1 problem in the input
      cases.jsonl:1: model second has no script for a; add lines {"case":ID,"script":[…]} to second.jsonl
    "#);
}

#[test]
fn a_key_is_asked_for() {
    let mut command = process();
    command
        .args([
            "mock",
            "eval/cases.jsonl",
            "--for",
            "1h",
            "--key-env",
            "MOCK_TEST_KEY",
        ])
        .env("MOCK_TEST_KEY", "sesame")
        .current_dir(home());
    let server = Mock::spawn(&mut command);
    let body = first("What is 17 * 23?", 1).to_string();
    let asked = |head: &str, body: &str| ask(server.address, head, body).unwrap();
    for key in [
        "",
        "\r\nAuthorization: Bearer wrong",
        "\r\nAuthorization: sesame",
    ] {
        let answer = asked(&format!("{COMPLETION}{key}"), &body);
        assert_eq!(answer.status, 401, "{key}");
        assert_eq!(answer.json()["error"]["type"], "authentication_error");
        assert!(!answer.body.contains("sesame"));
        let models = asked(&format!("GET /v1/models HTTP/1.1{key}"), "");
        assert_eq!(models.status, 401, "{key}");
    }
    let key = "\r\nAuthorization: Bearer sesame";
    assert_eq!(asked(&format!("{COMPLETION}{key}"), &body).status, 200);
    assert_eq!(
        asked(&format!("GET /v1/models HTTP/1.1{key}"), "").status,
        200
    );
    let stats = server.stats();
    assert_eq!((stats.outcomes.refused, stats.outcomes.ok), (3, 1));
}

#[test]
fn it_ends_when_its_time_is_over() {
    let server = Mock::start(home(), &["eval/cases.jsonl", "--for", "1s"]);
    let (code, said) = server.end();
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(said, "0 requests\n");
}

#[test]
fn it_ends_at_a_signal_whoever_still_waits() {
    for signal in ["INT", "TERM"] {
        let args = ["eval/cases.jsonl", "--hanging", "1", "--price", "3,15"];
        let server = Mock::start(home(), &args);
        let body = first("What is 17 * 23?", 1).to_string();
        let waiting = http::send(server.address, COMPLETION, &body);
        until(|| server.stats().outcomes.hanging == 1);
        server.signal(signal);
        assert!(http::receive(waiting).is_none());
        let (code, said) = server.end();
        assert_eq!(code, Some(0), "{said}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(said, @"1 request: 1 hanging; at most 1 at once; charged $0.000255");
        }
    }
}

/// What it says of options that are wrong.
#[track_caller]
fn refused(args: &[&str]) -> String {
    let output = farm_at_home()
        .args(["mock", "eval/cases.jsonl"])
        .args(args)
        .output()
        .unwrap();
    let said = Said::new(&output).exits(2);
    assert_eq!(said.stdout, "");
    said.stderr
}

#[test]
fn options_that_are_wrong_are_named() {
    insta::assert_snapshot!(refused(&["--half", "1.5"]), @r#"
    error: invalid value '1.5' for '--half <SHARE>': it is not from 0 to 1

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(refused(&["--malformed", "NaN"]), @r#"
    error: invalid value 'NaN' for '--malformed <SHARE>': it is not from 0 to 1

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(refused(&["--half", "0.5", "--reset", "0.3", "--failing", "0.3"]), @"error: the shares rate-limited, failing, hanging, reset and half add up to 1.1, which is more than 1: a request meets one of them at most");
    insta::assert_snapshot!(refused(&["--latency", "5"]), @r#"
    error: invalid value '5' for '--latency <TIME>': "5" is no latency: write a time such as 200ms or 1.5s, or lognormal:200ms:0.5 (median and sigma)

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(refused(&["--latency", "lognormal:1s:50"]), @r#"
    error: invalid value 'lognormal:1s:50' for '--latency <TIME>': the sigma "50" is not from 0 to 10; with 0.5 one reply in six takes 1.65 times the median

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(refused(&["--price", "3"]), @r#"
    error: invalid value '3' for '--price <IN,OUT>': write US dollars per million tokens of requests and of replies, such as 3,15

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(refused(&["--price", "3,-1"]), @r#"
    error: invalid value '3,-1' for '--price <IN,OUT>': write US dollars per million tokens of requests and of replies, such as 3,15

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(refused(&["--reports", "less"]), @r#"
    error: a wrong cost cannot be reported without a price
    hint: say what a million tokens cost: --price 3,15
    "#);
    insta::assert_snapshot!(refused(&["--requests-per-minute", "0"]), @r#"
    error: invalid value '0' for '--requests-per-minute <N>': number would be zero for non-zero type

    For more information, try '--help'.
    "#);
    insta::assert_snapshot!(refused(&["--for", "07:00"]), @r#"
    error: --for: "07:00" is no span of time
    hint: write one such as 90s, 8h or 1h30m (units d, h, m, s)
    "#);
    insta::assert_snapshot!(refused(&["--model", "scripter"]), @r#"
    error: 1 problem in the input
      --model: unknown model `scripter`; known are scripted; did you mean `scripted`?
    "#);
    insta::assert_snapshot!(refused(&["--key-env", "FARM_NO_SUCH_KEY"]), @r#"
    error: --key-env: the environment variable FARM_NO_SUCH_KEY is not set
    hint: set it for the server and for the runs that ask it
    "#);
    insta::assert_snapshot!(refused(&["--seeds", "5..3"]), @r#"
    error: 1 problem in the input
      --seeds: run.seeds: the seeds 5..3 are empty: the end is not included, so write A..B with A < B
    "#);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = refused(&["--port", &port]).replace(&port, "PORT");
    insta::assert_snapshot!(said, @r#"
    error: cannot listen on 127.0.0.1:PORT: Address already in use (os error 98)
    hint: name another port, or 0 for any that is free
    "#);
}

#[test]
fn cases_that_cannot_be_served_are_named() {
    let folder = Folder::new();
    folder.write(
        "cases.jsonl",
        "{\"id\":\"a\",\"task\":\"A\",\"script\":[{\"answer\":\"1\"}]}\n{\"id\":\"b\",\"task\":\"B\"}\n",
    );
    let said = folder.farm(["mock", "cases.jsonl"]).exits(2);
    insta::assert_snapshot!(said.stderr, @r#"
    error: 1 problem in the input
      cases.jsonl:2: model scripted has no script for b; give the cases a `script`, or name a file: `scripts` in [models.scripted]
    "#);
    // What is sealed is not cases.
    folder.write("configs/sealed/cases.jsonl", r#"{"id":"a","checks":[]}"#);
    let said = folder.farm(["mock", "configs/sealed/cases.jsonl"]).exits(2);
    insta::assert_snapshot!(said.stderr, @r#"
    error: 1 problem in the input
      configs/sealed/cases.jsonl: configs/sealed/cases.jsonl is a file of sealed halves; name the file of the cases
    "#);
}
