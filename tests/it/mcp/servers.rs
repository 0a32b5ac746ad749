//! `farm mcp` over the tools of another server: farm itself, behind a script that starts it.

use super::*;
use crate::support::marked;

/// Passes on what it is told; `hang` is not answered, and `die` is the end.
const SERVES: &str = r#"
pwd >>"$FARM_TEST_MARK/where"; ls -A >>"$FARM_TEST_MARK/found"
while read -r line; do
    case $line in *hang*) ;; *die*) exit ;; *) printf '%s\n' "$line" ;; esac
done | $farm mcp --tools calculator
"#;

/// Does not end when it is told to, nor does what it started.
const STAYS: &str = "
while :; do sleep 1; done
";

/// Ignores SIGTERM, as do its children.
const STUBBORN: &str = "
trap '' TERM
setsid sleep 120 &
";

/// A folder with a config that names a server `s`, which runs a script.
struct Place(Folder);

impl Place {
    fn new(script: &str, keys: &str) -> Self {
        let folder = Folder::new();
        let farm = assert_cmd::cargo::cargo_bin!("farm").display();
        folder.write("server", format!("farm='{farm}'\n{script}"));
        folder.write("files/a.txt", "a");
        folder.write(
            "farm.toml",
            format!(
                "[tools.mcp.s]\ncommand = [\"sh\", \"./server\"]\nenv = [\"FARM_TEST_MARK\"]\n{keys}\n"
            ),
        );
        Self(folder)
    }

    fn mark(&self) -> String {
        self.0.path("").display().to_string()
    }

    fn start(&self, args: &[&str]) -> Client {
        let args = [&["--config", "farm.toml", "--files", "files"], args].concat();
        Client::with(&self.0, &args, &[("FARM_TEST_MARK", &self.mark())])
    }

    /// Waits until no process is left, farm's own among them. What farm does not wait for, its keeper
    /// ends.
    #[track_caller]
    fn nothing_is_left(&self) {
        let began = Instant::now();
        let mark = format!("FARM_TEST_MARK={}", self.mark());
        loop {
            let left = marked(&mark);
            if left.is_empty() {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "there are {left:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn sum(expression: &str) -> Value {
    json!({"expression": expression})
}

#[test]
fn its_tools_are_listed_and_called_as_farms_own() {
    let place = Place::new(SERVES, "");
    let mut client = place.start(&[]);
    let names = client.names();
    assert_eq!(
        names,
        ["calculator", "file_read", "s__calculator", "web_fetch"]
    );
    let mut call = |args: Value| client.call("s__calculator", &args);
    assert_eq!(call(sum("2**3**2")), (false, "512".to_owned()));
    let (is_error, said) = call(sum("1/0"));
    assert!(is_error && said.starts_with("div_zero: "), "{said}");
    let blocked = "blocked by schema: \"expression\" is a required property";
    assert_eq!(call(json!({})), (true, blocked.to_owned()));
    let read = client.call("file_read", &json!({"path": "a.txt"}));
    assert_eq!(read, (false, "a".to_owned()));
    nothing_said(client.end());
    place.nothing_is_left();
    // Once to be asked for its tools, once to be called, and never where the user's files are.
    let places = place.0.read("where");
    assert_eq!(places.lines().count(), 2, "{places}");
    assert_eq!(place.0.read("found"), "", "its folder is empty");
    for worked_in in places.lines().map(std::path::Path::new) {
        assert!(!worked_in.starts_with(place.0.path("")), "{places}");
        assert!(!worked_in.exists(), "{places}");
    }
}

#[test]
fn its_tools_are_those_named() {
    let place = Place::new(SERVES, "");
    let mut client = place.start(&["--tools", "s__calculator"]);
    assert_eq!(client.names(), ["s__calculator"]);
    nothing_said(client.end());
    // A server that is not named is not started.
    let mut without = place.start(&["--tools", "calculator"]);
    assert_eq!(without.names(), ["calculator"]);
    nothing_said(without.end());
    assert_eq!(place.0.read("where").lines().count(), 1);
}

#[test]
fn it_ends_with_farm_while_a_call_runs() {
    for signal in [None, Some("TERM")] {
        for strays in ["", STUBBORN] {
            let place = Place::new(&format!("{strays}{SERVES}"), "");
            let mut client = place.start(&[]);
            assert!(!client.call("s__calculator", &sum("1")).0);
            client.send(&call(8, "s__calculator", &sum("hang")));
            client.ask(&call(9, "calculator", &sum("1")));
            let stdin = match signal {
                Some(signal) => {
                    client.signal(&[signal]);
                    client.to.take()
                }
                None => None,
            };
            let (code, rest, said) = match signal {
                Some(_) => client.over(),
                None => client.end(),
            };
            drop(stdin);
            assert_eq!((code, &*said), (Some(0), ""));
            let [hung] = &rest[..] else {
                panic!("{rest:?}")
            };
            assert_eq!(hung["id"], 8);
            let text = &hung["result"]["content"][0]["text"];
            assert_eq!(text, "not done: the server ends");
            place.nothing_is_left();
        }
    }
}

#[test]
fn one_that_does_not_end_is_left_to_its_keeper() {
    // Two signals at once: the second comes while the server is waited for.
    for (signals, code) in [(&[][..], 0), (&["TERM"], 0), (&["TERM", "INT"], 130)] {
        let place = Place::new(&format!("{STUBBORN}{SERVES}{STAYS}"), "");
        let mut client = place.start(&[]);
        assert!(!client.call("s__calculator", &sum("1")).0);
        let over = match signals {
            [] => client.end(),
            signals => {
                client.signal(signals);
                let stdin = client.to.take();
                let over = client.over();
                drop(stdin);
                over
            }
        };
        assert_eq!(over, (Some(code), Vec::new(), String::new()), "{signals:?}");
        place.nothing_is_left();
    }
}

#[test]
fn one_that_has_died_comes_back_only_where_that_is_allowed() {
    for (keys, comes_back) in [
        ("", false),
        ("resumable = true", true),
        ("share = \"run\"", true),
    ] {
        let place = Place::new(SERVES, keys);
        let mut client = place.start(&[]);
        assert!(!client.call("s__calculator", &sum("1")).0);
        assert!(client.call("s__calculator", &sum("die")).0, "{keys}");
        let (is_error, said) = client.call("s__calculator", &sum("1"));
        assert_eq!(is_error, !comes_back, "{keys}: {said}");
        nothing_said(client.end());
        place.nothing_is_left();
    }
}

#[test]
fn one_that_does_not_come_up_is_said_before_anything_is_served() {
    let place = Place::new("echo no such database >&2; exit 3", "");
    let (code, answers, said) = place.start(&[]).over();
    assert_eq!((code, answers), (Some(2), Vec::new()));
    assert!(said.contains("it said: no such database"), "{said}");
    place.nothing_is_left();
}
