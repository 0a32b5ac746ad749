//! What farm writes to: terminals with and without colours, pipes whose reader goes away.

use std::{
    fs,
    io::Read as _,
    process::{Command, Stdio},
};

use crate::support::{self, Folder, farm_at_home};

/// Runs a command whose reader goes away after `read` bytes.
fn cut_off(folder: &Folder, args: &[&str], read: usize) -> (Option<i32>, String) {
    let mut child = support::process()
        .args(args)
        .current_dir(folder.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut vec![0; read]).unwrap();
    drop(stdout);
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    (child.wait().unwrap().code(), stderr)
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new();
    let out = folder.path("run");
    let output = farm_at_home()
        .args([
            "run",
            "eval/cases.jsonl",
            "--seeds",
            "12",
            "--quiet",
            "--out",
        ])
        .arg(&out)
        .output()
        .unwrap();
    assert!(output.status.success());
    // More than a pipe holds.
    assert!(fs::metadata(out.join("summary.json")).unwrap().len() > 1 << 16);
    for args in [
        &["report", "run", "--format", "json"][..],
        &["report", "run", "--all"],
        &["completions", "bash"],
        &["schema", "manifest"],
        &["run", "--help"],
    ] {
        for read in [0, 1] {
            assert_eq!(
                cut_off(&folder, args, read),
                (Some(0), String::new()),
                "{args:?}"
            );
        }
    }
}

/// What a command prints on a terminal, if the system has `script` to make one.
fn on_a_terminal(folder: &Folder, command: &str, no_color: Option<&str>) -> Option<String> {
    let mut script = Command::new("script");
    script
        .args(["-qec", command, "/dev/null"])
        .current_dir(folder.path(""))
        .env("TERM", "xterm-256color")
        .env("COLUMNS", "100")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null());
    if let Some(value) = no_color {
        script.env("NO_COLOR", value);
    }
    match script.output() {
        Ok(output) => Some(String::from_utf8(output.stdout).unwrap()),
        Err(error) => {
            println!("skipped: script: {error}");
            None
        }
    }
}

#[test]
fn colours_are_for_terminals_whose_owner_wants_them() {
    let folder = Folder::started();
    let binary = assert_cmd::cargo::cargo_bin!("farm").display().to_string();
    // Bars move the cursor: on a terminal a run may, with or without colours.
    let colour = "\u{1b}[3";
    for args in [
        "report",
        "trace show scripted/trap-001/0",
        "report nowhere",
        "--help",
    ] {
        let plain = folder.farm(args.split(' '));
        assert!(
            !plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'),
            "{args}"
        );
        let command = format!("{binary} {args}");
        let Some(shown) = on_a_terminal(&folder, &command, None) else {
            return;
        };
        assert!(
            args == "--help" || shown.contains(colour),
            "{args}: {shown:?}"
        );
        let shown = on_a_terminal(&folder, &command, Some("1")).unwrap();
        assert!(!shown.contains(colour), "{args}: {shown:?}");
        // The standard has it that an empty value is none.
        let shown = on_a_terminal(&folder, &command, Some("")).unwrap();
        assert!(
            args == "--help" || shown.contains(colour),
            "{args}: {shown:?}"
        );
    }
    let run = format!("{binary} run eval/cases.jsonl --seeds 20");
    let shown = on_a_terminal(&folder, &run, Some("1")).unwrap();
    assert!(!shown.contains(colour), "{shown:?}");
}
