//! Sessions whose tools are those of MCP servers: farm itself, behind a script that starts it.
#![cfg(target_os = "linux")]

use std::{fs, time::Instant};

use serde_json::{Value, json};

use crate::{
    running::Running,
    support::{Folder, PATIENCE, RUN, Said, marked},
};

/// Leaves processes behind that mean to stay, then serves.
const STRAYS: &str = "
trap '' TERM
sleep 120 &
setsid sh -c 'sleep 120 & wait' &
(setsid sleep 120 &)
";

/// A folder with a case for each of `scripts`, and a server called `s` that runs a script.
struct Place(Folder);

impl Place {
    fn new(server: &str, keys: &str) -> Self {
        let folder = Folder::new();
        let cases = ["sum", "product", "both", "wrong"];
        let call =
            |expression: &str| json!({"tool": "s__calculator", "args": {"expression": expression}});
        let scripts = [
            json!([{"tool_call": call("1 + 1")}, {"answer": "{{observation}}"}]),
            json!([{"tool_call": call("3 * 4")}, {"answer": "{{observation}}"}]),
            json!([{"tool_calls": [call("1"), call("2")]}, {"tool_call": call("5")}, {"answer": "{{observation}}"}]),
            json!([{"tool_call": {"tool": "s__calculator", "args": {}}}, {"tool_call": call("1 / 0")}, {"answer": "no"}]),
        ];
        let answers = ["2", "12", "5", "no"];
        let lines = |line: &dyn Fn(usize) -> Value| -> String {
            (0..cases.len()).map(|n| format!("{}\n", line(n))).collect()
        };
        folder.write(
            "cases.jsonl",
            lines(&|n| json!({"id": cases[n], "task": "t", "script": scripts[n]})),
        );
        folder.write(
            "sealed.jsonl",
            lines(&|n| json!({"id": cases[n], "checks": [{"kind": "answer_equals", "text": answers[n]}]})),
        );
        let place = Self(folder);
        place.server(server);
        place.0.write(
            "farm.toml",
            format!(
                "session.tools = [\"s__*\"]\n\
                 models.scripted = {{ kind = \"scripted\", latency_ms = 0 }}\n\
                 [tools.mcp.s]\n\
                 command = [\"sh\", \"./server\"]\n\
                 env = [\"FARM_TEST_MARK\"]\n{keys}\n"
            ),
        );
        place
    }

    /// The script of the server; `$farm` is this farm.
    fn server(&self, script: &str) {
        let farm = assert_cmd::cargo::cargo_bin!("farm").display().to_string();
        self.0.write("server", format!("farm='{farm}'\n{script}"));
    }

    fn slow(self) -> Self {
        let config = self.0.read("farm.toml");
        self.0.write(
            "farm.toml",
            config.replace("latency_ms = 0", "latency_ms = 1500"),
        );
        self
    }

    fn mark(&self) -> String {
        self.0.path("").display().to_string()
    }

    fn farm(&self, args: &[&str]) -> Said {
        let mut command = crate::support::farm();
        command.args(args).env("FARM_TEST_MARK", self.mark());
        self.0.command(&mut command)
    }

    fn run(&self, more: &[&str]) -> Said {
        self.farm(&[&RUN[..], &["--config", "farm.toml"], more].concat())
    }

    fn begin(&self, more: &[&str]) -> Running {
        let args = [&RUN[..], &["--config", "farm.toml"], more].concat();
        let mark = self.mark();
        Running::start_with(&self.0, args, &[("FARM_TEST_MARK", &mark)])
    }

    /// The processes of servers, keepers among them.
    fn left(&self) -> Vec<String> {
        let mark = format!("FARM_TEST_MARK={}", self.mark());
        let commands = marked(&mark).into_iter().filter_map(|pid| {
            let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
            (!command.contains("cases.jsonl")).then(|| command.replace('\0', " "))
        });
        commands.collect()
    }

