//! What `farm report` makes of a small real run, in every format.

use std::{
    fs,
    io::{self, Read as _},
    os::unix::fs::{PermissionsExt as _, symlink},
    process::Stdio,
};

use crate::support::{self, Folder, Said, files, lines};

/// farm's starter suite, in `run`.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.farm(["init"]).exits(0);
    let run = ["run", "eval/cases.jsonl", "--quiet", "--out", "run"];
    folder.farm(run).exits(0);
    folder
}

fn report(folder: &Folder, args: &[&str]) -> Said {
    folder.farm(["report", "run"].iter().chain(args))
}

/// The rows of a CSV, with the cells of some columns.
fn cells<const N: usize>(text: &str, columns: [&str; N]) -> Vec<[String; N]> {
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let head = rows.headers().unwrap().clone();
    let at = columns.map(|c| head.iter().position(|h| h == c).unwrap());
    rows.records()
        .map(|row| {
            let row = row.unwrap();
            at.map(|i| row[i].to_owned())
        })
        .collect()
}

#[test]
fn every_format_says_the_same_twice() {
    let folder = folder();
    for args in [
        &[][..],
        &["--format", "md"],
        &["--format", "json"],
        &["--format", "csv"],
        &["--rows", "cases"],
        &["--rows", "sessions"],
        &["--format", "csv", "--rows", "steps"],
        &["--format", "junit"],
        &["--format", "svg"],
        &["--format", "svg", "--all"],
        &["--format", "html"],
        &["--traces", "all"],
    ] {
        let said = report(&folder, args).exits(0);
        assert_eq!(said.stderr, "", "{args:?}");
        assert!(said.stdout.ends_with('\n'), "{args:?}");
        assert_eq!(report(&folder, args).stdout, said.stdout, "{args:?}");
    }
}

#[test]
fn rows_of_sessions_and_steps_are_those_of_scores_and_traces() {
    let folder = folder();
    let sessions = report(&folder, &["--rows", "sessions"]).exits(0).stdout;
    let of = ["variant", "case", "seed", "state", "tags"];
    let sessions = cells(&sessions, of);
    let scores = folder.lines("run/scores.jsonl");
    assert_eq!((sessions.len(), scores.len()), (9, 9));
    for ([variant, case, seed, state, tags], score) in sessions.iter().zip(&scores) {
        assert_eq!(score["key"], format!("{variant}/{case}/{seed}"));
        assert_eq!(score["state"], **state);
        assert!(!tags.is_empty());
    }

    let steps = report(&folder, &["--rows", "steps"]).exits(0).stdout;
    let steps = cells(&steps, ["case", "step", "observation", "observation_bytes"]);
    let traces = files(&folder.path("run/traces"));
    let traces = traces.iter().map(|path| fs::read_to_string(path).unwrap());
    let traces: Vec<_> = traces.flat_map(|text| lines(&text)).collect();
    let of_trace = traces.iter().filter(|line| line["type"] == "step");
    assert_eq!(steps.len(), of_trace.count());
    for [case, _, observation, bytes] in &steps {
        let length = observation.len().to_string();
        assert!(
            bytes.is_empty() || *bytes == length,
            "{case}: {observation}"
        );
    }
}

#[test]
fn a_published_run_has_cases_and_no_sessions() {
    let folder = folder();
    fs::remove_file(folder.path("run/farm.db")).unwrap();
    for format in ["csv", "junit", "svg"] {
        report(&folder, &["--format", format]).exits(0);
    }
    for rows in ["sessions", "steps"] {
        let said = report(&folder, &["--rows", rows]).exits(2);
        assert_eq!(said.stdout, "");
        insta::allow_duplicates! {
            insta::assert_snapshot!(said.stderr, @r#"
            error: run/farm.db is missing
            hint: a published run has a summary and no database; traces and sessions are read from one
            "#);
        }
    }
}

#[test]
fn who_reads_the_first_line_alone_is_no_error() {
    let folder = folder();
    // More than a pipe and the buffer before it hold.
    let more = ["run", "eval/cases.jsonl", "--quiet", "--seeds", "400"];
    folder.farm(more.iter().chain(&["--out", "long"])).exits(0);
    let (mut reader, writer) = io::pipe().unwrap();
    let farm = support::process()
        .current_dir(folder.path("."))
        .args(["report", "long", "--rows", "sessions"])
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    reader.read_exact(&mut [0; 100]).unwrap();
    drop(reader);
    let said = farm.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&said.stderr), "");
    assert_eq!(said.status.code(), Some(0));
}

