//! The commands around a run, as a user types them.

use std::{fs, process};

use serde_json::{Value, json};

use crate::support::{Folder, farm, files};

/// The one run in `results/runs`.
fn run_id(folder: &Folder) -> String {
    let mut runs = fs::read_dir(folder.path("results/runs")).unwrap();
    let id = runs.next().unwrap().unwrap().file_name();
    assert!(runs.next().is_none());
    id.into_string().unwrap()
}

/// Text in which the id of the run stands as `RUN`.
fn without_id(folder: &Folder, text: &str) -> String {
    text.replace(&run_id(folder), "RUN")
}

#[test]
fn init_makes_a_suite_that_runs() {
    let folder = Folder::new();
    let said = folder.farm(["init", "new"]).exits(0);
    insta::assert_snapshot!(said.stderr, @r#"
    wrote new/eval/cases.jsonl
    wrote new/eval/sandbox/notes/notes.txt
    wrote new/configs/farm.toml
    wrote new/configs/scripts/cases.jsonl
    wrote new/configs/sealed/cases.jsonl
    wrote new/configs/prompts/react.md

    next: cd new && farm run eval/cases.jsonl
    "#);
    let said = folder.command(farm().args(["init", "new"])).exits(0);
    assert_eq!(said.stderr.matches("kept").count(), 6, "{}", said.stderr);

    let run = |args: &[&str]| {
        let output = farm()
            .current_dir(folder.path("new"))
            .args(args)
            .output()
            .unwrap();
        crate::support::Said::new(&output)
    };
    let said = run(&["check", "eval/cases.jsonl"]).exits(0);
    assert_eq!(
        said.stderr,
        "ok: 3 cases × 1 variant × 3 seeds = 9 sessions\n"
    );
    let said = run(&["run", "eval/cases.jsonl", "--json"]).exits(0);
    let summary: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(summary["ledger"]["planned"], 9);
    assert_eq!(summary["ledger"]["errored"], 0);
    assert!(summary["ledger"]["passed"].as_u64() > Some(0));
}

#[test]
fn init_touches_no_file_that_is_there() {
    let folder = Folder::new();
    folder.write("eval/cases.jsonl", "mine");
    folder.farm(["init"]).exits(0);
    assert_eq!(folder.read("eval/cases.jsonl"), "mine");
}

#[test]
fn a_run_says_where_it_is() {
    let folder = Folder::new();
    folder.farm(["init"]).exits(0);
    let said = folder.farm(["run", "eval/cases.jsonl"]).exits(0);
    let last = said.stderr.lines().last().unwrap();
    assert_eq!(without_id(&folder, last), "run RUN is in results/runs/RUN");
    assert!(
        said.stdout.starts_with("sessions  scripted\n"),
        "{}",
        said.stdout
    );
    // The same tables again, whole and from the run's folder.
    let id = run_id(&folder);
    for args in [
        &["report"][..],
        &["report", &id],
        &["report", &format!("results/runs/{id}")],
    ] {
        assert_eq!(folder.farm(args).exits(0).stdout, said.stdout, "{args:?}");
    }
}

#[test]
fn the_config_of_a_run_makes_it_again() {
    let folder = Folder::with_one_case();
    folder.run(&["--seeds", "2", "--quiet"]).exits(0);
    // The sealed halves, too, are where the first command line said.
    let config = ["--config", "run/config.toml"];
    let again = ["run", "cases.jsonl", "--quiet", "--out", "again"];
    folder.farm(again.iter().chain(&config)).exits(0);
    let digest = |run: &str| folder.json(&format!("{run}/manifest.json"))["digest"].clone();
    assert_eq!(digest("run"), digest("again"));
    assert_eq!(
        folder.read("run/summary.json"),
        folder.read("again/summary.json")
    );
}

#[test]
fn report_has_three_more_formats() {
    let folder = Folder::started();
    let run = format!("results/runs/{}", run_id(&folder));
    let report = |format: &str| {
        let said = folder.farm(["report", "--format", format]).exits(0);
        assert_eq!(said.stderr, "");
        said.stdout
    };
    assert_eq!(report("json"), folder.read(&format!("{run}/summary.json")));
    assert_eq!(report("md"), folder.read(&format!("{run}/summary.md")));
    let rows = report("csv");
    let mut csv = csv::Reader::from_reader(rows.as_bytes());
    let headers = csv.headers().unwrap().clone();
    let records: Vec<_> = csv.records().map(Result::unwrap).collect();
    let of = |column: &str| -> Vec<&str> {
        let at = headers.iter().position(|h| h == column).unwrap();
        records.iter().map(|r| r.get(at).unwrap()).collect()
    };
    assert_eq!(of("variant"), ["scripted"; 3]);
    assert_eq!(of("case"), ["sum-001", "file-001", "trap-001"]);

    let said = folder.farm(["report", "--format", "xml"]).exits(2);
    assert!(
        said.stderr
            .contains("[possible values: md, json, csv, junit, svg, html]"),
        "{}",
        said.stderr
    );
    insta::assert_snapshot!(folder.farm(["report", "eval"]).exits(2).stderr, @r#"
    error: eval is not a run: it has no manifest.json
    hint: `farm runs` lists the runs
    "#);
    insta::assert_snapshot!(folder.farm(["report", "last"]).exits(2).stderr, @r#"
    error: there is no run last: neither a folder of that name nor one under results/runs
    hint: name a run folder, its id or `latest`; `farm runs` lists the runs
    "#);
    let near = &run_id(&folder)[..20];
    let said = folder.farm(["report", near]).exits(2);
    assert!(
        without_id(&folder, &said.stderr).contains("did you mean RUN?"),
        "{}",
        said.stderr
    );
}

#[test]
fn traces_are_shown_and_exported() {
    let folder = Folder::started();
    let traces = format!("results/runs/{}/traces", run_id(&folder));
    let said = folder
        .farm(["trace", "show", "scripted/trap-001/1"])
        .exits(0);
    insta::assert_snapshot!(said.stdout, @r#"
    scripted/trap-001/1
      task     Roll the dice until you get a seven.
      budget   4 steps
      tools    calculator

    step 1/4
      thought  Again.
      call     dice {"sides":6}
      ✗ schema  0.00  no tool "dice"; tools: calculator
      ✓ budget  1.00  step 1/4; headroom 1.00
      blocked  blocked by schema: no tool "dice"; tools: calculator

    step 2/4
      thought  Perhaps this way.
      call     calculator {"expression":"1 + 6"}
      ✓ schema  1.00  args match calculator schema
      ✓ budget  0.75  step 2/4; headroom 0.75
      result   7

    step 3/4
      thought  Once more.
      call     calculator {"expression":"2 + 5"}
      ✓ schema  1.00  args match calculator schema
      ✓ budget  0.50  step 3/4; headroom 0.50
      result   7

    step 4/4
      thought  Once more.
      call     calculator {"expression":"2 + 5"}
      ✓ schema  1.00  args match calculator schema
      ✓ budget  0.25  step 4/4; headroom 0.25
      result   7

    budget_exhausted (steps)  4 steps · mean score 0.688 · tokens unknown · $0.000
    passed
    "#);

    let file = format!("{traces}/scripted/sum-001.jsonl");
    let sessions: String = (0..3)
        .map(|seed| {
            let key = format!("scripted/sum-001/{seed}");
            folder
                .farm(["trace", "export", "--session", &key])
                .exits(0)
                .stdout
        })
        .collect();
    assert_eq!(sessions, folder.read(&file));
    folder.farm(["trace", "export", "--to", "copy"]).exits(0);
    let names = |dir: &str| -> Vec<_> {
        let dir = folder.path(dir);
        let all = files(&dir).into_iter();
        all.map(|f| {
            (
                f.strip_prefix(&dir).unwrap().to_owned(),
                fs::read(f).unwrap(),
            )
        })
        .collect()
    };
    assert_eq!(names("copy").len(), 3);
    assert_eq!(names("copy"), names(&traces));
    // Traces that are gone can be written again.
    fs::remove_dir_all(folder.path(&traces)).unwrap();
    folder.farm(["trace", "export"]).exits(0);
    assert_eq!(names("copy"), names(&traces));

    for (key, why) in [
        ("scripted/sum-001/3", "is not in run"),
        ("scripted/sum-002/0", "is not in run"),
        ("other/sum-001/0", "is not in run"),
        (
            "sum-001",
            "error: \"sum-001\" is not a session key: write VARIANT/CASE/SEED",
        ),
    ] {
        for command in [
            &["trace", "show", key][..],
            &["trace", "export", "--session", key],
        ] {
            let said = folder.farm(command).exits(2);
            assert!(said.stderr.contains(why), "{}", said.stderr);
        }
    }
}

#[test]
fn check_finds_scripts_that_nothing_uses() {
    let folder = Folder::new();
    folder.farm(["init"]).exits(0);
    let scripts = folder.read("configs/scripts/cases.jsonl");
    let more = r#"{"case":"sum-01","script":[{"answer":"1"}]}"#;
    folder.write("configs/scripts/cases.jsonl", format!("{scripts}{more}\n"));
    let said = folder
        .farm(["check", "eval/cases.jsonl", "--seeds", "2..4"])
        .exits(0);
    insta::assert_snapshot!(said.stderr, @r#"
    warning: configs/scripts/cases.jsonl: no case has the id sum-01
    ok: 3 cases × 1 variant × 2 seeds = 6 sessions
    "#);
    assert_eq!(said.stdout, "");
    assert!(!folder.path("results").exists(), "check ran something");
}

#[test]
fn demo_shows_one_session() {
    let folder = Folder::new();
    let said = folder.farm(["demo"]).exits(0);
    insta::assert_snapshot!(said.stdout, @r#"
    scripted/file-001/0
      task     How many litres of paint does notes.txt ask for in all? Read the file and add them up.
      budget   8 steps
      tools    calculator, file_read

    step 1/8
      thought  First the file.
      call     file_read {"path":"notes.txt"}
      ✓ schema  1.00  args match file_read schema
      ✓ budget  1.00  step 1/8; headroom 1.00
      result   kitchen: 12 litres
               hall: 7 litres
               shed: 5 litres

    step 2/8
      thought  Three rooms.
      call     calculator {"expression":"12 + 7 + 5"}
      ✓ schema  1.00  args match calculator schema
      ✓ budget  0.88  step 2/8; headroom 0.88
      result   24

    step 3/8
      thought  Done.
      answer   24 litres
      ✓ schema  1.00  final answer step; no tool call to validate
      ✓ budget  0.75  step 3/8; headroom 0.75

    completed  3 steps · mean score 0.938 · tokens unknown · $0.000
    passed
    "#);
    insta::assert_snapshot!(without_id(&folder, said.stderr.trim_start()), @r#"
    this trace is results/runs/RUN/traces/scripted/file-001.jsonl
    see all of the run with `farm report results/runs/RUN`
    "#);
    folder.farm(["demo", "--out", "mine"]).exits(0);
    assert_eq!(folder.json("mine/summary.json")["ledger"]["passed"], 1);
    // It has left nothing but the runs.
    assert_eq!(folder.names(), ["mine", "results"]);
}

#[test]
fn runs_are_listed_and_removed() {
    let folder = Folder::new();
    let said = folder.farm(["runs"]).exits(0);
    assert_eq!(
        (&*said.stdout, &*said.stderr),
        ("", "no runs yet; `farm run CASES` makes one\n")
    );
    let folder = Folder::started();
    let id = run_id(&folder);
    let said = folder.farm(["runs"]).exits(0);
    insta::assert_snapshot!(without_id(&folder, &said.stdout), @r#"
    run                      status    cases        sessions  variants
    ──────────────────────────────────────────────────────────────────
    RUN  finished  cases.jsonl         9  scripted
    "#);
    let said = folder.farm(["runs", "--json"]).exits(0);
    let runs: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(runs[0]["run"], json!(id));

    // One that is damaged does not hide the others, and can be removed if it is farm's.
    folder.write("results/runs/torn/manifest.json", "{");
    let with_torn = folder.farm(["runs"]).exits(0);
    assert!(with_torn.stdout.contains(&id));
    assert!(
        with_torn
            .stderr
            .contains("results/runs/torn/manifest.json:1:1: not valid"),
        "{}",
        with_torn.stderr
    );
    folder.farm(["rm", "torn"]).exits(2);
    folder.write("results/runs/torn/lock", r#"{"pid":1,"host":"h"}"#);
    folder.farm(["rm", "torn"]).exits(2);
    folder.write("results/runs/torn/farm.db", "");
    folder.farm(["rm", "torn"]).exits(0);

    // All are found before the first is removed.
    let said = folder.farm(["rm", &id, "2020"]).exits(2);
    assert!(
        said.stderr.contains("there is no run 2020"),
        "{}",
        said.stderr
    );
    folder.farm(["rm", "eval"]).exits(2);
    assert!(folder.path("eval/cases.jsonl").exists());
    let said = folder.farm(["rm", &id]).exits(0);
    assert_eq!(said.stderr, format!("removed results/runs/{id}\n"));
    assert_eq!(
        fs::read_dir(folder.path("results/runs")).unwrap().count(),
        0
    );
}

#[test]
fn schema_names_the_formats() {
    let folder = Folder::new();
    let names = folder.farm(["schema"]).exits(0).stdout;
    for name in names.lines() {
        let text = folder.farm(["schema", name]).exits(0).stdout;
        let schema: Value = serde_json::from_str(&text).unwrap();
        assert!(jsonschema::meta::is_valid(&schema), "{name}");
    }
    insta::assert_snapshot!(folder.farm(["schema", "traces"]).exits(2).stderr, @r#"
    error: there is no format "traces"; there are case, comparison, config, failures, forecast, manifest, plan, scores, script, sealed, status, summary, timing, trace
    hint: did you mean "trace"?
    "#);
}

#[test]
fn completions_are_scripts_of_the_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = farm().args(["completions", shell]).output().unwrap();
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{shell}");
        assert!(
            script.contains("run-seed") && script.contains("export"),
            "{shell}"
        );
    }
    let bash = farm()
        .args(["completions", "bash"])
        .output()
        .unwrap()
        .stdout;
    let folder = Folder::new();
    folder.write("farm.bash", bash);
    let parsed = process::Command::new("bash")
        .arg("-n")
        .arg(folder.path("farm.bash"))
        .status();
    assert!(parsed.unwrap().success());
}

#[test]
fn the_commands_are_these() {
    let help = farm().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let list = help.split("\nCommands:\n").nth(1).unwrap();
    let list = list.split("\n\n").next().unwrap();
    let names: Vec<&str> = list
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty())
        .collect();
    insta::assert_snapshot!(names.join(" "), @"run resume report compare plan trace check demo init status runs rm mock mcp schema completions help");
}
