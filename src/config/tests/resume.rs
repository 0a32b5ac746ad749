//! What a resume changes, and how it is written.

use super::*;

fn told(before: &Resolved, after: &Resolved, folder: &Path) -> Vec<String> {
    operation_changes(before, after, folder)
        .iter()
        .map(|c| format!("{} {} {}", c.key, c.from, c.to))
        .collect()
}

#[test]
fn changes_of_operation_are_told() {
    let m = "[models.\"m.1\"]\nkind = 'scripted'\n";
    let table: [(&str, &str, &[&str]); 12] = [
        ("", "", &[]),
        ("", "[run]\nconcurrency = 64", &[]),
        ("", "[run]\nconcurrency = 8", &["run.concurrency 64 8"]),
        ("[run]\nseeds = 12", "[run]\nseeds = '0..12'", &[]),
        (
            "[run]\nseeds = 12",
            "[run]\nseeds = '0..20'",
            &[r#"run.seeds 12 "0..20""#],
        ),
        ("[run]\nuntil = '90m'", "[run]\nuntil = '1h30m'", &[]),
        ("", "[run]\nuntil = '8h'", &[r#"run.until "none" "8h""#]),
        ("[suite]\nlevel = 0.9", "[suite]\nlevel = 0.90", &[]),
        (
            "[run]\nsealed = 's.jsonl'",
            "[run]\nsealed = './x/../s.jsonl'",
            &[],
        ),
        // Both in the order of the keys.
        (
            "[run]\nsealed = 's.jsonl'",
            "[suite]\ncases = 'sample'",
            &[
                r#"suite.cases "fixed" "sample""#,
                r#"run.sealed "s.jsonl" null"#,
            ],
        ),
        // What changes the meaning is not told here.
        ("", "[session]\nmax_steps = 3\n[run]\nrun_seed = 1", &[]),
        (
            m,
            "[models.n]\nkind = 'scripted'\nlatency_ms = 5",
            &[
                r#"models."m.1".latency_ms 0 null"#,
                "models.n.latency_ms null 5",
            ],
        ),
    ];
    for (before, after, want) in table {
        let fixture = Fixture::new(before);
        let old = fixture.resolve(&[], &[], &[]).unwrap();
        fs::write(fixture.dir.path().join("farm.toml"), after).unwrap();
        let new = fixture.resolve(&[], &[], &[]).unwrap();
        assert_eq!(
            told(&old, &new, fixture.dir.path()),
            want,
            "{before:?} {after:?}"
        );
    }
}

/// Resolves the text as the config of a run, `results/run/config.toml`.
fn of_run(fixture: &Fixture, text: &str, flags: &[(&str, Value)]) -> Resolved {
    let folder = fixture.dir.path().join("results/run");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("config.toml");
    fs::write(&file, text).unwrap();
    let resolved = resolve(&Sources {
        file: ConfigFile::Named(&file),
        env: &[],
        flags,
        models: &[],
        known: KNOWN,
        recordings: &OneRun,
    });
    resolved.unwrap_or_else(|e| panic!("{text}\n{:?}", e.problems))
}

const CONFIG: &str = "[run]\nseeds = 12\nsealed = \"x/s.jsonl\"\n[tools.web_fetch]\npages = \"a\"\n\
    [models.m]\nkind = \"scripted\"\nparameters = { stop = [\"\\n\", \" # \"] }\n\
    [models.n]\nkind = \"scripted\"\nlatency_ms = 0\n";

#[test]
fn what_stays_keeps_its_origin() {
    let fixture = Fixture::new(CONFIG);
    let first = fixture
        .resolve(&[("FARM_SUITE_LEVEL", "0.9")], &[], &[])
        .unwrap();
    let folder = fixture.dir.path().join("results/run");
    let before = first.to_toml(&folder);
    let again = of_run(&fixture, &before, &[]);
    assert_eq!(again.to_toml_over(&folder, &before), before);

    let flags = [
        ("run.concurrency", Value::Integer(8)),
        ("run.until", Value::String("07:00".to_owned())),
    ];
    let resumed = of_run(&fixture, &before, &flags);
    let text = resumed.to_toml_over(&folder, &before);
    let want = before
        .replace(
            "concurrency = 64 # default",
            "concurrency = 8 # --concurrency",
        )
        .replace("until = \"none\" # default", "until = \"07:00\" # --until");
    assert_eq!(text, want);
    assert_ne!(text, before);
    let read = of_run(&fixture, &text, &[]);
    assert_eq!(told(&resumed, &read, Path::new("")), [""; 0]);
    assert_eq!(read.meaning(), first.meaning());
}

/// A text that farm did not write gives comments at most.
#[test]
fn a_spoiled_text_does_not_matter() {
    let fixture = Fixture::new(CONFIG);
    let first = fixture.resolve(&[], &[], &[]).unwrap();
    let folder = fixture.dir.path().join("results/run");
    let sound = first.to_toml(&folder);
    let spoiled = [
        "\n[".to_owned(),
        "\0\u{feff}\n[run]".to_owned(),
        "\n[run]\nseeds = 12 # ".to_owned(),
        "\n[run]\nseeds = 12 # a\rb\0c\u{85}d".to_owned(),
        "\n[run]\n[run]\nseeds = 12 # \"\"\"\nx = '''".to_owned(),
        sound.replace('\n', "\r\n"),
        sound.replace("# ", "# ] = [ \u{1b} \" # "),
        sound.replace(" = ", "="),
        sound.chars().rev().collect(),
    ];
    let cut = sound.char_indices().map(|(end, _)| sound[..end].to_owned());
    for before in spoiled.into_iter().chain(cut.step_by(37)) {
        let text = first.to_toml_over(&folder, &before);
        let read = of_run(&fixture, &text, &[]);
        assert_eq!(told(&first, &read, Path::new("")), [""; 0], "{before}");
        assert_eq!(read.meaning(), first.meaning(), "{before}");
    }
}
