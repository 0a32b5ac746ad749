//! The law of the house: which room may name which.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// What each room may name. `error` may be named by all.
const LAW: [(&str, &str); 16] = [
    (
        "cli",
        "aggregate config domain fence mcp mock model report run score session stats store tool verify",
    ),
    (
        "run",
        "session score aggregate store model tool verify domain",
    ),
    ("session", "model tool verify domain store"),
    ("mcp", "run tool verify domain"),
    ("mock", "model domain"),
    ("score", "fence domain"),
    ("tool", "fence domain"),
    ("verify", "fence domain tool"),
    ("aggregate", "stats store domain"),
    ("report", "stats store domain"),
    ("model", "domain"),
    ("store", "domain"),
    ("config", "domain"),
    ("fence", "domain"),
    ("stats", ""),
    ("domain", ""),
];

/// The rooms of outside crates, or the folders in them.
const CRATES: [(&str, &str); 13] = [
    ("ractor", "aggregate run score session"),
    ("rusqlite", "store"),
    ("reqwest", "model"),
    ("clap", "cli"),
    ("indicatif", "report"),
    ("axum", "mock"),
    ("rmcp", "mcp tool/mcp_client"),
    ("rustix", "fence"),
    ("minijinja", "report"),
    ("quick_junit", "report"),
    ("csv", "report"),
    ("statrs", "stats"),
    ("rand_pcg", "stats"),
];

/// What one room may name only in part: `(room, other, paths)`.
const PARTS: [(&str, &str, &[&str]); 3] = [
    ("session", "store", &["At", "Handle", "StoreLost", "Write"]),
    ("verify", "tool", &["Entry", "Registry", "ToolSet"]),
    ("mock", "model", &["wire"]),
];

fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    found
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The room of a file: the first part of its path under `src`.
fn room(path: &Path) -> String {
    let inside = path.strip_prefix(src()).unwrap();
    let first = inside
        .components()
        .next()
        .unwrap()
        .as_os_str()
        .to_str()
        .unwrap();
    first.trim_end_matches(".rs").to_owned()
}

/// The files under `src` that are compiled into the library: without the modules of its tests,
/// which may name what they compare with.
fn library() -> Vec<PathBuf> {
    let all = sources(&src());
    let tests: Vec<PathBuf> = all.iter().flat_map(|path| test_modules(path)).collect();
    all.into_iter()
        .filter(|path| {
            !tests
                .iter()
                .any(|t| path.starts_with(t) || *path == t.with_extension("rs"))
        })
        .collect()
}

/// The modules that a file declares under `#[cfg(test)]`, as the paths of their folders.
fn test_modules(path: &Path) -> Vec<PathBuf> {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    let folder = match stem {
        "mod" | "lib" | "main" => path.parent().unwrap().to_owned(),
        _ => path.with_extension(""),
    };
    let text = fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let declared = lines
        .windows(2)
        .filter(|pair| pair[0].trim() == "#[cfg(test)]");
    declared
        .filter_map(|pair| pair[1].strip_suffix(';')?.split("mod ").nth(1))
        .map(|name| folder.join(name))
        .collect()
}

/// A file without comments, and without the `#[cfg(test)]` module at its end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
    text.lines()
        .filter(|l| !l.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The paths named after `crate::`, braces opened: `a::b` for each leaf of two parts at most.
fn crate_paths(code: &str) -> BTreeSet<(String, String)> {
    let mut paths = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        if code[..at].ends_with(['$', '_']) {
            continue;
        }
        for path in leaves(&code[at + "crate::".len()..]) {
            let mut parts = path.split("::");
            let first = parts.next().unwrap_or_default().to_owned();
            paths.insert((first, parts.next().unwrap_or_default().to_owned()));
        }
    }
    paths
}

/// Whether a path begins with this crate; a module of that name stands behind its parent.
fn names_crate(code: &str, name: &str) -> bool {
    let begins =
        |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c));
    let path = format!("{name}::");
    let mut paths = code.match_indices(&path);
    paths.any(|(at, _)| begins(at)) || code.contains(&format!("use {name}"))
}

/// The leaves of a use tree that begins here.
fn leaves(text: &str) -> Vec<String> {
    let word: String = text
        .chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_' || *c == ':')
        .collect();
    let rest = &text[word.len()..];
    if !(word.is_empty() || word.ends_with("::")) || !rest.starts_with('{') {
        return vec![word];
    }
    let mut depth = 0;
    let mut items = vec![String::new()];
    for c in rest.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        match c {
            ',' if depth == 1 => items.push(String::new()),
            '{' if depth == 1 => {}
            '}' if depth == 0 => break,
            c => items.last_mut().unwrap().push(c),
        }
    }
    let items = items.iter().map(|i| i.trim()).filter(|i| !i.is_empty());
    items
        .flat_map(leaves)
        .map(|leaf| format!("{word}{leaf}"))
        .collect()
}

