//! Pages of the fixture: whole, and without what may be missing.

use serde_json::{Value, json};

use super::*;
use crate::{
    domain::{Case, Served, Stratum},
    report::fixture,
};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{202e}";

fn manifest() -> Manifest {
    let of = |name: &str| {
        json!({
            "name": name, "model": "scripted", "kind": "scripted", "tools": [], "parameters": {},
            "prompt": {"text": "Be brief.", "sha256": "cd"}, "limits": {"max_steps": 8},
        })
    };
    serde_json::from_value(json!({
        "schema": "farm.manifest/1", "run": "20261201T040519Z-e6abf8", "farm": "0.1.0",
        "created": "2026-12-01T04:05:19.839849537Z", "digest": "e6abf8", "run_seed": 0,
        "status": "interrupted",
        "grid": {"variants": ["baseline", "cautious"], "cases": 4, "seeds": {"start": 0, "end": 12}},
        "variants": [of("baseline"), of("cautious")],
        "inputs": {"cases": format!("{HOSTILE}.jsonl"), "sha256": {}},
        "suite": {"cases": "fixed", "level": 0.95},
    }))
    .unwrap()
}

fn cases() -> Vec<Case> {
    let of = |id: &str| {
        let case = json!({"id": id, "task": "Add.", "tags": ["sums", HOSTILE]});
        serde_json::from_value(case).unwrap()
    };
    ["arith-001", "file-002", "file-007", "web-003"]
        .map(of)
        .to_vec()
}

fn page() -> String {
    let mut summary = fixture::summary();
    summary.variants[0].cases[3].checks[1].name = HOSTILE.to_owned();
    page_of(&summary)
}

fn page_of(summary: &Summary) -> String {
    let mut out = Vec::new();
    let page = Page {
        run: "latest",
        manifest: &manifest(),
        summary,
        cases: &cases(),
        sessions: None,
        traces: Traces::Fit,
    };
    write(&page, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The data that the script is given.
fn data(page: &str) -> Value {
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

/// The text of an element by its id or class.
fn between<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = page.split_once(from).unwrap();
    rest.split_once(to).unwrap().0
}

#[test]
fn a_page_without_a_database_says_so() {
    let page = page();
    assert!(page.contains("Sessions are not here"), "{page}");
    assert_eq!(data(&page)["sessions"], Value::Null);
    for id in ["session-table", "charts"] {
        assert!(!page.contains(&format!("id=\"{id}\"")), "{id}");
    }
    for part in ["<h2 id=\"figures\">", "0.646", "farm resume latest"] {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn what_others_wrote_is_text() {
    let page = page();
    // The one image is the plot.
    assert_eq!(page.matches("<img").count(), 1, "{page}");
    assert!(!page.contains('\u{202e}'), "{page}");
    insta::assert_snapshot!(between(&page, "<h1>", "</h1>"), @r"&lt;&#x2f;script&gt;&lt;img src=x onerror=alert(1)&gt;\u{202e}.jsonl");
    let data = data(&page);
    let want = HOSTILE.replace('\u{202e}', "\\u{202e}");
    assert_eq!(data["cases"][0]["tags"], json!(["sums", want]));
    assert_eq!(data["rows"][3]["checks"][0], format!("{want} 12/12"));
    // As many scripts end as begin.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
}

#[test]
fn the_page_knows_its_style_and_script_by_digest() {
    let page = page();
    let style = between(&page, "<style>", "</style>");
    let (_, script) = page.rsplit_once("<script>").unwrap();
    let script = script.split_once("</script>").unwrap().0;
    let policy = policy::policy(style, script);
    let escaped = policy.replace('\'', "&#x27;").replace('/', "&#x2f;");
    assert!(page.contains(&escaped), "{policy}");
    assert!(!page.contains(" style="), "the policy forbids it");
}

#[test]
fn what_answered_is_said_where_it_is_known() {
    assert!(!page().contains("id=\"served\""));
    let mut summary = fixture::summary();
    let by = |fingerprint: &str| Stratum {
        served: vec![Served {
            model: Some(HOSTILE.to_owned()),
            provider: None,
            fingerprint: Some(fingerprint.to_owned()),
        }],
        sessions: 12,
        scored: 12,
        passed: 11,
        pass_rate: fixture::rate(11, 12, 12),
    };
    summary.variants[0].served = vec![by("fp_1"), by("fp_2")];
    let page = page_of(&summary);
    let part = between(&page, "id=\"served\"", "</section>");
    assert!(!part.contains("<img") && part.contains("&lt;img"), "{part}");
    for said in [
        "fp_1",
        "fp_2",
        "0.917",
        "[0.646, 0.985]",
        "figures mix them",
    ] {
        assert!(part.contains(said), "{said}: {part}");
    }
    // Of the other variant nobody knows.
    assert!(!part.contains("cautious"), "{part}");
}

#[test]
fn a_plot_is_an_image() {
    let plot = forest::render(&fixture::summary(), Some(forest::MARKS));
    let address = escape::image(&plot).replace('/', "&#x2f;");
    assert!(page().contains(&format!("src=\"{address}\"")));
    assert!(escape::image("<svg/>").ends_with("base64,PHN2Zy8+"));
}

#[test]
fn rows_of_cases_hold_numbers_and_text() {
    let data = data(&page());
    assert_eq!(data["variants"], json!(["baseline", "cautious"]));
    let row = &data["rows"][6];
    assert_eq!(row["case"], "file-007");
    assert_eq!(row["rate"][0], 0.375);
    assert_eq!(row["rate_text"], "0.375 [0.137, 0.694]");
    assert_eq!(row["n"], "8/12");
    assert_eq!(row["steps"], json!([3.0, "3.000"]));
    assert_eq!(row["completed"], "8/8");
    assert_eq!(row["may_fail"], Value::Null);
    assert_eq!(row["checks"], json!(["answer_number 5/8"]));
    assert_eq!(row["missing"], "2 errored, 2 not_run");
}

#[test]
fn figures_have_the_words_of_the_terminal() {
    let summary = fixture::summary();
    let said: Vec<String> = serde_json::to_value(overview::figures(&summary))
        .unwrap()
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|group| group["rows"].as_array().unwrap())
        .map(|row| row["label"].as_str().unwrap().to_owned())
        .collect();
    let groups = crate::report::overall::groups(&summary);
    let want = groups.into_iter().flat_map(|g| g.rows).map(|row| row.label);
    let want: Vec<String> = ["sessions scored".to_owned()]
        .into_iter()
        .chain(want)
        .collect();
    assert_eq!(said, want);
}