    #[track_caller]
    fn until(&self, is_so: impl Fn(&[String]) -> bool) {
        let began = Instant::now();
        while !is_so(&self.left()) {
            assert!(began.elapsed() < PATIENCE, "there are {:?}", self.left());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    fn observations(&self) -> Vec<(bool, String)> {
        let traces = fs::read_dir(self.0.path("run/traces/scripted")).unwrap();
        let mut files: Vec<_> = traces.map(|file| file.unwrap().path()).collect();
        files.sort();
        let lines = files
            .iter()
            .flat_map(|file| crate::support::lines(&fs::read_to_string(file).unwrap()));
        let steps =
            lines.filter_map(|line| line.get("observation").filter(|o| o.is_object()).cloned());
        steps
            .map(|o| {
                (
                    o["ok"].as_bool().unwrap(),
                    o["content"].as_str().unwrap().to_owned(),
                )
            })
            .collect()
    }
}

#[test]
fn the_tools_of_a_server_are_those_of_the_session() {
    let place = Place::new("exec $farm mcp --tools calculator", "");
    let said = place.run(&["--seeds", "3"]).exits(0);
    assert!(said.stdout.contains("12 / 12"), "{}", said.stdout);
    let observed = place.observations();
    assert_eq!(observed.len(), 3 * 7);
    assert!(observed.contains(&(true, "12".to_owned())));
    assert!(
        observed
            .iter()
            .any(|(ok, text)| !ok && text.starts_with("div_zero: "))
    );
    let blocked = "blocked by schema: \"expression\" is a required property";
    assert!(observed.contains(&(false, blocked.to_owned())));
    let start = &place.0.lines("run/traces/scripted/sum.jsonl")[0];
    assert_eq!(start["tools"], json!(["s__calculator"]));
    let manifest = place.0.json("run/manifest.json");
    assert!(manifest["inputs"]["sha256"]["tools of server s"].is_string());
    assert_eq!(place.left(), [""; 0]);
    assert!(!place.0.path("run/work").exists());
}

#[test]
fn nothing_that_a_server_started_is_left_after_a_run() {
    for share in ["session", "run"] {
        let script = format!("{STRAYS}\nexec $farm mcp");
        let place = Place::new(&script, &format!("share = \"{share}\""));
        place.run(&["--seeds", "2"]).exits(0);
        assert_eq!(place.left(), [""; 0], "{share}");
    }
}

#[test]
fn nor_after_two_signals_or_a_kill() {
    for signals in [&["TERM", "TERM"][..], &["KILL"]] {
        let script = format!("{STRAYS}\nexec $farm mcp");
        let place = Place::new(&script, "").slow();
        let mut run = place.begin(&["--seeds", "4"]);
        run.until("in flight");
        place.until(|left| left.iter().any(|command| command.starts_with("sleep")));
        run.signal(signals[0]);
        if let [_, second] = signals {
            run.until("winding down: sessions in flight finish");
            run.signal(second);
            run.until("interrupted: sessions in flight are dropped");
        }
        run.end();
        if signals == ["KILL"] {
            // Nobody waits for the keepers then.
            place.until(<[String]>::is_empty);
        }
        assert_eq!(place.left(), [""; 0], "{signals:?}");
        place.farm(&["resume", "run"]).exits(0);
    }
}

#[test]
fn a_session_goes_on_only_with_a_server_that_allows_it() {
    for (resumable, lost) in [("false", true), ("true", false)] {
        let place = Place::new("exec $farm mcp", &format!("resumable = {resumable}"));
        let mut command = crate::support::farm();
        let args = [
            &RUN[..],
            &[
                "--config",
                "farm.toml",
                "--case",
                "both",
                "--concurrency",
                "1",
            ],
        ]
        .concat();
        command.args(args).env("FARM_TEST_ABORT", "commit:4:after");
        assert!(
            !command
                .current_dir(place.0.path(""))
                .output()
                .unwrap()
                .status
                .success()
        );
        place.farm(&["resume", "run"]).exits(0);
        let start = &place.0.lines("run/traces/scripted/both.jsonl")[0];
        assert_eq!(start["attempt"], u64::from(lost), "resumable = {resumable}");
    }
}

#[test]
fn sessions_that_wait_for_two_servers_do_not_wait_for_one_another() {
    let place = Place::new(
        "echo >>$FARM_TEST_MARK/starts; exec $farm mcp",
        "max_processes = 1",
    );
    place.0.write(
        "farm.toml",
        place
            .0
            .read("farm.toml")
            .replace("[\"s__*\"]", "[\"s__*\", \"other__file_read\"]")
            + "[tools.mcp.other]\ncommand = [\"sh\", \"./server\"]\nenv = [\"FARM_TEST_MARK\"]\nmax_processes = 1\n",
    );
    // Two servers with a slot each: nobody waits for ever.
    place.run(&["--seeds", "3", "--concurrency", "12"]).exits(0);
    let starts = place.0.read("starts").lines().count();
    assert_eq!(
        starts,
        2 * (1 + 12),
        "one of each before the run, and then for each session"
    );
}

#[test]
fn one_process_serves_a_run() {
    let place = Place::new(
        "echo $$ >>$FARM_TEST_MARK/starts; exec $farm mcp",
        "share = \"run\"",
    );
    place.run(&["--seeds", "3", "--concurrency", "12"]).exits(0);
    let starts = place.0.read("starts").lines().count();
    assert_eq!(starts, 2, "one is before the run");
}

#[test]
fn a_server_that_does_not_start_says_why_before_anything_runs() {
    let table = [
        (
            "echo no such database >&2; exit 3",
            "it said: no such database",
        ),
        ("exec no-such-program", "not found"),
    ];
    for (script, why) in table {
        let place = Place::new(script, "");
        for command in [
            &["check", "cases.jsonl", "--sealed", "sealed.jsonl"][..],
            &RUN,
        ] {
            let said = place
                .farm(&[command, &["--config", "farm.toml"]].concat())
                .exits(2);
            let at = "farm.toml:4:11: tools.mcp.s.command: server s cannot be used: ";
            assert!(
                said.stderr.contains(at) && said.stderr.contains(why),
                "{}",
                said.stderr
            );
        }
        assert!(!place.0.path("run").exists());
        assert_eq!(place.left(), [""; 0]);
    }
}

#[test]
fn one_that_does_not_start_again_fails_its_sessions_alone() {
    // The first start is before the run, in a folder of its own.
    let down = "[ -e $FARM_TEST_MARK/run ] && [ ! -e $FARM_TEST_MARK/is-up ] && exit 1";
    let place = Place::new(&format!("{down}; exec $farm mcp"), "");
    let said = place.run(&["--case", "sum"]).exits(3);
    assert!(said.stdout.contains("errored"), "{}", said.stdout);
    let end = place
        .0
        .lines("run/traces/scripted/sum.jsonl")
        .pop()
        .unwrap();
    assert_eq!(end["status"], "crashed");
    let error = end["error"].as_str().unwrap();
    assert!(error.starts_with("server s cannot be used: "), "{error}");
    // Where it starts again, the session begins anew.
    fs::write(place.0.path("is-up"), "").unwrap();
    place.farm(&["resume", "run"]).exits(0);
    assert_eq!(
        place.0.lines("run/traces/scripted/sum.jsonl")[0]["attempt"],
        3
    );
}

#[test]
fn tools_that_change_stop_a_run() {
    let later = "[ -e $FARM_TEST_MARK/run ] && exec $farm mcp --tools calculator,file_read";
    let place = Place::new(&format!("{later}; exec $farm mcp --tools calculator"), "");
    let said = place.run(&["--seeds", "5"]).exits(3);
    let why = "the tools of server s are not those that the run began with: file_read is new";
    assert!(said.stderr.contains(why), "{}", said.stderr);
    assert!(
        said.stderr.contains("its tools have changed"),
        "{}",
        said.stderr
    );
    let ledger = &place.0.json("run/summary.json")["ledger"];
    assert_eq!(ledger["not_run"], 20);
    // A resume begins where the other tools are the only ones.
    let said = place.farm(&["resume", "run"]).exits(2);
    assert!(
        said.stderr.contains("tools of server s was "),
        "{}",
        said.stderr
    );
}

#[test]
fn a_server_has_the_variables_that_are_named_and_no_others() {
    let place = Place::new(
        "env >>$FARM_TEST_MARK/seen; tr '\\0' '\\n' </proc/$PPID/environ >>$FARM_TEST_MARK/seen; exec $farm mcp",
        "",
    );
    let mut command = crate::support::farm();
    command
        .args(RUN)
        .args(["--config", "farm.toml", "--case", "sum"]);
    command
        .env("FARM_TEST_MARK", place.mark())
        .env("OTHER_KEY", "secret");
    place.0.command(&mut command).exits(0);
    let seen = place.0.read("seen");
    assert!(
        seen.contains("FARM_TEST_MARK=") && seen.contains("PATH="),
        "{seen}"
    );
    assert!(!seen.contains("secret"), "{seen}");
}

#[test]
fn a_server_is_given_nothing_that_is_sealed() {
    let place = Place::new("exec $farm mcp", "");
    let config = place.0.read("farm.toml");
    for (word, why) in [
        ("./sealed.jsonl", "is a file of sealed halves"),
        ("./../", "holds the sealed halves"),
    ] {
        let command = format!("command = [\"sh\", \"./server\", \"{word}\"]");
        place.0.write(
            "farm.toml",
            config.replace("command = [\"sh\", \"./server\"]", &command),
        );
        let said = place.run(&[]).exits(2);
        assert!(
            said.stderr
                .contains("farm.toml:4:11: tools.mcp.s.command: "),
            "{}",
            said.stderr
        );
        assert!(said.stderr.contains(why), "{}", said.stderr);
    }
}

#[test]
fn names_of_tools_are_checked_against_what_servers_have() {
    let place = Place::new("exec $farm mcp", "share = \"run\"");
    let config = place.0.read("farm.toml");
    let config = config.replace(
        "[\"s__*\"]",
        "[\"s__calculater\", \"s__file_reed\", \"s__*\"]",
    );
    place.0.write("farm.toml", config);
    let said = place.run(&[]).exits(2);
    for (name, near) in [
        ("s__calculater", "s__calculator"),
        ("s__file_reed", "s__file_read"),
    ] {
        let why =
            format!("farm.toml:1:17: session.tools: no tool \"{name}\"; did you mean \"{near}\"?");
        assert!(said.stderr.contains(&why), "{}", said.stderr);
    }
    // What is no mistake for sure is a warning.
    let config = place.0.read("farm.toml");
    place.0.write(
        "farm.toml",
        config.replace("\"s__calculater\", \"s__file_reed\", ", ""),
    );
    place.0.write("box/a.txt", "a");
    place.0.write(
        "cases.jsonl",
        r#"{"id":"a","task":"t","files":"box","script":[{"answer":"1"}]}"#,
    );
    let checks = r#"[{"kind":"tool_not_called","tool":"s__web_fatch"},{"kind":"tool_called","tool":"s__*"}]"#;
    place
        .0
        .write("sealed.jsonl", format!(r#"{{"id":"a","checks":{checks}}}"#));
    let check = [
        "check",
        "cases.jsonl",
        "--sealed",
        "sealed.jsonl",
        "--config",
        "farm.toml",
    ];
    let said = place.farm(&check).exits(0).stderr;
    for warning in [
        "check `tool_not_called` is about tool \"s__web_fatch\", which is not there; did you mean \"s__web_fetch\"?",
        "check `tool_called` is about tool \"s__*\", which is not there",
        "server s has one process for all sessions: it does not see the files of case a, nor of any other",
    ] {
        assert!(said.contains(warning), "{said}");
    }
    assert!(said.contains("server s: farm 0.1.0, MCP 2026-07-28; 3 tools: s__calculator, s__file_read, s__web_fetch"), "{said}");
}

#[test]
fn what_a_server_says_of_its_secrets_is_taken_out() {
    let place = Place::new(
        "echo \"no access with $A_SECRET\" >&2; exit 1",
        "secret_env = [\"A_SECRET\"]",
    );
    let mut command = crate::support::farm();
    command
        .args(RUN)
        .args(["--config", "farm.toml"])
        .env("A_SECRET", "s3cr3t-s3cr3t");
    let said = place.0.command(&mut command).exits(2);
    assert!(
        said.stderr.contains("it said: no access with [key]"),
        "{}",
        said.stderr
    );
}

#[test]
fn the_key_of_a_model_is_refused() {
    let place = Place::new("exec $farm mcp", "");
    let config = place
        .0
        .read("farm.toml")
        .replace("[\"FARM_TEST_MARK\"]", "[\"A_KEY\"]");
    let model = "[models.live]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\napi_key_env = \"A_KEY\"\n";
    place.0.write("farm.toml", config + model);
    let mut command = crate::support::farm();
    command
        .args(RUN)
        .args(["--config", "farm.toml"])
        .env("A_KEY", "sk-0123456789");
    let said = place.0.command(&mut command).exits(2);
    let why = "farm.toml:5:7: tools.mcp.s.env: A_KEY holds the key of model live; no server may have it: take it out";
    assert!(said.stderr.contains(why), "{}", said.stderr);
}
