//! What answered, in every report.

use crate::{
    domain::{Served, Stratum, Summary},
    report::{Style, fixture, markdown, terminal},
};

fn served(model: &str, provider: &str, fingerprint: &str) -> Served {
    let some = |text: &str| Some(text.to_owned());
    Served {
        model: some(model),
        provider: some(provider),
        fingerprint: some(fingerprint),
    }
}

fn stratum(served: &[Served], sessions: u64, passed: u32, scored: u32) -> Stratum {
    Stratum {
        served: served.to_vec(),
        sessions,
        scored: scored.into(),
        passed: passed.into(),
        pass_rate: match scored {
            0 => fixture::nothing(0),
            _ => fixture::rate(passed, scored, scored),
        },
    }
}

/// One variant that two builds of a model answered, and one of which a single reply says nothing.
fn summary() -> Summary {
    let mut summary = fixture::summary();
    let long = "meta-llama/llama-3.3-70b-instruct-2026-09-18";
    let [a, b] = ["fp_44709d6fcb", "fp_50cad350e4ee89"].map(|f| served(long, "Barn <AI>", f));
    summary.variants[0].served = vec![
        stratum(std::slice::from_ref(&a), 36, 24, 34),
        stratum(&[a, b.clone()], 10, 7, 10),
        stratum(&[b], 2, 0, 0),
    ];
    let other = served("small|model", "Barn", "fp_1");
    summary.variants[1].served = vec![stratum(&[other], 31, 26, 31)];
    summary
}

fn in_terminal(summary: &Summary) -> String {
    let view = terminal::View {
        run: "latest",
        width: 80,
        rows: Some(0),
        style: Style::default(),
    };
    let text = terminal::render(summary, &view);
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    let (_, part) = text.split_once("baseline served").unwrap();
    format!("baseline served{part}")
}

#[test]
fn the_terminal_says_what_answered() {
    insta::assert_snapshot!(in_terminal(&summary()), @r#"
    baseline served: meta-llama/llama-3.3-70b-instruct-2026-09-18 · Barn <AI>
    fingerprint
    fp_44709d6fcb
      sessions: 36, passed: 24 of 34, pass rate 0.706 [0.538, 0.832]
    fp_44709d6fcb + fp_50cad350e4ee8…
      sessions: 10, passed: 7 of 10, pass rate 0.700 [0.397, 0.892]
    fp_50cad350e4ee8…
      sessions: 2, passed: 0 of 0, pass rate n/a
    Not all sessions name the same model, provider, fingerprint: figures mix them.

    cautious served: small|model · Barn · fp_1

    may fail: the largest failure rate still plausible of a case that always passed.
    "#);
    // Where nothing is common all of it is in the rows, which are broken where there is no room.
    let mut summary = summary();
    summary.variants[0].served[2].served = vec![served("m", "q", "f")];
    summary.variants[1].served.clear();
    insta::assert_snapshot!(in_terminal(&summary), @r#"
    baseline served: model · provider · fingerprint
    meta-llama/llama-3.3-70b-instruct-2026-09-18 · Barn <AI> · fp_44709d6fcb
      sessions: 36, passed: 24 of 34, pass rate 0.706 [0.538, 0.832]
    meta-llama/llama-3.3-70b-instruct-2026-09-18 · Barn <AI> · fp_44709d6fcb +
    meta-llama/llama-3.3-70b-instruct-2026-09-18 · Barn <AI> · fp_50cad350e4ee8…
      sessions: 10, passed: 7 of 10, pass rate 0.700 [0.397, 0.892]
    m · q · f
      sessions: 2, passed: 0 of 0, pass rate n/a
    Not all sessions name the same model, provider, fingerprint: figures mix them.

    may fail: the largest failure rate still plausible of a case that always passed.
    "#);
    let mut summary = fixture::summary();
    summary.variants.truncate(1);
    summary.variants[0].served = vec![stratum(&[served("m", "p", "f")], 48, 31, 48)];
    let view = terminal::View {
        run: "latest",
        width: 80,
        rows: Some(0),
        style: Style::default(),
    };
    let text = terminal::render(&summary, &view);
    assert!(text.contains("\nserved: m · p · f\n"), "{text}");
}

#[test]
fn markdown_says_what_answered() {
    let text = markdown::render(&summary());
    let (_, part) = text.split_once("## Served").unwrap();
    let (part, _) = part.split_once("\n## ").unwrap();
    insta::assert_snapshot!(part, @r#"
    baseline: meta-llama/llama-3.3-70b-instruct-2026-09-18 · Barn &lt;AI>

    | fingerprint | sessions | passed | scored | pass rate |
    | --- | ---: | ---: | ---: | ---: |
    | fp_44709d6fcb | 36 | 24 | 34 | 0.706 [0.538, 0.832] |
    | fp_44709d6fcb + fp_50cad350e4ee8… | 10 | 7 | 10 | 0.700 [0.397, 0.892] |
    | fp_50cad350e4ee8… | 2 | 0 | 0 | n/a |

    Not all sessions name the same model, provider, fingerprint: figures mix them.

    cautious: small\|model · Barn · fp_1
    "#);
}
