//! A run is replayed from its own recording, and what it cannot answer it says.

use serde_json::json;

use crate::support::Folder;

/// All shapes of a session: calls at the same time, one of them blocked; a reply that cannot be
/// used; usage and what was served; a draw; a session that a limit ends; one that fails.
const CASES: &str = r#"{"id":"all","task":"Compute.","script":[{"thought":"Two at once.","tool_calls":[{"tool":"calculator","args":{"expression":"2 * 3"}},{"tool":"dice","args":{"sides":[6,8]}}]},{"raw":{"id":"chatcmpl-1","model":"m-1","provider":"p","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":""}}],"usage":{"prompt_tokens":12,"completion_tokens":5,"cost":0.25}}},{"any_of":[{"weight":1,"thought":"Now I know.","answer":"6"},{"weight":1,"answer":"7"}]}]}
{"id":"file","task":"Read notes.txt.","files":"box","script":[{"tool_call":{"tool":"file_read","args":{"path":"notes.txt"}}},{"answer":"It says: {{observation}}"}]}
{"id":"loop","task":"Go on.","max_steps":3,"script":[{"tool_call":{"tool":"calculator","args":{"expression":"1 + 1"}}}]}
{"id":"lost","task":"Fail.","script":[{"tool_call":{"tool":"calculator","args":{"expression":"1 + 1"}}},{"raw":{"error":{"code":401,"message":"no such key"}}}]}
"#;
const SEALED: &str = r#"{"id":"all","checks":[{"kind":"answer_equals","text":"6"},{"kind":"cost_usd","max":0.25}]}
{"id":"file","checks":[{"kind":"answer_contains","text":"hidden"}]}
{"id":"loop","checks":[{"kind":"status","is":"budget_exhausted"}]}
{"id":"lost","checks":[{"kind":"status","is":"completed"}]}
"#;

/// A folder with the suite and its recording, `eval/recorded`, of the variant `v` and four seeds.
fn recorded() -> Folder {
    let folder = Folder::new();
    folder
        .write("eval/cases.jsonl", CASES)
        .write("eval/box/notes.txt", "hidden treasure")
        .write("configs/sealed/cases.jsonl", SEALED)
        .write("prompt.md", "Be brief.\n")
        .write("record.toml", config("kind = \"scripted\""));
    let said = run(&folder, "record.toml", "eval/recorded", &["--seeds", "4"]);
    assert_eq!(said.0, 3, "{}", said.1);
    folder
}

/// A config of one model, `v`.
fn config(model: &str) -> String {
    format!(
        "[session]\nprompt = \"prompt.md\"\n[models.v]\n{model}\nparameters = {{ top_p = 0.5 }}\n"
    )
}

/// A config that replays a recording.
fn replay_of(from: &str) -> String {
    config(&format!("kind = \"cassette\"\nfrom = {from:?}"))
}

/// Runs the suite; gives the exit code and what was said.
fn run(folder: &Folder, config: &str, out: &str, more: &[&str]) -> (i32, String) {
    let args = [
        "run",
        "eval/cases.jsonl",
        "--config",
        config,
        "--out",
        out,
        "--quiet",
    ];
    let said = folder.farm(args.iter().chain(more));
    (said.code, said.stdout + &said.stderr)
}

/// Errors of a run's sessions, each once, by case.
fn errors(folder: &Folder, run: &str) -> Vec<String> {
    let mut errors = Vec::new();
    for case in ["all", "file", "loop", "lost"] {
        let lines = folder.lines(&format!("{run}/traces/v/{case}.jsonl"));
        let ends = lines.iter().filter(|line| line["type"] == "run_end");
        let said = ends.filter_map(|end| end["error"].as_str());
        let mut said: Vec<String> = said.map(|error| format!("{case}: {error}")).collect();
        said.dedup();
        errors.extend(said);
    }
    errors
}

