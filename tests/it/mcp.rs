//! `farm mcp` as an MCP client starts it: what goes to stdout, what ends it, what is refused.

use std::{
    io::{BufRead as _, BufReader, Read, Write as _},
    process::{ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{Background, Folder, PATIENCE, process};

#[cfg(target_os = "linux")]
mod servers;

const OLD: &str = "2025-11-25";
const NEW: &str = "2026-07-28";

/// A server and its client.
struct Client {
    child: Background,
    to: Option<ChildStdin>,
    answers: Receiver<String>,
    said: Receiver<String>,
}

/// The lines of a pipe, read at once: who waits for one has a deadline.
fn lines(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (say, said) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(pipe).lines().map_while(Result::ok);
        // Nobody listens any more when the test is over.
        lines.map(|line| say.send(line)).find(Result::is_err)
    });
    said
}

/// All that is still said until a pipe ends.
fn rest(said: &Receiver<String>) -> Vec<String> {
    let mut rest = Vec::new();
    loop {
        match said.recv_timeout(PATIENCE) {
            Ok(line) => rest.push(line),
            Err(RecvTimeoutError::Disconnected) => return rest,
            Err(RecvTimeoutError::Timeout) => panic!("it does not end; it said {rest:?}"),
        }
    }
}

fn spawned(folder: &Folder, args: &[&str], env: &[(&str, &str)]) -> Background {
    let mut command = process();
    command
        .arg("mcp")
        .args(args)
        .envs(env.iter().copied())
        .current_dir(folder.path(""));
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Background(pipes.stderr(Stdio::piped()).spawn().unwrap())
}

/// Waits for its end: the exit code.
fn ended(child: &mut Background) -> Option<i32> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.0.try_wait().unwrap() {
            return status.code();
        }
        assert!(began.elapsed() < PATIENCE, "it does not end");
        thread::sleep(Duration::from_millis(5));
    }
}

impl Client {
    fn start(folder: &Folder, args: &[&str]) -> Self {
        Self::with(folder, args, &[])
    }

    fn with(folder: &Folder, args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut child = spawned(folder, args, env);
        Self {
            to: child.0.stdin.take(),
            answers: lines(child.0.stdout.take().unwrap()),
            said: lines(child.0.stderr.take().unwrap()),
            child,
        }
    }

    fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.to
            .as_mut()
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
    }

    fn next(&mut self) -> Value {
        let line = self.answers.recv_timeout(PATIENCE);
        let line = line.unwrap_or_else(|e| panic!("{e}; it said {:?}", rest(&self.said)));
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:?}"))
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.send(message);
        let answer = self.next();
        assert_eq!(answer["id"], message["id"], "{answer}");
        answer
    }

    /// The text of a call's result, and whether it is an error.
    fn call(&mut self, tool: &str, args: &Value) -> (bool, String) {
        let answer = self.ask(&call(7, tool, args));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        (
            result["isError"].as_bool().unwrap(),
            text.unwrap().to_owned(),
        )
    }

    fn tools(&mut self) -> Vec<Value> {
        let list = self.ask(&request(1, "tools/list", json!({})));
        list["result"]["tools"].as_array().unwrap().clone()
    }

    fn names(&mut self) -> Vec<String> {
        let tools = self.tools();
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    }

    /// Sends these signals, one right after the other.
    fn signal(&self, names: &[&str]) {
        let pid = self.child.0.id();
        let kills: Vec<_> = names
            .iter()
            .map(|name| format!("kill -s {name} {pid}"))
            .collect();
        let sent = Command::new("sh").args(["-c", &kills.join("; ")]).status();
        assert!(sent.unwrap().success());
    }

    /// Closes its input; see [`Self::over`].
    fn end(mut self) -> (Option<i32>, Vec<Value>, String) {
        self.to = None;
        self.over()
    }

    /// Waits until it is over: the exit code, what else it answered, what it said on stderr.
    fn over(mut self) -> (Option<i32>, Vec<Value>, String) {
        let answers = rest(&self.answers).into_iter().map(|line| {
            let message: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            message
        });
        let answers = answers.collect();
        let said = rest(&self.said).join("\n");
        (ended(&mut self.child), answers, said)
    }
}

