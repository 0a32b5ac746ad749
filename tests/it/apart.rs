//! What must stay apart: what is sealed from what is given to agents, and a run from its own input.

use std::{fs, os::unix::fs::symlink};

use serde_json::json;

use crate::support::{Folder, RUN};

/// The commands that read a suite.
const COMMANDS: [&str; 2] = ["check", "run"];

/// A word that only the sealed half holds.
const CANARY: &str = "kZq7Canary4Wv";

/// A suite of one case with its sealed half in `secret/sealed.jsonl`; `fields` go into the case.
fn suite(fields: serde_json::Value) -> Folder {
    let folder = Folder::with_one_case();
    let mut case = json!({"id": "sum-1", "task": "What is 1 + 1?", "script": [{"answer": "2"}]});
    for (name, value) in fields.as_object().unwrap() {
        case[name] = value.clone();
    }
    folder.write("cases.jsonl", case.to_string());
    fs::remove_file(folder.path("sealed.jsonl")).unwrap();
    let sealed = json!({"id": "sum-1", "canary": CANARY, "checks": [
        {"kind": "answer_equals", "text": "a sealed answer"}]});
    folder
        .write("secret/sealed.jsonl", sealed.to_string())
        .write("secret/other.jsonl", "another sealed half")
        .write("box/notes.txt", "nothing")
        .write("pages/example.com/index.txt", "nothing");
    folder
}

/// Both commands refuse, say this, and quote nothing that is sealed.
#[track_caller]
fn refused(folder: &Folder, config: &str, more: &[&str], wanted: &str) {
    folder.write("farm.toml", config);
    for command in COMMANDS {
        let args = [command, "cases.jsonl", "--config", "farm.toml"];
        let said = folder.farm(args.iter().chain(more)).exits(2).stderr;
        assert!(said.contains(wanted), "{said}");
        assert!(
            !said.contains(CANARY) && !said.contains("a sealed answer"),
            "{said}"
        );
    }
    assert!(!folder.path("results").exists(), "something was run");
}

const SEALED: [&str; 2] = ["--sealed", "secret/sealed.jsonl"];

#[test]
fn no_path_of_the_config_leads_to_the_sealed_half() {
    let folder = suite(json!({}));
    let pages = |path: &str| format!("[tools.web_fetch]\npages = '{path}'\n");
    let wanted = "farm.toml:2:9: tools.web_fetch.pages: . holds the sealed halves";
    refused(&folder, &pages("."), &SEALED, wanted);
    fs::hard_link(folder.path("secret/sealed.jsonl"), folder.path("hard.md")).unwrap();
    symlink("secret/sealed.jsonl", folder.path("soft.md")).unwrap();
    let hard = folder.path("pages/example.com/other.txt");
    fs::hard_link(folder.path("secret/other.jsonl"), hard).unwrap();
    for (config, wanted) in [
        (
            pages("secret"),
            "farm.toml:2:9: tools.web_fetch.pages: secret holds",
        ),
        (
            pages("pages"),
            "farm.toml:2:9: tools.web_fetch.pages: pages holds",
        ),
        (
            "session.prompt = 'secret/../secret/sealed.jsonl'".to_owned(),
            "farm.toml:1:18: session.prompt: secret/../secret/sealed.jsonl is a file of sealed",
        ),
        (
            "session.prompt = 'soft.md'".to_owned(),
            "session.prompt: soft.md is a file of sealed",
        ),
        (
            "models.m.kind = 'scripted'\nvariants.v = { model = 'm', prompt = 'hard.md' }"
                .to_owned(),
            "farm.toml:2:38: variants.v.prompt: hard.md is a file of sealed",
        ),
        (
            "models.m = { kind = 'scripted', scripts = 'hard.md' }".to_owned(),
            "models.m.scripts: hard.md is a file of sealed",
        ),
    ] {
        refused(&folder, &config, &SEALED, wanted);
    }
    // The case file itself is not read: its problems would be quoted.
    fs::remove_file(folder.path("cases.jsonl")).unwrap();
    fs::hard_link(folder.path("hard.md"), folder.path("cases.jsonl")).unwrap();
    refused(
        &folder,
        "",
        &SEALED,
        "cases.jsonl: cases.jsonl is a file of sealed halves",
    );
}

#[test]
fn files_of_a_case_hold_no_other_name_of_a_sealed_half() {
    let folder = suite(json!({"files": "box"}));
    let link = folder.path("box/in/innocent.txt");
    fs::create_dir(folder.path("box/in")).unwrap();
    fs::hard_link(folder.path("secret/other.jsonl"), link).unwrap();
    refused(
        &folder,
        "",
        &SEALED,
        "cases.jsonl:1: files: box holds the sealed halves",
    );
}