#[test]
fn options_go_with_their_format() {
    let folder = folder();
    let said = report(&folder, &["--format", "svg", "--into", "README.md"]).exits(2);
    insta::assert_snapshot!(said.stderr, @r#"
    error: --into goes with --format md alone
    hint: leave --into out, or say --format md
    "#);
    report(&folder, &["--format", "md", "--rows", "steps"]).exits(2);
    report(&folder, &["--rows", "steps", "--into", "README.md"]).exits(2);
    report(&folder, &["--block", "results"]).exits(2);
}

#[test]
fn a_block_of_a_readme_is_replaced_and_nothing_else() {
    let folder = folder();
    let around = [
        "# Mine\r\n\r\n## Results\r\n<!-- farm:begin -->\r\n",
        "<!-- farm:end -->\r\nend",
    ];
    folder.write("docs/README.md", around.join("old\r\n"));
    let readme = folder.path("docs/README.md");
    fs::set_permissions(&readme, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("docs/README.md", folder.path("README.md")).unwrap();

    let said = report(&folder, &["--into", "README.md"]).exits(0);
    assert_eq!(
        (&*said.stdout, &*said.stderr),
        ("", "README.md is rewritten\n")
    );
    let text = folder.read("docs/README.md");
    let inside = text.strip_prefix(around[0]).unwrap();
    let inside = inside.strip_suffix(around[1]).unwrap();
    let markdown = report(&folder, &["--format", "md"]).stdout;
    let nested = markdown.replace("\n#", "\n###").replace('\n', "\r\n");
    assert_eq!(inside, format!("\r\n##{nested}\r\n"));
    let mode = fs::metadata(&readme).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    assert!(folder.path("README.md").is_symlink());
    assert_eq!(fs::read_dir(folder.path("docs")).unwrap().count(), 1);

    let said = report(&folder, &["--into", "README.md", "--format", "md"]).exits(0);
    assert_eq!(said.stderr, "README.md is up to date\n");
    assert_eq!(folder.read("docs/README.md"), text);
}

#[test]
fn a_readme_without_its_block_is_left_alone() {
    let folder = folder();
    let two =
        "<!-- farm:begin a -->\n<!-- farm:end -->\n<!-- farm:begin b -->\n<!-- farm:end -->\n";
    folder.write("none.md", "# Mine\n").write("two.md", two);
    let said = report(&folder, &["--into", "none.md"]).exits(2);
    insta::assert_snapshot!(said.stderr, @r#"
    error: none.md: no block of farm's
    hint: add these two lines where it is to stand: <!-- farm:begin --> and <!-- farm:end -->
    "#);
    let said = report(&folder, &["--into", "two.md"]).exits(2);
    insta::assert_snapshot!(said.stderr, @r#"
    error: two.md: several blocks: a, b
    hint: say which one with --block NAME
    "#);
    let said = report(&folder, &["--into", "gone.md"]).exits(2);
    assert!(
        said.stderr.starts_with("error: gone.md cannot be read\n"),
        "{}",
        said.stderr
    );
    assert_eq!(folder.read("none.md"), "# Mine\n");
    assert_eq!(folder.read("two.md"), two);

    report(&folder, &["--into", "two.md", "--block", "b"]).exits(0);
    assert!(folder.read("two.md").starts_with(&two[..two.len() - 18]));
}

#[test]
fn a_block_is_replaced_while_another_is() {
    let folder = folder();
    let names = ["a", "b", "c", "d"];
    let blocks = names.map(|name| format!("<!-- farm:begin {name} -->\n<!-- farm:end -->\n"));
    for _ in 0..3 {
        folder.write("README.md", blocks.concat());
        let farms = names.map(|name| {
            support::process()
                .current_dir(folder.path("."))
                .args(["report", "run", "--into", "README.md", "--block", name])
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        });
        for mut farm in farms {
            assert!(farm.wait().unwrap().success());
        }
        let text = folder.read("README.md");
        assert_eq!(text.matches("# Summary\n").count(), 4, "{text}");
    }
}

#[test]
fn what_may_not_be_written_is_left_alone() {
    let folder = folder();
    let text = "<!-- farm:begin -->\n<!-- farm:end -->\n";
    folder.write("my notes.md", text);
    let mode = fs::Permissions::from_mode(0o444);
    fs::set_permissions(folder.path("my notes.md"), mode).unwrap();
    let said = report(&folder, &["--into", "my notes.md"]).exits(2);
    insta::assert_snapshot!(said.stderr, @r"
    error: my notes.md is not writable
    hint: `chmod u+w 'my notes.md'` makes it so, if it is meant to change
    ");
    assert_eq!(folder.read("my notes.md"), text);
}

#[test]
fn a_block_without_its_end_takes_no_prose() {
    let folder = folder();
    let text = "<!-- farm:begin a -->\nmine\n<!-- farm:begin b -->\n<!-- farm:end -->\n";
    folder.write("README.md", text);
    let said = report(&folder, &["--into", "README.md", "--block", "a"]).exits(2);
    insta::assert_snapshot!(said.stderr, @r"
    error: README.md: line 3: a block begins inside the one that begins at line 1
    hint: add the line <!-- farm:end --> where the block of line 1 ends
    ");
    assert_eq!(folder.read("README.md"), text);
}

#[test]
fn commands_can_be_pasted() {
    let folder = folder();
    fs::rename(folder.path("run"), folder.path("my run")).unwrap();
    let said = folder.farm(["status", "my run"]).exits(0);
    assert_eq!(
        said.stderr,
        "`farm report 'my run'` shows what came of it\n"
    );
    let said = folder.farm(["run", "eval/cases.jsonl", "--out", "my run"]);
    let hint = "`farm resume 'my run'` goes on with it, `farm rm 'my run'` removes it";
    assert!(said.exits(2).stderr.contains(hint));
    let said = folder.farm(["init", "my suite"]).exits(0);
    let next = "next: cd 'my suite' && farm run eval/cases.jsonl\n";
    assert!(said.stderr.ends_with(next), "{}", said.stderr);
}
