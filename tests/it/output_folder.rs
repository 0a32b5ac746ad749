//! Output folders that cannot take a run, and disks that run full under one.

use std::{fs, process};

use crate::support::{Folder, Said, farm_at_home};

#[test]
fn an_output_folder_that_cannot_take_a_run() {
    let folder = Folder::with_one_case();
    folder.write("full/notes.txt", "mine").write("file", "mine");
    let refused = |out: &str| folder.run_into(out).exits(2).stderr;
    insta::assert_snapshot!(refused("full"), @r#"
    error: --out full is not empty: it holds notes.txt
    hint: name a folder that is absent or empty
    "#);
    insta::assert_snapshot!(refused("file"), @r#"
    error: --out file: a file is in the way
    hint: name a folder that is absent or empty
    "#);
    insta::assert_snapshot!(refused("file/run"), @r#"
    error: --out file/run: a file is in the way
    hint: name a folder that is absent or empty
    "#);
    insta::assert_snapshot!(refused("/proc/farm"), @r#"
    error: /proc/farm cannot be written: No such file or directory (os error 2)
    hint: check the path and the disk
    "#);
    assert_eq!(
        (&*folder.read("full/notes.txt"), &*folder.read("file")),
        ("mine", "mine")
    );

    folder.run(&["--quiet"]).exits(0);
    let summary = folder.read("run/summary.json");
    insta::assert_snapshot!(refused("run"), @r#"
    error: --out run is not empty: it holds cases.jsonl, config.toml, farm.db and 7 more
    hint: it is a run: `farm resume run` goes on with it, `farm rm run` removes it
    "#);
    assert_eq!(folder.read("run/summary.json"), summary);
}

/// A small disk of its own, where the system lets the test mount one.
struct Disk<'a>(&'a Folder);

impl<'a> Disk<'a> {
    fn mount(folder: &'a Folder, options: &str) -> Option<Self> {
        fs::create_dir(folder.path("disk")).unwrap();
        let mount = process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(folder.path("disk"))
            .output();
        if mount.is_ok_and(|output| output.status.success()) {
            return Some(Self(folder));
        }
        println!("skipped: no file system can be mounted here");
        None
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        let unmounted = process::Command::new("umount")
            .arg(self.0.path("disk"))
            .status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    }
}

#[test]
fn a_disk_that_may_not_be_written() {
    let folder = Folder::with_one_case();
    let Some(_disk) = Disk::mount(&folder, "ro") else {
        return;
    };
    let refused = |out: &str| folder.run_into(out).exits(2).stderr;
    insta::assert_snapshot!(refused("disk/run"), @r#"
    error: disk/run cannot be written: Read-only file system (os error 30)
    hint: make the folder writable, or name another one
    "#);
    insta::assert_snapshot!(refused("disk"), @r#"
    error: disk/lock cannot be written: Read-only file system (os error 30)
    hint: make the folder writable, or name another one
    "#);
}

#[test]
fn a_disk_that_runs_full_ends_the_run_and_keeps_what_was_durable() {
    let folder = Folder::new();
    let Some(_disk) = Disk::mount(&folder, "size=600k") else {
        return;
    };
    let said = farm_at_home()
        .args([
            "run",
            "eval/cases.jsonl",
            "--seeds",
            "12",
            "--concurrency",
            "1",
            "--quiet",
            "--out",
        ])
        .arg(folder.path("disk/run"))
        .output()
        .unwrap();
    let said = Said::new(&said).exits(4);
    let dir = folder.path("").display().to_string();
    insta::assert_snapshot!(said.stderr.replace(&dir, "DIR/"), @r#"
    error: store: disk is full: DIR/disk/run/farm.db: database or disk is full
    caused by: Error code 13: database or disk is full
    hint: free some space, then `farm resume RUN`; what was committed is kept
    "#);
    assert_eq!(said.stdout, "");
    assert!(
        !folder.path("disk/run/summary.json").exists(),
        "a summary of half a run"
    );
    assert_eq!(
        folder.json("disk/run/manifest.json")["run"]
            .as_str()
            .map(str::len),
        Some(23)
    );

    // What was committed can be read: copied off the full disk, where SQLite may write beside it.
    let copied = process::Command::new("cp")
        .args(["-r"])
        .arg(folder.path("disk/run"))
        .arg(folder.path("copy"))
        .status();
    assert!(copied.unwrap().success());
    let report = folder.farm(["report", "copy", "--format", "json"]).exits(0);
    let summary: serde_json::Value = serde_json::from_str(&report.stdout).unwrap();
    let ledger = &summary["ledger"];
    let ended = ledger["passed"].as_u64().unwrap() + ledger["failed"].as_u64().unwrap();
    assert_eq!(ledger["planned"], 360);
    assert!(ended > 0, "{ledger}");
}

#[test]
fn a_disk_without_room_to_begin_is_left_as_it_was() {
    let folder = Folder::with_one_case();
    let Some(_disk) = Disk::mount(&folder, "size=8k") else {
        return;
    };
    let said = folder.run_into("disk/run").exits(4);
    insta::assert_snapshot!(said.stderr, @r#"
    error: disk/run/config.toml cannot be written: No space left on device (os error 28)
    hint: free some space, then again
    "#);
    assert!(!folder.path("disk/run").exists());
    // With room the same command runs.
    let remount = process::Command::new("mount")
        .args(["-o", "remount,size=4m"])
        .arg(folder.path("disk"))
        .status();
    assert!(remount.unwrap().success());
    folder.run_into("disk/run").exits(0);
}