/// Whatever this run is scored with.
#[test]
fn the_default_place_of_sealed_halves_is_always_guarded() {
    let folder = suite(json!({"files": "configs"}));
    folder.write(
        "configs/sealed/cases.jsonl",
        folder.read("secret/sealed.jsonl"),
    );
    let wanted = "cases.jsonl:1: files: configs holds the sealed halves";
    refused(&folder, "", &SEALED, wanted);
    refused(&folder, "", &["--unscored"], wanted);
    let prompt = "session.prompt = 'configs/sealed/cases.jsonl'";
    let wanted = "session.prompt: configs/sealed/cases.jsonl is a file of sealed";
    refused(&folder, prompt, &SEALED, wanted);
    refused(&folder, prompt, &["--unscored"], wanted);
}

#[test]
fn a_canary_in_public_stops_a_run() {
    let text = format!("so:{CANARY}!");
    for (fields, place) in [
        (json!({"task": text}), "cases.jsonl:1: task: holds a canary"),
        (
            json!({"tags": ["a", text]}),
            "cases.jsonl:1: tags: holds a canary",
        ),
        (
            json!({"id": "sum-1", "cluster": text}),
            "cases.jsonl:1: cluster: holds a canary",
        ),
        (
            json!({"metadata": {"a": [{"b": text}]}}),
            "cases.jsonl:1: metadata: holds a canary",
        ),
        (
            json!({"metadata": {"a": {CANARY: 1}}}),
            "cases.jsonl:1: metadata: holds a canary",
        ),
    ] {
        refused(&suite(fields), "", &SEALED, place);
    }
    let folder = suite(json!({"files": "box"}));
    folder.write("box/in/deep.bin", [b"\xff", text.as_bytes()].concat());
    refused(&folder, "", &SEALED, "box/in/deep.bin: holds a canary");
    folder
        .write("box/in/deep.bin", "")
        .write("prompt.md", &text);
    let prompt = "session.prompt = 'prompt.md'";
    refused(&folder, prompt, &SEALED, "prompt.md: holds a canary");
    folder.write("pages/example.com/index.txt", &text);
    let pages = "tools.web_fetch.pages = 'pages'";
    refused(
        &folder,
        pages,
        &SEALED,
        "pages/example.com/index.txt: holds a canary",
    );
}

#[test]
fn check_warns_of_answers_in_prompts_and_pages() {
    let folder = suite(json!({}));
    folder
        .write("prompt.md", "Say: a sealed answer.")
        .write("pages/example.com/index.txt", "It is a sealed answer.")
        .write(
            "farm.toml",
            "session.prompt = 'prompt.md'\ntools.web_fetch.pages = 'pages'\n",
        );
    let args = ["check", "cases.jsonl", "--config", "farm.toml"];
    let said = folder.farm(args.iter().chain(&SEALED)).exits(0).stderr;
    for place in ["prompt.md", "pages/example.com/index.txt"] {
        let wanted = format!("cases.jsonl:1: case sum-1: {place} holds the answer of check");
        assert!(said.contains(&wanted), "{said}");
    }
    // Who cannot fetch sees no page.
    let without = suite(json!({"tools": []}));
    for name in ["farm.toml", "prompt.md", "pages/example.com/index.txt"] {
        without.write(name, folder.read(name));
    }
    let said = without.farm(args.iter().chain(&SEALED)).exits(0).stderr;
    assert!(
        said.contains("prompt.md holds") && !said.contains("index.txt"),
        "{said}"
    );
}

#[test]
fn a_run_is_not_written_among_its_own_files() {
    let folder = Folder::with_one_case();
    let case = json!({"id": "sum-1", "task": "t", "files": "box", "script": [{"answer": "2"}]});
    folder
        .write("cases.jsonl", case.to_string())
        .write("box/notes.txt", "nothing")
        .write("pages/a.txt", "nothing")
        .write("farm.toml", "tools.web_fetch.pages = 'pages'\n");
    symlink("box", folder.path("alias")).unwrap();
    fs::create_dir(folder.path("box/empty")).unwrap();
    let refused = |out: &str| {
        let more = [out, "--config", "farm.toml"];
        let args = RUN[..5].iter().chain(&more);
        folder.farm(args).exits(2).stderr
    };
    for out in [
        "box/run",
        "box/empty",
        "alias/run",
        "new/../box/a/b",
        "box",
        "pages/run",
    ] {
        let said = refused(out);
        assert!(
            said.contains(&format!("the run would be written to {out}, but")),
            "{said}"
        );
    }
    // The folder around them is none for a run either.
    let said = refused(".");
    assert!(said.contains("results/runs"), "{said}");
    assert_eq!(fs::read_dir(folder.path("box")).unwrap().count(), 2);
    assert_eq!(fs::read_dir(folder.path("pages")).unwrap().count(), 1);
    assert!(!folder.path("new").exists());

    // Nor may the default place lie among them.
    let case = case.to_string().replace("\"box\"", "\"results\"");
    folder
        .write("cases.jsonl", case)
        .write("results/old.txt", "");
    let said = folder.farm(&RUN[..4]).exits(2).stderr;
    assert!(
        said.contains("the run would be written to results/runs, but the files of case sum-1"),
        "{said}"
    );
    assert_eq!(fs::read_dir(folder.path("results")).unwrap().count(), 1);
}