/// A request of the newer era, which needs no handshake.
fn request(id: u32, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEW,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn call(id: u32, tool: &str, args: &Value) -> Value {
    request(id, "tools/call", json!({"name": tool, "arguments": args}))
}

fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": OLD, "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

fn nothing_said(over: (Option<i32>, Vec<Value>, String)) {
    assert_eq!(over, (Some(0), Vec::new(), String::new()));
}

#[test]
fn it_says_nothing_unasked_and_ends_with_its_input() {
    let folder = Folder::new();
    nothing_said(Client::start(&folder, &[]).end());
    let mut idle = Client::start(&folder, &[]);
    let hello = idle.ask(&initialize());
    assert_eq!(hello["result"]["protocolVersion"], OLD);
    assert_eq!(hello["result"]["serverInfo"]["name"], "farm");
    assert_eq!(hello["result"]["capabilities"], json!({"tools": {}}));
    idle.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let list = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"});
    assert_eq!(
        idle.ask(&list)["result"]["tools"].as_array().unwrap().len(),
        3
    );
    nothing_said(idle.end());
}

#[test]
fn calls_that_run_when_its_input_ends_are_answered() {
    let folder = Folder::new();
    let mut client = Client::start(&folder, &[]);
    for id in 0..200 {
        let args = json!({"expression": format!("{id} + 1")});
        client.send(&call(id, "calculator", &args));
    }
    let (code, mut answers, said) = client.end();
    assert_eq!((code, &*said), (Some(0), ""));
    answers.sort_by_key(|answer| answer["id"].as_u64());
    let results: Vec<_> = answers
        .iter()
        .map(|answer| {
            answer["result"]["structuredContent"]["result"]
                .as_str()
                .unwrap_or_else(|| panic!("{answer}"))
        })
        .collect();
    let want: Vec<_> = (1..=200).map(|n| n.to_string()).collect();
    assert_eq!(results, want);
}

#[test]
fn a_signal_ends_it_as_the_end_of_its_input_does() {
    let folder = Folder::new();
    for signal in ["TERM", "INT"] {
        let mut client = Client::start(&folder, &[]);
        client.ask(&initialize());
        client.signal(&[signal]);
        let stdin = client.to.take();
        nothing_said(client.over());
        drop(stdin);
    }
}

#[test]
fn a_client_that_reads_no_more_ends_it() {
    let folder = Folder::new();
    let mut child = spawned(&folder, &[], &[]);
    drop(child.0.stdout.take());
    let line = format!("{}\n", request(1, "tools/list", json!({})));
    let mut to = child.0.stdin.take().unwrap();
    to.write_all(line.as_bytes()).unwrap();
    assert_eq!(ended(&mut child), Some(0));
}

#[test]
fn tools_are_those_named_in_that_order() {
    let folder = Folder::new();
    let all = Client::start(&folder, &[]).names();
    assert_eq!(all, ["calculator", "file_read", "web_fetch"]);
    let mut some = Client::start(&folder, &["--tools", "web_fetch,calculator"]);
    assert_eq!(some.names(), ["web_fetch", "calculator"]);
    let (is_error, said) = some.call("calculator", &json!({"expression": "2**3**2"}));
    assert_eq!((is_error, &*said), (false, "512"));
    let other = some.ask(&call(1, "file_read", &json!({"path": "a"})));
    assert_eq!(other["error"]["code"], -32602);
    assert_eq!(
        other["error"]["message"],
        r#"no tool "file_read"; tools: web_fetch, calculator"#
    );
    nothing_said(some.end());
}

#[test]
fn files_are_those_of_the_folder_and_no_others() {
    let folder = Folder::new();
    folder.write("files/sub/a.txt", "inside\n");
    folder.write("secret.txt", "secret");
    std::os::unix::fs::symlink("../secret.txt", folder.path("files/link")).unwrap();
    let mut client = Client::start(&folder, &["--files", "files"]);
    let mut read = |path: &str| client.call("file_read", &json!({"path": path}));
    assert_eq!(read("sub/a.txt"), (false, "inside\n".to_owned()));
    let outside = folder.path("secret.txt");
    let outside = outside.to_str().unwrap();
    for path in ["../secret.txt", "link", outside, "sub", "none"] {
        let (is_error, said) = read(path);
        assert!(is_error && !said.contains("/secret"), "{path}: {said}");
    }
    let mut without = Client::start(&folder, &[]);
    let (is_error, said) = without.call("file_read", &json!({"path": "files/sub/a.txt"}));
    assert!(is_error && said.contains("has no files"), "{said}");
}

#[test]
fn the_config_says_what_its_tools_may() {
    let folder = Folder::new();
    folder.write("pages/example.org/a", "canned");
    folder.write("files/a.txt", "12345");
    folder.write(
        "farm.toml",
        "[tools.file_read]\nmax_bytes = 4\n[tools.web_fetch]\npages = \"pages\"\n",
    );
    let named = &["--files", "files", "--config", "farm.toml"][..];
    for (args, env) in [
        (named, None),
        (&named[..2], Some(("FARM_CONFIG", "farm.toml"))),
    ] {
        let mut client = Client::with(&folder, args, env.as_slice());
        let (is_error, said) = client.call("file_read", &json!({"path": "a.txt"}));
        assert!(is_error && said.contains("larger than 4 bytes"), "{said}");
        let url = json!({"url": "https://example.org/a"});
        let (is_error, said) = client.call("web_fetch", &url);
        assert!(!is_error && said.ends_with("canned"), "{said}");
        let tools = client.tools();
        let said = tools[1]["description"].as_str().unwrap();
        assert!(said.contains("at most 4 bytes"), "{said}");
    }
}

#[test]
fn what_is_logged_goes_to_stderr() {
    let folder = Folder::new();
    let mut client = Client::start(&folder, &["-v"]);
    client.ask(&call(1, "nonsense", &json!({})));
    client.call("calculator", &json!({"expression": "1"}));
    let (code, rest, said) = client.end();
    assert_eq!((code, rest.len()), (Some(0), 0));
    for line in [
        "no such tool tool=\"nonsense\"",
        "called tool=\"calculator\" ok=true",
    ] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn what_is_wrong_is_said_before_anything_is_served() {
    let folder = Folder::new();
    folder.write("file", "");
    folder.write("bad.toml", "[tools.file_read]\nmax_byte = 4\n");
    let refused = |args: &[&str]| {
        let args = ["mcp"].iter().chain(args);
        let said = folder.farm(args).exits(2);
        assert_eq!(said.stdout, "");
        said.stderr
    };
    insta::assert_snapshot!(refused(&["--tools", "calculater"]), @r#"
    error: --tools: no tool "calculater"; did you mean "calculator"? tools: calculator, file_read, web_fetch
    "#);
    insta::assert_snapshot!(refused(&["--tools", "calculator,calculator"]), @r#"
    error: --tools: tool "calculator" is there twice
    "#);
    insta::assert_snapshot!(refused(&["--tools", ""]), @r#"
    error: --tools: no tool ""; tools: calculator, file_read, web_fetch
    "#);
    insta::assert_snapshot!(refused(&["--files", "none"]), @r#"
    error: --files: none cannot be opened as a folder
    caused by: No such file or directory (os error 2)
    "#);
    insta::assert_snapshot!(refused(&["--files", "file"]), @r#"
    error: --files: file cannot be opened as a folder
    caused by: Not a directory (os error 20)
    "#);
    insta::assert_snapshot!(refused(&["--config", "none.toml"]), @r#"
    error: 1 problem in the input
      none.toml: cannot be read: No such file or directory (os error 2); check the path given as config file
    "#);
    insta::assert_snapshot!(refused(&["--config", "bad.toml"]), @r#"
    error: 1 problem in the input
      bad.toml:2:1: unknown key `tools.file_read.max_byte`; did you mean `max_bytes`?
    "#);
    insta::assert_snapshot!(refused(&["--file", "x"]), @r#"
    error: unexpected argument '--file' found

      tip: a similar argument exists: '--files'

    Usage: farm mcp --files <DIR>

    For more information, try '--help'.
    "#);
}
