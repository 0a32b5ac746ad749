//! The published run of a small live model, from its recorded replies.

use std::{fs, path::Path};

use crate::support::{Folder, farm};

#[test]
fn the_local_results_come_out_the_same_from_their_cassette() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let published = home.join("results/local-smollm2");
    let folder = Folder::new();
    let run = "run eval/cases.jsonl --config eval/local/cassette.toml --seeds 12 --quiet --out";
    let out = folder.path("run");
    let output = farm()
        .args(run.split(' '))
        .arg(&out)
        .current_dir(home)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let same = |file: &str| {
        let [was, is] = [&published, &out].map(|run| fs::read_to_string(run.join(file)).unwrap());
        assert!(was == is, "{file} came out otherwise");
    };
    same("summary.json");
    same("scores.jsonl");
    let diff = farm()
        .args(["trace", "diff"])
        .args([&published, &out])
        .output();
    assert!(diff.unwrap().status.success(), "traces differ");
}

#[test]
fn a_published_session_is_shown_from_its_files() {
    let show = |session: &str| {
        let args = ["trace", "show", session, "--run", "results/local-smollm2"];
        let output = farm().args(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    };
    let (code, shown, said) = show("smollm2/arith-001/0");
    assert_eq!(code, Some(0), "{said}");
    assert!(shown.contains("17 * 23 = 343"), "{shown}");
    assert!(
        shown.ends_with("failed: answer_number, tool_called\n"),
        "{shown}"
    );
    assert_eq!(show("smollm2/arith-001/12").0, Some(2));
}
