//! What is read of traces: its digest, and damage.

use super::*;

#[test]
fn the_digest_follows_the_replies_and_nothing_else() {
    let digest = |change: &dyn Fn(&str) -> String| {
        let dir = tempfile::tempdir().unwrap();
        recording(dir.path());
        let file = dir.path().join("a.jsonl");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, change(&text)).unwrap();
        Tape::load(dir.path(), &variant())
            .unwrap()
            .sha256()
            .to_owned()
    };
    let first = digest(&|text| text.to_owned());
    assert_eq!(first.len(), 64);
    let same: [&dyn Fn(&str) -> String; 3] = [
        &|text| text.replace("\"ts\":0.5", "\"ts\":7.5"),
        &|text| text.replace("\"run\":\"r\"", "\"run\":\"s\""),
        &|text| text.replace("\"type\":\"run_end\"", "\"type\":\"of_tomorrow\""),
    ];
    for change in same {
        assert_eq!(digest(change), first);
    }
    let others: [&dyn Fn(&str) -> String; 3] = [
        &|text| text.replace("It is 391.", "It is 392."),
        &|text| text.replacen("\"seed\":4", "\"seed\":5", 1),
        &|text| text.replace("\"request_sha256\":\"", "\"request_sha256\":\"0"),
    ];
    for change in others {
        assert_ne!(digest(change), first);
    }
}

#[test]
fn damaged_traces_say_where() {
    let turns = recorded_turns();
    let whole = trace_of("a", 0, &turns, &json!({}));
    let lines: Vec<&str> = whole.lines().collect();
    let cut = &lines[1][..30];
    let table = [
        (
            format!("{}\n{cut}", lines[0]),
            "F:2:30: EOF while parsing an object",
        ),
        (
            format!("{}\n{cut}\n{}\n", lines[0], lines[3]),
            "F:2:30: EOF while parsing an object",
        ),
        (
            whole.replace("\"seed\":0", "\"seed\":\"secret\""),
            "F:1:94: seed: wrong type or value, expected a whole number, 0 or more",
        ),
        (
            whole.replace("farm.trace/1", "farm.trace/9"),
            "F:1: is of another format; this farm knows farm.trace/1",
        ),
        (
            whole.replace("\"variant\":\"v\"", "\"variant\":\"w\""),
            "F:1: is a trace of another variant than its folder",
        ),
        (
            format!("{whole}{whole}"),
            "F:5: the session is there a second time",
        ),
        (
            format!("{}\n", lines[1]),
            "F:1: a step stands outside of any session",
        ),
        (
            format!("{}\n{}\n", lines[0], lines[2]),
            "F:2: turn 1 follows 0 turns",
        ),
        (
            format!("{}\n", lines[3]),
            "F:1: run_end stands outside of any session",
        ),
        (
            format!("{}\n", lines[0].replace("\"seed\":0,", "")),
            "F:1: run_start has no schema, variant, case or seed",
        ),
        (
            whole.replace("request_sha256", "request"),
            "F:2: a reply has no turn or request_sha256\n\
             F:3: a reply has no turn or request_sha256",
        ),
        (String::new(), "D: there is no recorded session"),
    ];
    for (text, want) in table {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.jsonl");
        fs::write(&file, &text).unwrap();
        let problems = Tape::load(dir.path(), &variant()).unwrap_err();
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let said = said
            .join("\n")
            .replace(&file.display().to_string(), "F")
            .replace(&dir.path().display().to_string(), "D");
        assert_eq!(said, want, "{text}");
        assert!(!said.contains("secret"));
    }
    let missing = Tape::load(Path::new("nowhere"), &variant()).unwrap_err();
    assert!(
        missing[0]
            .to_string()
            .starts_with("nowhere: cannot be read: ")
    );
}
