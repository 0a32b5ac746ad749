//! Reads and checks a file of cases.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use super::{Guard, files, guard, kinds::check_names, scripts::faults};
use crate::{
    domain::{
        Case, CaseId,
        jsonl::{self, Lines, Secrecy},
    },
    error::Problem,
};

/// What cases are checked against.
#[derive(Debug, Clone, Copy)]
pub struct CaseRules<'a> {
    /// The names of all tools.
    pub tools: &'a [&'a str],
    /// No folder that a session sees may hold what is sealed.
    pub guard: &'a Guard,
}

/// Reads a case file: the cases that could be read, each with its line, and everything that is
/// wrong with them and with the folders that they name.
#[must_use]
pub fn load_cases(file: &Path, rules: CaseRules<'_>) -> Lines<Case> {
    if rules.guard.is_sealed(file) {
        // Not read: what would be wrong with it quotes it.
        let problem = Problem::file(file, guard::is(file));
        return Lines {
            values: Vec::new(),
            problems: vec![problem.hint("name the file of the cases")],
        };
    }
    let mut lines = jsonl::read::<Case>(file, Secrecy::Public);
    if lines.values.is_empty() && lines.problems.is_empty() {
        let problem = Problem::file(file, "no cases");
        lines
            .problems
            .push(problem.hint(r#"write one a line: {"id":"sum-1","task":"What is 1 + 1?"}"#));
    }
    let mut check = Check {
        file,
        rules,
        ids: HashMap::new(),
        folders: HashSet::new(),
        problems: &mut lines.problems,
    };
    for (line, case) in &lines.values {
        check.case(*line, case);
    }
    lines.problems.sort_by_key(|p| (p.line, p.column));
    lines
}

struct Check<'a> {
    file: &'a Path,
    rules: CaseRules<'a>,
    /// In lower case, with the line and spelling that came first: traces are files, and some file
    /// systems do not tell `A` from `a`.
    ids: HashMap<String, (usize, &'a CaseId)>,
    /// Those that were looked at.
    folders: HashSet<PathBuf>,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Check<'a> {
    fn case(&mut self, line: usize, case: &'a Case) {
        let lower = case.id.as_str().to_ascii_lowercase();
        match self.ids.get(&lower) {
            None => drop(self.ids.insert(lower, (line, &case.id))),
            Some((first, id)) if **id == case.id => {
                let message = format!("id: `{id}` is on line {first} already");
                self.tell(line, message, Some("ids are unique in a file"));
            }
            Some((first, id)) => {
                let message = format!(
                    "id: `{}` differs from `{id}` on line {first} in its case alone",
                    case.id
                );
                self.tell(line, message, Some("some file systems take them for one"));
            }
        }
        if case.task.trim().is_empty() {
            self.tell(line, "task: is empty", None);
        }
        if case.max_steps == Some(0) {
            let hint = "give it at least 1, or leave it out";
            self.tell(line, "max_steps: 0 steps are none", Some(hint));
        }
        if case.cluster.as_ref().is_some_and(|c| c.trim().is_empty()) {
            self.tell(line, "cluster: is empty", Some("leave it out"));
        }
        if let Some(tools) = &case.tools {
            self.tools(line, tools);
        }
        if let Some(script) = &case.script {
            for fault in faults(script) {
                self.tell(line, fault, None);
            }
        }
        if let Some(files) = &case.files {
            self.files(line, files);
        }
    }

    fn tools(&mut self, line: usize, tools: &[String]) {
        for misfit in check_names("tool", tools, self.rules.tools) {
            self.tell(
                line,
                format!("tools: {}", misfit.message),
                misfit.hint.as_deref(),
            );
        }
        for (i, tool) in tools.iter().enumerate() {
            if tools.iter().take(i).any(|earlier| earlier == tool) {
                self.tell(line, format!("tools: names `{tool}` twice"), None);
            }
        }
    }

    /// Cases often share a folder: it is looked at once.
    fn files(&mut self, line: usize, files: &str) {
        if files.is_empty() {
            self.tell(
                line,
                "files: is empty",
                Some("name a folder, or leave it out"),
            );
            return;
        }
        let folder = self.file.parent().unwrap_or(Path::new("")).join(files);
        if !self.folders.insert(folder.clone()) {
            return;
        }
        if self.rules.guard.is_held_by(&folder) {
            let message = format!("files: {}", guard::held(&folder));
            self.tell(line, message, Some("keep them in another folder"));
            return;
        }
        if let Err(e) = files::list(&folder) {
            self.tell(line, format!("files: {e}"), None);
        }
    }

    fn tell(&mut self, line: usize, message: impl Into<String>, hint: Option<&str>) {
        let mut problem = Problem::at(self.file, line, 0, message);
        problem.hint = hint.map(str::to_owned);
        self.problems.push(problem);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The ids that were read and the problems, for a file `D/eval/cases.jsonl` of this text
    /// beside the sealed file `D/eval/sealed/cases.jsonl`.
    fn load(root: &Path, text: &str) -> (Vec<String>, Vec<String>) {
        let file = root.join("eval/cases.jsonl");
        fs::create_dir_all(root.join("eval/sealed")).unwrap();
        fs::create_dir_all(root.join("eval/box")).unwrap();
        fs::write(&file, text).unwrap();
        let sealed = root.join("eval/sealed/cases.jsonl");
        let rules = CaseRules {
            tools: &["calculator", "file_read"],
            guard: &Guard::new(Some(&sealed), Path::new("none")),
        };
        let lines = load_cases(&file, rules);
        let short = |text: String| {
            text.replace(&format!("{}:", file.display()), "")
                .replace(&root.display().to_string(), "D")
        };
        (
            lines.values.iter().map(|(_, c)| c.id.to_string()).collect(),
            lines
                .problems
                .iter()
                .map(|p| short(p.to_string()))
                .collect(),
        )
    }

    #[test]
    fn each_problem_names_its_line() {
        let table = [
            (
                r#""task":"t","tools":["calculator"],"files":"box","script":[{"answer":"1"}]"#,
                "",
            ),
            (r#""task":"t","tools":[],"cluster":"c","max_steps":1"#, ""),
            (r#""task":" ""#, "2: task: is empty"),
            (
                r#""task":"t","max_steps":0"#,
                "2: max_steps: 0 steps are none; give it at least 1, or leave it out",
            ),
            (
                r#""task":"t","cluster":"""#,
                "2: cluster: is empty; leave it out",
            ),
            (
                r#""task":"t","tools":["calculater"]"#,
                "2: tools: unknown tool `calculater`; known are calculator, file_read; did you mean `calculator`?",
            ),
            (
                r#""task":"t","tools":["file_read","file_read"]"#,
                "2: tools: names `file_read` twice",
            ),
            (
                r#""task":"t","script":[]"#,
                "2: script: needs at least one entry",
            ),
            (
                r#""task":"t","script":[{"answer":"1"},{"weight":2,"answer":"1"}]"#,
                "2: script[1]: `weight` only means something inside any_of",
            ),
            (
                r#""task":"t","files":"""#,
                "2: files: is empty; name a folder, or leave it out",
            ),
            (
                r#""task":"t","files":"none""#,
                "2: files: D/eval/none cannot be read: No such file or directory (os error 2)",
            ),
            (
                r#""task":"t","files":"cases.jsonl""#,
                "2: files: D/eval/cases.jsonl is not a folder",
            ),
            (
                r#""task":"t","files":"sealed""#,
                "2: files: D/eval/sealed holds the sealed halves: an agent could read them; keep them in another folder",
            ),
            (
                r#""task":"t","files":"box/../..""#,
                "2: files: D/eval/box/../.. holds the sealed halves: an agent could read them; keep them in another folder",
            ),
            (
                r#""task":"t","tols":[]"#,
                "2:22: unknown field `tols`, expected one of `id`, `task`, `max_steps`, `tools`, `files`, `tags`, `cluster`, `script`, `metadata`; did you mean `tools`?",
            ),
        ];
        let dir = tempfile::tempdir().unwrap();
        for (fields, want) in table {
            let (_, problems) = load(dir.path(), &format!("\n{{\"id\":\"a\",{fields}}}\n"));
            assert_eq!(problems.join("\n"), want, "{fields}");
        }
    }

    #[test]
    fn all_problems_in_the_order_of_lines() {
        let text = r#"{"id":"a","task":"t","files":"none"}
{"id":"b","task":""}
{"id":"a","task":"t","files":"none"}
{"id":"c"}
{"id":"a","task":"t"}
{"id":"B","task":"t"}
"#;
        let dir = tempfile::tempdir().unwrap();
        let (ids, problems) = load(dir.path(), text);
        assert_eq!(ids, ["a", "b", "a", "a", "B"]);
        let want = [
            "1: files: D/eval/none",
            "2: task: is empty",
            "3: id: `a` is on line 1 already; ids are unique in a file",
            "4:10: missing field `task`",
            "5: id: `a` is on line 1 already",
            "6: id: `B` differs from `b` on line 2 in its case alone; some file systems",
        ];
        assert_eq!(problems.len(), want.len(), "{problems:#?}");
        for (got, want) in problems.iter().zip(want) {
            assert!(got.starts_with(want), "{got}");
        }
    }

    #[test]
    fn an_empty_file_has_no_cases() {
        let dir = tempfile::tempdir().unwrap();
        for text in ["", "\n \n"] {
            let (_, problems) = load(dir.path(), text);
            assert_eq!(
                problems,
                [r#" no cases; write one a line: {"id":"sum-1","task":"What is 1 + 1?"}"#]
            );
        }
    }

    #[test]
    fn a_link_to_the_sealed_folder_hides_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        load(root, "");
        std::os::unix::fs::symlink(root.join("eval/sealed"), root.join("eval/innocent")).unwrap();
        let (_, problems) = load(root, r#"{"id":"a","task":"t","files":"innocent"}"#);
        assert!(
            problems[0].contains("holds the sealed halves"),
            "{problems:?}"
        );
    }
}