#[test]
fn a_replay_is_the_run_that_was_recorded() {
    let folder = recorded();
    folder.write("replay.toml", replay_of("eval/recorded/v"));
    // Traces are all that is published of a run.
    std::fs::remove_file(folder.path("eval/recorded/farm.db")).unwrap();
    let seeds = ["--seeds", "4"];
    let said = run(&folder, "replay.toml", "replayed", &seeds);
    assert_eq!(said.0, 3, "{}", said.1);
    let lost = errors(&folder, "replayed");
    let id = folder.json("eval/recorded/manifest.json")["run"].clone();
    let id = id.as_str().unwrap();
    let want: Vec<String> = (0..4)
        .map(|seed| {
            format!(
                "lost: no_reply: model v has no reply on {id}/v for case lost, seed {seed}, turn 1: \
                 the recorded session ended after 1 turn: model_error: auth: the key is missing, wrong or not allowed to use this model"
            )
        })
        .collect();
    assert_eq!(lost, want);
    let summary = folder.read("eval/recorded/summary.json");
    assert_eq!(folder.read("replayed/summary.json"), summary);
    assert_eq!(
        folder.read("replayed/scores.jsonl"),
        folder.read("eval/recorded/scores.jsonl")
    );
    for case in ["all", "file", "loop"] {
        for seed in 0..4 {
            let key = format!("v/{case}/{seed}");
            let args = [
                "trace",
                "diff",
                "replayed",
                "eval/recorded",
                "--session",
                &key,
            ];
            folder.farm(args).exits(0);
        }
    }
    let of = |run: &str| folder.json(&format!("{run}/manifest.json"))["variants"][0].clone();
    let sha256 = of("replayed")["recorded"]["replies_sha256"].clone();
    assert_eq!(sha256.as_str().unwrap().len(), 64);
    assert_eq!(of("replayed")["kind"], "cassette");
    assert_eq!(of("replayed")["model"], "v");
    let origin = json!({"run": id, "variant": "v", "kind": "scripted", "replies_sha256": sha256});
    assert_eq!(of("replayed")["recorded"], origin);

    // A recording of a recording is the same again, whatever else has changed beside it.
    folder.write("again.toml", replay_of("replayed"));
    assert_eq!(run(&folder, "again.toml", "again", &seeds).0, 3);
    assert_eq!(folder.read("again/summary.json"), summary);
    assert_eq!(of("again")["recorded"]["kind"], "scripted");
    assert_eq!(of("again")["recorded"]["replies_sha256"], sha256);
    let digest = |run: &str| folder.json(&format!("{run}/manifest.json"))["digest"].clone();
    assert_eq!(digest("again"), digest("replayed"));
    assert_ne!(digest("replayed"), digest("eval/recorded"));
}

