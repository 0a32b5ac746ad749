//! `farm report --format html`: which traces a page holds, and what it says of those it does not.

use serde_json::{Value, json};

use crate::support::Folder;

/// A name as a check may have it.
const CHECK: &str = "</script>says & so";
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{202e}";

/// One case that passes and one that fails, with markup in every text; two seeds each.
fn ran() -> Folder {
    let folder = Folder::new();
    let case = |id: &str, answer: &str| {
        let call = json!({"tool": "calculator", "args": {"expression": HOSTILE}});
        let script = json!([{"thought": HOSTILE, "tool_call": call}, {"answer": answer}]);
        json!({"id": id, "task": HOSTILE, "tags": [HOSTILE], "script": script}).to_string() + "\n"
    };
    let sealed = |id: &str| {
        json!({"id": id, "checks": [{"kind": "answer_equals", "text": "2", "name": CHECK}]})
            .to_string()
            + "\n"
    };
    folder.write("cases.jsonl", case("good", "2") + &case("bad", HOSTILE));
    folder.write("sealed.jsonl", sealed("good") + &sealed("bad"));
    folder.run(&["--seeds", "2", "--quiet"]).exits(0);
    folder
}

fn page(folder: &Folder, more: &[&str]) -> String {
    let report = ["report", "run", "--format", "html"];
    let said = folder.farm(report.iter().chain(more)).exits(0);
    assert_eq!(said.stderr, "");
    said.stdout
}

/// What an element of the page holds, if it is there.
fn embedded(page: &str, id: &str) -> Option<Value> {
    let (_, rest) = page.split_once(&format!("type=\"application/json\" id=\"{id}\">"))?;
    Some(serde_json::from_str(rest.split_once("</script>")?.0).unwrap())
}

/// For each seed of a case, whether its trace is in the page.
fn traced(page: &str, case: &str) -> [bool; 2] {
    [0, 1].map(|seed| embedded(page, &format!("t-0-{case}-{seed}")).is_some())
}

/// The words on which traces are in the page.
fn words(page: &str) -> String {
    let data = embedded(page, "data").unwrap();
    let parts = data["traces"].as_array().unwrap();
    parts
        .iter()
        .map(|part| part["text"].as_str().unwrap())
        .collect()
}

#[test]
fn a_page_holds_the_traces_that_are_asked_for() {
    let folder = ran();
    for (more, good, bad, says) in [
        (&[][..], true, true, "The traces of all sessions"),
        (
            &["--traces", "all"],
            true,
            true,
            "The traces of all sessions",
        ),
        (
            &["--traces", "failed"],
            false,
            true,
            "traces of 2 of 2 failed or errored sessions and of 0 of 2 others",
        ),
        (
            &["--traces", "none"],
            false,
            false,
            "No traces are in this page",
        ),
    ] {
        let page = page(&folder, more);
        for (case, here) in [("0", good), ("1", bad)] {
            assert_eq!(traced(&page, case), [here; 2], "{more:?}");
            let head = embedded(&page, &format!("c-0-{case}"));
            assert_eq!(head.is_some(), here, "{more:?}");
            let list = embedded(&page, &format!("s-0-{case}")).unwrap();
            assert_eq!(list["steps"], json!([2, 2]), "{more:?}");
        }
        assert!(words(&page).contains(says), "{more:?}");
    }
}

#[test]
fn only_a_page_holds_traces() {
    let folder = ran();
    let traces = ["report", "run", "--traces", "all"];
    let said = folder.farm(traces).exits(0);
    assert!(said.stdout.starts_with("<!doctype html>"));
    let csv = ["--format", "csv"];
    let said = folder.farm(traces.iter().chain(&csv)).exits(2);
    insta::assert_snapshot!(said.stderr, @"
    error: --traces goes with --format html alone
    hint: leave --traces out, or say --format html
    ");
}

#[test]
fn what_models_and_tools_said_is_data() {
    let folder = ran();
    let page = page(&folder, &[]);
    assert_eq!(page.matches("<img").count(), 1, "the plot");
    assert!(!page.contains('\u{202e}'));
    // The data, of two cases each what is shared, two traces and the list; and the script.
    assert_eq!(page.matches("<script").count(), 10);
    assert_eq!(page.matches("</script").count(), 10);
    let seen = HOSTILE.replace('\u{202e}', "\\u{202e}");
    assert_eq!(embedded(&page, "c-0-1").unwrap()["task"], seen);
    let session = embedded(&page, "t-0-1-1").unwrap();
    let step = &session["steps"][0];
    assert_eq!(step["thought"], seen);
    assert_eq!(step["tool"]["name"], "calculator");
    assert_eq!(
        step["tool"]["args"],
        json!([["expression", format!("\"{seen}\"")]])
    );
    assert_eq!(step["judgments"][0]["verifier"], "schema");
    assert_eq!(step["observation"]["kind"], "error");
    assert_eq!(session["steps"][1]["answer"], seen);
    assert_eq!(session["end"]["ended"], "completed");
    assert_eq!(session["checks"], json!([[CHECK, false]]));
    // The replies as received have this field, and are left out.
    assert!(!page.contains("finish_reason"));
}

#[test]
fn a_published_run_has_a_page_without_sessions() {
    let folder = ran();
    std::fs::remove_file(folder.path("run/farm.db")).unwrap();
    let page = page(&folder, &[]);
    assert!(page.contains("Sessions are not here"));
    let data = embedded(&page, "data").unwrap();
    assert_eq!(data["sessions"], Value::Null);
    assert_eq!(data["rows"].as_array().unwrap().len(), 2);
    assert_eq!(embedded(&page, "s-0-0"), None);
}
