//! `--gate`: what a run must show, on `run`, `resume`, `report` and `compare`.

use crate::support::{Folder, Said};

const RUN: [&str; 6] = [
    "run",
    "eval/cases.jsonl",
    "--quiet",
    "--out",
    "run",
    "--gate",
];

/// The exit code, and what was said of gates.
fn judged(said: Said) -> (i32, String) {
    let lines = said.stderr.lines().filter(|line| line.starts_with("gate "));
    (said.code, lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_run_is_judged_when_it_is_over() {
    let folder = Folder::new();
    folder.farm(["init"]).exits(0);
    let gated = |gate: &str, more: &[&str]| {
        drop(std::fs::remove_dir_all(folder.path("run")));
        judged(folder.farm(RUN.iter().chain(&[gate]).chain(more)))
    };
    let (code, said) = gated("pass_rate >= 0.1", &["--seeds", "12"]);
    assert_eq!(code, 0, "{said}");
    let (code, said) = gated(
        "pass_rate >= 1",
        &["--seeds", "12", "--gate", "cost_usd <= 2"],
    );
    assert_eq!(code, 1, "{said}");
    insta::assert_snapshot!(said);
    let report = |gate: &str| judged(folder.farm(["report", "run", "--gate", gate]));
    assert_eq!(report("cost_usd <= 2").0, 0);
    assert_eq!(report("completion_rate <= 0").0, 1);
    // A run that is over is judged again, and none of it runs.
    let resume = ["resume", "run", "--quiet", "--gate", "pass_rate >= 0.1"];
    assert_eq!(judged(folder.farm(resume)).0, 0);
}

#[test]
fn a_run_is_judged_against_another() {
    let folder = Folder::started();
    let gated = |gate: &str| {
        drop(std::fs::remove_dir_all(folder.path("run")));
        judged(folder.farm(RUN.iter().chain(&[gate])))
    };
    let (code, said) = gated("diff.pass_rate >= -0.9 vs latest");
    assert_eq!(code, 0, "{said}");
    let (code, said) = gated("diff.pass_rate >= 0.5 vs latest/scripted");
    assert_eq!(code, 1, "{said}");
    let compare = [
        "compare",
        "latest",
        "run",
        "--gate",
        "diff.pass_rate >= -0.9",
    ];
    assert_eq!(judged(folder.farm(compare)).0, 0);
    let compare = ["compare", "latest", "run", "--gate", "pass_rate >= 0.999"];
    assert_eq!(judged(folder.farm(compare)).0, 1);
}

/// Nothing runs for a gate that cannot be judged.
#[test]
fn what_is_no_gate_is_said_first() {
    let folder = Folder::started();
    folder.unscored("eval/cases.jsonl", &[]).exits(0);
    for (gate, why) in [
        ("pass_rat >= 0.8", "did you mean pass_rate?"),
        ("pass_rate", "write FIGURE >= NUMBER"),
        (
            "pass@4 >= 0.5",
            "of 3 seeds there is pass@k and pass^k for k = 1, 2, 3",
        ),
        (
            "metrics.none >= 0",
            "the sealed halves define the metrics efficiency",
        ),
        ("pass_rate >= 80", "80 is out of reach"),
        ("diff.pass_rate >= 0", "names no run"),
        ("diff.pass_rate >= 0 vs no-such-run", "no run no-such-run"),
        (
            "diff.pass_rate >= 0 vs unscored",
            "unscored/scripted has no scorer",
        ),
    ] {
        let said = folder.farm(RUN.iter().chain(&[gate])).exits(2);
        assert!(said.stderr.contains(why), "{gate}: {}", said.stderr);
        assert!(!folder.path("run").exists(), "{gate}");
    }
}

#[test]
fn an_unscored_run_passes_no_gate() {
    let folder = Folder::started();
    let gate = ["--gate", "cost_usd <= 100", "--gate", "pass_rate >= 0"];
    let (code, said) = judged(folder.unscored("eval/cases.jsonl", &gate));
    assert_eq!(code, 1, "{said}");
    insta::assert_snapshot!(said);
}

/// What is left to do comes before a gate that is not shown, for a resume may show it.
#[test]
fn sessions_that_are_missing_come_first() {
    let folder = Folder::with_one_case();
    let broken = r#"{"id":"sum-2","task":"What is 2 + 2?","script":[{"raw":{"error":{"message":"no","code":500}}}]}"#;
    let cases = format!("{}\n{broken}\n", folder.read("cases.jsonl"));
    let sealed = format!(
        "{}\n{}",
        folder.read("sealed.jsonl"),
        r#"{"id":"sum-2","checks":[{"kind":"answer_equals","text":"4"}]}"#
    );
    folder
        .write("cases.jsonl", cases)
        .write("sealed.jsonl", sealed);
    let (code, said) = judged(folder.run(&[
        "--quiet",
        "--gate",
        "pass_rate >= 0",
        "--gate",
        "missing <= 0",
    ]));
    assert_eq!(code, 3, "{said}");
    insta::assert_snapshot!(said);
    let report = |gate: &str| judged(folder.farm(["report", "run", "--gate", gate])).0;
    assert_eq!(report("pass_rate >= 0"), 1);
}

#[test]
fn a_gate_may_be_for_one_variant() {
    let folder = Folder::started();
    let report = |gate: &str| folder.farm(["report", "latest", "--gate", gate]);
    assert_eq!(judged(report("scripted: pass_rate >= 0")).0, 0);
    let said = report("other: pass_rate >= 0").exits(2);
    insta::assert_snapshot!(said.stderr, @"
    error: gate `other: pass_rate >= 0`: there is no variant other
    hint: there are scripted
    ");
    assert_eq!(said.stdout, "");
}
