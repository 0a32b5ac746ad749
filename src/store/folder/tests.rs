use super::*;
use crate::store::manifest::tests::manifest;

const DIGEST: &str = "abcdef0123456789";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_789_700_000 + second).unwrap()
}

fn make(runs: &Path, second: i64) -> (RunFolder, Held, String) {
    let made = RunFolder::create(Place::Under(runs), at(second), DIGEST, "host").unwrap();
    let created = at(second).to_string();
    manifest(&made.2, &created)
        .write(&made.0.manifest())
        .unwrap();
    made
}

#[test]
fn an_id_is_a_time_and_a_digest() {
    assert_eq!(run_id(at(0), DIGEST), "20260918T025320Z-abcdef");
    assert_eq!(run_id(Timestamp::UNIX_EPOCH, "a"), "19700101T000000Z-a");
}

#[test]
fn a_taken_name_gets_a_number() {
    let runs = tempfile::tempdir().unwrap();
    let ids: Vec<String> = (0..3).map(|_| make(runs.path(), 0).2).collect();
    let id = run_id(at(0), DIGEST);
    assert_eq!(ids, [id.clone(), format!("{id}-2"), format!("{id}-3")]);
}

#[test]
fn runs_are_found_by_latest_id_and_folder() {
    let root = tempfile::tempdir().unwrap();
    let runs = root.path().join("results/runs");
    let none = RunFolder::open("latest", &runs).unwrap_err();
    assert!(none.message.starts_with("there is no run under"), "{none}");
    let (newest, ..) = make(&runs, 60);
    let (_, _, id) = make(&runs, 0);
    assert_eq!(RunFolder::open("latest", &runs).unwrap(), newest);
    let by_id = RunFolder::open(&id, &runs).unwrap();
    let by_path = RunFolder::open(by_id.path().to_str().unwrap(), Path::new("none")).unwrap();
    assert_eq!(by_id, by_path);
    // A folder without a manifest is no run; a damaged one is never the latest.
    fs::create_dir(runs.join("zzz")).unwrap();
    fs::create_dir(runs.join("zzzz")).unwrap();
    fs::write(runs.join("zzzz/manifest.json"), "{").unwrap();
    let listed = RunFolder::list(&runs).unwrap();
    let fine: Vec<bool> = listed.iter().map(|l| l.manifest.is_ok()).collect();
    assert_eq!(fine, [false, true, true]);
    assert_eq!(RunFolder::open("latest", &runs).unwrap(), newest);
}

#[test]
fn what_is_no_run_is_told_apart() {
    let runs = tempfile::tempdir().unwrap();
    let (folder, _held, id) = make(runs.path(), 0);
    let typo = RunFolder::open(&id.replace("abcdef", "abcdee"), runs.path()).unwrap_err();
    assert!(typo.hint.unwrap().contains(&id));
    let file = folder.manifest();
    let file = RunFolder::open(file.to_str().unwrap(), runs.path()).unwrap_err();
    assert!(file.message.contains("is a file"), "{file}");
    fs::remove_file(folder.manifest()).unwrap();
    let bare = RunFolder::open(&id, runs.path()).unwrap_err();
    assert!(bare.message.ends_with("it has no manifest.json"), "{bare}");
}

#[test]
fn out_is_the_folder_itself_absent_or_empty() {
    let root = tempfile::tempdir().unwrap();
    let out = root.path().join("a/b");
    let create = |path: &Path| RunFolder::create(Place::At(path), at(0), DIGEST, "host");
    let (folder, held, id) = create(&out).unwrap();
    assert_eq!((folder.path(), &*id), (&*out, "20260918T025320Z-abcdef"));
    drop(held);
    for name in ["manifest.json", "x", "y"] {
        fs::write(out.join(name), "").unwrap();
    }
    let taken = create(&out).unwrap_err();
    assert!(
        taken
            .message
            .ends_with("it holds lock, manifest.json, x and 1 more"),
        "{taken}"
    );
    assert!(taken.hint.unwrap().contains("farm rm"));
    assert_eq!(taken.kind, crate::error::ErrorKind::Input);
    let file = create(&out.join("x")).unwrap_err();
    assert!(file.message.contains("a file is in the way"), "{file}");
    let below = create(&out.join("x/y")).unwrap_err();
    assert!(below.message.contains("a file is in the way"), "{below}");
}

#[test]
fn one_process_at_a_time() {
    let runs = tempfile::tempdir().unwrap();
    let (folder, held, _) = make(runs.path(), 0);
    let me = std::process::id();
    let second = folder.lock("other").unwrap_err();
    assert!(
        second
            .message
            .ends_with(&format!("is in use by process {me} on host")),
        "{second}"
    );
    let holder = folder.holder().unwrap().unwrap();
    assert_eq!((holder.pid, &*holder.host), (me, "host"));
    assert!(folder.clone().remove("host").is_err());
    drop(held);
    assert_eq!(folder.holder().unwrap(), None);
    folder.clone().remove("host").unwrap();
    assert!(!folder.path().exists());
}