#[test]
fn what_is_not_recorded_is_named() {
    let folder = recorded();
    let id = folder.json("eval/recorded/manifest.json")["run"].clone();
    let id = id.as_str().unwrap();
    let replay = replay_of("../eval/recorded");
    let named = |name: &str, replay: &str, more: &[&str]| {
        folder.write("other/replay.toml", replay);
        folder.write("other/prompt.md", folder.read("prompt.md"));
        if name == "prompt" {
            folder.write("other/prompt.md", "Be verbose.\n");
        }
        let said = run(&folder, "other/replay.toml", name, more);
        assert_eq!(said.0, 3, "{}", said.1);
        let prefix = format!("no_reply: model v has no reply on {id}/v for ");
        errors(&folder, name)
            .iter()
            .map(|error| error.replace(&prefix, ""))
            .collect::<Vec<_>>()
    };
    let ended = "lost: case lost, seed 0, turn 1: the recorded session ended after 1 turn: \
        model_error: auth: the key is missing, wrong or not allowed to use this model";
    let of_all = |why: &str| {
        let cases = ["all", "file", "loop", "lost"];
        cases.map(|case| format!("{case}: case {case}, seed 0, turn 0: {why}"))
    };
    assert_eq!(
        named("prompt", &replay, &[]),
        of_all(r#"the prompt differs: recorded "Be brief.\n", asked "Be verbose.\n""#)
    );
    assert_eq!(
        named("parameter", &replay.replace("0.5", "0.6"), &[]),
        of_all("parameter top_p differs: recorded 0.5, asked 0.6")
    );
    assert_eq!(
        named("mode", &format!("{replay}tool_mode = \"json\"\n"), &[]),
        of_all(r#"tool_mode differs: recorded "native", asked "json""#)
    );
    assert_eq!(
        named("seed", &replay, &["--seeds", "4..5"]),
        of_all("seed 4 was not recorded, only 0..4").map(|e| e.replace("seed 0", "seed 4"))
    );
    folder.write("eval/box/notes.txt", "hidden trap");
    assert_eq!(
        named("file", &replay, &[]),
        [
            "file: case file, seed 0, turn 1: message 3 (tool, turn 0) differs: recorded \
             \"hidden treasure\", asked \"hidden trap\"",
            ended
        ]
    );
    folder.write("eval/box/notes.txt", "hidden treasure");
    let other = CASES.replace("Compute.", "Compute it.");
    folder.write("eval/cases.jsonl", &other);
    assert_eq!(
        named("task", &replay, &[]),
        [
            "all: case all, seed 0, turn 0: the task differs: recorded \"Compute.\", asked \
             \"Compute it.\"",
            ended
        ]
    );
}

/// In json mode the prompt tells of the tools: what is sent is more than what the manifest holds.
#[test]
fn a_replay_in_json_mode() {
    let folder = recorded();
    let json = |kind: &str| format!("[models.v]\ntool_mode = \"json\"\n{kind}\n");
    folder
        .write("json.toml", json("kind = \"scripted\""))
        .write("replay.toml", json("kind = \"cassette\"\nfrom = \"json\""));
    assert_eq!(run(&folder, "json.toml", "json", &[]).0, 3);
    assert_eq!(run(&folder, "replay.toml", "replayed", &[]).0, 3);
    assert_eq!(
        folder.read("replayed/summary.json"),
        folder.read("json/summary.json")
    );
    folder.write("eval/box/notes.txt", "hidden trap");
    assert_eq!(run(&folder, "replay.toml", "other", &[]).0, 3);
    let said = errors(&folder, "other");
    let want = "turn 1: message 3 (user, turn 0) differs: recorded \"hidden treasure\", asked \
        \"hidden trap\"";
    assert!(said[0].ends_with(want), "{said:?}");
}

#[test]
fn recordings_are_found_by_folder_id_and_latest() {
    let folder = Folder::with_one_case();
    folder.write(
        "conf/two.toml",
        "[models.a]\nkind = 'scripted'\n[models.b]\nkind = 'scripted'\n",
    );
    let cases = ["run", "cases.jsonl", "--unscored", "--quiet"];
    folder.farm(cases).exits(0);
    let kept = std::fs::read_dir(folder.path("results/runs"))
        .unwrap()
        .next();
    let id = kept.unwrap().unwrap().file_name().into_string().unwrap();
    let two = ["--config", "conf/two.toml", "--out", "conf/two"];
    folder.farm(cases.iter().chain(&two)).exits(0);
    let replay = |from: &str| {
        folder.write(
            "conf/replay.toml",
            format!("models.m = {{ kind = 'cassette', from = '{from}' }}"),
        );
        let said =
            folder.farm(
                cases
                    .iter()
                    .chain(&["--config", "conf/replay.toml", "--out", "out"]),
            );
        let used = (said.code == 0).then(|| {
            let recorded = folder.json("out/manifest.json")["variants"][0]["recorded"].clone();
            // What was meant stands in the run's config, whatever is latest later.
            let config = folder.read("out/config.toml");
            let from = config
                .lines()
                .find(|line| line.starts_with("from"))
                .unwrap();
            std::fs::remove_dir_all(folder.path("out")).unwrap();
            format!("{} {from}", recorded["variant"].as_str().unwrap())
        });
        used.unwrap_or(said.stderr)
    };
    let kept = format!("scripted from = \"../results/runs/{id}/scripted\" # replay.toml:1");
    for from in [
        "latest",
        &id,
        "latest/scripted",
        &format!("../results/runs/{id}"),
    ] {
        assert_eq!(replay(from), kept, "{from}");
    }
    assert_eq!(
        replay("two/b"),
        "b from = \"../conf/two/b\" # replay.toml:1"
    );
    for (from, want) in [
        (
            "two",
            "conf/replay.toml:1:40: models.m.from: run ID has several variants; name one of a, b: RUN/VARIANT",
        ),
        (
            "two/c",
            "conf/replay.toml:1:40: models.m.from: run ID has no variant c; name one of a, b: RUN/VARIANT",
        ),
        // Seen from the config file, not from where farm stands.
        (
            "conf/two/b",
            "conf/replay.toml:1:40: models.m.from: there is no run conf/two/b: neither conf/conf/two/b nor one under results/runs; a folder is seen from the config file; `farm runs` lists the runs",
        ),
    ] {
        let two = folder.json("conf/two/manifest.json")["run"].clone();
        let said = replay(from).replace(two.as_str().unwrap(), "ID");
        assert_eq!(said, format!("error: 1 problem in the input\n  {want}\n"));
    }
    std::fs::remove_dir_all(folder.path("conf/two/traces/a")).unwrap();
    assert!(
        replay("two/a").contains("`farm trace export conf/two` writes the traces of a run"),
        "{}",
        replay("two/a")
    );
    folder.write(
        "conf/two/traces/b/sum-1.jsonl",
        "{\"type\":\"run_start\",\n",
    );
    assert_eq!(
        replay("two/b"),
        "error: 2 problems in the input\n  conf/replay.toml:1:40: models.m.from: the recording is \
         damaged\n  conf/two/traces/b/sum-1.jsonl:1:20: EOF while parsing a value\n"
    );
}

#[test]
fn a_replay_goes_on_with_the_recording_that_it_began_with() {
    let folder = recorded();
    folder.write("replay.toml", replay_of("eval/recorded"));
    assert_eq!(
        run(&folder, "replay.toml", "replayed", &["--seeds", "2"]).0,
        3
    );
    let resume = |more: &[&str]| folder.farm(["resume", "replayed", "--quiet"].iter().chain(more));
    resume(&["--seeds", "4"]).exits(3);
    assert_eq!(
        folder.read("replayed/summary.json"),
        folder.read("eval/recorded/summary.json")
    );
    let file = "eval/recorded/traces/v/loop.jsonl";
    folder.write(file, folder.read(file).replace("1 + 1", "1 + 2"));
    let said = resume(&["--seeds", "5"]).exits(2).stderr;
    assert!(
        said.contains("variants.v.model.replies_sha256 was "),
        "{said}"
    );
}

#[test]
fn check_says_what_is_not_recorded() {
    let folder = recorded();
    folder.write("replay.toml", replay_of("eval/recorded"));
    let check = |more: &[&str]| {
        let args = ["check", "eval/cases.jsonl", "--config", "replay.toml"];
        folder.farm(args.iter().chain(more)).exits(0).stderr
    };
    assert!(!check(&["--seeds", "4"]).contains("not recorded"));
    let said = check(&["--seeds", "2..6"]);
    assert!(
        said.contains("warning: model v: 8 of 16 sessions are not recorded, such as all, seed 4"),
        "{said}"
    );
}

/// A session whose time was up is so in a replay, at once; with more time it lacks a reply.
#[test]
fn a_session_whose_time_was_up_is_replayed() {
    let folder = recorded();
    let timed = |config: String, seconds: &str| {
        config.replace(
            "[session]\n",
            &format!("[session]\nmax_seconds = {seconds}\n"),
        )
    };
    let slow = config("kind = \"scripted\"\nlatency_ms = 60000");
    let replay = replay_of("slow/v");
    folder
        .write("slow.toml", timed(slow, "0.25"))
        .write("replay.toml", timed(replay.clone(), "0.25"))
        .write("longer.toml", timed(replay, "0.5"));
    let case = ["--case", "file"];
    assert_eq!(run(&folder, "slow.toml", "slow", &case).0, 0);
    let summary = folder.read("slow/summary.json");
    let end = |run: &str| {
        folder
            .lines(&format!("{run}/traces/v/file.jsonl"))
            .pop()
            .unwrap()
    };
    assert_eq!(end("slow")["limit"], "seconds");
    assert_eq!(run(&folder, "replay.toml", "replayed", &case).0, 0);
    assert_eq!(folder.read("replayed/summary.json"), summary);
    assert_eq!(end("replayed")["limit"], "seconds");
    let said = run(&folder, "longer.toml", "longer", &case);
    assert_eq!(said.0, 3, "{}", said.1);
    let error = end("longer")["error"].to_string();
    assert!(
        error.contains("ended after 0 turns: budget_exhausted of seconds"),
        "{error}"
    );
}
