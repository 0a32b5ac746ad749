//! Disks that fail while farm is at work: nothing durable is lost, and once they work again
//! `farm resume` comes to what an undisturbed run comes to.

use crate::{
    own_mounts::{in_own_mounts, said},
    support::Folder,
};

/// Sessions of the run below.
const SESSIONS: &str = "40";

/// A folder with a case that takes two slow replies, and what an undisturbed run of it says.
fn slow() -> (Folder, String) {
    let folder = Folder::new();
    folder
        .write(
            "cases.jsonl",
            r#"{"id":"sum-1","task":"What is 1 + 1?","files":"desk","script":[{"tool_call":{"tool":"calculator","args":{"expression":"1 + 1"}}},{"answer":"2"}]}"#,
        )
        .write(
            "sealed.jsonl",
            r#"{"id":"sum-1","checks":[{"kind":"answer_equals","text":"2"}]}"#,
        )
        .write("desk/notes.txt", "2")
        .write(
            "farm.toml",
            "[models.slow]\nkind = \"scripted\"\nlatency_ms = 50\n",
        );
    let more = ["--config", "farm.toml", "--quiet", "--seeds", SESSIONS];
    folder
        .run(&[&more[..], &["--concurrency", SESSIONS]].concat())
        .exits(0);
    let summary = folder.read("run/summary.json");
    (folder, summary)
}

/// Begins the run of [`slow`] in the background as `first`, and waits until it is at work.
fn begin(out: &str) -> String {
    format!(
        "farm_says first run cases.jsonl --sealed sealed.jsonl --config farm.toml \
         --seeds {SESSIONS} --concurrency 2 --out {out} &\n\
         until_says first 'in flight'\n"
    )
}

#[test]
fn a_disk_that_runs_full_under_a_run() {
    let folder = Folder::new();
    let home = env!("CARGO_MANIFEST_DIR");
    folder.farm(["init"]).exits(0);
    let script = format!(
        "mkdir disk
        mount -t tmpfs -o size=600k tmpfs disk
        here=$PWD
        cd {home}
        farm_says \"$here/whole\" run eval/cases.jsonl --seeds 12 --quiet --out \"$here/whole\"
        farm_says \"$here/first\" run eval/cases.jsonl --seeds 12 --quiet --concurrency 1 --out \"$here/disk/run\"
        farm_says \"$here/full\" resume \"$here/disk/run\" --quiet
        mount -o remount,size=64m \"$here/disk\"
        farm_says \"$here/again\" resume \"$here/disk/run\" --quiet
        cp \"$here/disk/run/summary.json\" \"$here\"
        farm_says \"$here/diff\" trace diff \"$here/whole\" \"$here/disk/run\"\n"
    );
    if !in_own_mounts(&folder, &script) {
        return;
    }
    said(&folder, "whole").exits(0);
    for name in ["first", "full"] {
        let stderr = said(&folder, name).exits(4).stderr;
        assert!(
            stderr.contains("disk is full") || stderr.contains("No space left"),
            "{stderr}"
        );
        assert!(stderr.contains("hint: free some space"), "{stderr}");
    }
    said(&folder, "again").exits(0);
    said(&folder, "diff").exits(0);
    assert_eq!(
        folder.read("summary.json"),
        folder.read("whole/summary.json")
    );
}

#[test]
fn a_disk_that_runs_full_under_an_export() {
    let (folder, summary) = slow();
    let script = begin("it")
        + "mkdir it/traces
        mount -t tmpfs -o size=8k tmpfs it/traces
        wait
        farm_says full resume it --quiet
        mount -o remount,size=8m it/traces
        farm_says again resume it --quiet
        farm_says diff trace diff run it\n";
    if !in_own_mounts(&folder, &script) {
        return;
    }
    for name in ["first", "full"] {
        let stderr = said(&folder, name).exits(4).stderr;
        assert!(
            stderr.contains("it/traces/slow/sum-1.jsonl cannot be written"),
            "{stderr}"
        );
        assert!(stderr.contains("hint: free some space"), "{stderr}");
    }
    said(&folder, "again").exits(0);
    said(&folder, "diff").exits(0);
    assert_eq!(folder.read("it/summary.json"), summary);
}

/// What is open stays open, but nothing new can be written.
#[test]
fn a_folder_that_becomes_read_only() {
    let (folder, summary) = slow();
    let script = begin("it")
        + "mkdir ro
        # Elsewhere first: it cannot be made so while farm opens a file under it.
        mount --bind it ro
        mount -o remount,bind,ro ro
        mount --bind ro it
        wait
        farm_says read_only resume it --quiet
        umount it
        farm_says again resume it --quiet
        farm_says diff trace diff run it\n";
    if !in_own_mounts(&folder, &script) {
        return;
    }
    for (name, code) in [("first", 4), ("read_only", 2)] {
        let stderr = said(&folder, name).exits(code).stderr;
        assert!(stderr.to_lowercase().contains("read-only"), "{stderr}");
        assert!(
            stderr.contains("hint: make the ") && stderr.contains(" writable"),
            "{stderr}"
        );
    }
    said(&folder, "again").exits(0);
    said(&folder, "diff").exits(0);
    assert_eq!(folder.read("it/summary.json"), summary);
}
