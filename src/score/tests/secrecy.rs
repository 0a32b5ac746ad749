//! Promise 4: whatever is wrong, nothing that is said holds a sealed value.

use super::*;

/// Stands in every sealed field; the number too is unlike any place or count.
const MARK: &str = "MARK";
const NUMBER: &str = "77123";

fn assert_silent(said: &str, about: &str) {
    assert!(
        !said.contains(MARK) && !said.contains(NUMBER),
        "{about} made it say: {said}"
    );
}

fn lines() -> Vec<String> {
    let checks = [
        r#"{"kind":"answer_equals","text":"MARK"}"#,
        r#"{"kind":"answer_contains","text":"MARK, expected MARK","not":true}"#,
        r#"{"kind":"answer_regex","pattern":"error: MARK"}"#,
        r#"{"kind":"answer_number","equals":77123,"tolerance":77123}"#,
        r#"{"kind":"answer_json","schema":{"properties":{"MARK":{"const":77123}}}}"#,
        r#"{"kind":"tool_called","tool":"MARK","times":77123,"args":{"MARK":{"MARK":77123}}}"#,
        r#"{"kind":"tool_not_called","tool":"MARK"}"#,
        r#"{"kind":"steps","min":77123,"max":77123}"#,
        r#"{"kind":"observation_contains","text":"MARK"}"#,
        r#"{"kind":"cost_usd","max":77123}"#,
        r#"{"kind":"model_graded","rubric":"MARK"}"#,
    ];
    checks
        .iter()
        .map(|check| {
            format!(
                r#"{{"id":"a","checks":[{check}],"metrics":[{{"kind":"number_error","equals":77123}}],"canary":"MARK"}}"#
            )
        })
        .collect()
}

#[test]
fn a_good_file_says_nothing() {
    for line in lines() {
        let suite = load_text(&line, &["a"]).unwrap_or_else(|p| panic!("{line}: {p:?}"));
        assert_eq!(format!("{suite:?} {suite:#?}"), "[sealed] [sealed]");
        let texts = [("task".to_owned(), line.as_str())];
        let leaks = suite.leaks(&"a".parse().unwrap(), &texts);
        assert_silent(&leaks.join("\n"), &line);
        assert_silent(suite.digest(), &line);
    }
}

/// Ways in which people and programs break a line; each is a line, and few are good ones.
fn broken(line: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (at, c) in line.char_indices() {
        let (before, after) = (&line[..at], &line[at + c.len_utf8()..]);
        all.push(before.to_owned());
        all.push(format!("{before}{after}"));
        all.push(format!("{before}\u{1}{c}{after}"));
    }
    let values = [
        r#""MARK""#,
        "77123",
        "-77123",
        "77123.5",
        "1e999",
        r#"["MARK"]"#,
        r#"{"MARK":1e999}"#,
        r#"{"MARK":77123}"#,
        r#""(MARK""#,
        r#"{"type":"MARK"}"#,
    ];
    for field in [
        r#""MARK""#,
        r#""MARK, expected MARK""#,
        r#""error: MARK""#,
        "77123",
        "true",
        r#""number_error""#,
        r#"[{"kind":"number_error","equals":77123}]"#,
    ] {
        for value in values {
            all.push(line.replace(&format!(":{field}"), &format!(":{value}")));
        }
    }
    // Fields that do not exist, beside every value. Their names are words of the format, and said.
    for name in [
        "text",
        "pattern",
        "equals",
        "tolerance",
        "schema",
        "tool",
        "times",
        "args",
        "min",
        "max",
        "canary",
    ] {
        let name = format!(r#""{name}":"#);
        all.push(line.replace(&name, ""));
        all.push(line.replace(&name, r#""field":"#));
        all.push(line.replace(&name, r#""field`, expected `x`":"#));
        all.push(line.replace(&name, r#""unknown field `x":"#));
        all.push(line.replace(&name, &format!(r#""field":1,{name}"#)));
        all.push(line.replace(&name, &format!("{name}null,{name}")));
    }
    for kind in [
        "MARK",
        "MARK`, expected one of `x",
        "answer_MARK",
        "status",
        "steps",
        "answer_regex",
        "answer_json",
        "tool_called",
    ] {
        let (before, after) = line.split_once(r#"[{"kind":""#).unwrap();
        let (_, after) = after.split_once('"').unwrap();
        all.push(format!(r#"{before}[{{"kind":"{kind}"{after}"#));
    }
    all.push(line.replace("[{", "[[").replace("}]", "]]"));
    all
}

#[test]
fn broken_files_quote_nothing() {
    let mut faults = 0;
    for line in lines() {
        // One file of all, so that each is read beside the others, and with no case to match.
        let text = broken(&line).join("\n");
        let Err(problems) = load_text(&text, &["z"]) else {
            panic!("a broken file was accepted");
        };
        faults += problems.iter().filter(|p| p.column > 0).count();
        for problem in problems {
            let source = text
                .lines()
                .nth(problem.line.saturating_sub(1))
                .unwrap_or_default();
            assert_silent(&format!("{problem} {problem:?}"), source);
        }
    }
    assert!(faults > 2_000, "only {faults} lines were broken");
}

#[tokio::test]
async fn events_say_nothing() {
    for line in lines() {
        let suite = load_text(&line, &["a"]).unwrap();
        let said = Arc::new(std::sync::Mutex::new(String::new()));
        let log = Arc::clone(&said);
        let sink: Sink = Arc::new(move |event| write!(log.lock().unwrap(), "{event:?}").unwrap());
        for seed in [0, 1] {
            let options = ScorerOptions {
                panic_on: Some(SessionKey {
                    seed,
                    ..record("a", None).key
                }),
            };
            let suite = load_text(&line, &["a"]).unwrap();
            let scorer = Scorer::new(Arc::clone(&sink), options);
            let (scorer, handle) = ractor::Actor::spawn(None, scorer, suite).await.unwrap();
            let record = Arc::new(record("a", Some("no")));
            let submit = Message::Submit {
                ticket: 1,
                record: (*record).clone(),
            };
            scorer.cast(submit).unwrap();
            let asked = |reply| Message::Questions {
                record: record.clone(),
                reply,
            };
            let questions = ractor::call!(scorer, asked).unwrap();
            write!(said.lock().unwrap(), "{questions:?}").unwrap();
            for ticket in ractor::call!(scorer, Message::Pending).unwrap() {
                let grades = vec![Ok(Grade {
                    score: 1.0,
                    passed: true,
                })];
                let record = record.clone();
                let graded = Message::Graded {
                    ticket,
                    record,
                    grades,
                };
                scorer.cast(graded).unwrap();
            }
            scorer.drain_and_wait(None).await.unwrap();
            handle.await.unwrap();
        }
        drop(suite);
        let said = said.lock().unwrap();
        assert!(said.contains("Verdict"), "{said}");
        assert_silent(&said, &line);
    }
}
