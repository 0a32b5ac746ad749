//! `FARM_GOLDEN` names another folder of golden tables: the tests read it in place of their own.

use std::{env, fs, path::Path, process::Command};

use crate::support::Folder;

/// Runs the golden tests of this binary on the tables of `folder`.
fn golden_tests(folder: &Folder) -> (bool, String) {
    let output = Command::new(env::current_exe().unwrap())
        .args(["golden_replies::golden_replies", "--exact"])
        .env("FARM_GOLDEN", folder.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("running 1 test\n"), "{said}");
    (output.status.success(), said)
}

#[test]
fn farm_golden_names_another_folder() {
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/replies.jsonl");
    let rows = fs::read_to_string(shipped).unwrap();
    let few: String = rows.lines().take(3).map(|row| format!("{row}\n")).collect();

    let folder = Folder::new();
    assert!(!golden_tests(&folder).0, "no table is no proof");
    folder.write("replies.jsonl", "");
    assert!(!golden_tests(&folder).0, "an empty table is no proof");
    folder.write("replies.jsonl", &few);
    let (passed, said) = golden_tests(&folder);
    assert!(passed, "{said}");

    let wrong = few.replacen(
        "\"expect\":",
        "\"expect\":{\"answer\":\"another\"},\"was\":",
        1,
    );
    let wrong = wrong.replacen(
        "\"expect\": ",
        "\"expect\": {\"answer\":\"another\"},\"was\": ",
        1,
    );
    assert_ne!(wrong, few);
    folder.write("replies.jsonl", wrong);
    assert!(!golden_tests(&folder).0, "a wrong table is not read");
}
