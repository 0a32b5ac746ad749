//! Reads and checks a file of scripts.

use std::{collections::HashMap, path::Path};

use crate::{
    domain::{
        Entry, Script,
        jsonl::{self, Lines, Secrecy},
    },
    error::Problem,
};

/// Reads a script file: the scripts that could be read, each with its line, and everything that
/// is wrong. A script of a case that is not run is fine: one file may serve several suites.
#[must_use]
pub fn load_scripts(file: &Path) -> Lines<Script> {
    let mut lines = jsonl::read::<Script>(file, Secrecy::Public);
    if lines.values.is_empty() && lines.problems.is_empty() {
        lines.problems.push(Problem::file(file, "no scripts"));
    }
    let mut seen = HashMap::new();
    for (line, script) in &lines.values {
        let problem = |message| Problem::at(file, *line, 0, message);
        if let Some(first) = seen.insert((&script.case, script.seed), *line) {
            let seed = match script.seed {
                Some(seed) => format!("seed {seed}"),
                None => "all seeds".to_owned(),
            };
            let message = format!(
                "case `{}` has a script for {seed} on line {first} already",
                script.case
            );
            lines.problems.push(problem(message));
        }
        lines.problems.extend(faults(&script.script).map(problem));
    }
    lines.problems.sort_by_key(|p| (p.line, p.column));
    lines
}

/// What is wrong with the entries of one script.
pub(super) fn faults(script: &[Entry]) -> impl Iterator<Item = String> {
    let empty = script
        .is_empty()
        .then(|| "script: needs at least one entry".to_owned());
    let entries = script.iter().enumerate().filter_map(|(i, entry)| {
        let fault = entry.validate().err()?;
        Some(format!("script[{i}]: {fault}"))
    });
    empty.into_iter().chain(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_name_their_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        let said = |text: &str| {
            std::fs::write(&file, text).unwrap();
            let lines = load_scripts(&file);
            let name = format!("{}:", file.display());
            let problems: Vec<String> = lines
                .problems
                .iter()
                .map(|p| p.to_string().replace(&name, ""))
                .collect();
            (lines.values.len(), problems.join("\n"))
        };
        let a = r#"{"case":"a","script":[{"answer":"1"}]}"#;
        let a0 = r#"{"case":"a","seed":0,"script":[{"answer":"1"}]}"#;
        let table = [
            (format!("{a}\n{a0}\n"), 2, ""),
            (
                format!("{a}\n{a0}\n{a0}\n{a}\n"),
                4,
                "3: case `a` has a script for seed 0 on line 2 already\n\
                 4: case `a` has a script for all seeds on line 1 already",
            ),
            (
                "{\"case\":\"a\",\"script\":[]}\n{\"case\":\"b\",\"script\":[{\"answer\":\"1\"},{}]}"
                    .to_owned(),
                2,
                "1: script: needs at least one entry\n2: script[1]: an entry needs exactly one of \
                 tool_call, tool_calls, answer, raw, any_of; this one has none",
            ),
            (String::new(), 0, " no scripts"),
            (
                "{\"case\":\"a\",\"sript\":[]}".to_owned(),
                0,
                "1:13: unknown field `sript`, expected one of `case`, `seed`, `script`; \
                 did you mean `script`?",
            ),
        ];
        for (text, count, problems) in table {
            assert_eq!(said(&text), (count, problems.to_owned()), "{text}");
        }
    }
}
