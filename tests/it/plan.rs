//! `farm plan`.

use serde_json::Value;

use crate::{
    schemas::assert_is,
    support::{Folder, Said, farm_at_home},
};

/// The shipped suite with some seeds, as `run`.
fn suite(seeds: &str) -> Folder {
    let folder = Folder::new();
    let run = [
        "run",
        "eval/cases.jsonl",
        "--quiet",
        "--seeds",
        seeds,
        "--out",
    ];
    farm_at_home()
        .args(run)
        .arg(folder.path("run"))
        .assert()
        .success();
    folder
}

/// Cases of which some fail at some seeds, under two variants.
fn two_variants(config: &str) -> Folder {
    let folder = Folder::new();
    let (mut cases, mut sealed) = (String::new(), String::new());
    for n in 0..12 {
        let script = format!(
            r#"[{{"any_of":[{{"weight":{},"answer":"2"}},{{"weight":3,"answer":"3"}}]}}]"#,
            n + 1
        );
        cases += &format!("{{\"id\":\"sum-{n:02}\",\"task\":\"1 + 1?\",\"script\":{script}}}\n");
        sealed += &format!(
            "{{\"id\":\"sum-{n:02}\",\"checks\":[{{\"kind\":\"answer_equals\",\"text\":\"2\"}}]}}\n"
        );
    }
    folder.write("cases.jsonl", cases);
    folder.write("sealed.jsonl", sealed);
    folder.write("farm.toml", config);
    folder
        .run(&["--config", "farm.toml", "--seeds", "6", "--quiet"])
        .exits(0);
    folder
}

const TWO: &str = r#"
[models.plain]
kind = "scripted"
[models.cold]
kind = "scripted"
parameters = { temperature = 0.0 }
"#;

fn plan(folder: &Folder, more: &[&str]) -> Value {
    let said = folder.farm(["plan", "--json"].iter().chain(more)).exits(0);
    let plan: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_is("plan", &plan);
    plan
}

