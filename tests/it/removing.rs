//! What `farm rm`, `--out` and `--log` may touch: farm's own, and nothing else.

use std::{fs, os::unix::fs::symlink};

use crate::support::{Folder, files};

/// What lies in the folder, for a test that nothing has changed.
fn held(folder: &Folder) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let files = files(&folder.path("")).into_iter();
    files.map(|f| (f.clone(), fs::read(f).unwrap())).collect()
}

#[test]
fn what_is_no_run_is_never_removed() {
    let folder = Folder::with_one_case();
    folder
        .write("app/manifest.json", r#"{"name":"my web app"}"#)
        .write("list/manifest.json", "[]")
        .write("dir/manifest.json/x", "")
        .write("locked/manifest.json", "{")
        .write("locked/lock", "mine")
        .write("locked/farm.db", "");
    folder.run(&["--quiet"]).exits(0);
    folder.run_into("outer/one").exits(0);
    let manifest = folder.read("run/manifest.json");
    folder.write("both/manifest.json", &manifest);
    folder.write("both/deep/er/manifest.json", &manifest);
    symlink("run", folder.path("link")).unwrap();
    let before = held(&folder);
    for spec in [
        "app", "list", "dir", "locked", "outer", "both", "link", "link/", "link/.", "", ".", "..",
        "/",
    ] {
        let said = folder.farm(["rm", "run", spec]).exits(2);
        assert!(!said.stderr.contains("removed run\n"), "{}", said.stderr);
        assert_eq!(held(&folder), before, "{spec}");
    }
    insta::assert_snapshot!(folder.farm(["rm", "app"]).exits(2).stderr, @r#"
    error: app is not a run of farm: it has neither a manifest of farm nor a lock and a farm.db
    hint: `farm runs` lists the runs; remove other folders by other means
    "#);
    insta::assert_snapshot!(folder.farm(["rm", "both"]).exits(2).stderr, @r#"
    error: both holds another run, DIR/both/deep/er: nothing was removed
    hint: remove that one first, or move it elsewhere
    "#);
    insta::assert_snapshot!(folder.farm(["rm", "link/"]).exits(2).stderr, @r#"
    error: link/ is a link to DIR/run: nothing was removed
    hint: name the folder itself
    "#);
    insta::assert_snapshot!(folder.farm(["rm", ""]).exits(2).stderr, @r#"
    error: the name of the run is empty
    hint: name a run folder, its id or `latest`; `farm runs` lists the runs
    "#);
}

#[test]
fn what_farm_did_not_write_stays() {
    let folder = Folder::with_one_case();
    folder.run(&["--quiet"]).exits(0);
    folder
        .write("run/notes.txt", "mine")
        .write("run/farm.db.bak", "mine");
    let said = folder.farm(["rm", "run"]).exits(0);
    insta::assert_snapshot!(said.stderr, @"removed the run in run; the folder stays, since it holds farm.db.bak, notes.txt");
    assert_eq!(
        files(&folder.path("run")),
        [folder.path("run/farm.db.bak"), folder.path("run/notes.txt")]
    );
    folder.farm(["rm", "run"]).exits(2);
}

#[test]
fn a_run_is_removed_once_under_all_its_names() {
    let folder = Folder::started();
    folder.farm(["run", "eval/cases.jsonl", "--quiet"]).exits(0);
    let runs = || fs::read_dir(folder.path("results/runs")).unwrap().count();
    assert_eq!(runs(), 2);
    let said = folder.farm(["rm", "latest", "latest"]).exits(0);
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
    assert_eq!(runs(), 1);
}

#[test]
fn a_run_can_be_removed_from_within() {
    let folder = Folder::with_one_case();
    folder.run(&["--quiet"]).exits(0);
    let output = crate::support::farm()
        .args(["rm", "."])
        .current_dir(folder.path("run"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(!folder.path("run").exists());
}

#[test]
fn a_run_is_not_where_runs_are_kept_nor_in_another() {
    let folder = Folder::with_one_case();
    for out in [
        "results/runs",
        "results/runs/",
        "results",
        ".",
        "results/x/../runs",
    ] {
        let said = folder.run_into(out).exits(2);
        assert!(
            said.stderr.contains("so it cannot be a run itself"),
            "{}",
            said.stderr
        );
        assert_eq!(folder.names(), ["cases.jsonl", "sealed.jsonl"], "{out}");
    }
    folder.run(&["--quiet"]).exits(0);
    let said = folder.run_into("run/traces/more").exits(2);
    assert!(
        said.stderr.contains("lies in another run"),
        "{}",
        said.stderr
    );
    folder.run_into("results/runs/mine").exits(0);
}

#[test]
fn a_log_goes_to_the_end_of_a_log_and_to_no_other_file() {
    let folder = Folder::with_one_case();
    folder
        .write("notes.txt", "mine")
        .write(
            "scripts.jsonl",
            r#"{"case":"sum-1","script":[{"answer":"2"}]}"#,
        )
        .write(
            "farm.toml",
            "[models.scripted]\nkind = \"scripted\"\nscripts = \"scripts.jsonl\"\n",
        )
        .write("empty.toml", "");
    folder.run_into("old").exits(0);
    symlink("cases.jsonl", folder.path("link")).unwrap();
    let before = held(&folder);
    for (log, config) in [
        ("cases.jsonl", "farm.toml"),
        ("link", "farm.toml"),
        ("./sealed.jsonl", "farm.toml"),
        ("farm.toml", "farm.toml"),
        ("empty.toml", "empty.toml"),
        ("scripts.jsonl", "farm.toml"),
        ("notes.txt", "farm.toml"),
        ("old/run.log", "farm.toml"),
        ("old/summary.json", "farm.toml"),
        ("run/run.log", "farm.toml"),
        ("/dev/null", "farm.toml"),
        (".", "farm.toml"),
    ] {
        let said = folder
            .run(&["--log", log, "--config", config, "-v"])
            .exits(2);
        assert!(
            said.stderr.starts_with("error: the log "),
            "{}",
            said.stderr
        );
        assert_eq!(held(&folder), before, "{log}");
    }
    // Wrong arguments open nothing.
    folder
        .farm(["run", "--log", "a.log", "--nonsense"])
        .exits(2);
    assert!(!folder.path("a.log").exists());
    folder.write("a.log", "");
    folder.run(&["-v", "--log", "a.log"]).exits(0);
    let first = folder.read("a.log");
    assert!(first.contains("store closed"), "{first}");
    folder.farm(["rm", "run"]).exits(0);
    folder.run(&["-v", "--log", "a.log"]).exits(0);
    let both = folder.read("a.log");
    assert!(
        both.starts_with(&first) && both.len() > first.len(),
        "{both}"
    );
}

#[test]
fn a_config_in_a_run_folder_names_no_folder_of_the_machine() {
    let folder = Folder::with_one_case();
    folder
        .write("cases.jsonl", r#"{"id":"sum-1","task":"What is 1 + 1?"}"#)
        .write("in/prompt.md", "Think.\n")
        .write("in/pages/a.html", "x")
        .write(
            "in/scripts.jsonl",
            r#"{"case":"sum-1","script":[{"answer":"2"}]}"#,
        );
    let root = folder.path("in").canonicalize().unwrap();
    let at = |name: &str| root.join(name).display().to_string();
    folder.write(
        "in/farm.toml",
        format!(
            "[session]\nprompt = {:?}\n[tools.web_fetch]\npages = {:?}\n[models.scripted]\nkind = \"scripted\"\nscripts = {:?}\n",
            at("prompt.md"), at("pages"), at("scripts.jsonl")
        ),
    );
    let sealed = folder.path("sealed.jsonl").display().to_string();
    let config = at("farm.toml");
    let run = [
        "run",
        "cases.jsonl",
        "--out",
        "run",
        "--sealed",
        &sealed,
        "--config",
        &config,
    ];
    folder.farm(run).exits(0);
    let home = folder
        .path("")
        .canonicalize()
        .unwrap()
        .display()
        .to_string();
    for file in files(&folder.path("run")) {
        let bytes = fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&home), "{}", file.display());
    }
    let written = folder.read("run/config.toml");
    for line in [
        "prompt = \"../in/prompt.md\" # farm.toml:2",
        "pages = \"../in/pages\" # farm.toml:4",
        "scripts = \"../in/scripts.jsonl\" # farm.toml:7",
        "sealed = \"../sealed.jsonl\" # --sealed",
    ] {
        assert!(written.contains(line), "{line}\n{written}");
    }
}

#[test]
fn a_damaged_summary_is_computed_again() {
    let folder = Folder::with_one_case();
    folder.run(&["--quiet"]).exits(0);
    let whole = folder.read("run/summary.json");
    for torn in [
        "",
        "{}",
        "[]",
        &whole[..whole.len() / 2],
        &whole.replace("summary/1", "summary/9"),
    ] {
        folder.write("run/summary.json", torn);
        let said = folder.farm(["report", "run", "--format", "json"]).exits(0);
        assert_eq!(said.stdout, whole, "{torn}");
        assert!(
            said.stderr.contains("warning: run/summary.json is "),
            "{}",
            said.stderr
        );
    }
    folder.write("run/manifest.json", "[]");
    insta::assert_snapshot!(folder.farm(["report", "run"]).exits(2).stderr, @r#"
    error: run/manifest.json: not a manifest of farm: its `schema` is not farm.manifest/1
    hint: name the folder of a run; `farm runs` lists the runs
    "#);
}

#[test]
fn hints_name_the_run_where_it_is_and_commands_that_are_there() {
    let folder = Folder::new();
    let lines = |line: fn(u32) -> String| (0..31).map(line).collect::<Vec<_>>().join("\n");
    folder
        .write(
            "cases.jsonl",
            lines(|n| format!(r#"{{"id":"c{n}","task":"x","script":[{{"answer":"2"}}]}}"#)),
        )
        .write(
            "sealed.jsonl",
            lines(|n| {
                format!(r#"{{"id":"c{n}","checks":[{{"kind":"answer_equals","text":"2"}}]}}"#)
            }),
        );
    let said = folder.run(&[]).exits(0);
    for text in [said.stdout, folder.farm(["report", "run"]).exits(0).stdout] {
        assert!(text.contains("`farm report run --all`"), "{text}");
    }
    folder.farm(["report", "run", "--all"]).exits(0);
    folder.run_into("results/runs/mine").exits(0);
    let text = folder.farm(["report", "latest"]).exits(0).stdout;
    assert!(text.contains("`farm report mine --all`"), "{text}");

    // Every command that the code names is one that farm has.
    let help = folder.farm(["--help"]).exits(0).stdout;
    let home = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let texts = files(&home.join("src"))
        .into_iter()
        .filter(|file| file.extension().is_some_and(|e| e == "rs"))
        .chain([home.join("README.md"), home.join("ARCHITECTURE.md")]);
    for file in texts {
        let text = fs::read_to_string(&file).unwrap();
        for after in text.split("`farm ").skip(1) {
            let name: String = after.chars().take_while(char::is_ascii_lowercase).collect();
            assert!(
                name.is_empty() || help.contains(&format!("\n  {name} ")),
                "{}: `farm {name}`",
                file.display()
            );
        }
    }
}
