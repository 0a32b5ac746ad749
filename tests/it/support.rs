//! farm as a user runs it: the built binary, in a folder of its own, with a clean environment.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Child, Output},
    time::{Duration, Instant},
};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// The binary, told nothing by the environment of the tests.
pub(crate) fn farm() -> Command {
    Command::from_std(process())
}

/// The same, to be left in the background or talked to.
pub(crate) fn process() -> std::process::Command {
    let mut command = crate::binary::farm(assert_cmd::cargo::cargo_bin!("farm"));
    command.env_remove("NO_COLOR").env_remove("COLUMNS");
    command
}

/// farm in its own repository, where the shipped suite is.
pub(crate) fn farm_at_home() -> Command {
    let mut command = farm();
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command
}

/// A folder to run farm in: `cases.jsonl`, `sealed.jsonl` and `farm.toml` with a scripted model
/// and `scripts.jsonl`, as far as a test writes them.
pub(crate) struct Folder {
    dir: TempDir,
}

/// How the suite of such a folder is run, into `run`.
pub(crate) const RUN: [&str; 6] = [
    "run",
    "cases.jsonl",
    "--sealed",
    "sealed.jsonl",
    "--out",
    "run",
];

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// farm in the background; it is killed with the test.
pub(crate) struct Background(pub(crate) Child);

impl Drop for Background {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a command said and how it ended.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// A folder with one case that passes: `cases.jsonl`, its script within, and `sealed.jsonl`.
    pub(crate) fn with_one_case() -> Self {
        let folder = Self::new();
        folder.write(
            "cases.jsonl",
            r#"{"id":"sum-1","task":"What is 1 + 1?","script":[{"answer":"2"}]}"#,
        );
        folder.write(
            "sealed.jsonl",
            r#"{"id":"sum-1","checks":[{"kind":"answer_equals","text":"2"}]}"#,
        );
        folder
    }

    /// A folder as `farm init` leaves it, in which the suite has run once.
    pub(crate) fn started() -> Self {
        let folder = Self::new();
        folder.farm(["init"]).exits(0);
        folder.farm(["run", "eval/cases.jsonl", "--quiet"]).exits(0);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a file, and the folders above it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Waits until there is such a file.
    pub(crate) fn wait_for(&self, name: &str) {
        let began = Instant::now();
        while !self.path(name).exists() {
            assert!(began.elapsed() < PATIENCE, "there is no {name}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The names in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// farm with these arguments, its folder shown as `DIR` in what it says.
    pub(crate) fn farm<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Said {
        self.command(farm().args(args))
    }

    /// The same for a command that was made by hand.
    pub(crate) fn command(&self, command: &mut Command) -> Said {
        let output = command.current_dir(self.dir.path()).output().unwrap();
        let said = Said::new(&output);
        let hide = |text: String| text.replace(&*self.dir.path().to_string_lossy(), "DIR");
        Said {
            stdout: hide(said.stdout),
            stderr: hide(said.stderr),
            ..said
        }
    }

    /// [`RUN`] and more.
    pub(crate) fn run(&self, more: &[&str]) -> Said {
        self.farm(RUN.iter().chain(more))
    }

    /// The same into another folder.
    pub(crate) fn run_into(&self, out: &str) -> Said {
        self.farm(RUN[..5].iter().chain(&[out]))
    }

    /// Runs cases without their sealed halves, into `unscored`.
    pub(crate) fn unscored(&self, cases: &str, more: &[&str]) -> Said {
        let run = ["run", cases, "--unscored", "--quiet", "--out", "unscored"];
        self.farm(run.iter().chain(more))
    }

    /// A JSON document, such as `run/summary.json`.
    pub(crate) fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// A file of JSON lines, such as `run/scores.jsonl`.
    pub(crate) fn lines(&self, name: &str) -> Vec<Value> {
        lines(&self.read(name))
    }
}

impl Said {
    pub(crate) fn new(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self {
            code: output.status.code().expect("ended by a signal"),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// Goes on if the exit code is this one.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        self
    }
}

/// The processes of this machine, dead ones left out, in whose environment this stands.
#[cfg(target_os = "linux")]
pub(crate) fn marked(variable: &str) -> Vec<i32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|e| e.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &i32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environ.split(|b| *b == 0);
        variables.any(|v| v == variable.as_bytes())
    })
    .collect()
}

/// The values of JSON lines.
pub(crate) fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// All files under a folder.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}