#[test]
fn the_reader_of_imports_reads() {
    let code = "use crate::{\n    domain::{Case, trace},\n    error::Error,\n};\nfn f() -> crate::store::Reader { $crate::x }";
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        crate_paths(code),
        BTreeSet::from([
            pair("domain", "Case"),
            pair("domain", "trace"),
            pair("error", "Error"),
            pair("store", "Reader"),
        ])
    );
}

#[test]
fn crates_are_told_from_modules() {
    for named in [
        "use csv;",
        "use csv::Writer;",
        "let a = csv::Writer::new();",
    ] {
        assert!(names_crate(named, "csv"), "{named}");
    }
    for not in ["report::csv::cases(a)", "use super::csv;", "my_csv::x"] {
        assert!(!names_crate(not, "csv"), "{not}");
    }
}

#[test]
fn test_modules_are_told_from_the_library() {
    let library = library();
    let has = |name: &str| library.contains(&src().join(name));
    assert!(has("verify/schema.rs") && has("score/scorer.rs") && has("stats/mean.rs"));
    assert!(!has("verify/schema/tests.rs") && !has("score/tests/files.rs"));
}

#[test]
fn rooms_name_only_what_the_law_allows() {
    let law: BTreeMap<&str, BTreeSet<&str>> = LAW
        .iter()
        .map(|(room, may)| (*room, may.split_whitespace().collect()))
        .collect();
    let mut broken = Vec::new();
    for path in library() {
        let here = room(&path);
        if ["lib", "main", "error", "golden"].contains(&here.as_str()) {
            continue;
        }
        let Some(may) = law.get(here.as_str()) else {
            broken.push(format!("src/{here} is no room of the house"));
            continue;
        };
        for (other, item) in crate_paths(&code(&path)) {
            let allowed = other == here || other == "error" || may.contains(other.as_str());
            let part = PARTS.iter().find(|(a, b, _)| *a == here && *b == other);
            let in_part = part.is_none_or(|(_, _, items)| items.contains(&item.as_str()));
            if !allowed || !in_part {
                broken.push(format!("{}: crate::{other}::{item}", path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "against the law:\n{}", broken.join("\n"));
}

#[test]
fn outside_crates_stay_in_their_room() {
    let mut broken = Vec::new();
    for path in library() {
        let code = code(&path);
        let is_in = |room: &str| room == self::room(&path) || path.starts_with(src().join(room));
        for (name, rooms) in CRATES {
            if names_crate(&code, name) && !rooms.split_whitespace().any(is_in) {
                broken.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "out of their room:\n{}",
        broken.join("\n")
    );
}

/// The compiler keeps the rest out; this keeps the door shut.
#[test]
fn score_shows_the_sealed_suite_and_no_other_sealed_type() {
    let door = code(&src().join("score/mod.rs"));
    assert!(!door.contains("pub mod") && !door.contains("pub(crate)"));
    let shown: Vec<&str> = door
        .lines()
        .filter(|l| l.starts_with("pub use"))
        .filter(|l| {
            ["sealed", "checks", "line", "scalar"]
                .iter()
                .any(|m| l.contains(m))
        })
        .collect();
    assert_eq!(shown, ["pub use sealed::SealedSuite;"]);
}

#[test]
fn the_library_neither_prints_nor_reads_the_environment() {
    for path in library() {
        let here = room(&path);
        let code = code(&path);
        for word in ["println!", "eprintln!", "print!(", "dbg!("] {
            assert!(
                here == "cli" || !code.contains(word),
                "{}: {word}",
                path.display()
            );
        }
        for word in ["env::var", "env::args", "env::current_dir"] {
            let may = here == "cli" || here == "golden";
            assert!(may || !code.contains(word), "{}: {word}", path.display());
        }
    }
}

#[test]
fn step_rs_can_be_read_in_one_sitting() {
    let lines = fs::read_to_string(src().join("session/step.rs"))
        .unwrap()
        .lines()
        .count();
    assert!(lines < 300, "src/session/step.rs has {lines} lines");
}

#[test]
fn no_test_file_is_forgotten() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let main = fs::read_to_string(dir.join("main.rs")).unwrap();
    for path in sources(&dir) {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(
            name == "main" || main.contains(&format!("mod {name};")),
            "{name} is in no binary"
        );
    }
}