/// All that was said in notes and warnings.
fn remarks(plan: &Value) -> String {
    let of = |field: &str| plan[field].as_array().unwrap().clone();
    let all = [of("warnings"), of("notes")].concat();
    all.iter()
        .map(|text| text.as_str().unwrap())
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn the_suite_as_a_pilot() {
    let folder = suite("4");
    let of = plan(&folder, &["run", "--difference", "0.1"]);
    assert_eq!(
        (&of["seeds"], &of["unit"]["is_cluster"]),
        (&4.into(), &true.into())
    );
    let pilot = &of["pilot"][0];
    assert_eq!(
        (&pilot["cases"], &pilot["sessions"]),
        (&30.into(), &120.into())
    );
    let rate = folder.json("run/summary.json")["variants"][0]["overall"].clone();
    assert_eq!(pilot["pass_rate"], rate["pass_rate"]["fixed"]["estimate"]);
    assert_eq!(pilot["variance"], rate["variance"]);
    // Scripted models cost nothing, and the run wrote down how long it took.
    assert_eq!(of["present"]["cost_usd"], 0.0);
    assert!(of["present"]["seconds"].as_f64() > Some(0.0));
    assert_eq!(of["present"]["sessions"], 240);
    assert!(remarks(&of).contains("one variant stands for both sides"));

    // The replies of each case against its traces.
    let replies = pilot["replies"].as_array().unwrap();
    assert_eq!(replies.len(), 30);
    for of in replies {
        let id = of["case"].as_str().unwrap();
        let mut sessions: Vec<Vec<Value>> = Vec::new();
        for line in folder.lines(&format!("run/traces/scripted/{id}.jsonl")) {
            match line["type"].as_str().unwrap() {
                "run_start" => sessions.push(Vec::new()),
                "step" => sessions.last_mut().unwrap().push(line["decision"].clone()),
                _ => {}
            }
        }
        assert_eq!(of["sessions"], sessions.len());
        let mut distinct: Vec<Vec<Value>> = Vec::new();
        for session in sessions {
            if !distinct.contains(&session) {
                distinct.push(session);
            }
        }
        assert_eq!(of["distinct"], distinct.len(), "{id}");
    }

    let said = folder.farm(["plan", "run"]).exits(0);
    assert_eq!(said.stderr, "");
    let first = "To show a difference of 0.050 in pass rate, at level 95 % with power 80 %:";
    assert!(said.stdout.starts_with(first), "{}", said.stdout);
    for part in [
        "Distinct replies of run/scripted: ",
        "All seeds the same: arith-001, ",
    ] {
        assert!(said.stdout.contains(part), "{}", said.stdout);
    }
    // What is gone is not known.
    for file in ["farm.db", "timing.json"] {
        std::fs::remove_file(folder.path(&format!("run/{file}"))).unwrap();
    }
    let of = plan(&folder, &["run"]);
    assert_eq!(of["pilot"][0]["replies"], Value::Null);
    assert_eq!(of["present"]["seconds"], Value::Null);
}

#[test]
fn two_variants_are_measured() {
    let folder = two_variants(TWO);
    let both = plan(&folder, &["run"]);
    let named = plan(&folder, &["run/plain", "run/cold"]);
    let turned = plan(&folder, &["run/cold", "run/plain"]);
    assert_eq!(both["noise"], named["noise"]);
    assert_eq!(both["noise"]["within_a"], turned["noise"]["within_b"]);
    assert_eq!(both["noise"]["between_is"], "measured");
    assert_eq!((&both["units"], &both["seeds"]), (&12.into(), &6.into()));
    // Scripts draw by seed alone: both did the same.
    assert_eq!(both["noise"]["between"], 0.0);
    assert!(
        remarks(&both).contains("the temperature is 0 (run/cold)"),
        "{}",
        remarks(&both)
    );
    assert!(!remarks(&plan(&folder, &["run/plain"])).contains("temperature"));
    let once = plan(&folder, &["run", "--seeds", "1"]);
    assert!(!remarks(&once).contains("temperature"));
    // More cases at these seeds, and more seeds at these cases, show the same.
    let target = &plan(&folder, &["run", "--difference", "0.12"])["targets"][0];
    let sessions = |by: &str| target[by]["sessions"].as_f64().unwrap();
    let ratio = sessions("by_units") / sessions("by_seeds");
    assert!((0.9..1.1).contains(&ratio), "{target}");
}

#[test]
fn without_a_run_the_config_says_how_many_seeds() {
    let folder = Folder::new();
    let of = plan(&folder, &[]);
    assert_eq!((&of["seeds"], &of["units"]), (&1.into(), &Value::Null));
    assert!(remarks(&of).contains("without a pilot all noise is guessed"));
    folder.write(
        "configs/farm.toml",
        format!("{TWO}[run]\nseeds = 5\n[suite]\nlevel = 0.9\n"),
    );
    let of = plan(&folder, &["--cases", "40"]);
    assert_eq!((&of["seeds"], &of["level"]), (&5.into(), &0.9.into()));
    assert_eq!(of["present"]["sessions"], 400);
    assert!(
        remarks(&of).contains("the temperature is 0 (cold)"),
        "{}",
        remarks(&of)
    );
    let of = plan(
        &folder,
        &["--level", "0.99", "--power", "0.9", "--seeds", "2"],
    );
    let of = [&of["level"], &of["power"], &of["seeds"]];
    assert_eq!(of, [&Value::from(0.99), &0.9.into(), &2.into()]);
}

#[test]
fn seeds_that_are_copies_are_found() {
    let folder = Folder::with_one_case();
    folder.run(&["--seeds", "3", "--quiet"]).exits(0);
    let of = plan(&folder, &["run"]);
    assert_eq!((&of["units"], &of["mde"]), (&1.into(), &Value::Null));
    let said = folder.farm(["plan", "run"]).exits(0).stdout;
    let text = said.replace('\n', " ");
    for part in [
        "1 case × 3 seeds show no difference: one case is no sample.",
        "Distinct replies of run/scripted: 1 of 3 seeds in 1 case.",
        "All seeds the same: sum-1.",
        "the seeds of run/scripted are copies of each other",
        "the pilot is small (cases: 1)",
    ] {
        assert!(text.contains(part), "{part}: {said}");
    }
}

#[test]
fn what_cannot_be_planned_is_said() {
    let folder = Folder::with_one_case();
    folder.unscored("cases.jsonl", &[]).exits(0);
    let said = |args: &[&str]| -> Said { folder.farm(["plan"].iter().chain(args)).exits(2) };
    let all: String = [
        &["--difference", "0"][..],
        &["--difference", "1.5"],
        &["--power", "0.3"],
        &["--level", "95"],
        &["nowhere"],
        &["unscored/other"],
        &["unscored"],
    ]
    .iter()
    .map(|args| format!("{}: {}", args.join(" "), said(args).stderr))
    .collect();
    insta::assert_snapshot!(all, @r#"
    --difference 0: error: --difference is not above 0 and at most 1
    hint: 0.05 is five sessions more that pass, of a hundred
    --difference 1.5: error: --difference is not above 0 and at most 1
    hint: 0.05 is five sessions more that pass, of a hundred
    --power 0.3: error: --power is not from 0.5 to below 1
    hint: 0.8 finds a difference that is there four times in five
    --level 95: error: --level: confidence level 95 is not between 0 and 1 (both excluded); write 0.95 for 95 %
    nowhere: error: there is no run nowhere: neither a folder of that name nor one under results/runs
    hint: name a run folder, its id or `latest`; `farm runs` lists the runs
    unscored/other: error: run unscored has no variant other
    hint: it has scripted
    unscored: error: no session of unscored/scripted is scored: it shows no noise
    hint: `farm resume unscored` goes on with it, `--sealed FILE` scores it; `farm plan` without a run guesses
    "#);
}

#[test]
fn sides_must_be_two_and_different() {
    let folder = two_variants(&format!("{TWO}[models.third]\nkind = \"scripted\"\n"));
    let said = |args: &[&str]| folder.farm(["plan"].iter().chain(args)).exits(2).stderr;
    let all: String = [
        &["run"][..],
        &["run/cold", "run"],
        &["run/cold", "./run/cold"],
    ]
    .iter()
    .map(|args| format!("{}: {}", args.join(" "), said(args)))
    .collect();
    insta::assert_snapshot!(all, @"
    run: error: run has 3 variants
    hint: name those that are meant: run/plain, run/cold, run/third
    run/cold run: error: run has 3 variants
    hint: name those that are meant: run/plain, run/cold, run/third
    run/cold ./run/cold: error: ./run/cold is named twice
    hint: name two runs, or two variants of one
    ");
}
