//! Traces of replies that are JSON, but that no JSON reader takes whole: all that reads traces copes.

use crate::{
    live::{folder, ledger, model, run},
    stub::{Stub, http, says},
    support::Folder,
};

/// The config of a run that is replayed.
const REPLAY: &str = "[models.m]\nkind = \"cassette\"\nfrom = \"run/m\"\n";
/// Half of an emoji, cut off by the output limit.
const HALF: &str = r#"{"choices":[{"message":{"content":"391 \ud83d"},"finish_reason":"length"}]}"#;
/// A number that no float holds, in a field that farm does not know.
const LARGE: &str = r#"{"id":"ID","logprob":1e999,"choices":[{"message":{"content":"70"}}]}"#;

fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

/// A reply that calls the calculator with arguments that are an object.
fn calls(args: &str) -> String {
    format!(
        r#"{{"choices":[{{"message":{{"content":null,"tool_calls":[{{"id":"a","type":"function","function":{{"name":"calculator","arguments":{args}}}}}]}}}}]}}"#
    )
}

/// All odd replies, by what is odd about them.
fn odd() -> Vec<(&'static str, String)> {
    let field = |depth| {
        let deep = nested(depth);
        format!(r#"{{"choices":[{{"message":{{"content":"70"}}}}],"more":{deep}}}"#)
    };
    let args = |depth| calls(&format!(r#"{{"expression":{}}}"#, nested(depth)));
    let text = |depth| calls(&format!(r#""{{\"expression\":{}}}""#, nested(depth)));
    vec![
        ("half", HALF.to_owned()),
        ("key", LARGE.replace("1e999", r#"{"\ud83d":0}"#)),
        ("large", LARGE.to_owned()),
        ("deep", field(127)),
        ("deeper", field(200_000)),
        // What is too deep in a trace begins below what is too deep by itself.
        ("args-90", args(90)),
        ("args-110", args(110)),
        ("args-123", args(123)),
        ("args-126", args(126)),
        ("args-500", args(500)),
        ("text-125", text(125)),
        ("number", calls(r#"{"expression":1e999}"#)),
    ]
}

/// An endpoint that gives this reply first and then an answer.
fn endpoint(reply: String) -> Stub {
    Stub::start(move |asked| {
        if asked.body["messages"].as_array().unwrap().len() > 2 {
            return says("70");
        }
        http(
            "200 OK",
            "",
            &reply.replace("ID", &format!("id-{}", asked.n)),
        )
    })
}

/// Reads a run in all ways.
fn reads(folder: &Folder, what: &str) {
    let exits = |args: &[&str]| {
        let said = folder.farm(args);
        assert_eq!(said.code, 0, "{what} {args:?}: {}", said.stderr);
        said.stdout
    };
    let shown = exits(&["trace", "show", "m/p-0/0", "--run", "run"]);
    assert!(
        shown.contains("answer") || shown.contains("reply"),
        "{shown}"
    );
    exits(&["trace", "diff", "run", "run"]);
    let exported = exits(&["trace", "export", "run", "--session", "m/p-0/0"]);
    assert!(exported.contains("\"reply\":{"), "{exported}");
    for format in ["html", "csv", "md", "junit"] {
        let out = exits(&["report", "run", "--format", format]);
        assert!(!out.contains("cannot be read"), "{what}");
    }
}

/// Runs the suite once more; the traces are those of `run`.
fn again(folder: &Folder, config: &str, out: &str, what: &str) {
    let args = "run cases.jsonl --sealed sealed.jsonl --quiet --no-probe --config";
    let said = folder.farm(args.split(' ').chain([config, "--out", out]));
    assert_eq!(said.code, 0, "{what} {config}: {}", said.stderr);
    let said = folder.farm(["trace", "diff", "run", out]);
    assert_eq!(
        said.code, 0,
        "{what} {config}: {}{}",
        said.stdout, said.stderr
    );
}

#[test]
fn odd_replies_leave_a_run_that_can_be_read() {
    for (what, reply) in odd() {
        let folder = folder(1);
        let stub = endpoint(reply);
        folder.write("live.toml", model("m", &stub.base_url(), ""));
        let said = run(&folder, "live.toml", &["--quiet", "--no-probe"]);
        assert_eq!(said.code, 0, "{what}: {}", said.stderr);
        assert_eq!(
            ledger(&folder, "failed") + ledger(&folder, "passed"),
            1,
            "{what}"
        );
        reads(&folder, what);

        // A second run says the same, and so does a cassette.
        again(&folder, "live.toml", "again", what);
        folder.write("replay.toml", REPLAY);
        again(&folder, "replay.toml", "replayed", what);

        folder.farm(["resume", "run", "--quiet"]).exits(0);
        // What is published of a run is its files.
        std::fs::remove_file(folder.path("run/farm.db")).unwrap();
        folder
            .farm(["trace", "show", "m/p-0/0", "--run", "run"])
            .exits(0);
        folder.farm(["trace", "diff", "run", "again"]).exits(0);
        let file = "run/traces/m/p-0.jsonl";
        folder.farm(["trace", "diff", file, file]).exits(0);
    }
}

/// As much as farm reads of a reply: 4 MiB.
const MOST: usize = 4 << 20;

#[test]
fn the_longest_replies_leave_traces_that_are_read_back() {
    let answer = |text: &str| format!(r#"{{"choices":[{{"message":{{"content":"{text}"}}}}]}}"#);
    // What comes out of a text in a text is escaped once more; short numbers are written at length.
    let quotes = |text: &str| calls(&format!(r#"["{text}"]"#));
    let numbers = |text: &str| calls(&format!(r#"{{"a":[{text}1]}}"#));
    let both = |text: &str| {
        let half = &text[..text.len() / 12 * 6];
        let message = format!(r#""content":"{half}","reasoning":"{half}""#);
        format!(r#"{{"choices":[{{"message":{{{message}}}}}]}}"#)
    };
    let in_json = |text: &str| {
        let call = format!(r#"{{\"tool_call\":{{\"tool\":\"t\",\"args\":[{text}1]}}}}"#);
        answer(&call)
    };
    let full = |of: &dyn Fn(&str) -> String, unit: &str| {
        let reply = of(&unit.repeat((MOST - of("").len()) / unit.len()));
        assert!(reply.len() > MOST - 20 && reply.len() <= MOST);
        reply
    };
    let table = [
        ("plain", "native", full(&answer, "a")),
        ("escapes", "native", full(&answer, "\\u0001")),
        ("both", "native", full(&both, "\\u0001")),
        ("quotes", "native", full(&quotes, "\\\"")),
        ("numbers", "native", full(&numbers, "1e15,")),
        ("in json", "json", full(&in_json, "1e15,")),
    ];
    for (what, mode, reply) in table {
        let folder = folder(1);
        let stub = endpoint(reply);
        let session = format!("tool_mode = \"{mode}\"\n[session]\nmax_steps = 1\n");
        let live = model("m", &stub.base_url(), "") + &session;
        folder.write("live.toml", live);
        folder.write("replay.toml", REPLAY.to_owned() + &session);
        run(&folder, "live.toml", &["--quiet", "--no-probe"]).exits(0);
        assert_eq!(stub.counts().asked, 1, "{what}");
        let show = ["trace", "show", "m/p-0/0", "--run", "run"];
        folder.farm(show).exits(0);
        again(&folder, "replay.toml", "replayed", what);
        std::fs::remove_file(folder.path("run/farm.db")).unwrap();
        folder.farm(show).exits(0);
    }
}
